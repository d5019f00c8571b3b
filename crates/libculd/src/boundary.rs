//! What C passes, as Rust values.
//!
//! Every conversion returns `None` for a NULL pointer or for text that is not UTF-8. The lifetimes are those of one call.
#![allow(unsafe_code, reason = "pointers from C can only be read so; the header states what they must be")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Result of a function that changes a linker.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// A NULL pointer, text that is not UTF-8, an unknown number or name.
    InvalidArgument = 1,
    /// A defect of culd.
    Panic = 2,
}

/// Text from C.
pub(crate) fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not NULL; the header requires text that ends with a NUL and lives for the call.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

/// Bytes from C. NULL is `None`, also for a size of zero.
pub(crate) fn bytes<'a>(pointer: *const c_void, size: usize) -> Option<&'a [u8]> {
    if pointer.is_null() || isize::try_from(size).is_err() {
        return None;
    }
    // SAFETY: not NULL and not larger than an object can be; the header requires `size` readable bytes that live for the call.
    Some(unsafe { std::slice::from_raw_parts(pointer.cast(), size) })
}

/// A handle that this library made.
pub(crate) fn lent<'a, T>(handle: *const T) -> Option<&'a T> {
    // SAFETY: NULL, or made by `given` and not freed yet, as the header requires.
    unsafe { handle.as_ref() }
}

/// A handle or a place for a result, to be changed.
pub(crate) fn lent_mut<'a, T>(handle: *mut T) -> Option<&'a mut T> {
    // SAFETY: NULL, or valid and used by one thread at a time, as the header requires.
    unsafe { handle.as_mut() }
}

/// Hands a value to C.
pub(crate) fn given<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a value back and drops it.
pub(crate) fn taken<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: made by `given`, freed once, as the header requires.
        guarded((), || drop(unsafe { Box::from_raw(handle) }));
    }
}

/// Runs `work`; a panic ends in `otherwise` instead of unwinding into C.
pub(crate) fn guarded<R>(otherwise: R, work: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

/// Text for C. A NUL inside ends it.
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.bytes().position(|b| b == 0).unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}
