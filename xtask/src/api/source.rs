//! The modules of a crate, parsed.

use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// A module path from the root of the crate; the root is empty.
pub(super) type ModulePath = Vec<String>;

/// A name that a `use` declaration brings into a module.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// The name in this module; `None` for a glob.
    pub(super) name: Option<String>,
    pub(super) is_public: bool,
}

/// One module.
#[derive(Default)]
pub(super) struct Module {
    pub(super) items: Vec<Item>,
    pub(super) imports: Vec<Import>,
}

/// All modules of a crate, by path.
pub(super) struct Tree {
    pub(super) modules: BTreeMap<ModulePath, Module>,
}

impl Tree {
    /// Parses the crate whose root is `lib`.
    pub(super) fn read(lib: &Path) -> Result<Self> {
        let mut tree = Self { modules: BTreeMap::new() };
        let dir = lib.parent().map(Path::to_owned).unwrap_or_default();
        tree.read_file(lib, &dir, Vec::new())?;
        Ok(tree)
    }

    /// Parses one text as a whole crate.
    #[cfg(test)]
    #[allow(clippy::expect_used, reason = "for tests")]
    pub(super) fn of(text: &str) -> Self {
        let mut tree = Self { modules: BTreeMap::new() };
        let file = syn::parse_file(text).expect("the text parses");
        tree.add(file.items, Path::new(""), Vec::new()).expect("no files are read");
        tree
    }

    fn read_file(&mut self, file: &Path, children: &Path, module: ModulePath) -> Result<()> {
        let text = std::fs::read_to_string(file).map_err(Error::file(file))?;
        let parsed = syn::parse_file(&text).map_err(|e| Error::Other(format!("{}: {e}", file.display())))?;
        self.add(parsed.items, children, module)
    }

    /// Adds a module; `children` is the directory of the files that it declares.
    fn add(&mut self, items: Vec<Item>, children: &Path, module: ModulePath) -> Result<()> {
        let mut this = Module::default();
        for item in items {
            match item {
                Item::Mod(m) if is_for_tests(&m.attrs) => {}
                Item::Mod(mut m) => {
                    let name = m.ident.to_string();
                    let path = [module.as_slice(), std::slice::from_ref(&name)].concat();
                    let below = children.join(&name);
                    match m.content.take() {
                        Some((_, inner)) => self.add(inner, &below, path)?,
                        None => {
                            let flat = children.join(format!("{name}.rs"));
                            let file = if flat.is_file() { flat } else { below.join("mod.rs") };
                            self.read_file(&file, &below, path)?;
                        }
                    }
                    this.items.push(Item::Mod(m));
                }
                Item::Use(u) => this.imports.extend(imports(&u)),
                item => this.items.push(item),
            }
        }
        self.modules.insert(module, this);
        Ok(())
    }
}

/// Is the item compiled for tests or doc tests only?
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let list = a.path().is_ident("cfg").then(|| a.meta.require_list().ok()).flatten();
        list.is_some_and(|l| {
            let text = l.tokens.to_string();
            text.starts_with("test") || text.starts_with("all (test") || text.starts_with("doctest")
        })
    })
}

fn imports(item: &ItemUse) -> Vec<Import> {
    let mut all = Vec::new();
    if !is_for_tests(&item.attrs) {
        expand(&item.tree, &mut Vec::new(), matches!(item.vis, Visibility::Public(_)), &mut all);
    }
    all
}

fn expand(tree: &UseTree, prefix: &mut Vec<String>, is_public: bool, all: &mut Vec<Import>) {
    let mut add = |prefix: &[String], last: Option<String>, name: Option<String>| {
        let path = prefix.iter().cloned().chain(last).collect();
        all.push(Import { path, name, is_public });
    };
    match tree {
        UseTree::Path(p) => {
            prefix.push(p.ident.to_string());
            expand(&p.tree, prefix, is_public, all);
            prefix.pop();
        }
        UseTree::Name(n) if n.ident == "self" => add(prefix, None, prefix.last().cloned()),
        UseTree::Name(n) => add(prefix, Some(n.ident.to_string()), Some(n.ident.to_string())),
        UseTree::Rename(r) => add(prefix, Some(r.ident.to_string()), Some(r.rename.to_string())),
        UseTree::Glob(_) => add(prefix, None, None),
        UseTree::Group(g) => g.items.iter().for_each(|t| expand(t, prefix, is_public, all)),
    }
}
