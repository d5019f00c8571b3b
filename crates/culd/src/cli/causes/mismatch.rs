//! Objects that disagree about a symbol, and the value that each of them has.
//!
//! The engine names the file that mentions a symbol first. Here the first file is the one whose value differs from that of the file of the message.

use super::Causes;
use super::facts::{Home, Object, Symbol};
use crate::cli::culd_text::{enumerate, name};
use culd_engine::Code;

/// A prototype in words, as far as its letters are known: result, then parameters.
fn signature(prototype: &str) -> String {
    let width = |c: char| match c {
        'i' => Some("32 bits"),
        'l' => Some("64 bits"),
        _ => None,
    };
    let widths: Option<Vec<&str>> = prototype.strip_prefix('#').unwrap_or(prototype).chars().map(width).collect();
    match widths.as_deref() {
        Some([result, parameters @ ..]) => format!("({}) -> {result}", parameters.join(", ")),
        _ => prototype.to_owned(),
    }
}

impl Causes {
    /// The text of a mismatch; `None` for other messages, and where the objects do not tell.
    pub(super) fn mismatch(&self, code: &Code) -> Option<String> {
        match code {
            Code::MultipleDefinition { symbol, file, .. } => self.duplicate(symbol, file),
            Code::SizeMismatch { symbol, file, .. } => {
                let size = |s: &Symbol, _: &Object| Some(s.size).filter(|&s| s != 0);
                let (a, here, b, there) = self.disagree(symbol, file, size)?;
                let what = name(symbol);
                Some(format!("{what} has different sizes: {there} bytes in {b}, {here} bytes in {a}"))
            }
            Code::CommonLarger { symbol, file } => {
                let common = self.sizes(symbol, Home::Common).find(|(f, _)| f == file)?.1;
                let (initialized, size) = self.sizes(symbol, Home::Defined).next()?;
                Some(format!(
                    "the common variable {} has {common} bytes in {file}, more than the {size} bytes in {initialized}, which initializes it",
                    name(symbol)
                ))
            }
            Code::SpaceMismatch { symbol, file, .. } => {
                let (a, here, b, there) = self.disagree(symbol, file, |s, _| Some(s.what()))?;
                Some(format!("{} is {there} in {b}, but {here} in {a}", name(symbol)))
            }
            Code::ManagedMismatch { symbol, file, .. } => {
                let managed = |s: &Symbol, _: &Object| Some(if s.is_managed() { "__managed__" } else { s.what() });
                let (a, here, b, there) = self.disagree(symbol, file, managed)?;
                Some(format!("{} is {there} in {b}, but {here} in {a}", name(symbol)))
            }
            Code::PrototypeMismatch { symbol, file, .. } => {
                let prototype = |_: &Symbol, o: &Object| o.prototype(symbol).map(signature);
                let (a, here, b, there) = self.disagree(symbol, file, prototype)?;
                Some(format!("{} has different prototypes: {there} in {b}, {here} in {a}", name(symbol)))
            }
            Code::EntryMismatch { symbol } => {
                let is_it = |s: &&Symbol| s.name == *symbol || culd_demangle::display(s.name.as_bytes()).as_ref() == symbol.as_bytes();
                let find = |kernel: bool| {
                    let has = |o: &&Object| o.symbols.iter().filter(is_it).any(|s| s.is_kernel() == kernel);
                    self.objects.iter().find(has).map(|o| o.name.as_str())
                };
                let (kernel, function) = find(true).zip(find(false))?;
                let named = self.objects.iter().flat_map(|o| &o.symbols).find(is_it)?;
                Some(format!(
                    "{} is a __global__ function in {kernel}, but not in {function}",
                    name(&named.name)
                ))
            }
            _ => None,
        }
    }

    /// Two files and what they say: the file of the message, and the first one that says something else.
    fn disagree<T: PartialEq>(&self, symbol: &str, file: &str, says: impl Fn(&Symbol, &Object) -> Option<T>) -> Option<(&str, T, &str, T)> {
        let told = |object: &Object| object.symbol(symbol).and_then(|s| says(s, object));
        // Of several objects with this name, the last one that mentions the symbol.
        let (here, value) = self
            .objects
            .iter()
            .rev()
            .filter(|o| o.name == file)
            .find_map(|o| Some((o, told(o)?)))?;
        let other = self.objects.iter().find_map(|o| Some((o, told(o).filter(|v| *v != value)?)))?;
        Some((&here.name, value, &other.0.name, other.1))
    }

    fn sizes<'s>(&'s self, symbol: &'s str, home: Home) -> impl Iterator<Item = (&'s str, u64)> {
        let of = move |o: &'s Object| o.symbol(symbol).filter(|s| s.home == home).map(|s| (o.name.as_str(), s.size));
        self.objects.iter().filter_map(of)
    }

    /// Objects that define a symbol for others, in link order.
    pub(super) fn definers(&self, symbol: &str) -> Vec<String> {
        let defines = |o: &&Object| {
            let mut symbols = o.symbols.iter().filter(|s| s.name == symbol);
            symbols.any(|s| s.home == Home::Defined && s.bind == cubin::consts::STB_GLOBAL)
        };
        self.objects.iter().filter(defines).map(|o| o.name.clone()).collect()
    }

    /// A file that is given more than once and defines the symbol.
    pub fn given_twice(&self, symbol: &str, file: &str) -> bool {
        self.definers(symbol).iter().filter(|name| *name == file).count() > 1
    }

    fn duplicate(&self, symbol: &str, file: &str) -> Option<String> {
        let files = self.definers(symbol);
        if self.given_twice(symbol, file) {
            return Some(format!("multiple definitions of {}: {file} is given twice", name(symbol)));
        }
        let count = files.len();
        (count > 1).then(|| {
            format!(
                "multiple definitions of {}: in {}",
                name(symbol),
                enumerate(files.into_iter(), count)
            )
        })
    }

    pub(super) fn duplicate_hint(&self, symbol: &str, file: &str) -> Option<String> {
        if self.given_twice(symbol, file) {
            return Some(format!("remove one {file} from the command line"));
        }
        let object = self.objects.iter().find_map(|o| o.symbol(symbol))?;
        let words = match object.is_function() {
            true => "define it in one file, or make it inline or static",
            false => "define it in one file and declare it extern in the others, or make it static",
        };
        Some(words.into())
    }
}
