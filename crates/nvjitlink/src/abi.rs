//! The exported functions.
//!
//! 1. A handle is a boxed [`Session`] with a lock. `nvJitLinkDestroy` takes it back.
//! 2. Every entry catches panics and returns an internal error for them. The panic hook of this library's own copy of the standard library is
//!    silenced: a library does not print.
//! 3. Pointers are checked for null; texts, names and data are copied before anything is done with them.
//!
//! The functions are exported with a prefix, `culd13_` and `culd12_`. `cargo xtask libraries` makes the names of the libraries
//! (`nvJitLinkCreate`, `__nvJitLinkCreate_13_0`) from them, so that one static library serves for both.
#![allow(unsafe_code, reason = "a C interface takes raw pointers; everything else of the crate is safe")]
#![allow(non_snake_case, reason = "the names are those of the header")]

use crate::code::{Code, Flavour};
use crate::session::Session;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What a handle points to.
#[derive(Debug)]
pub struct Link(Mutex<Session>);

impl Link {
    fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle as callers have it.
pub type Handle = *mut Link;

/// The file that this library was loaded from; `None` in a program.
fn own_file() -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: all fields of the struct may be zero.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        let address: fn() -> Option<PathBuf> = own_file;
        // SAFETY: the address is that of a function of this file, the struct is written to.
        let found = unsafe { libc::dladdr(address as *const c_void, &mut info) };
        if found == 0 || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the loader's text ends with NUL and lives as long as the file is loaded.
        let name = unsafe { CStr::from_ptr(info.dli_fname) };
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
    }
    #[cfg(not(unix))]
    None
}

/// Runs an entry; a panic is an internal error.
fn guard(flavour: Flavour, entry: impl FnOnce() -> Result<(), Code>) -> c_int {
    #[cfg(feature = "block-cache")]
    let _scope = crate::block_cache::Scope::enter();
    let result = catch_unwind(AssertUnwindSafe(entry)).unwrap_or(Err(Code::Internal));
    result.err().unwrap_or(Code::Success).number(flavour)
}

fn checked(code: Code) -> Result<(), Code> {
    if code == Code::Success { Ok(()) } else { Err(code) }
}

/// The link of a handle.
///
/// # Safety
///
/// The handle is null or was made by `nvJitLinkCreate` and not destroyed.
unsafe fn link<'h>(handle: Handle) -> Result<&'h Link, Code> {
    // SAFETY: by the caller's promise the pointer is null or that of a living box.
    unsafe { handle.as_ref() }.ok_or(Code::NullInput)
}

/// A copy of a text of the caller.
///
/// # Safety
///
/// The pointer is null or that of a text that ends with NUL.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    Some(text.to_string_lossy().into_owned())
}

/// Writes a value to the caller's place for it.
///
/// # Safety
///
/// The pointer is null or may be written to.
unsafe fn store<T>(place: *mut T, value: T) -> Result<(), Code> {
    if place.is_null() {
        return Err(Code::NullInput);
    }
    // SAFETY: by the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// Writes bytes to the caller's buffer.
///
/// # Safety
///
/// The pointer is null or that of a buffer of the size that the function for the size stated.
unsafe fn fill(place: *mut c_char, bytes: &[u8]) -> Result<(), Code> {
    if place.is_null() {
        return Err(Code::NullInput);
    }
    // SAFETY: the buffer is large enough by the caller's promise and is not part of `bytes`, which this library owns.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.cast::<u8>(), bytes.len()) };
    Ok(())
}

static QUIET: Once = Once::new();

unsafe fn create(flavour: Flavour, handle: *mut Handle, count: c_uint, list: *const *const c_char) -> Result<(), Code> {
    if handle.is_null() || list.is_null() {
        return Err(Code::NullInput);
    }
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let mut options = Vec::with_capacity(count.min(64) as usize);
    for index in 0..count as usize {
        // SAFETY: the caller's list has `count` texts.
        let option = unsafe { text(*list.add(index)) };
        options.push(option.ok_or(Code::InvalidInput));
    }
    // A list with a null pointer is refused, with a handle like every refused list.
    let options: Result<Vec<String>, Code> = options.into_iter().collect();
    let (session, code) = match options {
        Ok(options) => Session::create(flavour, &options, own_file),
        Err(code) => (Session::create(flavour, &[], own_file).0, code),
    };
    let link = Box::into_raw(Box::new(Link(Mutex::new(session))));
    // SAFETY: the place was checked and is the caller's.
    unsafe { store(handle, link) }?;
    checked(code)
}

unsafe fn destroy(handle: *mut Handle) -> Result<(), Code> {
    // SAFETY: the pointer is null or the caller's.
    let place = unsafe { handle.as_mut() }.ok_or(Code::NullInput)?;
    if place.is_null() {
        return Err(Code::NullInput);
    }
    let link = std::mem::replace(place, std::ptr::null_mut());
    // SAFETY: the box was made by `create` and is not used elsewhere, as the caller guarantees.
    drop(unsafe { Box::from_raw(link) });
    Ok(())
}

unsafe fn add_data(handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char) -> Result<(), Code> {
    // SAFETY: by the promises of the interface.
    let (link, name) = unsafe { (link(handle)?, text(name)) };
    let bytes = match (data.is_null(), size) {
        (_, 0) => Some(&[][..]),
        (true, _) => None,
        // SAFETY: the caller's data has `size` bytes.
        (false, _) => Some(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }),
    };
    checked(link.lock().add(kind, bytes, name.as_deref()))
}

