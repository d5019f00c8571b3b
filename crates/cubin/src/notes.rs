//! `.note.nv.tkinfo` and `.note.nv.cuinfo`: which tools made the file, for which device and toolkit.
//!
//! 1. Both sections are lists of ELF notes: name size, description size, type, name, description, each padded to four bytes.
//! 2. Type 2000 (`tkinfo`): format version, five offsets, then the strings object name, tool, tool version, build, arguments.
//! 3. Type 1000 (`cuinfo`): format version, virtual architecture, toolkit version.

use crate::codec::{CodecError, take, u16_at, word};
use crate::consts::SHT_NOTE;
use crate::read::{Cubin, Section, string_at};

/// Owner name of NVIDIA's notes, with its NUL.
pub const OWNER: &[u8; 12] = b"NVIDIA Corp\0";
/// Type of a [`CudaInfo`] note.
pub const TYPE_CUINFO: u32 = 1000;
/// Type of a [`ToolInfo`] note.
pub const TYPE_TKINFO: u32 = 2000;

/// `e_flags` of the new form: the top byte is the index of the cuinfo note, this if it does not fit.
const NOTE_BY_NAME: u32 = 255;

/// The note section of CUDA 13 files: `.note.nv.cuinfo`, or `.note.nv.cuver` in files of CUDA 12.8 and 12.9.
/// Observed: the section is found by its type; its name matters only if its index does not fit into the flags.
pub fn cuda_note_section<'d>(cubin: &Cubin<'d>) -> Option<Section<'d>> {
    let note = match cubin.header().e_flags.get() >> 24 {
        NOTE_BY_NAME => cubin.section_by_name(b".note.nv.cuinfo")?,
        index => cubin.section(index).ok()?,
    };
    (note.header.sh_type.get() == SHT_NOTE).then_some(note)
}

/// A note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note<'d> {
    /// Type.
    pub kind: u32,
    /// Owner with its NUL.
    pub name: &'d [u8],
    /// Description.
    pub description: &'d [u8],
}

/// The notes of a section, in order. Stops after the first error.
pub fn notes(data: &[u8]) -> Notes<'_> {
    Notes { data, at: 0 }
}

/// Iterator over the notes of a section.
#[derive(Debug, Clone)]
pub struct Notes<'d> {
    data: &'d [u8],
    at: usize,
}

impl<'d> Notes<'d> {
    fn read(&mut self) -> Result<Note<'d>, CodecError> {
        const WHAT: &str = "note header";
        let (at, data) = (self.at, self.data);
        let name_size = word(data, at, WHAT)? as usize;
        let description_size = word(data, at + 4, WHAT)? as usize;
        let kind = word(data, at + 8, WHAT)?;
        let name = take(data, at + 12, name_size, "note name")?;
        // The sizes were just found inside the data, so that sums cannot overflow.
        let start = at + 12 + name_size.next_multiple_of(4);
        let description = take(data, start, description_size, "note description")?;
        self.at = start + description_size.next_multiple_of(4);
        Ok(Note { kind, name, description })
    }
}

impl<'d> Iterator for Notes<'d> {
    type Item = Result<Note<'d>, CodecError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.data.len() {
            return None;
        }
        let note = self.read();
        if note.is_err() {
            self.at = self.data.len();
        }
        Some(note)
    }
}

impl Note<'_> {
    /// Appends the note to `out`.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let size = |what, bytes: &[u8]| {
            u32::try_from(bytes.len()).map_err(|_| CodecError::TooLong {
                what,
                size: bytes.len(),
                max: u32::MAX as usize,
            })
        };
        out.extend_from_slice(&size("note name", self.name)?.to_le_bytes());
        out.extend_from_slice(&size("note description", self.description)?.to_le_bytes());
        out.extend_from_slice(&self.kind.to_le_bytes());
        for part in [self.name, self.description] {
            out.extend_from_slice(part);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        Ok(())
    }
}

/// Content of a `tkinfo` note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolInfo<'d> {
    /// Format version: 2, or 128 and 129 in files of CUDA 12.8 and 12.9.
    pub version: u32,
    /// Name of the object, often empty.
    pub object: &'d [u8],
    /// Name of the tool.
    pub tool: &'d [u8],
    /// Version of the tool.
    pub tool_version: &'d [u8],
    /// Build of the tool.
    pub build: &'d [u8],
    /// Arguments that the tool ran with.
    pub arguments: &'d [u8],
}

const TKINFO_HEAD: usize = 24;

impl<'d> ToolInfo<'d> {
    /// Reads the description of a `tkinfo` note.
    pub fn read(description: &'d [u8]) -> Result<Self, CodecError> {
        const WHAT: &str = "tkinfo note";
        let version = word(description, 0, WHAT)?;
        let head = take(description, 0, TKINFO_HEAD, WHAT)?;
        let blob = description.get(head.len()..).unwrap_or_default();
        let mut strings = [&[][..]; 5];
        for (i, string) in strings.iter_mut().enumerate() {
            let offset = word(description, 4 + 4 * i, WHAT)?;
            *string = string_at(blob, offset).ok_or(CodecError::Value {
                what: WHAT,
                offset: 4 + 4 * i,
                field: "string offset",
                value: offset.into(),
            })?;
        }
        let [object, tool, tool_version, build, arguments] = strings;
        Ok(ToolInfo {
            version,
            object,
            tool,
            tool_version,
            build,
            arguments,
        })
    }

