//! Every `unsafe` of every crate is one that `SAFETY.md` lists, in the one module that it names for the crate, and says in a
//! comment what it stands on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What `unsafe` stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Block,
    Impl,
    Attribute,
    Fn,
    Trait,
}

impl Kind {
    /// Declarations of functions and traits ask for a promise; the others say that one holds.
    fn claims(self) -> bool {
        !matches!(self, Self::Fn | Self::Trait)
    }
}

/// One `unsafe`: the function or the implementation that it is in, and its line.
struct Found {
    place: String,
    kind: Kind,
    line: usize,
}

/// Files and places, with how often each kind of `unsafe` stands there.
type Census = BTreeMap<(String, String), BTreeMap<Kind, usize>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

/// The sources of every crate of the workspace.
fn sources() -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = entries(root())
        .filter(|folder| folder.join("Cargo.toml").exists() && folder.join("src").exists())
        .map(|folder| folder.join("src"))
        .collect();
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in entries(&folder) {
            if entry.is_dir() {
                open.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }
    files
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
}

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("Rust")
}

fn is_ident(token: Option<&TokenTree>, text: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == text)
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_group(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// A name at the front, that of a macro's parameter with its sign.
fn name(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [TokenTree::Ident(name), ..] => Some(name.to_string()),
        [TokenTree::Punct(sign), TokenTree::Ident(name), ..] if sign.as_char() == '$' => {
            Some(format!("${name}"))
        }
        _ => None,
    }
}

/// The names outside angle brackets of what stands between `impl` and its body.
fn names(head: &[TokenTree]) -> Vec<String> {
    let mut depth = 0;
    let mut names = Vec::new();
    for (at, token) in head.iter().enumerate() {
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '<' => depth += 1,
            TokenTree::Punct(sign) if sign.as_char() == '>' => depth -= 1,
            TokenTree::Ident(ident) if depth == 0 => {
                let sign = if at > 0 && is_punct(head.get(at - 1), '$') { "$" } else { "" };
                names.push(format!("{sign}{ident}"));
            }
            TokenTree::Group(_) if depth == 0 && names.last().is_some_and(|last| last == "for") => {
                names.push("[T]".to_owned());
            }
            _ => {}
        }
    }
    names
}

/// Notes every `unsafe` in the tokens, which stand inside the type `of` and the function `inside`.
fn walk(stream: TokenStream, of: &str, inside: &str, found: &mut Vec<Found>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let (mut of, mut inside) = (of.to_owned(), inside.to_owned());
    let outer = (of.clone(), inside.clone());
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        match token {
            TokenTree::Ident(ident) if ident == "impl" && inside.is_empty() => {
                let end = rest.iter().position(|token| is_group(Some(token), Delimiter::Brace));
                let names = names(&rest[..end.unwrap_or(0)]);
                let of_what = names.iter().position(|name| name == "for").map_or(0, |at| at + 1);
                let last = names[of_what..].iter().take_while(|name| *name != "where").last();
                of = last.cloned().unwrap_or_default();
            }
            TokenTree::Ident(ident) if ident == "fn" => {
                if let Some(name) = name(rest) {
                    inside = if of.is_empty() { name } else { format!("{of}::{name}") };
                }
            }
            TokenTree::Ident(ident) if ident == "unsafe" => {
                if let Some((kind, place)) = unsafe_before(rest, &of, &inside) {
                    found.push(Found { place, kind, line: ident.span().start().line });
                }
            }
            TokenTree::Group(group) => {
                walk(group.stream(), &of, &inside, found);
                if group.delimiter() == Delimiter::Brace {
                    (of, inside) = outer.clone();
                }
            }
            _ => {}
        }
    }
}

/// What the `unsafe` before these tokens is, and where; `None` for the type of a function.
fn unsafe_before(rest: &[TokenTree], of: &str, inside: &str) -> Option<(Kind, String)> {
    let place = |name: String| if of.is_empty() { name } else { format!("{of}::{name}") };
    if is_group(rest.first(), Delimiter::Brace) {
        return Some((Kind::Block, inside.to_owned()));
    }
    if let Some(TokenTree::Group(group)) = rest.first()
        && group.delimiter() == Delimiter::Parenthesis
    {
        return Some((Kind::Attribute, group.stream().to_string()));
    }
    if is_ident(rest.first(), "impl") {
        let end = rest.iter().position(|token| is_group(Some(token), Delimiter::Brace));
        return Some((Kind::Impl, names(&rest[1..end?]).join(" ")));
    }
    if is_ident(rest.first(), "trait") {
        return Some((Kind::Trait, name(&rest[1..])?));
    }
    let at = rest.iter().take(3).position(|token| is_ident(Some(token), "fn"))?;
    Some((Kind::Fn, place(name(&rest[at + 1..])?)))
}

fn search(source: &str) -> Vec<Found> {
    let mut found = Vec::new();
    walk(tokens(source), "", "", &mut found);
    found
}

