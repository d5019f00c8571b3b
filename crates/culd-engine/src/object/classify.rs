//! Role of a section in the link, from its name, type and flags.
//!
//! 1. Sections with a standard type get the CUDA type that their name implies ([`BY_NAME`]): the bytes of an object do not depend on
//!    which of the two types it has.
//! 2. A section whose name implies another type is refused ([`NAMED`]).
//! 3. The type, then the name, decides the [`Role`].
//! 4. A section that has bytes of one of the types in [`is_passed_through`] and no other role is passed through: sections of one name become
//!    one section of the output.
//! 5. Module ids (`.nv.metadata`), which no tool of CUDA 12 or 13 writes, are refused.
//! 6. All others have [`Role::Other`]:
//!
//! | sections | why they are not linked |
//! |---|---|
//! | section 0, `.shstrtab`, `.strtab`, `.symtab`, `.symtab_shndx` | rebuilt |
//! | `.note.nv.*`, `.nv.compat`, `.nv.callgraph`, `.nv.prototype`, `.nv.rel.action`, `.nv.resolvedrela.*` | their contents are read and rebuilt |
//! | `.nv.local.F` | stacks: their sizes are attributes |
//! | `.nv.shared.reserved.*` of objects with one view | rebuilt |
//! | notes with the flag 0x1000000, notes of relocatable links | nvlink drops them |
//! | memory without bytes under other names, types that are not listed here | nvlink drops them; a relocation or a variable there is refused |

use super::Role;
use cubin::consts::*;
use cubin::kind::without_mercury;

/// Standard type, start of the name, CUDA type.
const BY_NAME: &[(u32, &[u8], u32)] = &[
    (SHT_NOBITS, b".nv.global", SHT_CUDA_GLOBAL),
    (SHT_NOBITS, b".nv.shared.reserved.", SHT_CUDA_SHARED_RESERVED),
    (SHT_NOBITS, b".nv.shared.", SHT_CUDA_SHARED),
    (SHT_NOBITS, b".nv_debug.shared", SHT_CUDA_SHARED),
    (SHT_NOBITS, b".nv.local.", SHT_CUDA_LOCAL),
    (SHT_PROGBITS, b".nv.global.init", SHT_CUDA_GLOBAL_INIT),
];

const BANK_PREFIX: &[u8] = b".nv.constant";

/// The type that a section has for the linker; `None` if its name has no number for the constant bank that its type requires.
pub(crate) fn normal_type(name: &[u8], sh_type: u32) -> Option<u32> {
    if let Some(rest) = name.strip_prefix(BANK_PREFIX)
        && matches!(sh_type, SHT_PROGBITS | SHT_CUDA_CONSTANT)
    {
        return bank(rest).map(|bank| SHT_CUDA_CONSTANT0 + bank);
    }
    if sh_type == SHT_CUDA_CONSTANT {
        return None;
    }
    let named = BY_NAME.iter().find(|(t, prefix, _)| *t == sh_type && name.starts_with(prefix));
    Some(named.map_or(sh_type, |(_, _, cuda)| *cuda))
}

/// The number at the start of what follows the prefix of a bank; a name without a number is bank 0.
fn bank(rest: &[u8]) -> Option<u32> {
    let digits = rest.iter().take_while(|b| b.is_ascii_digit());
    let number = digits.fold(0u32, |n, d| n.saturating_mul(10).saturating_add(u32::from(d - b'0')));
    (number <= SHT_CUDA_CONSTANT_LAST - SHT_CUDA_CONSTANT0).then_some(number)
}

/// Types of sections whose bytes are linked whatever their name is.
pub(crate) fn is_passed_through(sh_type: u32) -> bool {
    matches!(
        sh_type,
        SHT_PROGBITS | SHT_CUDA_GLOBAL_INIT | SHT_CUDA_UIDX | SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT_LAST
    )
}

