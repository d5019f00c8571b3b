//! One line per public item.
//!
//! 1. Public items of the root and of public modules, and what these re-export, have a public path. A re-exported item of this crate is listed under
//!    the path of the re-export; one of another crate as `pub use`.
//! 2. Implementations are collected from the whole crate. Their type is resolved in the module that they are written in, through its imports.
//! 3. A type is listed with its public fields or variants, `#[non_exhaustive]`, derived traits, and the public items of its implementations. Private
//!    fields are not listed; that there are some is.

use super::render::text;
use super::source::{ModulePath, Tree, is_for_tests};
use std::collections::{BTreeMap, BTreeSet};
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Visibility};

/// An item: the module that defines it and its name there.
type Home = (ModulePath, String);

/// How many re-exports of re-exports are followed.
const MAX_DEPTH: usize = 8;

/// The listing of crate `name`.
pub(super) fn public_items(name: &str, tree: &Tree) -> String {
    let mut listing = Listing {
        tree,
        impls: BTreeMap::new(),
        lines: BTreeSet::new(),
    };
    listing.collect_impls();
    listing.module(&Vec::new(), name, 0);
    let mut out: String = listing.lines.iter().flat_map(|l| [l.as_str(), "\n"]).collect();
    if out.is_empty() {
        out.push_str("no public items\n");
    }
    out
}

struct Listing<'t> {
    tree: &'t Tree,
    impls: BTreeMap<Home, Vec<&'t ItemImpl>>,
    lines: BTreeSet<String>,
}

impl<'t> Listing<'t> {
    fn collect_impls(&mut self) {
        for (path, module) in &self.tree.modules {
            for item in &module.items {
                let Item::Impl(i) = item else { continue };
                if let Some(name) = type_path(&i.self_ty)
                    && let Some(home) = self.resolve(path, &name, 0)
                {
                    self.impls.entry(home).or_default().push(i);
                }
            }
        }
    }

    /// Lists module `path` under the public path `shown`.
    fn module(&mut self, path: &ModulePath, shown: &str, depth: usize) {
        let Some(module) = self.tree.modules.get(path).filter(|_| depth < MAX_DEPTH) else {
            return;
        };
        for item in &module.items {
            if let Some((name, true)) = named(item) {
                self.item(item, path, &name, &format!("{shown}::{name}"), depth);
            }
        }
        for import in module.imports.iter().filter(|i| i.is_public) {
            match &import.name {
                Some(name) => self.reexport(path, &import.path, &format!("{shown}::{name}"), depth),
                None => match self.module_at(path, &import.path) {
                    Some(target) => self.module(&target, shown, depth + 1),
                    None => self.line(format!("pub use {}::* in {shown}", import.path.join("::"))),
                },
            }
        }
    }

    fn reexport(&mut self, path: &ModulePath, target: &[String], shown: &str, depth: usize) {
        let Some((home, name)) = self.resolve(path, target, 0) else {
            return match self.import_of(path, target) {
                Some((module, further)) if depth < MAX_DEPTH => self.reexport(&module, &further, shown, depth + 1),
                _ if self.is_local(path, target) => self.line(format!("pub macro-defined {shown}")),
                _ => self.line(format!("pub use {shown} = {}", target.join("::"))),
            };
        };
        let module = self.tree.modules.get(&home);
        let found = module.and_then(|m| m.items.iter().find(|i| named(i).is_some_and(|(n, _)| n == name)));
        if let Some(item) = found {
            self.item(item, &home, &name, shown, depth);
        }
    }

    fn item(&mut self, item: &Item, module: &ModulePath, name: &str, shown: &str, depth: usize) {
        match item {
            Item::Mod(_) => {
                self.line(format!("pub mod {shown}"));
                let path = [module.as_slice(), &[name.to_owned()]].concat();
                self.module(&path, shown, depth + 1);
            }
            Item::Fn(f) => {
                let signature = text(&f.sig).replacen(&format!("fn {name}"), &format!("fn {shown}"), 1);
                self.line(format!("pub {signature}"));
            }
            Item::Const(c) => self.line(format!("pub const {shown}: {}", text(&c.ty))),
            Item::Static(s) => self.line(format!("pub static {shown}: {}", text(&s.ty))),
            Item::Type(t) => self.line(format!("pub type {shown}{} = {}", text(&t.generics), text(&t.ty))),
            Item::Macro(_) => self.line(format!("pub macro {shown}!")),
            Item::Trait(t) => {
                let bounds = if t.supertraits.is_empty() {
                    String::new()
                } else {
                    format!(": {}", text(&t.supertraits))
                };
                self.line(format!("pub trait {shown}{}{bounds}", text(&t.generics)));
                for inner in &t.items {
                    self.trait_item(inner, shown);
                }
            }
            Item::Struct(s) => {
                self.declaration("struct", &s.attrs, shown, &text(&s.generics));
                self.fields(&s.fields, shown);
                self.implementations(module, name, shown);
            }
            Item::Union(u) => {
                self.declaration("union", &u.attrs, shown, &text(&u.generics));
                self.implementations(module, name, shown);
            }
            Item::Enum(e) => {
                self.declaration("enum", &e.attrs, shown, &text(&e.generics));
                for v in &e.variants {
                    let value = v.discriminant.as_ref().map(|(_, d)| format!(" = {}", text(d)));
                    let fields = if v.fields.is_empty() { String::new() } else { text(&v.fields) };
                    let marks = marks(&v.attrs);
                    let space = if matches!(v.fields, Fields::Named(_)) { " " } else { "" };
                    self.line(format!(
                        "{marks}{shown}::{}{space}{}{}",
                        v.ident,
                        undocumented(&v.fields, fields),
                        value.unwrap_or_default()
                    ));
                }
                self.implementations(module, name, shown);
            }
            _ => {}
        }
    }