unsafe fn add_file(handle: Handle, kind: c_int, path: *const c_char) -> Result<(), Code> {
    // SAFETY: by the promises of the interface.
    let (link, path) = unsafe { (link(handle)?, text(path)) };
    checked(link.lock().add_file(kind, &path.ok_or(Code::NullInput)?))
}

unsafe fn complete(handle: Handle) -> Result<(), Code> {
    // SAFETY: by the promises of the interface.
    let link = unsafe { link(handle) }?;
    checked(link.lock().complete())
}

/// Results that are requested by size first.
#[derive(Clone, Copy)]
enum Output {
    Cubin,
    Ptx,
    LtoIr,
    ErrorLog,
    InfoLog,
}

impl Output {
    /// Hands the bytes to `take`. Logs end with a NUL; an empty log has no size, but its NUL is written.
    fn with(self, session: &Session, is_size: bool, take: impl FnOnce(&[u8]) -> Result<(), Code>) -> Result<(), Code> {
        let log = |text: &[u8]| match text.is_empty() && is_size {
            true => Vec::new(),
            false => [text, b"\0"].concat(),
        };
        match self {
            Output::Cubin => take(&session.cubin()?),
            Output::Ptx => take(&session.ptx()?),
            Output::LtoIr => take(&session.lto_ir()?),
            Output::ErrorLog => take(&log(&session.error_log())),
            Output::InfoLog => take(&log(&session.info_log())),
        }
    }
}

unsafe fn size_of(handle: Handle, size: *mut usize, output: Output) -> Result<(), Code> {
    // SAFETY: by the promises of the interface.
    let link = unsafe { link(handle) }?;
    if size.is_null() {
        return Err(Code::NullInput);
    }
    // SAFETY: the place was checked.
    output.with(&link.lock(), true, |bytes| unsafe { store(size, bytes.len()) })
}

unsafe fn get(handle: Handle, buffer: *mut c_char, output: Output) -> Result<(), Code> {
    // SAFETY: by the promises of the interface.
    let link = unsafe { link(handle) }?;
    if buffer.is_null() {
        return Err(Code::NullInput);
    }
    // SAFETY: the caller's buffer has the size that the other function stated.
    output.with(&link.lock(), false, |bytes| unsafe { fill(buffer, bytes) })
}

unsafe fn version(flavour: Flavour, major: *mut c_uint, minor: *mut c_uint) -> Result<(), Code> {
    if major.is_null() || minor.is_null() {
        return Err(Code::NullInput);
    }
    let toolkit = match flavour {
        Flavour::Cuda12 => 129,
        Flavour::Cuda13 => cubin::release::Release::newest().toolkit,
    };
    // SAFETY: both places were checked.
    unsafe {
        store(major, toolkit / 10)?;
        store(minor, toolkit % 10)
    }
}