/// Whether the comment above the line, with nothing but attributes between, says what the `unsafe` stands on.
fn says_why(source: &str, line: usize) -> bool {
    let above = source.lines().take(line - 1).collect::<Vec<_>>().into_iter().rev().map(str::trim);
    let mut comment =
        above.skip_while(|line| line.starts_with("#[")).take_while(|line| line.starts_with("//"));
    comment.any(|line| line.contains("SAFETY:"))
}

fn census() -> Census {
    let mut census = Census::new();
    for file in sources() {
        let source = fs::read_to_string(&file).expect("a text");
        let path = file.strip_prefix(root()).expect("below the root").display().to_string();
        for found in search(&source).into_iter().filter(|found| found.kind.claims()) {
            *census.entry((path.clone(), found.place)).or_default().entry(found.kind).or_default() += 1;
        }
    }
    census
}

fn told(kinds: &BTreeMap<Kind, usize>) -> String {
    let one = |(kind, count): (&Kind, &usize)| {
        let name = format!("{kind:?}").to_lowercase();
        if *count == 1 { name } else { format!("{count} {name}s") }
    };
    kinds.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The rows of `SAFETY.md` as (module of the section, file, place, what, reason).
fn listed() -> Vec<[String; 5]> {
    let text = fs::read_to_string(root().join("core/SAFETY.md")).expect("the list");
    let mut module = String::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            module = heading.split('`').nth(1).unwrap_or_default().to_owned();
        } else if line.starts_with("| `") {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [file, place, what, reason] = cells[..] else { panic!("four columns: {line}") };
            let bare = |cell: &str| cell.trim_matches('`').to_owned();
            rows.push([module.clone(), bare(file), bare(place), what.to_owned(), reason.trim().to_owned()]);
        }
    }
    rows
}

#[test]
fn the_list_names_every_unsafe_and_nothing_else() {
    let there: BTreeSet<String> = census()
        .iter()
        .map(|((file, place), kinds)| format!("| `{file}` | `{place}` | {} |", told(kinds)))
        .collect();
    let rows = listed();
    let listed: BTreeSet<String> =
        rows.iter().map(|[_, file, place, what, _]| format!("| `{file}` | `{place}` | {what} |")).collect();
    assert_eq!(listed.len(), rows.len(), "a place is listed twice");
    let missing: Vec<_> = there.difference(&listed).cloned().collect();
    let gone: Vec<_> = listed.difference(&there).cloned().collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "core/SAFETY.md\nlacks:\n{}\nlists what is not there:\n{}",
        missing.join("\n"),
        gone.join("\n")
    );
}

#[test]
fn each_crate_keeps_its_unsafe_in_the_module_that_the_list_names() {
    let rows = listed();
    assert!(!rows.is_empty());
    let mut modules = BTreeMap::new();
    for [module, file, place, _, reason] in &rows {
        let stem = module.trim_end_matches(".rs");
        assert!(!stem.is_empty() && file.starts_with(stem), "{file} is outside of {module}");
        assert!(!reason.is_empty(), "{file}, {place}: what it stands on");
        let name = file.split('/').next().unwrap_or_default();
        assert_eq!(modules.entry(name.to_owned()).or_insert(module), &module, "a second module of {name}");
    }
}

#[test]
fn every_block_and_every_implementation_says_what_it_stands_on() {
    let mut silent = Vec::new();
    for file in sources() {
        let source = fs::read_to_string(&file).expect("a text");
        let claims =
            search(&source).into_iter().filter(|found| matches!(found.kind, Kind::Block | Kind::Impl));
        let without = claims.filter(|found| !says_why(&source, found.line));
        silent.extend(without.map(|found| format!("{}:{}", file.display(), found.line)));
    }
    assert!(silent.is_empty(), "no SAFETY comment:\n{}", silent.join("\n"));
}

#[test]
fn the_search_tells_blocks_implementations_declarations_and_types_apart() {
    let source = r##"
        // unsafe { in_a_comment() }
        const TEXT: &str = "unsafe { in_a_text() }";
        struct Held { free: unsafe fn(*mut u8), call: unsafe extern "C" fn(u64) }
        // SAFETY: it is so.
        unsafe impl<T: Send> Send for Held {}
        unsafe trait Odd { unsafe fn odd(&self); }
        impl<T> Odd for Held {
            fn even(&self) {
                let inner = || {
                    // SAFETY: it is so.
                    unsafe { one() }
                };
                unsafe { other() }
            }
        }
        macro_rules! export { ($name:ident) => {
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                // What it does.
                unsafe { third() }
            }
        } }
    "##;
    let found = search(source);
    let seen: Vec<(&str, Kind, bool)> =
        found.iter().map(|found| (&*found.place, found.kind, says_why(source, found.line))).collect();
    assert_eq!(
        seen,
        [
            ("Send for Held", Kind::Impl, true),
            ("Odd", Kind::Trait, false),
            ("odd", Kind::Fn, false),
            ("Held::even", Kind::Block, true),
            ("Held::even", Kind::Block, false),
            ("no_mangle", Kind::Attribute, false),
            ("$name", Kind::Fn, false),
            ("$name", Kind::Block, false),
        ]
    );
}
