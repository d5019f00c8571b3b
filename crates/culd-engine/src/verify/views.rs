//! The two views of a file for sm_100 and later.
//!
//! 1. Symbol i of `.nv.merc.symtab` is symbol i of `.symtab`: same name, binding and type. `.symtab` may go on with section symbols.
//! 2. Every code section has a capsule, which names it in its first word; every capsule has a code section.
//! 3. A function with attributes in one view has them in the other.

use super::file::File;
use super::{Check, Findings, text};
use cubin::consts::*;
use cubin::kind::{CAPSULE_PREFIX, MERCURY_PREFIX, SectionKind};

/// Compares the views.
pub(super) fn check(image: &File<'_>, found: &mut Findings) {
    if !image.has_mercury() {
        return;
    }
    if let Err(reason) = symbols(image).and_then(|()| code(image)).and_then(|()| attributes(image)) {
        found.add(Check::Views, reason);
    }
}

fn symbols(image: &File<'_>) -> Result<(), String> {
    if image.symbols.len() < image.mercury.len() {
        return Err(".nv.merc.symtab has more symbols than .symtab".into());
    }
    for (s, m) in image.symbols.iter().zip(&image.mercury) {
        // Constant banks have other names there, variables keep the type that they have in objects.
        let is_section = s.entry.kind() == STT_SECTION && m.entry.kind() == STT_SECTION;
        let kind = |kind: u8| if kind == STT_CUDA_OBJECT { STT_OBJECT } else { kind };
        let same = s.name == m.name && s.entry.bind() == m.entry.bind() && kind(s.entry.kind()) == kind(m.entry.kind());
        if !same && !is_section {
            return Err(format!(
                "symbol {} is {} in .symtab and {} in .nv.merc.symtab",
                s.index,
                text(s.name),
                text(m.name)
            ));
        }
        let is_function = s.entry.kind() == STT_FUNC;
        if is_function && s.section.index().is_some() != m.section.index().is_some() {
            return Err(format!("function {} is defined in one view only", text(s.name)));
        }
    }
    for s in image.symbols.iter().skip(image.mercury.len()) {
        if s.entry.kind() == STT_FUNC {
            return Err(format!("function {} is missing in .nv.merc.symtab", text(s.name)));
        }
    }
    Ok(())
}

fn code(image: &File<'_>) -> Result<(), String> {
    let mut has_capsule = vec![false; image.sections.len()];
    for s in image.sections.iter().filter(|s| image.kind(s.index) == SectionKind::Capsule) {
        let twin = s.data.first_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        let Some(twin) = twin.and_then(|t| image.section(t)).filter(|t| t.index != 0) else {
            return Err(format!("section {} names no code section", text(s.name)));
        };
        if s.name.strip_prefix(CAPSULE_PREFIX) != Some(twin.name) {
            return Err(format!("section {} names section {}", text(s.name), text(twin.name)));
        }
        if let Some(slot) = has_capsule.get_mut(twin.index as usize) {
            *slot = true;
        }
    }
    for s in image.sections.iter().filter(|s| image.kind(s.index) == SectionKind::Text) {
        if !has_capsule.get(s.index as usize).copied().unwrap_or(false) {
            return Err(format!("section {} has no Mercury form", text(s.name)));
        }
    }
    Ok(())
}

fn attributes(image: &File<'_>) -> Result<(), String> {
    for s in image.sections.iter().skip(1) {
        let name = match s.header.sh_type.get() {
            SHT_CUDA_INFO => [MERCURY_PREFIX, s.name].concat(),
            SHT_CUDA_MERC_INFO => s.name.strip_prefix(MERCURY_PREFIX).unwrap_or_default().to_vec(),
            _ => continue,
        };
        if image.named(&name).is_empty() {
            return Err(format!("section {} has no section {} in the other view", text(s.name), text(&name)));
        }
    }
    Ok(())
}