/// Exports a function of the interface, for both versions of it.
macro_rules! export {
    ($(#[doc = $doc:literal] $plain:ident, $name:literal, $name12:literal, $old:ident, ($($argument:ident: $type:ty),*), |$flavour:ident| $body:expr;)*) => {
        $(
            #[doc = $doc]
            ///
            /// # Safety
            ///
            /// Handles, buffers and texts are those that the documentation of nvJitLink asks for.
            #[unsafe(export_name = $name)]
            pub unsafe extern "C" fn $plain($($argument: $type),*) -> c_int {
                let $flavour = Flavour::Cuda13;
                // SAFETY: the caller's promises are passed on.
                guard($flavour, || unsafe { $body })
            }

            #[doc = $doc]
            ///
            /// # Safety
            ///
            /// As for the function of CUDA 13.
            #[unsafe(export_name = $name12)]
            pub unsafe extern "C" fn $old($($argument: $type),*) -> c_int {
                let $flavour = Flavour::Cuda12;
                // SAFETY: the caller's promises are passed on.
                guard($flavour, || unsafe { $body })
            }
        )*
    };
}

export! {
    #[doc = "Makes a link from options."]
    nvJitLinkCreate, "culd13_nvJitLinkCreate", "culd12_nvJitLinkCreate", create12, (handle: *mut Handle, count: c_uint, options: *const *const c_char),
        |flavour| create(flavour, handle, count, options);
    #[doc = "Ends a link and sets the handle to null."]
    nvJitLinkDestroy, "culd13_nvJitLinkDestroy", "culd12_nvJitLinkDestroy", destroy12, (handle: *mut Handle), |_flavour| destroy(handle);
    #[doc = "Adds an input from memory."]
    nvJitLinkAddData, "culd13_nvJitLinkAddData", "culd12_nvJitLinkAddData", add_data12, (handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char),
        |_flavour| add_data(handle, kind, data, size, name);
    #[doc = "Adds an input from a file."]
    nvJitLinkAddFile, "culd13_nvJitLinkAddFile", "culd12_nvJitLinkAddFile", add_file12, (handle: Handle, kind: c_int, path: *const c_char), |_flavour| add_file(handle, kind, path);
    #[doc = "Links."]
    nvJitLinkComplete, "culd13_nvJitLinkComplete", "culd12_nvJitLinkComplete", complete12, (handle: Handle), |_flavour| complete(handle);
    #[doc = "Size of the linked cubin."]
    nvJitLinkGetLinkedCubinSize, "culd13_nvJitLinkGetLinkedCubinSize", "culd12_nvJitLinkGetLinkedCubinSize", cubin_size12, (handle: Handle, size: *mut usize),
        |_flavour| size_of(handle, size, Output::Cubin);
    #[doc = "The linked cubin."]
    nvJitLinkGetLinkedCubin, "culd13_nvJitLinkGetLinkedCubin", "culd12_nvJitLinkGetLinkedCubin", cubin12, (handle: Handle, buffer: *mut c_void),
        |_flavour| get(handle, buffer.cast(), Output::Cubin);
    #[doc = "Size of the linked PTX."]
    nvJitLinkGetLinkedPtxSize, "culd13_nvJitLinkGetLinkedPtxSize", "culd12_nvJitLinkGetLinkedPtxSize", ptx_size12, (handle: Handle, size: *mut usize),
        |_flavour| size_of(handle, size, Output::Ptx);
    #[doc = "The linked PTX."]
    nvJitLinkGetLinkedPtx, "culd13_nvJitLinkGetLinkedPtx", "culd12_nvJitLinkGetLinkedPtx", ptx12, (handle: Handle, buffer: *mut c_char),
        |_flavour| get(handle, buffer, Output::Ptx);
    #[doc = "Size of the linked LTO IR."]
    nvJitLinkGetLinkedLTOIRSize, "culd13_nvJitLinkGetLinkedLTOIRSize", "culd12_nvJitLinkGetLinkedLTOIRSize", lto_ir_size12, (handle: Handle, size: *mut usize),
        |_flavour| size_of(handle, size, Output::LtoIr);
    #[doc = "The linked LTO IR."]
    nvJitLinkGetLinkedLTOIR, "culd13_nvJitLinkGetLinkedLTOIR", "culd12_nvJitLinkGetLinkedLTOIR", lto_ir12, (handle: Handle, buffer: *mut c_void),
        |_flavour| get(handle, buffer.cast(), Output::LtoIr);
    #[doc = "Size of the error log, with its NUL."]
    nvJitLinkGetErrorLogSize, "culd13_nvJitLinkGetErrorLogSize", "culd12_nvJitLinkGetErrorLogSize", error_log_size12, (handle: Handle, size: *mut usize),
        |_flavour| size_of(handle, size, Output::ErrorLog);
    #[doc = "The error log."]
    nvJitLinkGetErrorLog, "culd13_nvJitLinkGetErrorLog", "culd12_nvJitLinkGetErrorLog", error_log12, (handle: Handle, buffer: *mut c_char),
        |_flavour| get(handle, buffer, Output::ErrorLog);
    #[doc = "Size of the info log, with its NUL."]
    nvJitLinkGetInfoLogSize, "culd13_nvJitLinkGetInfoLogSize", "culd12_nvJitLinkGetInfoLogSize", info_log_size12, (handle: Handle, size: *mut usize),
        |_flavour| size_of(handle, size, Output::InfoLog);
    #[doc = "The info log."]
    nvJitLinkGetInfoLog, "culd13_nvJitLinkGetInfoLog", "culd12_nvJitLinkGetInfoLog", info_log12, (handle: Handle, buffer: *mut c_char),
        |_flavour| get(handle, buffer, Output::InfoLog);
    #[doc = "The newest release whose objects are linked."]
    nvJitLinkVersion, "culd13_nvJitLinkVersion", "culd12_nvJitLinkVersion", version12, (major: *mut c_uint, minor: *mut c_uint), |flavour| version(flavour, major, minor);
}
