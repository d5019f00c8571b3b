//! What a file is: recognition by content, and nvlink's rules that also look at the name.
//!
//! [`FileKind::of`] looks at bytes only. [`route`] answers what nvlink does with a positional argument:
//!
//! 1. An empty file is ignored; one of fewer than 56 bytes counts as unreadable unless it is an archive; a name without a dot is ignored.
//! 2. `cubin`, `fatbin`, `ltoir`, `nvvm` and `bc` are expected to have that content and are refused otherwise.
//! 3. `ptx` is decided by content: device ELF and fatbin are accepted too.
//! 4. Every other name is decided by content: archives anywhere, then `.so` is ignored, then relocatable ELF files;
//!    device ELF files only when the name ends in `.o`. The rest is ignored silently.

use cubin::fatbin;
use zerocopy::FromBytes;

/// nvlink reads this many bytes of a file before anything else.
const HEAD: usize = 56;
const ET_REL: u16 = 1;
const ET_EXEC: u16 = 2;
const ET_DYN: u16 = 3;
const EM_CUDA: u16 = 190;

/// Kind of a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing.
    Empty,
    /// An archive.
    Archive {
        /// Members are named, not contained.
        thin: bool,
    },
    /// An ELF file for the device.
    DeviceElf {
        /// `e_type`.
        e_type: u16,
    },
    /// An ELF file for the host.
    HostElf {
        /// `e_type`.
        e_type: u16,
    },
    /// A fatbin container.
    Fatbin,
    /// PTX text.
    Ptx,
    /// LTO IR in its own file.
    LtoIr,
    /// LLVM bitcode.
    Bitcode,
    /// Anything else.
    Unknown,
}

impl FileKind {
    /// Recognises bytes.
    pub fn of(bytes: &[u8]) -> FileKind {
        if bytes.is_empty() {
            return FileKind::Empty;
        }
        if bytes.starts_with(b"!<arch>\n") {
            return FileKind::Archive { thin: false };
        }
        if bytes.starts_with(b"!<thin>\n") {
            return FileKind::Archive { thin: true };
        }
        if bytes.starts_with(b"\x7fELF") {
            return elf(bytes);
        }
        if bytes.starts_with(&fatbin::MAGIC.to_le_bytes()) {
            return FileKind::Fatbin;
        }
        if bytes.starts_with(&[0xed, 0x43, 0x4e, 0x7f]) {
            return FileKind::LtoIr;
        }
        if bytes.starts_with(b"BC\xc0\xde") {
            return FileKind::Bitcode;
        }
        if is_ptx(bytes) { FileKind::Ptx } else { FileKind::Unknown }
    }

    /// The kind in words, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            FileKind::Empty => "an empty file",
            FileKind::Archive { .. } => "an archive",
            FileKind::DeviceElf { e_type: ET_EXEC } => "a linked device file",
            FileKind::DeviceElf { .. } => "a device object",
            FileKind::HostElf { e_type: ET_REL } => "a host object",
            FileKind::HostElf { .. } => "a linked host file",
            FileKind::Fatbin => "a fatbin",
            FileKind::Ptx => "PTX text",
            FileKind::LtoIr => "LTO IR",
            FileKind::Bitcode => "LLVM bitcode",
            FileKind::Unknown => "of an unknown kind",
        }
    }
}

fn elf(bytes: &[u8]) -> FileKind {
    // e_type and e_machine are at the same offset in 32-bit and 64-bit files.
    let field = |at: usize| {
        let field = bytes.get(at..).and_then(|b| zerocopy::little_endian::U16::ref_from_prefix(b).ok());
        field.map_or(0, |(value, _)| value.get())
    };
    let e_type = field(16);
    match field(18) {
        EM_CUDA => FileKind::DeviceElf { e_type },
        _ => FileKind::HostElf { e_type },
    }
}

