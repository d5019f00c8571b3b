//! Undefined references: which functions reference the symbol, and the most likely cause.

use super::Causes;
use super::elsewhere::{Definition, library_flag};
use super::facts::Home;
use crate::cli::culd_text::{self, enumerate, short_name};
use std::path::Path;

/// Functions shown for one symbol.
const SHOWN: usize = 3;

impl Causes {
    /// The files and functions that refer to a symbol, each line after `start`.
    pub fn references(&self, symbol: &str, files: &[String], start: &str) -> String {
        let mut text = format!("{start}referenced by {}", enumerate(files.iter().cloned(), files.len()));
        let users = self.places_of_use(symbol);
        let here = std::env::current_dir().ok();
        for (object, function, lines) in users.iter().take(SHOWN) {
            let file = self.objects.get(*object).map_or("", |o| o.name.as_str());
            let count = lines.len();
            let lines = lines
                .iter()
                .take(SHOWN)
                .map(|(path, line)| format!("{}:{line}", relative(path, here.as_deref())));
            let at = if count > 0 {
                format!(" at {}", enumerate(lines, count))
            } else {
                String::new()
            };
            let path = self.calls().path_from_kernel(*object, function);
            text += &match path {
                Some(path) if path.steps.len() > 1 => {
                    let path = path.text(&self.objects, short_name);
                    format!("{start}in {}{at} ({file}), call path: {path}", short_name(function))
                }
                Some(_) => format!("{start}in kernel {}{at} ({file})", short_name(function)),
                None => format!("{start}in {}{at} ({file}), which no kernel calls", short_name(function)),
            };
        }
        for (variable, file) in self.initial_values(symbol).take(SHOWN) {
            text += &format!("{start}in the initial value of {} ({file})", culd_text::variable(variable));
        }
        if users.len() > SHOWN {
            text += &format!("{start}and in {} more functions", users.len() - SHOWN);
        }
        text
    }

    /// Variables whose initial value refers to a symbol: name and file.
    fn initial_values(&self, symbol: &str) -> impl Iterator<Item = (&str, &str)> {
        self.objects.iter().flat_map(move |object| {
            let name = |index: u32| object.symbols.get(index as usize).map_or("", |s| s.name.as_str());
            let uses = object.data_uses.iter().filter(move |(_, used)| name(*used) == symbol);
            uses.map(move |(variable, _)| (name(*variable), object.name.as_str()))
        })
    }

    pub(super) fn undefined_hint(&self, symbol: &str) -> Option<String> {
        self.runtime_hint(symbol)
            .or_else(|| self.static_hint(symbol))
            .or_else(|| self.linkage_hint(symbol))
            .or_else(|| self.arch_hint(symbol))
            .or_else(|| self.archive_hint(symbol))
            .or_else(|| self.signature_hint(symbol))
            .or_else(|| self.linked_hint(symbol))
            .or_else(|| self.known_library_hint(symbol))
            .or_else(|| self.whole_program_hint())
            .or_else(|| self.missing_hint(symbol))
    }

    fn linked_hint(&self, symbol: &str) -> Option<String> {
        let found = self.found(&self.elsewhere.linked, symbol).next()?;
        Some(format!(
            "{} defines it, but is linked already: give its objects or the static library",
            found.file
        ))
    }

    /// Nothing of this name is anywhere: only where the other places were searched.
    fn missing_hint(&self, symbol: &str) -> Option<String> {
        let was_asked = self.searched && self.undefined.iter().any(|s| s == symbol);
        was_asked.then(|| "no input defines it: is an object or a library missing?".into())
    }

    /// Functions and variables of libraries that are known by their names.
    fn known_library_hint(&self, symbol: &str) -> Option<String> {
        let name = base_name(symbol);
        let is_nvshmem = name.starts_with("nvshmem");
        is_nvshmem.then(|| "it is part of NVSHMEM: link with -lnvshmem_device and the -L of its libraries".into())
    }

    /// Functions of the device runtime.
    fn runtime_hint(&self, symbol: &str) -> Option<String> {
        let is_runtime = symbol
            .strip_prefix("cuda")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
        let is_runtime = is_runtime || symbol.starts_with("__cudaCDP") || symbol.starts_with("cudaCDP");
        is_runtime.then(|| "it is part of the CUDA device runtime: link with -lcudadevrt and the -L of the toolkit's libraries".into())
    }

    /// A definition that only its own file sees.
    fn static_hint(&self, symbol: &str) -> Option<String> {
        let hides = |o: &&super::Object| {
            o.symbols
                .iter()
                .any(|s| s.name == symbol && s.is_local() && s.home == Home::Defined)
        };
        let object = self.objects.iter().find(hides)?;
        Some(format!(
            "{} defines it, but as static, so that other files cannot see it",
            object.name
        ))
    }

