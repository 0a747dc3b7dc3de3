//! Calls of every function with NULL in each position, and with a forced panic, as C.
//!
//! `null_calls.c` gives the valid arguments: a variable named after each type.

use std::fmt::Write;

use super::source::{Arg, Export, Kind, Source, form};

pub(crate) fn make(source: &Source) -> String {
    let mut text = String::new();
    for export in &source.exports {
        match &export.kind {
            Kind::Free => {
                let _ = writeln!(text, "FREES({})", export.name);
            }
            Kind::Plain(_) => {
                let args: Vec<String> =
                    export.args.iter().map(|arg| null(arg).unwrap_or_else(|| valid(arg))).collect();
                let _ = writeln!(text, "PLAIN({}({}))", export.name, args.join(", "));
            }
            Kind::Fallible(out) => fallible(&mut text, export, out.as_ref()),
        }
    }
    text
}

fn fallible(text: &mut String, export: &Export, out: Option<&Arg>) {
    let all: Vec<&Arg> = export.args.iter().chain(out).collect();
    let call = |nulled: Option<usize>| {
        let args = all.iter().enumerate().map(|(at, arg)| {
            let nothing = (nulled == Some(at)).then(|| null(arg)).flatten();
            nothing.unwrap_or_else(|| valid(arg))
        });
        format!(
            "{}({}{}&error)",
            export.name,
            args.collect::<Vec<_>>().join(", "),
            if all.is_empty() { "" } else { ", " }
        )
    };
    for (at, arg) in all.iter().enumerate() {
        if is_pointer(arg) {
            let expected = if may_be_null(arg) { "MAY_BE_NULL" } else { "MUST_NOT_BE_NULL" };
            let _ = writeln!(text, "{expected}({}, \"{}\")", call(Some(at)), arg.name);
        }
    }
    let _ = writeln!(text, "PANICS({})", call(None));
}

fn is_pointer(arg: &Arg) -> bool {
    null(arg).is_some()
}

fn null(arg: &Arg) -> Option<String> {
    match form(&arg.form).0.as_str() {
        "Text" | "OptText" | "Document" => Some("nothing".into()),
        "u32" | "u64" | "usize" | "f64" | "Flag" | "pointsman_outcome" | "pointsman_result" => None,
        _ => Some("NULL".into()),
    }
}

fn may_be_null(arg: &Arg) -> bool {
    matches!(form(&arg.form).0.as_str(), "OptInput" | "OptOut" | "OptText")
}

/// A valid argument: of a struct or a handle its variable, of a place one for the value.
fn valid(arg: &Arg) -> String {
    let (kind, inner) = form(&arg.form);
    let inner = inner.map(|inner| form(inner).0).unwrap_or_default();
    let short = inner.trim_start_matches("pointsman_");
    match kind.as_str() {
        "Handle" | "Shared" | "Exclusive" | "Owned" | "OptHandle" => format!("valid_{short}"),
        "Input" | "OptInput" | "Items" => format!("&valid_{short}"),
        "OutItems" => format!("out_{short}s"),
        "New" => format!("&new_{short}"),
        "Out" | "OptOut" => format!("&out_{}", short.to_lowercase()),
        "Text" | "OptText" => format!("valid_{}", arg.name),
        "Document" => format!("valid_{}", arg.name),
        "f64" => "1.0".into(),
        "pointsman_outcome" => "POINTSMAN_OUTCOME_SUCCESS".into(),
        "Flag" => "true".into(),
        _ if arg.name == "count" || arg.name == "room" => "1".into(),
        _ => "0".into(),
    }
}