/// PTX starts with `.version`, after blanks and comments.
fn is_ptx(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(comment) = rest.strip_prefix(b"//") {
            let Some(end) = comment.iter().position(|&b| b == b'\n') else {
                return false;
            };
            rest = comment.get(end..).unwrap_or_default();
        } else if let Some(comment) = rest.strip_prefix(b"/*") {
            let Some(end) = comment.windows(2).position(|w| w == b"*/") else {
                return false;
            };
            rest = comment.get(end + 2..).unwrap_or_default();
        } else {
            return rest
                .strip_prefix(b".version")
                .is_some_and(|r| r.first().is_some_and(u8::is_ascii_whitespace));
        }
    }
}

/// What to do with a positional input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Nothing, silently.
    Ignore,
    /// nvlink's "otherwise" branch looked at it and found nothing; an ELF object still counts for host information.
    IgnoreObject,
    /// Link the device ELF file.
    Device,
    /// Take an entry of the fatbin.
    Fatbin,
    /// Compile the PTX text.
    Ptx,
    /// Optimize the LTO IR.
    LtoIr,
    /// Look for a fatbin in the host object.
    Host,
    /// Go through the members.
    Archive {
        /// Members are named, not contained.
        thin: bool,
    },
    /// Refuse.
    Refuse(Refusal),
}

/// Why nvlink refuses a positional input by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Fewer than 56 bytes.
    TooShort,
    /// `.cubin` without ELF magic.
    CubinNotElf,
    /// `.cubin` for another machine.
    CubinNotDevice,
    /// `.fatbin` without the magic.
    FatbinFormat,
    /// `.ptx` of no known kind.
    PtxFormat,
    /// `.ltoir` or `.nvvm` without `-lto`.
    NvvmWithoutLto,
    /// `.bc`.
    Bitcode,
}

/// The text after the last dot of a file name; `None` without a dot.
fn extension(path: &[u8]) -> Option<&[u8]> {
    let name = path.rsplit(|&b| std::path::is_separator(b.into())).next()?;
    let dot = name.iter().rposition(|&b| b == b'.')?;
    name.get(dot + 1..)
}

/// nvlink's rules for a positional input.
pub fn route(path: &[u8], bytes: &[u8], lto: bool) -> Route {
    if bytes.is_empty() {
        return Route::Ignore;
    }
    let content = FileKind::of(bytes);
    let is_archive = matches!(content, FileKind::Archive { .. });
    if bytes.len() < HEAD && !is_archive {
        return Route::Refuse(Refusal::TooShort);
    }
    let Some(extension) = extension(path) else {
        return Route::Ignore;
    };
    match extension {
        b"cubin" => match content {
            FileKind::DeviceElf { .. } => Route::Device,
            FileKind::HostElf { .. } => Route::Refuse(Refusal::CubinNotDevice),
            _ => Route::Refuse(Refusal::CubinNotElf),
        },
        b"fatbin" => match content {
            FileKind::Fatbin => Route::Fatbin,
            _ => Route::Refuse(Refusal::FatbinFormat),
        },
        b"ptx" => match content {
            FileKind::DeviceElf { .. } => Route::Device,
            FileKind::Fatbin => Route::Fatbin,
            FileKind::Ptx => Route::Ptx,
            _ => Route::Refuse(Refusal::PtxFormat),
        },
        b"ltoir" | b"nvvm" if lto => Route::LtoIr,
        b"ltoir" | b"nvvm" => Route::Refuse(Refusal::NvvmWithoutLto),
        b"bc" => Route::Refuse(Refusal::Bitcode),
        _ => by_content(extension, content),
    }
}

fn by_content(extension: &[u8], content: FileKind) -> Route {
    match content {
        FileKind::Archive { thin } => Route::Archive { thin },
        _ if extension == b"so" => Route::Ignore,
        FileKind::HostElf { e_type: ET_REL } => Route::Host,
        FileKind::DeviceElf { .. } if extension == b"o" => Route::Device,
        _ => Route::IgnoreObject,
    }
}