    fn trait_item(&mut self, item: &TraitItem, shown: &str) {
        match item {
            TraitItem::Fn(f) => {
                let provided = if f.default.is_some() { " (provided)" } else { "" };
                let signature = text(&f.sig).replacen(&format!("fn {}", f.sig.ident), &format!("fn {shown}::{}", f.sig.ident), 1);
                self.line(format!("{signature}{provided}"));
            }
            TraitItem::Const(c) => self.line(format!("const {shown}::{}: {}", c.ident, text(&c.ty))),
            TraitItem::Type(t) => self.line(format!("type {shown}::{}", t.ident)),
            _ => {}
        }
    }

    fn declaration(&mut self, kind: &str, attributes: &[Attribute], shown: &str, generics: &str) {
        self.line(format!("{}pub {kind} {shown}{generics}", marks(attributes)));
        for name in derived(attributes) {
            self.line(format!("impl {name} for {shown}"));
        }
    }

    fn fields(&mut self, fields: &Fields, shown: &str) {
        let mut private = false;
        for (n, field) in fields.iter().enumerate() {
            let name = field.ident.as_ref().map_or_else(|| n.to_string(), ToString::to_string);
            match field.vis {
                Visibility::Public(_) => self.line(format!("pub {shown}::{name}: {}", text(&field.ty))),
                _ => private = true,
            }
        }
        if private {
            self.line(format!("{shown}::_ (private fields)"));
        }
    }

    fn implementations(&mut self, module: &ModulePath, name: &str, shown: &str) {
        let home = (module.clone(), name.to_owned());
        for i in self.impls.get(&home).cloned().unwrap_or_default() {
            if is_for_tests(&i.attrs) {
                continue;
            }
            if let Some((_, path, _)) = &i.trait_ {
                self.line(format!("impl {} for {shown}", text(path)));
                continue;
            }
            for inner in &i.items {
                match inner {
                    ImplItem::Fn(f) if is_public(&f.vis) && !is_for_tests(&f.attrs) => {
                        let signature = text(&f.sig).replacen(&format!("fn {}", f.sig.ident), &format!("fn {shown}::{}", f.sig.ident), 1);
                        self.line(format!("pub {signature}"));
                    }
                    ImplItem::Const(c) if is_public(&c.vis) => self.line(format!("pub const {shown}::{}: {}", c.ident, text(&c.ty))),
                    _ => {}
                }
            }
        }
    }

    fn line(&mut self, line: String) {
        self.lines.insert(line);
    }

    /// The definition that `path` names in `module`; `None` for other crates and for what macros define.
    fn resolve(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<Home> {
        let (name, parents) = path.split_last()?;
        let at = if parents.is_empty() {
            module.clone()
        } else {
            self.module_at(module, parents)?
        };
        let found = self.tree.modules.get(&at).filter(|_| depth < MAX_DEPTH)?;
        if found.items.iter().any(|i| named(i).is_some_and(|(n, _)| n == *name)) {
            return Some((at, name.clone()));
        }
        let imports = found.imports.iter().filter(|i| i.name.as_ref().is_none_or(|n| n == name));
        imports.into_iter().find_map(|i| match &i.name {
            Some(_) if i.path == path && at == *module => None,
            Some(_) => self.resolve(&at, &i.path, depth + 1),
            None => {
                let glob = self.module_at(&at, &i.path)?;
                self.resolve(&glob, std::slice::from_ref(name), depth + 1)
            }
        })
    }

    /// The import by which another module of the crate has what `path` names: that module and the imported path.
    fn import_of(&self, module: &ModulePath, path: &[String]) -> Option<(ModulePath, Vec<String>)> {
        let (name, parents) = path.split_last()?;
        let at = self.module_at(module, parents).filter(|at| at != module)?;
        let import = self.tree.modules.get(&at)?.imports.iter().find(|i| i.name.as_ref() == Some(name))?;
        Some((at, import.path.clone()))
    }

    /// The module that `path` names in `module`.
    fn module_at(&self, module: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let mut at = module.clone();
        for (n, part) in path.iter().enumerate() {
            match part.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop()?;
                }
                name => {
                    let child = [at.as_slice(), &[name.to_owned()]].concat();
                    if self.tree.modules.contains_key(&child) {
                        at = child;
                    } else {
                        // a module that was imported
                        let import = self
                            .tree
                            .modules
                            .get(&at)?
                            .imports
                            .iter()
                            .find(|i| i.name.as_deref() == Some(name))?;
                        if n > 0 || import.path.last().map(String::as_str) == Some(name) && import.path.len() == 1 {
                            return None;
                        }
                        at = self.module_at(&at, &import.path)?;
                    }
                }
            }
        }
        Some(at)
    }

    fn is_local(&self, module: &ModulePath, path: &[String]) -> bool {
        path.split_last()
            .is_some_and(|(_, parents)| self.module_at(module, parents).is_some())
    }
}

