//! Checks a finished image against the inputs that it was made from.
//!
//! Nothing here looks at what the phases of the link computed: image and inputs are parsed again, with crate `cubin` alone.
//!
//! 1. `structure`: the image is a sound ELF file; header, section types, indices, relocations, symbols and their sizes.
//! 2. `attributes`: kernels have their parameters and parameter banks; `.nv.info` has no attributes of single functions; places in code
//!    are instructions of the right kind.
//! 3. `code`: functions have the bytes and the references of an input's definition.
//! 4. `presence`: kernels, variables and sections of the inputs are there.
//! 5. `dwarf`: debug information stays inside the functions that it describes.
//! 6. `views`: the two views of a file for sm_100 and later agree.
//!
//! Steps 2 to 6 need sound inputs: the results of damaged ones are not checked.

mod attributes;
mod code;
mod dwarf;
mod file;
mod line;
mod presence;
mod structure;
mod views;

use crate::inputs::Input;
use crate::liveness;
use crate::options::{Identity, LinkOptions};
use cubin::read::Cubin;
use cubin::validate::validate;
use file::File;

/// Which check found a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// The file cannot be read, or its header, sections, symbols or relocations are not consistent.
    Structure,
    /// Attributes: parameters, parameter banks, places in code.
    Attributes,
    /// Code or references of a function.
    Code,
    /// A kernel, variable or section of an input is missing or has another size or content.
    Presence,
    /// Debug information.
    Debug,
    /// The two views of the code contradict each other.
    Views,
}

/// Something that is wrong with an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The check that found it.
    pub check: Check,
    /// What is wrong, with the names of section, symbol and input.
    pub text: String,
}

/// Options that the checks need.
struct Rules<'a> {
    options: &'a LinkOptions<'a>,
    /// nvlink's own mistakes are not reported.
    nvlink: bool,
}

impl Rules<'_> {
    /// Was a kernel of this name selected to stay?
    fn keeps_kernel(&self, name: &[u8], local: bool) -> bool {
        let Some(filter) = &self.options.kernels else { return true };
        let patterns = if local { &filter.internal } else { &filter.external };
        patterns.iter().any(|pattern| liveness::glob(pattern, name))
    }
}

/// Problems found so far.
#[derive(Default)]
struct Findings(Vec<Problem>);

/// Maximum number of problems that are reported.
const MOST: usize = 100;

impl Findings {
    fn add(&mut self, check: Check, text: String) {
        if self.0.len() < MOST {
            self.0.push(Problem { check, text });
        }
    }
}

/// All problems of an image made from these inputs.
pub fn check(image: &[u8], inputs: &[Input<'_>], options: &LinkOptions<'_>) -> Vec<Problem> {
    let rules = Rules {
        options,
        nvlink: options.identity == Identity::Nvlink,
    };
    let mut found = Findings::default();
    let parsed = match structure::check(image, &rules, &mut found) {
        Ok(image) => image,
        Err(text) => {
            found.add(Check::Structure, text);
            return found.0;
        }
    };
    let Some(inputs) = sound(inputs) else { return found.0 };
    attributes::check(&parsed, &inputs, &rules, &mut found);
    code::check(&parsed, &inputs, &rules, &mut found);
    presence::check(&parsed, &inputs, &rules, &mut found);
    dwarf::check(&parsed, &inputs, &mut found);
    views::check(&parsed, &mut found);
    found.0
}

/// The first problem as text.
pub(crate) fn problem(image: &[u8], inputs: &[Input<'_>], options: &LinkOptions<'_>) -> Option<String> {
    check(image, inputs, options).into_iter().next().map(|p| p.text)
}

/// The inputs, unless one of them is damaged. Executables take no part in a link.
fn sound<'d>(inputs: &[Input<'d>]) -> Option<Vec<File<'d>>> {
    let mut files = Vec::with_capacity(inputs.len());
    for input in inputs {
        let cubin = Cubin::parse(input.data).ok()?;
        if cubin.header().e_type.get() == cubin::consts::ET_EXEC {
            continue;
        }
        validate(&cubin).ok()?;
        files.push(File::new(input.name, cubin).ok()?);
    }
    Some(files)
}

/// Bytes as text for messages.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
