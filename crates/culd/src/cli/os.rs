//! Command-line text as bytes.
//!
//! nvlink treats its arguments as C strings: any byte may occur in a file name or a value and reaches the file system and the note
//! unchanged. Messages show what is not UTF-8 with a replacement character.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The bytes of a system string.
#[cfg(unix)]
pub fn bytes(text: &OsStr) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    text.as_bytes().to_vec()
}

/// The bytes of a system string, which is not needed any more.
#[cfg(unix)]
pub fn into_bytes(text: OsString) -> Vec<u8> {
    use std::os::unix::ffi::OsStringExt;
    text.into_vec()
}

/// The path that some bytes name, without a copy where that is possible.
#[cfg(unix)]
pub fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    use std::os::unix::ffi::OsStrExt;
    Path::new(OsStr::from_bytes(bytes)).into()
}

/// The system string of some bytes.
#[cfg(unix)]
pub fn string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).to_os_string()
}

/// The bytes of a system string; what is not Unicode is replaced.
#[cfg(not(unix))]
pub fn bytes(text: &OsStr) -> Vec<u8> {
    text.to_string_lossy().into_owned().into_bytes()
}

/// The bytes of a system string, which is not needed any more; what is not Unicode is replaced.
#[cfg(not(unix))]
pub fn into_bytes(text: OsString) -> Vec<u8> {
    bytes(&text)
}

/// The path that some bytes name.
#[cfg(not(unix))]
pub fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    path(bytes).into()
}

/// The system string of some bytes; what is not UTF-8 is replaced.
#[cfg(not(unix))]
pub fn string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The path that some bytes name.
pub fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(string(bytes))
}

/// Text for messages.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