/// Name of an item and whether it is public.
fn named(item: &Item) -> Option<(String, bool)> {
    let (name, visibility, attributes) = match item {
        Item::Mod(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Fn(i) => (&i.sig.ident, &i.vis, &i.attrs),
        Item::Const(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Static(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Type(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Trait(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Struct(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Union(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Enum(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Macro(i) => {
            let exported = i.attrs.iter().any(|a| a.path().is_ident("macro_export"));
            return Some((i.ident.as_ref()?.to_string(), exported));
        }
        _ => return None,
    };
    let hidden = attributes.iter().any(|a| a.path().is_ident("doc") && text(a).contains("hidden"));
    (!is_for_tests(attributes)).then(|| (name.to_string(), is_public(visibility) && !hidden))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn marks(attributes: &[Attribute]) -> &'static str {
    match attributes.iter().any(|a| a.path().is_ident("non_exhaustive")) {
        true => "#[non_exhaustive] ",
        false => "",
    }
}

/// Traits of `derive` attributes, those under a condition included.
fn derived(attributes: &[Attribute]) -> Vec<String> {
    let mut names = Vec::new();
    for attribute in attributes {
        let all = text(&attribute.meta);
        for list in all.split("derive(").skip(1) {
            let list = list.split(')').next().unwrap_or_default();
            names.extend(list.split(", ").map(str::to_owned));
        }
    }
    names
}

/// The fields of a variant without their documentation.
fn undocumented(fields: &Fields, written: String) -> String {
    let typed = |f: &syn::Field| match &f.ident {
        Some(name) => format!("{name}: {}", text(&f.ty)),
        None => text(&f.ty),
    };
    let list: Vec<String> = fields.iter().map(typed).collect();
    match fields {
        Fields::Named(_) => format!("{{ {} }}", list.join(", ")),
        Fields::Unnamed(_) => format!("({})", list.join(", ")),
        Fields::Unit => written,
    }
}

/// The path of the type that is implemented; `None` for references, tuples and the like.
fn type_path(ty: &Type) -> Option<Vec<String>> {
    let Type::Path(p) = ty else { return None };
    Some(p.path.segments.iter().map(|s| s.ident.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        public_items("c", &Tree::of(text)).lines().map(str::to_owned).collect()
    }

    #[test]
    fn lists_public_items_under_their_public_path() {
        let text = "mod inner { #[derive(Debug)] pub struct A<'d> { pub x: &'d [u8], y: u8 } impl A<'_> { pub fn get(&self) -> u8 { self.y } fn own(&self) {} } pub fn hidden() {} }
            pub use inner::A as B; fn private() {} #[cfg(test)] mod tests { pub fn t() {} }";
        let want = [
            "c::B::_ (private fields)",
            "impl Debug for c::B",
            "pub c::B::x: &'d [u8]",
            "pub fn c::B::get(&self) -> u8",
            "pub struct c::B<'d>",
        ];
        assert_eq!(lines(text), want);
    }

    #[test]
    fn a_change_of_a_variant_or_a_signature_changes_the_listing() {
        let base = "#[non_exhaustive] pub enum E { A, B { n: u8 } } pub fn f(x: u8) {}";
        assert_eq!(
            lines(base),
            [
                "#[non_exhaustive] pub enum c::E",
                "c::E::A",
                "c::E::B { n: u8 }",
                "pub fn c::f(x: u8)"
            ]
        );
        for changed in [
            base.replace("n: u8", "n: u16"),
            base.replace("x: u8", "x: u32"),
            base.replace("#[non_exhaustive]", ""),
        ] {
            assert_ne!(lines(base), lines(&changed));
        }
    }

    #[test]
    fn finds_implementations_in_other_modules() {
        let text = "pub struct S; mod a { use super::S; impl S { pub fn m(self) {} } impl Default for S { fn default() -> Self { S } } }
            pub mod b { pub use crate::S; } pub use other::T; pub use b::*;";
        let listed = lines(text);
        for want in [
            "pub fn c::S::m(self)",
            "impl Default for c::S",
            "pub fn c::b::S::m(self)",
            "pub use c::T = other::T",
        ] {
            assert!(listed.iter().any(|l| l == want), "{want} in {listed:#?}");
        }
    }
}
