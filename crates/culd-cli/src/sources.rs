//! Finding the device objects of a link: libraries, inputs, and the order of what is said about them.
//!
//! Until the input crate takes over, this reads plain `.cubin` files by nvlink's rules for that name.

use crate::high::LinkPlan;
use crate::messages::{Console, Said};
use crate::os;

/// A device object that takes part.
#[derive(Debug)]
pub struct Source {
    /// Name in messages.
    pub name: String,
    /// Its bytes.
    pub data: Vec<u8>,
    /// Name of its registration routine.
    pub registration: Vec<u8>,
}

/// Everything that the link is made of.
#[derive(Debug, Default)]
pub struct Sources {
    /// Device objects in link order.
    pub objects: Vec<Source>,
    /// Every file that was read, in order.
    pub files: Vec<Vec<u8>>,
}

/// Reads all inputs. On a fatal problem, what came before it is returned beside it.
pub fn read(plan: &LinkPlan, _console: &mut Console) -> (Sources, Option<Said>) {
    let mut sources = Sources::default();
    for input in &plan.inputs {
        match std::fs::read(os::path(input)) {
            Ok(data) if data.is_empty() => continue,
            Ok(data) if data.len() >= 56 => {
                sources.files.push(input.clone());
                if let Some(problem) = refuse(input, &data) {
                    return (sources, Some(problem));
                }
                sources.objects.push(Source {
                    name: os::lossy(input),
                    data,
                    registration: registration(input),
                });
            }
            _ => return (sources, Some(Said::InputFile(input.clone()))),
        }
    }
    (sources, None)
}

fn refuse(input: &[u8], data: &[u8]) -> Option<Said> {
    if !input.ends_with(b".cubin") {
        return Some(Said::Own(format!("'{}' is not a .cubin file", os::lossy(input))));
    }
    if !data.starts_with(b"\x7fELF") {
        return Some(Said::Own("cubin not an elf?".into()));
    }
    (data.get(18..20) != Some(&[190, 0])).then(|| Said::Own("cubin not a device elf?".into()))
}

/// The registration name of a file: its absolute path with everything but letters and digits replaced.
fn registration(path: &[u8]) -> Vec<u8> {
    let mut full = Vec::new();
    if !path.starts_with(b"/") {
        full = std::env::current_dir().map(|d| os::bytes(d.as_os_str())).unwrap_or_default();
        full.push(b'/');
    }
    full.extend(path);
    full.iter().map(|b| if b.is_ascii_alphanumeric() { *b } else { b'_' }).collect()
}
