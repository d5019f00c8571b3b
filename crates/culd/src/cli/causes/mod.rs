//! The causes of messages under the name culd: both files, both values, the call path to the problem, and a hint.
//!
//! 1. Messages of the engine name symbols and files. When one of them is worth explaining, the objects are read again (`facts`), and the call graph
//!    is built by name (`calls`). A link without messages costs nothing.
//! 2. Mismatches: the objects that disagree, and the value of each.
//! 3. Undefined references: the functions that use the symbol, the nearest kernel, and the most likely cause: the device runtime, a static definition,
//!    the other language linkage, another signature, another architecture, an archive that is not linked, an object without `-rdc=true`
//!    ([`elsewhere`]). Source lines come from the line tables of the objects (`lines`).
//! 4. Limits: what adds up, and the calls that lead there.

mod calls;
pub mod elsewhere;
mod facts;
mod lines;
mod mismatch;
mod undefined;

use crate::cli::culd_text::{self, short_name};
use calls::Calls;
use culd_engine::{Code, Diagnostic};
use elsewhere::{Elsewhere, Surroundings};
use facts::Object;
use std::cell::OnceCell;
pub use undefined::base_name;

/// Bytes of line tables that are read at most.
const LINE_BUDGET: usize = 64 << 20;

/// A function that refers to a symbol: object, name, source lines (file, line).
type Use<'s> = (usize, &'s str, Vec<(&'s str, u64)>);

/// What is known about the objects of a link.
#[derive(Debug, Default)]
pub struct Causes {
    objects: Vec<Object>,
    calls: OnceCell<Calls>,
    undefined: Vec<String>,
    elsewhere: Elsewhere,
    /// Other files were searched for undefined symbols.
    searched: bool,
}

impl Causes {
    /// Reads the objects again if a message needs it.
    pub fn new<'d>(messages: &[Diagnostic], objects: impl Iterator<Item = (&'d str, &'d [u8])>, around: Option<&Surroundings>) -> Self {
        if !messages.iter().any(|d| is_explained(&d.code)) {
            return Causes::default();
        }
        let undefined: Vec<String> = messages.iter().filter_map(|d| undefined_symbol(&d.code)).collect();
        let elsewhere = match around {
            Some(around) if !undefined.is_empty() => Elsewhere::search(&undefined.iter().map(String::as_str).collect::<Vec<_>>(), around),
            _ => Elsewhere::default(),
        };
        let mut budget = LINE_BUDGET;
        Causes {
            objects: objects.map(|(name, bytes)| Object::read(name, bytes, &mut budget)).collect(),
            calls: OnceCell::new(),
            undefined,
            elsewhere,
            searched: around.is_some(),
        }
    }

    fn calls(&self) -> &Calls {
        self.calls.get_or_init(|| Calls::new(&self.objects))
    }

    /// The text of a message of the engine, without its hint.
    pub fn text(&self, code: &Code) -> String {
        let better = match code {
            Code::UndefinedReference { symbol, files, .. } => Some(format!(
                "undefined reference to {}{}",
                culd_text::name(symbol),
                self.references(symbol, files, "\n  ")
            )),
            Code::StackUnknown { entry } => Some(format!(
                "cannot determine the stack size of kernel {} statically: {}",
                culd_text::name(entry),
                self.stack_cause(entry)
            )),
            Code::TooMuchShared {
                entry,
                contributors,
                size,
                limit,
            } => self.shared(entry, *size, *limit, contributors),
            Code::TooMuchConstant { size, limit, .. } => self.constants(*size, *limit),
            code => self.mismatch(code),
        };
        better.unwrap_or_else(|| culd_text::culd_text(code))
    }

    /// The likely cause or the remedy, in one line.
    pub fn hint(&self, code: &Code) -> Option<String> {
        let fixed = match code {
            Code::UndefinedReference { symbol, .. } => return self.undefined_hint(symbol),
            Code::MultipleDefinition { symbol, file, .. } => return self.duplicate_hint(symbol, file),
            Code::SizeMismatch { .. } => "declare it with the same type in every file, best in one header",
            Code::SpaceMismatch { .. } => "declare it in the same memory space in every file, best in one header",
            Code::PrototypeMismatch { .. } => "declare the function with the same parameters and result in every file, best in one header",
            Code::TooMuchShared { .. } => {
                "more than 48 KiB need dynamic shared memory (extern __shared__) and cudaFuncAttributeMaxDynamicSharedMemorySize"
            }
            Code::TooMuchConstant { .. } => "make large tables const __device__ and read them with __ldg",
            Code::TooManyRegisters { limit, .. } => {
                return Some(format!(
                    "compile that file with -maxrregcount={limit}, or give the kernel less strict __launch_bounds__"
                ));
            }
            Code::StackUnknown { .. } => "set the stack at run time with cudaDeviceSetLimit(cudaLimitStackSize, ...)",
            _ => return None,
        };
        Some(fixed.to_owned())
    }

    /// Every file that a message is about.
    pub fn files(&self, code: &Code) -> Vec<String> {
        match code {
            Code::UndefinedReference { files, .. } => files.clone(),
            Code::MultipleDefinition { symbol, .. } => self.definers(symbol),
            Code::SizeMismatch { symbol, file, .. }
            | Code::SpaceMismatch { symbol, file, .. }
            | Code::ManagedMismatch { symbol, file, .. }
            | Code::PrototypeMismatch { symbol, file, .. } => {
                let mentions = self.objects.iter().filter(|o| o.symbol(symbol).is_some());
                let mut files: Vec<String> = mentions.map(|o| o.name.clone()).collect();
                if files.is_empty() {
                    files.push(file.clone());
                }
                files
            }
            _ => Vec::new(),
        }
    }

    /// The source lines that refer to an undefined symbol.
    pub fn lines(&self, code: &Code) -> Vec<String> {
        let Some(symbol) = undefined_symbol(code) else {
            return Vec::new();
        };
        let places = self.places_of_use(&symbol).into_iter().flat_map(|(_, _, lines)| lines);
        let mut lines: Vec<String> = places.map(|(file, line)| format!("{file}:{line}")).collect();
        let mut seen = std::collections::HashSet::new();
        lines.retain(|line| seen.insert(line.clone()));
        lines
    }

    /// Why the stack of a kernel is unknown.
    pub fn stack_cause(&self, kernel: &str) -> String {
        match self.calls().recursion(kernel) {
            Some(path) => {
                let what = match path.steps.iter().any(|step| step.is_pointer) {
                    true => "it may recurse through a pointer",
                    false => "it recurses",
                };
                format!("{what}: {}", path.text(&self.objects, short_name))
            }
            None => "it is recursive or makes indirect calls".into(),
        }
    }

    fn shared(&self, entry: &str, size: u64, limit: u64, contributors: &[(String, u64)]) -> Option<String> {
        let path_to = self.calls().paths_from(entry);
        let mut rows = Vec::new();
        for (variable, size) in contributors {
            let users = self.users(variable);
            let paths = users.iter().filter_map(|&(object, function)| path_to(object, function));
            let path = paths.min_by_key(|path| path.steps.len());
            let path = path
                .filter(|w| w.steps.len() > 1)
                .map(|w| format!("  ({})", w.text(&self.objects, short_name)));
            rows.push((format!("{}{}", culd_text::variable(variable), path.unwrap_or_default()), *size));
        }
        let over = size.saturating_sub(limit);
        let rows = culd_text::rows(&rows);
        let kernel = culd_text::name(entry);
        Some(format!(
            "kernel {kernel} uses {size} bytes of shared memory, {over} more than the {limit} allowed{rows}"
        ))
    }

    fn constants(&self, size: u64, limit: u64) -> Option<String> {
        let mut rows = Vec::new();
        for object in &self.objects {
            let variables = object
                .symbols
                .iter()
                .filter(|s| s.is_constant() && !s.name.is_empty() && s.home != facts::Home::Undefined);
            rows.extend(variables.map(|s| (format!("{} in {}", culd_text::variable(&s.name), object.name), s.size)));
        }
        if rows.is_empty() {
            return None;
        }
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let over = size.saturating_sub(limit);
        let rows = culd_text::rows(&rows);
        Some(format!(
            "the program uses {size} bytes of constant memory, {over} more than the {limit} allowed{rows}"
        ))
    }

    /// Functions whose code calls or refers to a symbol: object and name.
    fn users(&self, symbol: &str) -> Vec<(usize, &str)> {
        let users = self.places_of_use(symbol).into_iter();
        users.map(|(object, function, _)| (object, function)).collect()
    }

    /// The same with the source lines of the first use in each function.
    fn places_of_use(&self, symbol: &str) -> Vec<Use<'_>> {
        let mut users = Vec::new();
        for (number, object) in self.objects.iter().enumerate() {
            let is_it = |index: u32| object.symbols.get(index as usize).is_some_and(|s| s.name == symbol);
            for &(function, used) in object.calls.iter().chain(&object.uses) {
                let Some(name) = object.symbols.get(function as usize).map(|s| s.name.as_str()) else {
                    continue;
                };
                if is_it(used) && !users.iter().any(|u: &Use<'_>| (u.0, u.1) == (number, name)) {
                    let lines = object.lines_of(function, used).iter();
                    users.push((number, name, lines.map(|&line| object.place(line)).collect()));
                }
            }
        }
        users
    }
}

/// The names of all functions and variables of some objects, sorted.
pub fn symbol_names<'d>(objects: impl Iterator<Item = (&'d str, &'d [u8])>) -> Vec<String> {
    let symbols = objects.flat_map(|(name, bytes)| Object::read(name, bytes, &mut 0).symbols);
    let mut names: Vec<String> = symbols.map(|s| s.name).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn undefined_symbol(code: &Code) -> Option<String> {
    match code {
        Code::UndefinedReference { symbol, .. } => Some(symbol.clone()),
        _ => None,
    }
}

/// The messages for which objects are read again.
fn is_explained(code: &Code) -> bool {
    matches!(
        code,
        Code::UndefinedReference { .. }
            | Code::MultipleDefinition { .. }
            | Code::SizeMismatch { .. }
            | Code::SpaceMismatch { .. }
            | Code::ManagedMismatch { .. }
            | Code::PrototypeMismatch { .. }
            | Code::EntryMismatch { .. }
            | Code::CommonLarger { .. }
            | Code::StackUnknown { .. }
            | Code::TooMuchShared { .. }
            | Code::TooMuchConstant { .. }
    )
}
