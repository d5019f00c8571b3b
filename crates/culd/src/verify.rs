//! Reads a finished image again and checks what must hold, whatever the inputs were.
//!
//! 1. The file parses; every section and symbol has a name, every symbol a section that exists.
//! 2. Names of sections and `sh_link`, `sh_info` that are indices point at something.
//! 3. Every relocation names a symbol that exists and a place inside its section.
//! 4. Offsets are aligned, and the file ends with its tables.

use cubin::consts::*;
use cubin::raw::Shdr;
use cubin::read::{Cubin, Section, is_nobits};

/// What is wrong with an image; `None` if nothing is.
pub fn problem(image: &[u8]) -> Option<String> {
    check(image).err()
}

fn check(image: &[u8]) -> Result<(), String> {
    let text = |e: cubin::ReadError| e.to_string();
    let cubin = Cubin::parse(image).map_err(text)?;
    for symbol in cubin.symbols() {
        symbol.map_err(text)?;
    }
    let sections = cubin.section_headers();
    for section in cubin.sections() {
        let section = section.map_err(text)?;
        header(sections, &section)?;
        if matches!(section.header.sh_type.get(), SHT_REL | SHT_RELA | SHT_CUDA_RESOLVED_RELA) {
            relocations(&cubin, &section)?;
        }
    }
    cubin.program_headers().map_err(text)?;
    Ok(())
}

fn header(sections: &[Shdr], section: &Section<'_>) -> Result<(), String> {
    let h = section.header;
    let name = String::from_utf8_lossy(section.name);
    let align = h.sh_addralign.get();
    // A relocatable link of relocatable links takes alignments of shared memory from addresses. nvlink quirk: user constants over 64 KB
    // are laid out again, each at multiples of its size up to 8, and the bank of a final link has the largest of these alignments.
    let by_size = section.name == b".nv.constant3" && h.sh_type.get() == SHT_PROGBITS && align <= 8;
    let is_align = align.is_power_of_two() || (align != 0 && (h.sh_type.get() == SHT_CUDA_SHARED || by_size));
    if section.index != 0 && !(is_align && h.sh_offset.get().is_multiple_of(align)) {
        return Err(format!(
            "section {name} lies at {:#x}, which is not aligned to {align}",
            h.sh_offset.get()
        ));
    }
    if h.sh_link.get() as usize >= sections.len() {
        return Err(format!("section {name}: sh_link {} names no section", h.sh_link.get()));
    }
    if h.sh_flags.get() & SHF_INFO_LINK != 0 && h.sh_info.get() as usize >= sections.len() {
        return Err(format!("section {name}: sh_info {} names no section", h.sh_info.get()));
    }
    Ok(())
}

fn relocations(cubin: &Cubin<'_>, section: &Section<'_>) -> Result<(), String> {
    let name = String::from_utf8_lossy(section.name);
    let entries = cubin.relocations(section).map_err(|e| e.to_string())?;
    let target = cubin.section(section.header.sh_info.get()).map_err(|e| e.to_string())?;
    let size = if is_nobits(target.header.sh_type.get()) {
        0
    } else {
        target.header.sh_size.get()
    };
    for i in 0..entries.len() {
        let Some(entry) = entries.get(i) else { break };
        if entry.r_sym.get() as usize >= cubin.symbol_entries().len() {
            return Err(format!(
                "section {name}: entry {i} names symbol {}, which does not exist",
                entry.r_sym.get()
            ));
        }
        // Static functions of one name share the first one's list of resolved relocations.
        if entry.r_offset.get() >= size && section.header.sh_type.get() != SHT_CUDA_RESOLVED_RELA {
            return Err(format!("section {name}: entry {i} lies past the end of its section"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::problem;

    const CUBIN: &[u8] = include_bytes!("../../../examples/saxpy/saxpy.cubin");

    #[test]
    fn a_good_file_has_no_problem() {
        assert_eq!(problem(CUBIN), None);
    }

    #[test]
    fn a_relocation_outside_its_section_is_found() {
        let cubin = cubin::Cubin::parse(CUBIN).unwrap();
        let section = cubin
            .sections()
            .map(|s| s.unwrap())
            .find(|s| s.name.starts_with(b".rela.text"))
            .unwrap();
        let at = section.header.sh_offset.get() as usize;
        let mut damaged = CUBIN.to_vec();
        damaged[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(problem(&damaged).unwrap().contains("past the end"));
    }
}
