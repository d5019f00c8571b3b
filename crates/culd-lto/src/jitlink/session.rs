//! A whole link by the library, call by call: what a replacement of the library hands on for link-time optimization.

use super::unix::{Get, Handle, Library, Size, function};
use crate::Failure;
use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr;

/// A link of the library. Codes are those of the library.
#[derive(Debug)]
pub struct Session {
    library: Library,
    link: Handle,
    /// The library keeps the pointers.
    names: Vec<CString>,
}

// SAFETY: the library's links are independent of each other and of the thread that made them (its documentation; measured), and this type is the
// only owner of the handle.
unsafe impl Send for Session {}

impl Session {
    /// Loads the library and makes a link; also with a code other than 0, for its log.
    ///
    /// # Errors
    ///
    /// The library cannot be loaded.
    pub fn create(library: &Path, options: &[String]) -> Result<(Session, i32), Failure> {
        let library = Library::load(library)?;
        let options: Result<Vec<CString>, _> = options.iter().map(|o| CString::new(o.as_bytes())).collect();
        let options = options.map_err(|_| Failure::Refused("a NUL in an option".into()))?;
        let list: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut link: Handle = ptr::null_mut();
        // SAFETY: the list has as many texts as stated, each ends with NUL; the handle is written to.
        let code = unsafe { (library.create)(&mut link, list.len() as u32, list.as_ptr()) };
        if link.is_null() {
            return Err(Failure::Library(format!("nvJitLinkCreate made no handle (error {code})")));
        }
        let names = Vec::new();
        Ok((Session { library, link, names }, code))
    }

    /// Adds an input.
    pub fn add(&mut self, kind: i32, bytes: &[u8], name: Option<&str>) -> i32 {
        // The library reads a NUL after PTX.
        let mut copy = Vec::with_capacity(bytes.len().saturating_add(1));
        copy.extend_from_slice(bytes);
        copy.push(0);
        let name = name.and_then(|name| CString::new(name).ok());
        let pointer = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        self.names.extend(name);
        // SAFETY: the handle is alive, the contents are as long as stated, the name ends with NUL and lives as long as the link.
        unsafe { (self.library.add)(self.link, kind, copy.as_ptr().cast(), bytes.len(), pointer) }
    }

    /// Adds a file.
    pub fn add_file(&mut self, kind: i32, path: &str) -> i32 {
        const INVALID_INPUT: i32 = 3;
        type AddFile = unsafe extern "C" fn(Handle, c_int, *const c_char) -> c_int;
        let Ok(path) = CString::new(path) else { return INVALID_INPUT };
        // SAFETY: the type is that of the public header nvJitLink.h.
        let Ok(add) = (unsafe { function::<AddFile>(self.library.handle, c"nvJitLinkAddFile") }) else {
            return INVALID_INPUT;
        };
        let pointer = path.as_ptr();
        self.names.push(path);
        // SAFETY: the handle is alive, the path ends with NUL and lives as long as the link.
        unsafe { add(self.link, kind, pointer) }
    }

    /// Links.
    pub fn complete(&mut self) -> i32 {
        // SAFETY: the handle is alive.
        unsafe { (self.library.complete)(self.link) }
    }

    /// The linked cubin.
    ///
    /// # Errors
    ///
    /// The library's code.
    pub fn cubin(&self) -> Result<Vec<u8>, i32> {
        self.named(c"nvJitLinkGetLinkedCubinSize", c"nvJitLinkGetLinkedCubin")
    }

    /// The linked PTX.
    ///
    /// # Errors
    ///
    /// The library's code.
    pub fn ptx(&self) -> Result<Vec<u8>, i32> {
        self.bytes(self.library.ptx)
    }

    /// The linked LTO IR; libraries from 13.2 on.
    ///
    /// # Errors
    ///
    /// The library's code.
    pub fn lto_ir(&self) -> Result<Vec<u8>, i32> {
        self.named(c"nvJitLinkGetLinkedLTOIRSize", c"nvJitLinkGetLinkedLTOIR")
    }

    /// The log of errors, without its final NUL.
    pub fn error_log(&self) -> Vec<u8> {
        without_nul(self.bytes(self.library.log))
    }

    /// The log of everything else, without its final NUL.
    pub fn info_log(&self) -> Vec<u8> {
        without_nul(self.named(c"nvJitLinkGetInfoLogSize", c"nvJitLinkGetInfoLog"))
    }

    fn named(&self, size: &std::ffi::CStr, get: &std::ffi::CStr) -> Result<Vec<u8>, i32> {
        const INTERNAL: i32 = 6;
        // SAFETY: the types are those of the public header nvJitLink.h.
        let size = unsafe { function::<Size>(self.library.handle, size) };
        // SAFETY: as above.
        let get = unsafe { function::<Get>(self.library.handle, get) };
        match (size, get) {
            (Ok(size), Ok(get)) => self.bytes((size, get)),
            _ => Err(INTERNAL),
        }
    }

    fn bytes(&self, (size_of, get): (Size, Get)) -> Result<Vec<u8>, i32> {
        let mut size = 0;
        // SAFETY: the handle is alive, the size is written to.
        match unsafe { size_of(self.link, &mut size) } {
            0 => {}
            code => return Err(code),
        }
        let mut bytes = vec![0; size.saturating_add(1)];
        // SAFETY: the memory has at least the size that the library stated.
        match unsafe { get(self.link, bytes.as_mut_ptr().cast()) } {
            0 => {
                bytes.truncate(size);
                Ok(bytes)
            }
            code => Err(code),
        }
    }
}

fn without_nul(log: Result<Vec<u8>, i32>) -> Vec<u8> {
    let mut log = log.unwrap_or_default();
    while log.pop_if(|byte| *byte == 0).is_some() {}
    log
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the handle was made by this library and is not used again.
        unsafe { (self.library.destroy)(&mut self.link) };
    }
}