/// Start of a name, and the types that sections of such a name have after [`normal_type`]. The first row that fits decides.
///
/// nvlink uses the name at some places and the type at others: a section of another type is dropped, linked twice or makes it crash.
const NAMED: &[(&[u8], &[u32])] = &[
    (b".nv.info", &[SHT_CUDA_INFO]),
    (b".nv.callgraph", &[SHT_CUDA_CALLGRAPH]),
    (b".nv.prototype", &[SHT_CUDA_PROTOTYPE]),
    (b".nv.compat", &[SHT_CUDA_COMPAT]),
    (b".nv.rel.action", &[SHT_CUDA_RELOCINFO]),
    (b".nv.resolvedrela.", &[SHT_CUDA_RESOLVED_RELA]),
    (b".note.nv.", &[SHT_NOTE]),
    (b".rel.", &[SHT_REL, SHT_RELA]),
    (b".rela.", &[SHT_REL, SHT_RELA]),
    (b".text.", &[SHT_PROGBITS]),
    (b".debug_", &[SHT_PROGBITS]),
    (b".nv_debug_", &[SHT_PROGBITS]),
    (b".nv_debug.shared", &[SHT_CUDA_SHARED]),
    (b".nv.shared.reserved.", &[SHT_CUDA_SHARED_RESERVED, SHT_CUDA_SHARED]),
    (b".nv.shared.", &[SHT_CUDA_SHARED]),
    (b".nv.local.", &[SHT_CUDA_LOCAL]),
    (b".nv.global.init", &[SHT_CUDA_GLOBAL_INIT]),
    (b".nv.global", &[SHT_CUDA_GLOBAL]),
    (b".nv.uft.entry", &[SHT_CUDA_UFT_ENTRY]),
    (b".nv.uft", &[SHT_CUDA_UFT]),
    (b".nv.udt.entry", &[SHT_CUDA_UDT_ENTRY]),
    (b".nv.udt", &[SHT_CUDA_UDT]),
    (b".nv.host", &[SHT_CUDA_HOST]),
    (b".shstrtab", &[SHT_STRTAB]),
    (b".strtab", &[SHT_STRTAB]),
    (b".symtab_shndx", &[SHT_SYMTAB_SHNDX]),
    (b".symtab", &[SHT_SYMTAB]),
];

/// Starts of the names of sections of the Mercury view.
const MERCURY_PREFIXES: [&[u8]; 2] = [b".nv.merc.", b".nv.capmerc."];

/// Types that only sections of one name have.
const TYPED: &[(u32, &[u8])] = &[(SHT_CUDA_UFT, b".nv.uft"), (SHT_CUDA_UDT, b".nv.udt")];

/// True for the names that compilers give to sections of the common types: nearly all sections are of these.
fn is_usual(name: &[u8], sh_type: u32) -> bool {
    match sh_type {
        SHT_PROGBITS => name.starts_with(b".text.") || name.starts_with(b".debug_") || name.starts_with(b".nv_debug_"),
        SHT_CUDA_INFO => name.starts_with(b".nv.info"),
        SHT_REL => name.starts_with(b".rel."),
        SHT_RELA => name.starts_with(b".rela."),
        SHT_STRTAB => name == b".strtab" || name == b".shstrtab",
        SHT_SYMTAB => name == b".symtab",
        SHT_NOTE => name.starts_with(b".note.nv."),
        SHT_CUDA_CALLGRAPH => name == b".nv.callgraph",
        SHT_CUDA_PROTOTYPE => name == b".nv.prototype",
        SHT_CUDA_COMPAT => name == b".nv.compat",
        SHT_CUDA_SHARED => name.starts_with(b".nv.shared."),
        SHT_CUDA_GLOBAL => name == b".nv.global",
        SHT_CUDA_GLOBAL_INIT => name == b".nv.global.init",
        _ => false,
    }
}

/// True if the name of a section does not match its type.
pub(crate) fn contradicts(name: &[u8], sh_type: u32) -> bool {
    if is_usual(name, sh_type) {
        return false;
    }
    if let Some(rest) = name.strip_prefix(BANK_PREFIX) {
        return bank(rest).is_none_or(|bank| sh_type != SHT_CUDA_CONSTANT0 + bank);
    }
    // Half of the sections of a file with two views are these, and no row is about them.
    let is_mercury = MERCURY_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let find = || NAMED.iter().find(|(prefix, _)| name.starts_with(prefix));
    let named = if is_mercury { None } else { find() };
    let typed = TYPED.iter().find(|(t, _)| *t == sh_type);
    named.is_some_and(|(_, types)| !types.contains(&sh_type)) || typed.is_some_and(|(_, prefix)| !without_mercury(name).starts_with(prefix))
}

