//! Whether an input may be handed to NVIDIA's library, which crashes on damaged ones.
//!
//! 1. The content decides what is read, as in NVIDIA's library; what has no known magic is left to it: it refuses it by the magic alone.
//! 2. Archives and host objects are read to their fat binaries, fat binaries to their entries.
//! 3. Device objects must parse; relocatable ones must also pass the checks of culd's own links. Entries of other families of architectures
//!    are only unpacked.
//! 4. LTO IR must have a header with offsets inside the file; in a fat binary it must be there as a whole. Only NVIDIA's library can read
//!    what follows.

use cubin::Cubin;
use cubin::arch::Arch;
use cubin::fatbin::{Entry, EntryKind, Fatbin, FatbinHeader};
use cubin::read::Section;
use culd_input::archive::Members;
use culd_input::detect::FileKind;
use culd_input::host::HostObject;
use std::fmt::Display;

/// Most bytes that an entry of a fat binary may unpack to.
const UNPACK_LIMIT: u64 = 1 << 30;
/// Where the header of LTO IR states its own size, and the places of its two parts.
const LTO_HEADER: [usize; 3] = [12, 16, 20];
/// `e_type` of a linked file.
const ET_EXEC: u16 = 2;

/// The first thing that is wrong with an input, if anything is.
pub(crate) fn damage(bytes: &[u8], target: Arch) -> Option<String> {
    Check { target }.content(bytes).err()
}

type Checked = Result<(), String>;

fn reason(error: impl Display) -> String {
    error.to_string()
}

struct Check {
    target: Arch,
}

impl Check {
    fn content(&self, bytes: &[u8]) -> Checked {
        match FileKind::of(bytes) {
            FileKind::DeviceElf { .. } => device_object(bytes),
            FileKind::HostElf { .. } => self.host_object(bytes),
            FileKind::Fatbin => self.fatbin(bytes).map(drop),
            FileKind::LtoIr => lto_ir(bytes),
            FileKind::Archive { thin: false } => self.archive(bytes),
            FileKind::Unknown if bytes.starts_with(b"\x7fELF") => Err("an ELF header that is cut off".into()),
            FileKind::Archive { thin: true } | FileKind::Ptx | FileKind::Bitcode | FileKind::Empty | FileKind::Unknown => Ok(()),
        }
    }

    fn archive(&self, bytes: &[u8]) -> Checked {
        for member in Members::new(bytes, false).map_err(reason)? {
            let member = member.map_err(reason)?;
            let named = |why| format!("member {}: {why}", String::from_utf8_lossy(member.name));
            self.content(member.data).map_err(named)?;
        }
        Ok(())
    }

    /// Fat binaries of several objects are aligned to 8, with zeros between.
    fn host_object(&self, bytes: &[u8]) -> Checked {
        let host = HostObject::parse(bytes).map_err(reason)?;
        let mut rest = host.fatbins.unwrap_or_default();
        while let Some(start) = rest.iter().position(|&b| b != 0) {
            rest = rest.get(start..).unwrap_or_default();
            let size = self.fatbin(rest)?;
            rest = rest.get(size..).unwrap_or_default();
        }
        Ok(())
    }

    /// Checks the container at the start of `bytes`; its size.
    fn fatbin(&self, bytes: &[u8]) -> Result<usize, String> {
        let fatbin = Fatbin::parse(bytes).map_err(reason)?;
        if fatbin.is_truncated() {
            return Err("a fat binary that is cut off".into());
        }
        for entry in fatbin.entries() {
            for member in entry.and_then(|e| e.members()).map_err(reason)? {
                self.entry(&member)?;
            }
        }
        usize::try_from(fatbin.size()).map_err(reason)
    }

    fn entry(&self, entry: &Entry<'_>) -> Checked {
        header(entry)?;
        if entry.kind() == EntryKind::Lto {
            let (stored, packed) = (entry.stored.len() as u64, u64::from(entry.header.compressed_size.get()));
            let is_whole = stored == entry.header.stored_size.get() && stored != 0 && packed <= stored;
            return is_whole.then_some(()).ok_or_else(|| "LTO IR that is cut off".into());
        }
        let content = entry.payload(UNPACK_LIMIT).map_err(reason)?;
        let is_of_family = entry.arch().number / 10 == self.target.number / 10;
        match entry.kind() {
            EntryKind::Elf if is_of_family => device_object(&content),
            _ => Ok(()),
        }
    }
}