/// What culd does with an input of its own command line: the content alone decides.
pub fn route_by_content(content: FileKind, lto: bool) -> Option<Route> {
    match content {
        FileKind::Archive { thin } => Some(Route::Archive { thin }),
        FileKind::DeviceElf { .. } => Some(Route::Device),
        FileKind::HostElf { e_type: ET_EXEC | ET_DYN } => Some(Route::Ignore),
        // A file too short for a type is refused where host objects are read.
        FileKind::HostElf { .. } => Some(Route::Host),
        FileKind::Fatbin => Some(Route::Fatbin),
        FileKind::Ptx => Some(Route::Ptx),
        FileKind::LtoIr if lto => Some(Route::LtoIr),
        FileKind::Empty | FileKind::LtoIr | FileKind::Bitcode | FileKind::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(start: &[u8]) -> Vec<u8> {
        let mut bytes = start.to_vec();
        bytes.resize(100, b' ');
        bytes
    }

    fn elf_file(machine: u16, e_type: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(100, 0);
        bytes[16..18].copy_from_slice(&e_type.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    #[test]
    fn nvlink_goes_by_the_name_first() {
        let device = elf_file(190, 1);
        let host = elf_file(62, 1);
        let archive = padded(b"!<arch>\n");
        let fatbin = padded(&fatbin::MAGIC.to_le_bytes());
        let ptx = padded(b"// hi\n/* x */ .version 9.0\n");
        let cases: &[(&str, &[u8], Route)] = &[
            ("a.cubin", &device, Route::Device),
            ("a.cubin", &host, Route::Refuse(Refusal::CubinNotDevice)),
            ("a.cubin", &ptx, Route::Refuse(Refusal::CubinNotElf)),
            ("a.fatbin", &fatbin, Route::Fatbin),
            ("a.fatbin", &device, Route::Refuse(Refusal::FatbinFormat)),
            ("a.ptx", &ptx, Route::Ptx),
            ("a.ptx", &device, Route::Device),
            ("a.ptx", &fatbin, Route::Fatbin),
            ("a.ptx", &archive, Route::Refuse(Refusal::PtxFormat)),
            ("a.ltoir", &ptx, Route::Refuse(Refusal::NvvmWithoutLto)),
            ("a.bc", &ptx, Route::Refuse(Refusal::Bitcode)),
            ("a.o", &host, Route::Host),
            ("a.o", &device, Route::Device),
            ("a.obj", &device, Route::IgnoreObject),
            ("a.obj", &host, Route::Host),
            ("a.so", &host, Route::Ignore),
            ("a.so", &archive, Route::Archive { thin: false }),
            ("a.xyz", &padded(b"!<thin>\n"), Route::Archive { thin: true }),
            ("a.o", &elf_file(62, 2), Route::IgnoreObject),
            ("a.txt", &fatbin, Route::IgnoreObject),
            ("d.x/a", &device, Route::Ignore),
            ("d.x/a.", &host, Route::Host),
            ("a.CUBIN", &device, Route::IgnoreObject),
            ("a.cubin", b"", Route::Ignore),
            ("a.a", b"!<arch>\n", Route::Archive { thin: false }),
            ("a.txt", b"short", Route::Refuse(Refusal::TooShort)),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(route(name.as_bytes(), bytes, false), *expected, "{name}");
        }
    }

    #[test]
    fn ptx_is_known_by_its_first_directive() {
        for good in [".version 9.0", " \t\r\n.version\t8.0", "// c\n.version 8.0", "/* c */.version 8.0"] {
            assert_eq!(FileKind::of(good.as_bytes()), FileKind::Ptx, "{good}");
        }
        for bad in [
            "x.version 9.0",
            ".vers ",
            "\u{feff}.version 9.0",
            "// .version 9.0",
            "/* .version 9.0",
            ".versions",
        ] {
            assert_eq!(FileKind::of(bad.as_bytes()), FileKind::Unknown, "{bad}");
        }
    }
}
