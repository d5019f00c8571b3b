//! `.debug_frame`, which ptxas writes into every object.
//!
//! 1. Each function has a common information entry of its own: 64-bit DWARF, version 3, code alignment 4. That of device functions names the
//!    registers with the return address.
//! 2. Its frame description refers to it and to the function by relocations, and says that the frame is empty from the first instruction on.
//!
//! Functions with a stack frame need descriptions of their own: a caller that has them creates the section with
//! [`ObjectBuilder::add_section`].

use super::section::Body;
use super::{BuildError, ObjectBuilder, SectionId, SectionSpec};

/// Common information of kernels: no return address, frame register, registers of the thread.
const KERNEL: [u8; 36] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3, 0, 4, 0x7c, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0c, 0x81, 0x80, 0x80, 0x28, 0, 8, 0xff,
    0x81, 0x80, 0x28, 8, 0x81, 0x80, 0x80, 0x28, 0, 0, 0,
];
/// Common information of device functions: return address in R20, R21.
const DEVICE: [u8; 44] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3, 0, 4, 0x7c, 0x94, 0x80, 0x80, 0x28, 0x0c, 0x81, 0x80, 0x80, 0x28, 0, 8, 0xff, 0x81,
    0x80, 0x28, 8, 0x81, 0x80, 0x80, 0x28, 8, 0x94, 0x80, 0x80, 0x28, 8, 0x95, 0x80, 0x80, 0x28, 0, 0,
];
/// Frame register with offset 0, padded to the unit of eight bytes.
const NO_FRAME: [u8; 12] = [0x0c, 0x81, 0x80, 0x80, 0x28, 0, 0, 0, 0, 0, 0, 0];
/// `R_CUDA_64`.
const ADDRESS: u32 = 2;
/// `R_CUDA_UNUSED_CLEAR64`: the size is cleared when the function is not linked.
const UNUSED_CLEAR64: u32 = 0x49;

impl ObjectBuilder {
    /// Creates `.debug_frame` for all functions that have code now and do not use a stack frame.
    ///
    /// ```
    /// # use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// object.define(kernel, FunctionCode::new(vec![0; 128], 24))?;
    /// object.add_debug_frame()?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_debug_frame(&mut self) -> Result<SectionId, BuildError> {
        let section = self.create(SectionSpec::new(b".debug_frame"), Body::Bytes(Vec::new()))?;
        let own = self.section_symbol(section)?;
        let defined = self.functions.iter().filter(|f| f.text.is_some());
        let list: Vec<_> = defined.map(|f| (f.symbol, f.is_kernel)).collect();
        for (symbol, is_kernel) in list {
            let size = self.symbol_entry(symbol)?.spec.size;
            let bytes = self.bytes_mut(section)?;
            let common = bytes.len() as u64;
            entry(bytes, if is_kernel { &KERNEL } else { &DEVICE });
            // Length (12 bytes), reference to the common information, start of the function, its size.
            let start = bytes.len() as u64 + 12;
            entry(bytes, &[&[0; 16], size.to_le_bytes().as_slice(), &NO_FRAME].concat());
            let addend = i64::try_from(common).ok().filter(|&a| a != 0);
            self.relocate(section, start, ADDRESS, own, addend)?;
            self.relocate(section, start + 8, ADDRESS, symbol, None)?;
            self.relocate(section, start + 16, UNUSED_CLEAR64, symbol, Some(0))?;
        }
        Ok(section)
    }
}

/// Appends an entry with its length in the 64-bit form.
fn entry(out: &mut Vec<u8>, contents: &[u8]) {
    out.extend_from_slice(&[0xff; 4]);
    out.extend_from_slice(&(contents.len() as u64).to_le_bytes());
    out.extend_from_slice(contents);
}