/// The texts in the header of an entry must be inside it.
fn header(entry: &Entry<'_>) -> Checked {
    let alone = entry.alone();
    let size = entry.header.header_size.get() as usize;
    let header = alone
        .get(size_of::<FatbinHeader>()..)
        .and_then(|h| h.get(..size))
        .unwrap_or_default();
    let is_inside = |start: u32, size: u32| (start as usize).checked_add(size as usize).is_some_and(|end| end <= header.len());
    let word = |at: usize| header.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b));
    let options = entry.header.options.get();
    let block = || -> Option<bool> {
        let size = word((options as usize).checked_add(4)?)?;
        Some(is_inside(word(options as usize)?, size))
    };
    let is_sound = is_inside(entry.header.identifier.get(), entry.header.identifier_size.get()) && (options == 0 || block() == Some(true));
    match is_sound {
        true => Ok(()),
        false => Err(format!("fat binary entry at offset {:#x}: a text outside its header", entry.offset)),
    }
}

fn device_object(bytes: &[u8]) -> Checked {
    let cubin = Cubin::parse(bytes).map_err(reason)?;
    match cubin.header().e_type.get() {
        ET_EXEC => return Ok(()),
        _ => cubin::validate::validate(&cubin).map_err(reason)?,
    }
    // A divisor in NVIDIA's library. No compiler writes 0.
    let unaligned = |section: &Section<'_>| section.index != 0 && section.header.sh_addralign.get() == 0;
    match cubin.sections().filter_map(Result::ok).find(unaligned) {
        Some(section) => Err(format!("section {} has the alignment 0", section.index)),
        None => Ok(()),
    }
}

fn lto_ir(bytes: &[u8]) -> Checked {
    let [size_at, first_at, second_at] = LTO_HEADER;
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b) as usize);
    let size = bytes
        .get(size_at..)
        .and_then(|b| b.first_chunk().map(|b| usize::from(u16::from_le_bytes(*b))));
    let is_sound = match (size, word(first_at), word(second_at)) {
        (Some(size), Some(first), Some(second)) => size <= first && first <= second && second < bytes.len(),
        _ => false,
    };
    is_sound.then_some(()).ok_or_else(|| "LTO IR with a damaged header".into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use cubin::fatbin::{NewEntry, Writer};

    fn object() -> Vec<u8> {
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/saxpy/saxpy.cubin")).unwrap()
    }

    fn is_damaged(bytes: &[u8]) -> bool {
        damage(bytes, Arch::parse("sm_90").unwrap()).is_some()
    }

    #[test]
    fn objects_must_be_whole() {
        let object = object();
        assert!(!is_damaged(&object));
        assert!(is_damaged(object.get(..object.len() - 1).unwrap()));
        assert!(is_damaged(object.get(..10).unwrap()));
        let mut bad = object.clone();
        // e_shoff
        *bad.get_mut(0x2f).unwrap() = 0x7f;
        assert!(is_damaged(&bad));
    }

    #[test]
    fn containers_are_read_to_their_objects() {
        let mut writer = Writer::new();
        writer.add(&NewEntry::elf(90, &object())).unwrap();
        let fatbin = writer.finish();
        assert!(!is_damaged(&fatbin));
        assert!(is_damaged(fatbin.get(..fatbin.len() - 8).unwrap()));
        // the place of the options: offset 20 of the entry
        let mut bad = fatbin.clone();
        bad.get_mut(16 + 20..16 + 24).unwrap().copy_from_slice(&[0xff; 4]);
        assert!(is_damaged(&bad));
        let mut writer = Writer::new();
        writer.add(&NewEntry::elf(90, &[0x7f, b'E', b'L', b'F'])).unwrap();
        let broken = writer.finish();
        assert!(is_damaged(&broken));
        let archive = |content: &[u8]| {
            let header = format!("{:<16}{:<32}{:<10}`\n", "a.o/", "0", content.len());
            [b"!<arch>\n", header.as_bytes(), content].concat()
        };
        assert!(!is_damaged(&archive(&fatbin)));
        assert!(is_damaged(&archive(&broken)));
    }

    #[test]
    fn lto_ir_needs_a_header() {
        let mut module = vec![0; 64];
        module.get_mut(..4).unwrap().copy_from_slice(&[0xed, 0x43, 0x4e, 0x7f]);
        for (at, value) in [(12, 24), (16, 40), (20, 44)] {
            *module.get_mut(at).unwrap() = value;
        }
        assert!(!is_damaged(&module));
        *module.get_mut(19).unwrap() = 0x80;
        assert!(is_damaged(&module));
        assert!(is_damaged(&[0xed, 0x43, 0x4e, 0x7f]));
    }
}
