//! The device runtime library: linked only when something calls into it.
//!
//! An input whose path contains `cudadevrt` is the device runtime, unless `--keep-system-libraries` is given.
//!
//! 1. nvlink: such an archive before everything that is linked or registered is passed over.
//! 2. Otherwise each of its objects is linked when, at that point, some function is called that no object so far defines:
//!    undefined global function symbols, less the names that the driver provides. Undefined variables do not count, nor do weak symbols.
//! 3. nvlink: once one was left out, a later object is fatal. culd: it is asked again after the last object.

use cubin::Cubin;
use cubin::driver::is_driver_function;
use foldhash::fast::RandomState;
use hashbrown::HashSet;

const STT_FUNC: u8 = 2;
const STB_GLOBAL: u8 = 1;
const STB_LOCAL: u8 = 0;

/// True when a path means the device runtime library.
pub fn is_device_runtime(path: &str) -> bool {
    path.contains("cudadevrt")
}

/// Functions called and defined by the objects linked so far.
#[derive(Debug, Default)]
pub struct Functions<'d> {
    undefined: HashSet<&'d [u8], RandomState>,
    defined: HashSet<&'d [u8], RandomState>,
}

impl<'d> Functions<'d> {
    /// Takes note of an object. One that cannot be read has nothing to say here; the linker will refuse it.
    pub fn add(&mut self, object: &'d [u8]) {
        let Ok(cubin) = Cubin::parse(object) else {
            return;
        };
        let strings = cubin.strings();
        for symbol in cubin.symbol_entries() {
            if symbol.kind() != STT_FUNC || symbol.bind() == STB_LOCAL {
                continue;
            }
            let is_undefined = symbol.st_shndx.get() == 0;
            if is_undefined && symbol.bind() != STB_GLOBAL {
                continue;
            }
            let Some(name) = cubin::read::string_at(strings, symbol.st_name.get()) else {
                continue;
            };
            if is_undefined {
                if !is_driver_function(name) && !self.defined.contains(name) {
                    self.undefined.insert(name);
                }
            } else {
                self.defined.insert(name);
                self.undefined.remove(name);
            }
        }
    }

    /// True when some function is called that nothing defines.
    pub fn is_pending(&self) -> bool {
        !self.undefined.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_with_the_name_counts() {
        assert!(is_device_runtime("/x/libcudadevrt.a") && is_device_runtime("cudadevrt/c.o"));
        assert!(!is_device_runtime("libcudart_static.a"));
    }
}
