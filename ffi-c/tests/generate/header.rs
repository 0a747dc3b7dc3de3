//! The header: what cbindgen makes of the types and functions, with the macros.

use std::fmt::Write;
use std::path::Path;

use quote::{ToTokens, quote};
use syn::{Expr, Item, Visibility};

use super::source::{Kind, Source, Versioned, c_type, read};

pub(crate) fn make(root: &Path) -> String {
    let source = read(root);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interface.rs");
    std::fs::write(&path, rust(&source)).expect("the interface can be written");
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is sound");
    config.after_includes = config.after_includes.map(|text| fill(&text, root));
    config.trailer = Some(macros(&source));
    let bindings = cbindgen::Builder::new().with_config(config).with_src(&path).generate();
    let mut header = Vec::new();
    bindings.expect("cbindgen takes the interface").write(&mut header);
    let header = String::from_utf8(header).expect("cbindgen writes text");
    header.lines().map(str::trim_end).fold(String::new(), |all, line| all + line + "\n")
}

fn fill(text: &str, root: &Path) -> String {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the manifest can be read");
    let library = manifest.split("[package.metadata.capi.library]").nth(1).unwrap_or_default();
    let abi =
        library.split("version = \"").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or_default();
    text.replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
        .replace("@ABI@", abi)
}

/// The interface as Rust that cbindgen reads: no macros, and only types that C sees.
fn rust(source: &Source) -> String {
    let mut all = quote!(
        use std::ffi::{c_char, c_void};
    );
    for item in &source.items {
        let mut item = item.clone();
        if let Item::Struct(item) = &mut item {
            for field in &mut item.fields {
                let seen = c_type(&field.ty);
                field.ty = syn::parse2(seen).expect("a type");
                field.vis = Visibility::Inherited;
            }
        }
        item.to_tokens(&mut all);
    }
    for export in &source.exports {
        let (docs, name) = (&export.docs, &export.name);
        let names = export.args.iter().map(|arg| &arg.name);
        let types = export.args.iter().map(|arg| match export.kind {
            Kind::Free => {
                let handle = &arg.form;
                quote!(*mut #handle)
            }
            _ => c_type(&arg.form),
        });
        let args = quote!(#(#names: #types,)*);
        let signature = match &export.kind {
            Kind::Free => quote!((#args)),
            Kind::Plain(value) => {
                let value = c_type(value);
                quote!((#args) -> #value)
            }
            Kind::Fallible(out) => {
                let out = out.iter().map(|out| {
                    let (name, place) = (&out.name, c_type(&out.form));
                    quote!(#name: #place,)
                });
                quote!((#args #(#out)* error: *mut pointsman_error) -> pointsman_result)
            }
        };
        all.extend(quote!(#(#docs)* #[unsafe(no_mangle)] pub unsafe extern "C" fn #name #signature {}));
    }
    all.to_string()
}

/// The macros: initialisers, and texts.
fn macros(source: &Source) -> String {
    let mut text = String::from("/* Initialisers: for `T name = ..._INIT;`. */\n\n");
    text += "#define POINTSMAN_ERROR_INIT { sizeof(pointsman_error), POINTSMAN_OK, 0, POINTSMAN_NO_INDEX, { 0 }, { 0 } }\n";
    for versioned in &source.versioned {
        let _ = writeln!(text, "#define {} {}", versioned.init_macro, initialiser(versioned));
    }
    text + r#"
/** A `pointsman_str` of a literal: as an argument, or in an assignment. */
#ifdef __cplusplus
#define POINTSMAN_STR(literal) (pointsman_str { "" literal, sizeof(literal) - 1 })
#else
#define POINTSMAN_STR(literal) ((pointsman_str) { "" literal, sizeof(literal) - 1 })
#endif

/** The same as an initialiser of a field, also in static storage. */
#define POINTSMAN_STR_INIT(literal) { "" literal, sizeof(literal) - 1 }

/** A `pointsman_str` of a text that ends in a zero byte; nothing given for NULL. */
static inline pointsman_str pointsman_str_of(const char *text)
{
    pointsman_str str = { text, 0 };
    if (text != NULL)
        str.len = strlen(text);
    return str;
}

/** Whether a result says that no instance can take the request. */
static inline bool pointsman_is_no_instance(pointsman_result result)
{
    return result >= POINTSMAN_EMPTY && result <= POINTSMAN_SATURATED;
}

#endif /* POINTSMAN_H */
"#
}

fn initialiser(versioned: &Versioned) -> String {
    let name = &versioned.name;
    let fields = versioned.fields.iter().map(|(field, value)| match value {
        _ if field == "size" => format!("sizeof({name})"),
        Expr::Repeat(_) => "{ 0 }".into(),
        Expr::Path(path) => {
            let words: Vec<String> = path.path.segments.iter().map(|word| word.ident.to_string()).collect();
            match (words[0].as_str(), words.last().map(String::as_str)) {
                ("pointsman_str", _) => "{ NULL, 0 }".into(),
                ("Flag", Some(flag)) => flag.to_lowercase(),
                (_, Some("NONE")) => "NULL".into(),
                (constant, _) => constant.to_owned(),
            }
        }
        literal => literal.to_token_stream().to_string(),
    });
    format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
}
