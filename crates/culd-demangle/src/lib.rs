//! C++ demangling in the style of NVIDIA's device linker, and in that of c++filt ([`readable`], module `cxx`).
//!
//! `nvlink --dump-callgraph` prints C++ (Itanium ABI) names in a style of its own: `int  :: A::*`, `[lambda(int) (instance 1)]`,
//! `A::A() [subobject]`, template parameters as `T1`, expressions without parentheses. This crate writes that text.
//!
//! 1. [`demangle`] strips what may precede a mangled name: `__nv_static_<n>_<n characters>_` and one `$`.
//! 2. `parse` reads the name into an `ast::Ast`: runs of text pieces, and types that are printed around a declarator.
//! 3. `print` writes the tree.
//! 4. Any error, any text left over, and any name that passes a limit below gives `None`: such a name is printed as it is.
//!
//! **Invariant**: no input can make this crate panic, overflow the stack or run without bound. The parser recurses at most
//! `parse::MAX_DEPTH` levels deep and takes a number of steps linear in the name's length; the printer does not recurse, and its text
//! is bounded, since substitutions can expand a short name to an exponentially long text.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod ast;
mod cursor;
mod cxx;
mod node;
mod number;
mod parse;
mod print;
mod tables;

use std::borrow::Cow;

/// The text that nvlink prints for the mangled name `name`, or `None` where it prints the name as it is.
///
/// `None` covers C names, other manglings, malformed names, and names whose nesting or whose text exceeds a limit.
///
/// ```
/// use culd_demangle::demangle;
/// assert_eq!(demangle(b"_ZN1A1fEPKc").as_deref(), Some("A::f(const char *)"));
/// assert_eq!(demangle(b"main"), None);
/// ```
#[must_use]
pub fn demangle(name: &[u8]) -> Option<String> {
    let name = match name.strip_prefix(STATIC_PREFIX) {
        Some(rest) => after_module_id(rest)?,
        None => name,
    };
    let name = name.strip_prefix(b"$").unwrap_or(name);
    let mangled = name.strip_prefix(b"_Z")?;
    let (ast, text) = parse::parse(mangled)?;
    print::print(&ast, text, mangled.len())
}

/// The name as c++filt writes it, for people; what this style does not cover comes out as [`demangle`] writes it.
///
/// ```
/// use culd_demangle::readable;
/// assert_eq!(readable(b"_ZN1A1fEPKc").as_deref(), Some("A::f(char const*)"));
/// assert_eq!(readable(b"_Z5recurILi4EEvPi").as_deref(), Some("void recur<4>(int*)"));
/// assert_eq!(readable(b"main"), None);
/// ```
#[must_use]
pub fn readable(name: &[u8]) -> Option<String> {
    let plain = match name.strip_prefix(STATIC_PREFIX) {
        Some(rest) => after_module_id(rest)?,
        None => name,
    };
    let plain = plain.strip_prefix(b"$").unwrap_or(plain);
    cxx::demangle_cxx(plain).or_else(|| demangle(name))
}

/// The name as c++filt writes it; `None` if it is not a C++ name, or has something that this style does not cover.
#[must_use]
pub fn cxxfilt(name: &[u8]) -> Option<String> {
    cxx::demangle_cxx(name)
}

/// The text that nvlink prints for `name`: the demangled text where there is one, otherwise the name itself.
///
/// ```
/// use culd_demangle::display;
/// assert_eq!(display(b"_Z3addii").as_ref(), b"add(int, int)");
/// assert_eq!(display(b"add").as_ref(), b"add");
/// ```
#[must_use]
pub fn display(name: &[u8]) -> Cow<'_, [u8]> {
    match demangle(name) {
        Some(text) => Cow::Owned(text.into_bytes()),
        None => Cow::Borrowed(name),
    }
}

/// What nvcc puts before the name of a static function in relocatable code.
const STATIC_PREFIX: &[u8] = b"__nv_static_";

/// Skips `<n>_<n characters>_`, the module id after [`STATIC_PREFIX`].
///
/// nvlink reads past the end of a name that is shorter than it says; such a name is left alone here.
fn after_module_id(name: &[u8]) -> Option<&[u8]> {
    let mut cursor = cursor::Cursor::new(name);
    let length = number::parse(cursor.digits()?);
    cursor.expect(b"_")?;
    cursor.take(usize::try_from(length).ok()?)?;
    cursor.expect(b"_")?;
    Some(cursor.rest())
}
