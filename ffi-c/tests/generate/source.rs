//! What the sources say: types, numbers, exported functions and versioned structs.

use std::path::Path;

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Block, Expr, GenericArgument, Ident, Item, PathArguments, Token, Type};

/// The files, in the order of the header.
const FILES: [&str; 14] = [
    "codes",
    "abi/text",
    "abi/hook",
    "error",
    "version",
    "string",
    "instance",
    "request",
    "options",
    "discovery",
    "pool",
    "edit",
    "route",
    "picker",
];

/// Behind the files above.
const LAST: &str = "lease";

#[derive(Default)]
pub(crate) struct Source {
    /// Types and numbers.
    pub(crate) items: Vec<Item>,
    pub(crate) exports: Vec<Export>,
    pub(crate) versioned: Vec<Versioned>,
}

pub(crate) struct Export {
    pub(crate) docs: Vec<Attribute>,
    pub(crate) name: Ident,
    pub(crate) args: Vec<Arg>,
    pub(crate) kind: Kind,
}

pub(crate) struct Arg {
    pub(crate) name: Ident,
    pub(crate) form: Type,
}

pub(crate) enum Kind {
    Fallible(Option<Arg>),
    Free,
    Plain(Type),
}

/// A `versioned!` block.
pub(crate) struct Versioned {
    pub(crate) name: Ident,
    pub(crate) init_macro: Ident,
    pub(crate) fields: Vec<(Ident, Expr)>,
}

impl Parse for Arg {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Self { name, form: input.parse()? })
    }
}

impl Parse for Export {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let docs = Attribute::parse_outer(input)?;
        let word = if input.peek(Token![fn]) { None } else { Some(input.parse::<Ident>()?.to_string()) };
        input.parse::<Token![fn]>()?;
        let name = input.parse()?;
        let content;
        syn::parenthesized!(content in input);
        let args = Punctuated::<Arg, Token![,]>::parse_terminated(&content)?.into_iter().collect();
        let kind = match word.as_deref() {
            Some("free") => {
                input.parse::<Token![;]>()?;
                return Ok(Self { docs, name, args, kind: Kind::Free });
            }
            Some("plain") => {
                input.parse::<Token![->]>()?;
                Kind::Plain(input.parse()?)
            }
            _ if input.peek(Token![->]) => {
                input.parse::<Token![->]>()?;
                let content;
                syn::parenthesized!(content in input);
                Kind::Fallible(Some(content.parse()?))
            }
            _ if input.peek(Token![=>]) => {
                input.parse::<Token![=>]>()?;
                let content;
                syn::parenthesized!(content in input);
                let Arg { name, form } = content.parse()?;
                Kind::Fallible(Some(Arg { name, form: syn::parse_quote!(Out<#form>) }))
            }
            _ => Kind::Fallible(None),
        };
        input.parse::<Block>()?;
        Ok(Self { docs, name, args, kind })
    }
}

struct Exports(Vec<Export>);

impl Parse for Exports {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut exports = Vec::new();
        while !input.is_empty() {
            exports.push(input.parse()?);
        }
        Ok(Self(exports))
    }
}

impl Parse for Versioned {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![,]>()?;
        input.parse::<Ident>()?;
        input.parse::<syn::LitInt>()?;
        input.parse::<Ident>()?;
        input.parse::<Token![,]>()?;
        input.parse::<Ident>()?;
        input.parse::<Ident>()?;
        let init_macro = input.parse()?;
        input.parse::<Token![;]>()?;
        let mut fields = Vec::new();
        while !input.is_empty() {
            let field = input.parse()?;
            input.parse::<Token![:]>()?;
            fields.push((field, input.parse()?));
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(Self { name, init_macro, fields })
    }
}

pub(crate) fn read(root: &Path) -> Source {
    let mut source = Source::default();
    for file in FILES.into_iter().chain([LAST]) {
        let path = root.join("src").join(file).with_extension("rs");
        let text = std::fs::read_to_string(&path).expect("a source file can be read");
        let parsed = syn::parse_file(&text).expect("a source file is Rust");
        parsed.items.into_iter().for_each(|item| source.add(item));
    }
    source
}

impl Source {
    fn add(&mut self, item: Item) {
        match item {
            Item::Macro(item) if item.mac.path.is_ident("exports") => {
                let Exports(exports) = syn::parse2(item.mac.tokens).expect("exports! holds functions");
                self.exports.extend(exports);
            }
            Item::Macro(item) if item.mac.path.is_ident("versioned") => {
                self.versioned.push(syn::parse2(item.mac.tokens).expect("versioned! holds a struct"));
            }
            Item::Struct(ref found) if is_public(&found.ident) => self.items.push(item),
            Item::Type(ref found) if is_public(&found.ident) => self.items.push(item),
            Item::Const(ref found) if is_public(&found.ident) => self.items.push(item),
            _ => {}
        }
    }
}

fn is_public(name: &Ident) -> bool {
    name.to_string().to_lowercase().starts_with("pointsman_")
}

/// The name and the parameter of a form, `Handle` and `pointsman_pool` say.
pub(crate) fn form(form: &Type) -> (String, Option<&Type>) {
    let Type::Path(path) = form else { return (String::new(), None) };
    let Some(last) = path.path.segments.last() else { return (String::new(), None) };
    let inner = match &last.arguments {
        PathArguments::AngleBracketed(list) => list.args.first().and_then(|argument| match argument {
            GenericArgument::Type(inner) => Some(inner),
            _ => None,
        }),
        _ => None,
    };
    (last.ident.to_string(), inner)
}

/// A form as the type that C sees.
pub(crate) fn c_type(given: &Type) -> TokenStream {
    let (name, inner) = form(given);
    let inner = inner.map(c_type);
    match name.as_str() {
        "Handle" | "OptHandle" | "Input" | "OptInput" | "Items" => quote!(*const #inner),
        "Shared" | "Exclusive" | "Owned" | "OutItems" | "Out" | "OptOut" => quote!(*mut #inner),
        "New" => quote!(*mut *mut #inner),
        "Text" | "OptText" | "Document" => quote!(pointsman_str),
        "Flag" => quote!(bool),
        "CText" => quote!(*const c_char),
        "Bytes" => quote!(*const c_void),
        "Context" => quote!(*mut c_void),
        "ReleaseFn" => quote!(pointsman_release),
        _ => quote!(#given),
    }
}
