//! Compiled modules with changes that other tools make or made: nvlink accepts all of them.
//!
//! 1. The file is taken apart and described to the emitter ([`cubin::model`]).
//! 2. Section headers are changed, or sections are added at the end, so that no index moves.
//! 3. The emitter writes the file again.

use cubin::consts::{
    SHF_ALLOC, SHF_CUDA_MERCURY, SHF_INFO_LINK, SHF_WRITE, SHT_CUDA_CONSTANT_USER, SHT_CUDA_CONSTANT0, SHT_CUDA_CONSTANT17,
    SHT_CUDA_GLOBAL, SHT_CUDA_GLOBAL_INIT, SHT_CUDA_METADATA, SHT_CUDA_SHARED, SHT_NOBITS, SHT_NOTE, SHT_PROGBITS,
};
use cubin::model::Model;
use cubin::read::Cubin;
use cubin::write::{Content, Image, ImageSection};
use culd_tests::rng::Rng;
use std::borrow::Cow;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patch {
    /// Data sections get the standard ELF type in place of NVIDIA's.
    StandardTypes,
    /// Sections that no compiler of NVIDIA's writes into an object.
    UnknownSections,
    /// `SHF_INFO_LINK` is cleared, as in files of CUDA 12.0 to 12.3.
    NoInfoLink,
}

impl Patch {
    /// The dimension in the summary.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::StandardTypes => "standard section types",
            Self::UnknownSections => "unknown sections",
            Self::NoInfoLink => "flag 0x40 cleared",
        }
    }
}

/// The file with a change; nothing if it has no section to change.
pub(crate) fn apply(bytes: &[u8], patch: Patch, rng: &mut Rng) -> Option<Vec<u8>> {
    let model = Model::read(&Cubin::parse(bytes).ok()?).ok()?;
    let mut image = model.image().ok()?;
    let changed = match patch {
        Patch::StandardTypes => standard_types(&mut image, rng),
        Patch::UnknownSections => (0..rng.between(1, 3)).all(|_| unknown_section(&mut image, rng)),
        Patch::NoInfoLink => no_info_link(&mut image, rng),
    };
    changed.then(|| image.emit().ok())?
}

/// The standard type of a section with data or room for it.
fn standard_type(section: &ImageSection<'_>) -> Option<u32> {
    match section.sh_type {
        SHT_CUDA_GLOBAL | SHT_CUDA_SHARED => Some(SHT_NOBITS),
        SHT_CUDA_GLOBAL_INIT | SHT_CUDA_CONSTANT_USER | SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT17 => Some(SHT_PROGBITS),
        _ => None,
    }
}

/// Changes one kind of section, perhaps each of the others with a chance of one half.
fn standard_types(image: &mut Image<'_>, rng: &mut Rng) -> bool {
    let types: Vec<u32> = image
        .sections
        .iter()
        .filter(|s| standard_type(s).is_some())
        .map(|s| s.sh_type)
        .collect();
    let Some(&kind) = rng.choose(&types) else { return false };
    let others = if rng.chance(60) { 0 } else { 50 };
    for section in &mut image.sections {
        let wanted = section.sh_type == kind || rng.chance(others);
        if let Some(standard) = standard_type(section).filter(|_| wanted) {
            section.sh_type = standard;
        }
    }
    true
}

/// Clears the flag everywhere, or of the first section and of each other with a chance of one half.
fn no_info_link(image: &mut Image<'_>, rng: &mut Rng) -> bool {
    let others = if rng.chance(70) { 100 } else { 50 };
    let mut changed = false;
    for section in image.sections.iter_mut().filter(|s| s.flags & SHF_INFO_LINK != 0) {
        if !changed || rng.chance(others) {
            section.flags &= !SHF_INFO_LINK;
            changed = true;
        }
    }
    changed
}