/// Role of a section by its type and `sh_info`, then by its name.
pub(crate) fn role(name: &[u8], sh_type: u32, flags: u64, info: u32) -> Role {
    match sh_type {
        SHT_REL | SHT_RELA => Role::Relocations,
        // Observed: neither the name nor SHF_INFO_LINK matters; ptxas 12.0 to 12.3 does not set that flag.
        SHT_CUDA_INFO if info == 0 => Role::Info,
        SHT_CUDA_INFO => Role::FunctionInfo,
        SHT_CUDA_METADATA => Role::Metadata,
        SHT_CUDA_GLOBAL => Role::Global,
        SHT_CUDA_GLOBAL_INIT => Role::GlobalInit,
        SHT_CUDA_UFT => Role::Stub,
        SHT_CUDA_UDT => Role::UnifiedData,
        SHT_CUDA_UFT_ENTRY | SHT_CUDA_UDT_ENTRY => Role::UnifiedEntry,
        SHT_CUDA_SHARED if name.starts_with(b".nv.shared.") => Role::KernelShared,
        SHT_CUDA_SHARED => Role::ModuleShared,
        SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT_LAST => constant(name, sh_type, info),
        SHT_NOTE if flags & SHF_CUDA_NOTE_CUINFO == 0 && !name.starts_with(b".note.nv.") => Role::Note,
        SHT_PROGBITS if name.starts_with(b".text.") => Role::Text,
        SHT_PROGBITS if name.starts_with(b".debug_") || name.starts_with(b".nv_debug_") => Role::Debug,
        other if is_passed_through(other) => Role::PassedThrough,
        _ => Role::Other,
    }
}

/// Banks of one function name their text in `sh_info`.
fn constant(name: &[u8], sh_type: u32, info: u32) -> Role {
    let Some(rest) = name.strip_prefix(BANK_PREFIX) else {
        return Role::PassedThrough;
    };
    match rest.contains(&b'.') && info != 0 {
        false => Role::Constant,
        true if sh_type == SHT_CUDA_CONSTANT0 => Role::Parameters,
        true => Role::Literals,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_about_the_mercury_view() {
        for (name, _) in NAMED {
            assert!(
                MERCURY_PREFIXES
                    .iter()
                    .all(|prefix| !prefix.starts_with(name) && !name.starts_with(prefix))
            );
        }
    }

    #[test]
    fn standard_types_stand_for_cuda_types() {
        for (name, standard, cuda) in [
            (&b".nv.global"[..], SHT_NOBITS, SHT_CUDA_GLOBAL),
            (b".nv.global.init", SHT_PROGBITS, SHT_CUDA_GLOBAL_INIT),
            (b".nv.shared.k", SHT_NOBITS, SHT_CUDA_SHARED),
            (b".nv.shared.reserved.0", SHT_NOBITS, SHT_CUDA_SHARED_RESERVED),
            (b".nv_debug.shared", SHT_NOBITS, SHT_CUDA_SHARED),
            (b".nv.local.f", SHT_NOBITS, SHT_CUDA_LOCAL),
            (b".nv.constant0.k", SHT_PROGBITS, SHT_CUDA_CONSTANT0),
            (b".nv.constant3", SHT_CUDA_CONSTANT, SHT_CUDA_CONSTANT0 + 3),
            (b".nv.constant18", SHT_PROGBITS, SHT_CUDA_CONSTANT0 + 18),
            (b".text.f", SHT_PROGBITS, SHT_PROGBITS),
            (b".foo", SHT_NOBITS, SHT_NOBITS),
        ] {
            assert_eq!(normal_type(name, standard), Some(cuda));
            assert_eq!(normal_type(name, cuda), Some(cuda));
            assert!(!contradicts(name, cuda));
        }
        assert_eq!(normal_type(b".nv.constant27", SHT_PROGBITS), None);
        assert_eq!(normal_type(b".foo", SHT_CUDA_CONSTANT), None);
    }

    #[test]
    fn names_of_other_types_are_refused() {
        for (name, sh_type) in [
            (&b".nv.info"[..], SHT_PROGBITS),
            (b".nv.shared.k", SHT_PROGBITS),
            (b".text.f", SHT_CUDA_UIDX),
            (b".foo", SHT_CUDA_UFT),
            (b".nv.constant3", SHT_NOTE),
            (b".nv.constant3", SHT_CUDA_CONSTANT0 + 2),
        ] {
            assert!(contradicts(name, sh_type));
        }
    }

    #[test]
    fn what_is_passed_through() {
        assert_eq!(role(b".foo", SHT_PROGBITS, 0, 0), Role::PassedThrough);
        assert_eq!(role(b".nv.uidx", SHT_CUDA_UIDX, 0, 0), Role::PassedThrough);
        assert_eq!(role(b".note.foo", SHT_NOTE, 0, 0), Role::Note);
        assert_eq!(role(b".note.foo", SHT_NOTE, SHF_CUDA_NOTE_CUINFO, 0), Role::Other);
        assert_eq!(role(b".foo", 0x7000_000c, 0, 0), Role::Other);
        assert_eq!(role(b".nv.constant7.k", SHT_CUDA_CONSTANT0 + 7, SHF_ALLOC, 0), Role::Constant);
        assert_eq!(role(b".nv.constant2.k", SHT_CUDA_CONSTANT0 + 2, SHF_ALLOC, 9), Role::Literals);
    }
}
