//! Files mapped into memory: the only unsafe code of the crate.
//!
//! A mapped file that another process shortens loses its pages: touching one of them raises SIGBUS, which ends a process.
//! [`survive_truncation`] lets the program continue and report the file:
//!
//! 1. A handler for SIGBUS looks at the signal's code. Anything but "no such page of the file" gets its old treatment.
//! 2. It puts an empty page where the lost one was and notes that this happened. The faulting instruction continues and reads zeros.
//! 3. What was read is worth nothing from then on: before a result is written, [`pages_were_lost`] is asked, and the link is an error.
//!
//! Readers check every number they read, so that zeros instead of contents, like any other contents, cannot lead them astray.

#![allow(unsafe_code, reason = "mapping a file is unsafe by nature; everything else of the crate is safe")]

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// A page of a mapped file was gone when it was needed.
static LOST: AtomicBool = AtomicBool::new(false);

/// True when a mapped file was shortened while it was read.
pub fn pages_were_lost() -> bool {
    LOST.load(Ordering::SeqCst)
}

/// A file mapped for reading.
pub(crate) struct Mapped(Mmap);

impl Mapped {
    /// Maps the whole file.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is private and read-only, and the program never writes to its inputs. Another process that truncates
        // the file meanwhile is dealt with above; removing or replacing it is harmless.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Mapped(map))
    }

    /// The file's bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

/// Keeps the process alive when a mapped file is shortened. For programs: a library does not touch signals by itself.
#[cfg(target_os = "linux")]
pub fn survive_truncation() {
    linux::install();
}

/// Keeps the process alive when a mapped file is shortened; not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn survive_truncation() {}

#[cfg(target_os = "linux")]
mod linux {
    use super::LOST;
    use std::ffi::c_int;
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Size of a page; requested before the handler is installed, because the handler may not call other functions.
    static PAGE: AtomicUsize = AtomicUsize::new(4096);

    pub(super) fn install() {
        // SAFETY: sysconf has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::SeqCst);
        // SAFETY: the all-zero sigaction is valid: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_bus_error as extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        // On the alternate stack that the standard library gives every thread.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that SA_SIGINFO requires; after a failure the default action stays in place.
        unsafe {
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
        }
    }

    extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo; si_addr belongs to SIGBUS.
        let (code, address) = unsafe { ((*info).si_code, (*info).si_addr()) };
        let page = PAGE.load(Ordering::SeqCst);
        let start = address.map_addr(|a| a & !(page - 1));
        if code == libc::BUS_ADRERR && !start.is_null() {
            // SAFETY: the page at `start` is part of a mapping whose file ends before it (that is what BUS_ADRERR says), so that no
            // data is replaced. mmap is a plain system call here and touches no state of this process's library.
            let mapped = unsafe {
                libc::mmap(
                    start,
                    page,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if mapped == start {
                LOST.store(true, Ordering::SeqCst);
                return;
            }
        }
        // SAFETY: restoring the default action; the instruction stumbles again and the process ends as it would have.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}
