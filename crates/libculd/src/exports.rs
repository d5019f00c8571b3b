//! One function for each declaration of `culd.h`.
#![allow(unsafe_code, reason = "names that C can call; pointers are read in `boundary` only")]
#![allow(missing_docs, reason = "culd.h describes each function")]

use crate::boundary::{Status, bytes, given, guarded, lent, lent_mut, taken, text};
use crate::inspect::{self, Text};
use crate::outcome::{CDiagnostic, CKernel, Outcome};
use culd::{InputKind, Linker};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// Number of the interface, `CULD_API_VERSION`.
const API_VERSION: u32 = 1;

/// Changes a linker; `None` from `work` is an invalid argument.
fn change(linker: *mut Linker, work: impl FnOnce(&mut Linker) -> Option<&mut Linker>) -> Status {
    guarded(Status::Panic, || match lent_mut(linker).and_then(work) {
        Some(_) => Status::Ok,
        None => Status::InvalidArgument,
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_api_version() -> u32 {
    API_VERSION
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_new(arch: *const c_char) -> *mut Linker {
    guarded(ptr::null_mut(), || {
        let linker = text(arch).and_then(|name| Linker::for_arch(name).ok());
        linker.map_or(ptr::null_mut(), given)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_free(linker: *mut Linker) {
    taken(linker);
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_add_memory(
    linker: *mut Linker,
    kind: c_int,
    name: *const c_char,
    data: *const c_void,
    size: usize,
) -> Status {
    change(linker, |linker| {
        let kind = match kind {
            0 => None,
            1 => Some(InputKind::Cubin),
            2 => Some(InputKind::Ptx),
            3 => Some(InputKind::LtoIr),
            4 => Some(InputKind::Fatbin),
            5 => Some(InputKind::Object),
            6 => Some(InputKind::Archive),
            _ => return None,
        };
        let name = if name.is_null() { "memory" } else { text(name)? };
        let data = bytes(data, size)?;
        Some(match kind {
            Some(kind) => linker.input_as(kind, name, data),
            None => linker.input(name, data),
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_add_file(linker: *mut Linker, path: *const c_char) -> Status {
    change(linker, |linker| text(path).map(|path| linker.file(path)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_add_library(linker: *mut Linker, name: *const c_char) -> Status {
    change(linker, |linker| text(name).map(|name| linker.library(name)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_add_library_path(linker: *mut Linker, directory: *const c_char) -> Status {
    change(linker, |linker| text(directory).map(|path| linker.library_path(path)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_set(linker: *mut Linker, option: c_int, on: bool) -> Status {
    change(linker, |linker| {
        Some(match option {
            1 => linker.debug(on),
            2 => linker.relocatable(on),
            3 => linker.preserve_relocs(on),
            4 => linker.keep_unlaunched_kernels(on),
            5 => linker.allow_undefined_globals(on),
            6 => linker.extra_warnings(on),
            7 => linker.warnings_as_errors(on),
            8 => linker.skip_foreign_code(on),
            9 => linker.verify(on),
            10 => linker.lto(on),
            _ => return None,
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_set_threads(linker: *mut Linker, threads: u32) -> Status {
    change(linker, |linker| usize::try_from(threads).ok().map(|n| linker.threads(n)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_set_max_registers(linker: *mut Linker, count: u32) -> Status {
    change(linker, |linker| Some(linker.max_registers(count)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_add_ptxas_option(linker: *mut Linker, option: *const c_char) -> Status {
    change(linker, |linker| text(option).map(|option| linker.ptxas_option(option)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_set_ptxas(linker: *mut Linker, path: *const c_char) -> Status {
    change(linker, |linker| text(path).map(|path| linker.ptxas(path)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_set_nvjitlink(linker: *mut Linker, path: *const c_char) -> Status {
    change(linker, |linker| text(path).map(|path| linker.nvjitlink(path)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_set_release(linker: *mut Linker, release: *const c_char) -> Status {
    change(linker, |linker| linker.release(text(release)?).ok())
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_use_kernel(linker: *mut Linker, name: *const c_char) -> Status {
    change(linker, |linker| text(name).map(|name| linker.kernel_used(name)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_linker_use_variable(linker: *mut Linker, name: *const c_char) -> Status {
    change(linker, |linker| text(name).map(|name| linker.variable_used(name)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_link(linker: *const Linker) -> *mut Outcome {
    let Some(linker) = lent(linker) else {
        return ptr::null_mut();
    };
    given(guarded(None, || Some(Outcome::new(linker.link()))).unwrap_or_else(Outcome::defect))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_free(result: *mut Outcome) {
    taken(result);
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_ok(result: *const Outcome) -> bool {
    lent(result).is_some_and(|r| r.image().is_some())
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_image(result: *const Outcome, size: *mut usize) -> *const c_void {
    let image = lent(result).and_then(Outcome::image);
    if let Some(size) = lent_mut(size) {
        *size = image.map_or(0, <[u8]>::len);
    }
    image.map_or(ptr::null(), |i| i.as_ptr().cast())
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_diagnostic_count(result: *const Outcome) -> usize {
    lent(result).map_or(0, Outcome::diagnostic_count)
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_diagnostic(result: *const Outcome, index: usize, out: *mut CDiagnostic) -> bool {
    put(out, lent(result).and_then(|r| r.diagnostic(index)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_kernel_count(result: *const Outcome) -> usize {
    lent(result).map_or(0, Outcome::kernel_count)
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_kernel(result: *const Outcome, index: usize, out: *mut CKernel) -> bool {
    put(out, lent(result).and_then(|r| r.kernel(index)))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_result_json(result: *const Outcome) -> *const c_char {
    lent(result).map_or(ptr::null(), Outcome::json)
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_dump(name: *const c_char, data: *const c_void, size: usize, json: bool) -> *mut Text {
    let (Some(name), Some(data)) = (text(name), bytes(data, size)) else {
        return ptr::null_mut();
    };
    given(guarded(None, || Some(inspect::dumped(name, data, json))).unwrap_or_else(Text::defect))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_diff(a: *const c_void, a_size: usize, b: *const c_void, b_size: usize, json: bool) -> *mut Text {
    let (Some(a), Some(b)) = (bytes(a, a_size), bytes(b, b_size)) else {
        return ptr::null_mut();
    };
    given(guarded(None, || Some(inspect::differences(a, b, json))).unwrap_or_else(Text::defect))
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_text_get(text: *const Text) -> *const c_char {
    lent(text).map_or(ptr::null(), Text::text)
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_text_good(text: *const Text) -> bool {
    lent(text).is_some_and(Text::is_good)
}

#[unsafe(no_mangle)]
pub extern "C" fn culd_text_free(text: *mut Text) {
    taken(text);
}

/// Writes a value to a pointer from C.
fn put<T>(out: *mut T, value: Option<T>) -> bool {
    match (value, out.is_null()) {
        (Some(value), false) => {
            // SAFETY: not NULL; the header requires a place for one value. What was there is not dropped: it is C's.
            unsafe { out.write(value) };
            true
        }
        _ => false,
    }
}
