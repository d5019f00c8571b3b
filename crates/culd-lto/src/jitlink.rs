//! The library itself.
//!
//! 1. Load it and look up the few functions that are needed.
//! 2. Make a linker with `-lto -ptx`, the target, and each option of the compiler inside it as `-Xnvvm`.
//! 3. Add the modules, complete the link, take the PTX; the log when something was refused.
//!
//! The library stays loaded: unloading a compiler is riskier than keeping it.
#![allow(
    unsafe_code,
    reason = "a foreign library can only be called so; everything else of the crate is safe"
)]

use crate::{Failure, Job};
use std::path::Path;

/// Why no library can be loaded by this build of the program, if that is so.
pub const CANNOT_LOAD: Option<&str> = if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
    Some("this static build of culd cannot load libnvJitLink: link-time optimization needs the build for glibc")
} else if cfg!(not(unix)) {
    Some("culd cannot load nvJitLink on this system: link-time optimization works on Linux and macOS only")
} else {
    None
};

/// Compiles a job in this process. Damaged modules may crash the library; [`crate::Child`] is the way to survive that.
#[cfg(unix)]
pub fn compile(library: &Path, job: &Job) -> Result<Vec<u8>, Failure> {
    unix::Library::load(library)?.compile(job)
}

/// Compiles a job in this process; not possible on this system.
#[cfg(not(unix))]
pub fn compile(library: &Path, job: &Job) -> Result<Vec<u8>, Failure> {
    let _ = job;
    Err(Failure::Library(format!(
        "{}: libraries cannot be loaded on this system",
        library.display()
    )))
}

#[cfg(unix)]
#[path = "jitlink/session.rs"]
mod session;
#[cfg(not(unix))]
#[path = "jitlink/no_session.rs"]
mod session;

pub use session::Session;

#[cfg(unix)]
mod unix {
    use crate::{Failure, Job, ModuleKind};
    use std::ffi::{CStr, CString, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;

    /// The library's linker.
    pub(super) type Handle = *mut c_void;
    type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
    type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
    type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
    type Complete = unsafe extern "C" fn(Handle) -> c_int;
    pub(super) type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
    pub(super) type Get = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

    /// Numbers of the interface for kinds of inputs.
    const fn number(kind: ModuleKind) -> c_int {
        match kind {
            ModuleKind::LtoIr => 3,
            ModuleKind::Fatbin => 4,
        }
    }

    /// The functions of a loaded library.
    #[derive(Debug)]
    pub(super) struct Library {
        pub(super) handle: *mut c_void,
        pub(super) create: Create,
        pub(super) destroy: Destroy,
        pub(super) add: AddData,
        pub(super) complete: Complete,
        pub(super) ptx: (Size, Get),
        pub(super) log: (Size, Get),
    }

    /// A function of a loaded library.
    ///
    /// # Safety
    ///
    /// `F` must be the function's type.
    pub(super) unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, Failure> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the library is loaded and never unloaded, the name ends with NUL.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) };
        if address.is_null() {
            return Err(Failure::Library(format!("the library has no function {}", name.to_string_lossy())));
        }
        // SAFETY: a function pointer has the size of an address (checked above); its type is the caller's promise.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
    }

    impl Library {
        pub(super) fn load(path: &Path) -> Result<Self, Failure> {
            let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Failure::Library("a NUL in the library's name".into()))?;
            // SAFETY: the name ends with NUL. Loading runs the library's initialisers, which is what the user requested.
            let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if library.is_null() {
                // SAFETY: after a failure the text is there until the next call; it ends with NUL.
                let text = unsafe { libc::dlerror() };
                let text = match text.is_null() {
                    true => "it cannot be loaded".into(),
                    // SAFETY: as above.
                    false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
                };
                return Err(Failure::Library(text));
            }
            // SAFETY: the types are those of the public header nvJitLink.h.
            unsafe {
                Ok(Library {
                    handle: library,
                    create: function(library, c"nvJitLinkCreate")?,
                    destroy: function(library, c"nvJitLinkDestroy")?,
                    add: function(library, c"nvJitLinkAddData")?,
                    complete: function(library, c"nvJitLinkComplete")?,
                    ptx: (
                        function(library, c"nvJitLinkGetLinkedPtxSize")?,
                        function(library, c"nvJitLinkGetLinkedPtx")?,
                    ),
                    log: (
                        function(library, c"nvJitLinkGetErrorLogSize")?,
                        function(library, c"nvJitLinkGetErrorLog")?,
                    ),
                })
            }
        }

        pub(super) fn compile(&self, job: &Job) -> Result<Vec<u8>, Failure> {
            let fixed = [format!("-arch={}", job.arch), "-lto".to_owned(), "-ptx".to_owned()];
            let passed = job.options.iter().map(|option| format!("-Xnvvm={option}"));
            let options: Result<Vec<CString>, _> = fixed.into_iter().chain(passed).map(CString::new).collect();
            let options = options.map_err(|_| Failure::Refused("a NUL in an option".into()))?;
            let list: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
            let mut handle: Handle = ptr::null_mut();
            // SAFETY: the list has as many texts as said, each ends with NUL; the handle is written to.
            let code = unsafe { (self.create)(&mut handle, list.len() as u32, list.as_ptr()) };
            if code != 0 {
                return Err(Failure::Refused(format!("nvJitLink takes no such options (error {code})")));
            }
            let done = self.fill(handle, job);
            // SAFETY: the handle was made above and is not used again.
            unsafe { (self.destroy)(&mut handle) };
            done
        }

        fn fill(&self, handle: Handle, job: &Job) -> Result<Vec<u8>, Failure> {
            for module in &job.modules {
                let name = CString::new(module.name.as_bytes()).map_err(|_| Failure::Refused("a NUL in a file name".into()))?;
                // SAFETY: the handle is alive, the contents are as long as said, the name ends with NUL; all outlive the call.
                let code = unsafe {
                    (self.add)(
                        handle,
                        number(module.kind),
                        module.bytes.as_ptr().cast(),
                        module.bytes.len(),
                        name.as_ptr(),
                    )
                };
                self.check(handle, code)?;
            }
            // SAFETY: the handle is alive.
            let code = unsafe { (self.complete)(handle) };
            self.check(handle, code)?;
            let mut ptx = Self::text(handle, self.ptx).ok_or_else(|| Failure::Refused("nvJitLink made no PTX".into()))?;
            // The text ends with a NUL that is none of it.
            while ptx.pop_if(|byte| *byte == 0).is_some() {}
            Ok(ptx)
        }

        fn check(&self, handle: Handle, code: c_int) -> Result<(), Failure> {
            if code == 0 {
                return Ok(());
            }
            let log = Self::text(handle, self.log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            Err(Failure::Refused(match log.trim_end_matches('\0') {
                "" => format!("nvJitLink refused (error {code})"),
                text => text.to_owned(),
            }))
        }

        /// A text of the library: it tells the size, then fills as many bytes.
        fn text(handle: Handle, (size_of_text, get): (Size, Get)) -> Option<Vec<u8>> {
            let mut size = 0;
            // SAFETY: the handle is alive, the size is written to.
            let code = unsafe { size_of_text(handle, &mut size) };
            if code != 0 {
                return None;
            }
            // One byte more than requested, so that a text that ends with an uncounted NUL fits too.
            let mut text = vec![0; size.checked_add(1)?];
            // SAFETY: the memory has at least the size that the library told.
            let code = unsafe { get(handle, text.as_mut_ptr().cast()) };
            text.truncate(size);
            (code == 0).then_some(text)
        }
    }
}