/// Adds a section at the end; false if the file has no table of section names.
fn unknown_section(image: &mut Image<'_>, rng: &mut Rng) -> bool {
    let (name, sh_type, flags) = rng.pick([
        (".foo", SHT_PROGBITS, 0),
        (".foo", SHT_PROGBITS, SHF_ALLOC),
        (".foo", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE),
        (".foo.bar", SHT_NOBITS, 0),
        (".comment", SHT_PROGBITS, 0),
        (".note.foo", SHT_NOTE, 0),
        (".note.foo", SHT_NOTE, SHF_ALLOC),
        (".nv.metadata", SHT_CUDA_METADATA, 0),
        (".nv.unified.texrefDescSize", SHT_PROGBITS, 0),
        (".nv.constant18", SHT_PROGBITS, SHF_ALLOC),
    ]);
    let size = match sh_type {
        SHT_NOTE => 24,
        SHT_CUDA_METADATA => 12 * rng.between(1, 2),
        _ => rng.pick([4, 8, 16, 33]),
    };
    let bytes: Vec<u8> = match sh_type {
        SHT_NOTE => [4, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, b'f', b'o', b'o', 0]
            .into_iter()
            .chain((0..8).map(|_| rng.below(256) as u8))
            .collect(),
        SHT_CUDA_METADATA => vec![0; size],
        _ => (0..size).map(|_| rng.below(256) as u8).collect(),
    };
    // Beside a second view nvlink takes a section of that view; others nearly always crash it.
    let two_views = image.sections.iter().any(|s| s.flags & SHF_CUDA_MERCURY != 0);
    let (name, flags) = match two_views && rng.chance(90) {
        true => (format!(".nv.merc{name}"), flags | SHF_CUDA_MERCURY),
        false => (name.to_owned(), flags),
    };
    let Some(name) = add_name(image, &name) else { return false };
    image.sections.push(ImageSection {
        name,
        sh_type,
        flags,
        link: 0,
        info: 0,
        align: rng.pick([1, 4, 8]),
        entsize: 0,
        size: size as u64,
        reserve: 0,
        content: if sh_type == SHT_NOBITS {
            Content::NoBits
        } else {
            Content::Bytes(Cow::Owned(bytes))
        },
    });
    true
}

/// Appends a name to the table of section names; its offset.
fn add_name(image: &mut Image<'_>, name: &str) -> Option<u32> {
    let index = usize::try_from(image.header.section_names).ok()?.checked_sub(1)?;
    let table = image.sections.get_mut(index)?;
    let Content::Bytes(bytes) = &mut table.content else { return None };
    let bytes = bytes.to_mut();
    let offset = u32::try_from(bytes.len()).ok()?;
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    table.size = bytes.len() as u64;
    Some(offset)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    const OBJECT: &[u8] = include_bytes!("../../../examples/saxpy/saxpy.cubin");

    #[test]
    fn each_patch_changes_what_it_names_and_nothing_else() {
        let before = Cubin::parse(OBJECT).unwrap();
        for patch in [Patch::StandardTypes, Patch::UnknownSections, Patch::NoInfoLink] {
            for seed in 0..20 {
                let bytes = apply(OBJECT, patch, &mut Rng::new(seed)).unwrap();
                let after = Cubin::parse(&bytes).unwrap();
                let (a, b) = (before.section_headers(), after.section_headers());
                assert_eq!(a.len() < b.len(), patch == Patch::UnknownSections);
                let types = a.iter().zip(b).any(|(a, b)| a.sh_type != b.sh_type);
                assert_eq!(types, patch == Patch::StandardTypes, "seed {seed}");
                let flags = a.iter().zip(b).any(|(a, b)| a.sh_flags != b.sh_flags);
                assert_eq!(flags, patch == Patch::NoInfoLink, "seed {seed}");
                let same = before
                    .sections()
                    .zip(after.sections())
                    .filter(|(a, _)| a.as_ref().unwrap().name != b".shstrtab");
                assert!(same.into_iter().all(|(a, b)| a.unwrap().data == b.unwrap().data));
            }
        }
    }
}