    /// `extern "C"` on one side only.
    fn linkage_hint(&self, symbol: &str) -> Option<String> {
        let is_c = !is_mangled(symbol);
        let wanted = base_name(symbol);
        let (file, defined) = self.definitions().find(|(_, s)| is_mangled(s) == is_c && base_name(s) == wanted)?;
        Some(match is_c {
            true => format!(
                "{file} defines {} with C++ linkage: is extern \"C\" missing there?",
                short_name(defined)
            ),
            false => format!("{file} defines {defined} with C linkage: is extern \"C\" missing in the declaration?"),
        })
    }

    /// The same function with other parameters, or in another namespace.
    fn signature_hint(&self, symbol: &str) -> Option<String> {
        let wanted = base_name(symbol);
        let last = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
        let all = |same: &dyn Fn(&str) -> bool| -> Vec<String> {
            let found = self.definitions().filter(|(_, s)| *s != symbol && same(&base_name(s)));
            found.map(|(file, s)| format!("{} in {file}", short_name(s))).collect()
        };
        let same = all(&|name| name == wanted);
        if !same.is_empty() {
            let count = same.len();
            return Some(format!("other signatures are defined: {}", enumerate(same.into_iter(), count)));
        }
        let similar = all(&|name| last(name) == last(&wanted));
        let count = similar.len();
        (count > 0).then(|| format!("defined under another scope: {}", enumerate(similar.into_iter(), count)))
    }

    fn arch_hint(&self, symbol: &str) -> Option<String> {
        let found: Vec<&Definition> = self.found(&self.elsewhere.other_archs, symbol).collect();
        let file = &found.first()?.file;
        let archs: Vec<String> = found.iter().filter(|d| d.file == *file).filter_map(|d| d.arch.clone()).collect();
        Some(format!(
            "{file} defines it, but only for {}: compile it for the target, too",
            archs.join(", ")
        ))
    }

    fn archive_hint(&self, symbol: &str) -> Option<String> {
        let found = self.found(&self.elsewhere.archives, symbol).next()?;
        Some(match library_flag(&found.file) {
            Some(flag) => format!("{} defines it: link with {flag}", found.file),
            None => format!("{} defines it: name it on the command line", found.file),
        })
    }

    fn whole_program_hint(&self) -> Option<String> {
        let files = &self.elsewhere.whole_programs;
        let verb = if files.len() == 1 { "has" } else { "have" };
        (!files.is_empty()).then(|| {
            let files = enumerate(files.iter().cloned(), files.len());
            format!("{files} {verb} device code that was compiled without -rdc=true and cannot be linked")
        })
    }

    fn found<'s>(&'s self, list: &'s [Definition], symbol: &str) -> impl Iterator<Item = &'s Definition> {
        let number = self.undefined.iter().position(|s| s == symbol);
        list.iter().filter(move |d| Some(d.symbol) == number)
    }

    /// Functions and variables that other files can see: file and name.
    fn definitions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.objects.iter().flat_map(|o| {
            let visible = o
                .symbols
                .iter()
                .filter(|s| s.home != Home::Undefined && !s.is_local() && !s.name.is_empty());
            visible.map(|s| (o.name.as_str(), s.name.as_str()))
        })
    }
}

/// A path relative to a directory that it is in.
fn relative<'p>(path: &'p str, directory: Option<&Path>) -> &'p str {
    let inside = directory.and_then(|d| Path::new(path).strip_prefix(d).ok());
    inside.and_then(Path::to_str).unwrap_or(path)
}

fn is_mangled(symbol: &str) -> bool {
    symbol.starts_with("_Z")
}

/// The qualified name without result, template arguments and parameters.
pub fn base_name(symbol: &str) -> String {
    if !is_mangled(symbol) {
        return symbol.to_owned();
    }
    let text = short_name(symbol).replace("(anonymous namespace)", "<anonymous>");
    let text = text.replace("<unnamed>", "<anonymous>");
    let mut name = String::new();
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !name.ends_with("operator") => break,
            ' ' if depth == 0 && !name.ends_with("operator") => name.clear(),
            _ if depth == 0 => name.push(c),
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::base_name;

    #[test]
    fn base_names_have_neither_result_nor_parameters() {
        assert_eq!(base_name("c_helper"), "c_helper");
        assert_eq!(base_name("_Z8c_helperf"), "c_helper");
        assert_eq!(base_name("_ZN3geo3dotIdEET_RKNS_1VIS1_EES5_"), "geo::dot");
        assert_eq!(base_name("_Z5recurILi4EEvPi"), "recur");
    }
}