    /// The description of the note: strings in order, each once, padded to four bytes.
    pub fn description(&self) -> Vec<u8> {
        let strings = [self.object, self.tool, self.tool_version, self.build, self.arguments];
        let mut out = Vec::with_capacity(TKINFO_HEAD + strings.iter().map(|s| s.len() + 1).sum::<usize>() + 3);
        out.extend_from_slice(&self.version.to_le_bytes());
        let mut offset = 0u32;
        for string in strings {
            out.extend_from_slice(&offset.to_le_bytes());
            offset = offset.wrapping_add(string.len() as u32 + 1);
        }
        for string in strings {
            out.extend_from_slice(string);
            out.push(0);
        }
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    /// Appends the whole note to `out`.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let description = self.description();
        let note = Note {
            kind: TYPE_TKINFO,
            name: OWNER,
            description: &description,
        };
        note.write(out)
    }
}

/// Bytes of a note of CUDA 12.8 or 12.9 (`.note.nv.cuver`): one word more, and no toolkit version.
const FIRST_FORM: usize = 12;

fn write_cuda_info(description: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
    let note = Note {
        kind: TYPE_CUINFO,
        name: OWNER,
        description,
    };
    note.write(out)
}

/// Content of a note of CUDA 12.8 or 12.9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstCudaInfo {
    /// Virtual architecture, 100 for compute_100.
    pub virtual_sm: u16,
}

impl FirstCudaInfo {
    /// The description of the note.
    pub fn description(&self) -> [u8; FIRST_FORM] {
        let [low, high] = self.virtual_sm.to_le_bytes();
        [1, 0, low, high, 1, 0, 0, 0, 1, 0, 0, 0]
    }

    /// Appends the whole note to `out`.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        write_cuda_info(&self.description(), out)
    }
}

/// Content of a `cuinfo` note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaInfo {
    /// Format version: 2, or 1 in files of CUDA 12.8 and 12.9.
    pub version: u16,
    /// Virtual architecture, 90 for compute_90.
    pub virtual_sm: u16,
    /// Toolkit version times ten, 130 for 13.0; 1 in format version 1.
    pub toolkit: u32,
}

impl CudaInfo {
    /// Reads the description of a `cuinfo` note.
    pub fn read(description: &[u8]) -> Result<Self, CodecError> {
        const WHAT: &str = "cuinfo note";
        let is_first_form = u16_at(description, 0) == Some(1) && description.len() == FIRST_FORM;
        if description.len() != 8 && !is_first_form {
            return Err(CodecError::Value {
                what: WHAT,
                offset: 0,
                field: "size",
                value: description.len() as u64,
            });
        }
        let half = |at| u16_at(description, at).unwrap_or_default();
        Ok(CudaInfo {
            version: half(0),
            virtual_sm: half(2),
            toolkit: word(description, 4, WHAT)?,
        })
    }
    /// The description of the note.
    pub fn description(&self) -> [u8; 8] {
        let word = u64::from(self.version) | u64::from(self.virtual_sm) << 16 | u64::from(self.toolkit) << 32;
        word.to_le_bytes()
    }
    /// Appends the whole note to `out`.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        write_cuda_info(&self.description(), out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        let tool = ToolInfo {
            version: 2,
            object: b"",
            tool: b"nvlink",
            tool_version: b"release 13.0",
            build: b"Build 1",
            arguments: b"-arch sm_90 ",
        };
        tool.write(&mut out).unwrap();
        let info = CudaInfo {
            version: 2,
            virtual_sm: 90,
            toolkit: 130,
        };
        info.write(&mut out).unwrap();
        out
    }

    #[test]
    fn both_kinds_round_trip() {
        let bytes = sample();
        assert_eq!(&bytes[..12], &[12, 0, 0, 0, 68, 0, 0, 0, 0xd0, 7, 0, 0]);
        let list: Vec<_> = notes(&bytes).collect::<Result<_, _>>().unwrap();
        assert_eq!(list.iter().map(|n| n.kind).collect::<Vec<_>>(), [TYPE_TKINFO, TYPE_CUINFO]);
        let tool = ToolInfo::read(list[0].description).unwrap();
        assert_eq!(
            (tool.object, tool.tool, tool.arguments),
            (&b""[..], &b"nvlink"[..], &b"-arch sm_90 "[..])
        );
        assert_eq!(tool.description(), list[0].description);
        let info = CudaInfo::read(list[1].description).unwrap();
        assert_eq!(info.description(), list[1].description);
        assert_eq!((info.virtual_sm, info.toolkit), (90, 130));
    }

    #[test]
    fn damage_is_named() {
        let bytes = sample();
        for cut in 1..bytes.len() {
            // Whole notes may be left; the last item is then an error.
            let last = notes(&bytes[..cut]).last().unwrap();
            assert_eq!(last.is_ok(), cut == 24 + 68, "{cut}");
        }
        let mut far = bytes.clone();
        far[24 + 4] = 0xff;
        let note = notes(&far).next().unwrap().unwrap();
        let error = ToolInfo::read(note.description).unwrap_err();
        assert_eq!(error.to_string(), "tkinfo note at offset 0x4: string offset is 0xff");
        let mut huge = bytes;
        huge[..4].copy_from_slice(&[0xff; 4]);
        assert!(notes(&huge).next().unwrap().is_err());
    }
}
