//! What a section is, from its name and type.
//!
//! 1. The Mercury view repeats sections under the prefix `.nv.merc`; the prefix is taken off first, so that a section and its twin have one kind.
//! 2. A CUDA section type decides alone, except where two names share it.
//! 3. A standard type (bytes, no bytes, note) is decided by the name: exact names first, then prefixes. Linked files carry standard types for memory
//!    sections, compiled files the CUDA types, so that both ways must lead to the same kind.

use crate::consts::*;

/// Kind of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectionKind {
    /// Section 0 or an inactive one.
    Null,
    /// Section names or symbol names.
    StringTable,
    /// Symbols.
    SymbolTable,
    /// Section indices of symbols that need more than 16 bits.
    SymbolSectionIndices,
    /// Relocations without addends.
    Rel,
    /// Relocations with addends.
    Rela,
    /// Relocations that were applied.
    ResolvedRela,
    /// Tools that made the file.
    ToolInfo,
    /// Virtual architecture and toolkit version.
    CudaInfo,
    /// Toolkit version in an older form.
    CudaVersion,
    /// Another note.
    Note,
    /// Attributes of the module.
    Info,
    /// Attributes of a function.
    FunctionInfo,
    /// Requirements on device and driver.
    Compat,
    /// Calls between functions.
    CallGraph,
    /// Prototypes of functions.
    Prototype,
    /// Actions of new relocation types.
    RelocationActions,
    /// Module ids.
    Metadata,
    /// Data seen by host and device.
    Host,
    /// Code of a function.
    Text,
    /// Mercury form of a function's code.
    Capsule,
    /// Table of unified functions.
    UnifiedFunctions,
    /// One stub of a unified function.
    UnifiedFunctionStub,
    /// Ids of unified functions.
    UnifiedFunctionEntries,
    /// Table of unified data.
    UnifiedData,
    /// Ids of unified data.
    UnifiedDataEntries,
    /// Index of the unified tables.
    UnifiedIndex,
    /// Global memory without initial value.
    Global,
    /// Global memory with initial value.
    GlobalInit,
    /// Thread-local memory of a function.
    Local,
    /// Shared memory of a kernel.
    Shared,
    /// Shared memory of the module.
    SharedModule,
    /// Shared memory reserved by the system.
    SharedReserved,
    /// A numbered constant bank.
    Constant(u8),
    /// A constant bank of the Mercury view.
    NamedConstant(NamedBank),
    /// DWARF.
    Debug,
    /// Line table of the machine code.
    DebugLineSass,
    /// Registers that hold variables.
    DebugRegisters,
    /// Types of registers.
    DebugRegisterTypes,
    /// PTX text for the debugger.
    DebugPtx,
    /// Size of a texture, sampler or surface descriptor.
    DescriptorSize,
    /// Host object: names that the host refers to.
    HostReferences,
    /// Host object: container of device code, or the structure that points to it.
    HostFatbin,
    /// Host object: module id.
    HostModuleId,
    /// Bytes of unknown meaning.
    Other,
    /// A CUDA type of unknown meaning.
    OtherCuda,
}

/// Constant banks that have a name instead of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NamedBank {
    /// Kernel parameters.
    EntryParams,
    /// Headers of textures and surfaces.
    EntryImageHeaderIndices,
    /// Values set by the driver.
    Driver,
    /// Constants made by the compiler.
    Optimizer,
    /// Variables of the program.
    User,
    /// Addresses for position-independent code.
    Pic,
    /// Data of tools.
    ToolsData,
}

/// Prefix of the Mercury view.
pub const MERCURY_PREFIX: &[u8] = b".nv.merc";
/// Prefix of Mercury code; the name of the section with the SASS follows.
pub const CAPSULE_PREFIX: &[u8] = b".nv.capmerc";

static NAMED_BANKS: [(&[u8], NamedBank); 7] = [
    (b".nv.constant.entry_params", NamedBank::EntryParams),
    (b".nv.constant.entry_image_header_indices", NamedBank::EntryImageHeaderIndices),
    (b".nv.constant.driver", NamedBank::Driver),
    (b".nv.constant.optimizer", NamedBank::Optimizer),
    (b".nv.constant.user", NamedBank::User),
    (b".nv.constant.pic", NamedBank::Pic),
    (b".nv.constant.tools_data", NamedBank::ToolsData),
];

/// Whole names with one meaning.
static EXACT: [(&[u8], SectionKind); 28] = [
    (b".note.nv.tkinfo", SectionKind::ToolInfo),
    (b".note.nv.cuinfo", SectionKind::CudaInfo),
    (b".note.nv.cuver", SectionKind::CudaVersion),
    (b".nv.info", SectionKind::Info),
    (b".nv.compat", SectionKind::Compat),
    (b".nv.callgraph", SectionKind::CallGraph),
    (b".nv.prototype", SectionKind::Prototype),
    (b".nv.rel.action", SectionKind::RelocationActions),
    (b".nv.metadata", SectionKind::Metadata),
    (b".nv.host", SectionKind::Host),
    (b".nv.uft", SectionKind::UnifiedFunctions),
    (b".nv.uft.entry", SectionKind::UnifiedFunctionEntries),
    (b".nv.udt", SectionKind::UnifiedData),
    (b".nv.udt.entry", SectionKind::UnifiedDataEntries),
    (b".nv.uidx", SectionKind::UnifiedIndex),
    (b".nv.global", SectionKind::Global),
    (b".nv.global.init", SectionKind::GlobalInit),
    (b".nv_debug.shared", SectionKind::SharedModule),
    (b".nv_debug_line_sass", SectionKind::DebugLineSass),
    (b".nv_debug_info_reg_sass", SectionKind::DebugRegisters),
    (b".nv_debug_info_reg_type", SectionKind::DebugRegisterTypes),
    (b".nv_debug_info_ptx", SectionKind::DebugPtx),
    (b".nv_fatbin", SectionKind::HostFatbin),
    (b".nvFatBinSegment", SectionKind::HostFatbin),
    (b"__nv_relfatbin", SectionKind::HostFatbin),
    (b"__nv_module_id", SectionKind::HostModuleId),
    (b".symtab_shndx", SectionKind::SymbolSectionIndices),
    (b".text", SectionKind::Text),
];

/// Prefixes; the first that fits decides.
static PREFIXES: [(&[u8], SectionKind); 17] = [
    (b".text.", SectionKind::Text),
    (b".nv.capmerc.", SectionKind::Capsule),
    (b".nv.info.", SectionKind::FunctionInfo),
    (b".nv.shared.reserved.", SectionKind::SharedReserved),
    (b".nv.reservedSmem", SectionKind::SharedReserved),
    (b".nv.shared.", SectionKind::Shared),
    (b".nv.local.", SectionKind::Local),
    (b".nv.uft.rel.", SectionKind::UnifiedFunctionStub),
    (b".nv.resolvedrela", SectionKind::ResolvedRela),
    (b".debug_", SectionKind::Debug),
    (b".nv_debug_ptx_txt", SectionKind::DebugPtx),
    (b".nv.surfref", SectionKind::DescriptorSize),
    (b".nv.independent.", SectionKind::DescriptorSize),
    (b".nv.unified.", SectionKind::DescriptorSize),
    (b".nvHR", SectionKind::HostReferences),
    (b".nv_debug_", SectionKind::Debug),
    (b".note", SectionKind::Note),
];

/// Kind of a section from its name and type.
pub fn classify(name: &[u8], sh_type: u32) -> SectionKind {
    let name = without_mercury(name);
    by_type(name, sh_type)
        .or_else(|| by_name(name))
        .unwrap_or(if sh_type >= SHT_LOPROC {
            SectionKind::OtherCuda
        } else {
            SectionKind::Other
        })
}

/// The name without the prefix of the Mercury view.
pub fn without_mercury(name: &[u8]) -> &[u8] {
    match name.strip_prefix(MERCURY_PREFIX) {
        Some(rest) if rest.first() == Some(&b'.') => rest,
        _ => name,
    }
}

/// True for names of the Mercury view.
pub fn is_mercury_name(name: &[u8]) -> bool {
    without_mercury(name).len() != name.len() || name.starts_with(b".nv.capmerc.")
}

fn by_type(name: &[u8], sh_type: u32) -> Option<SectionKind> {
    Some(match sh_type {
        SHT_NULL => SectionKind::Null,
        SHT_SYMTAB | SHT_CUDA_MERC_SYMTAB => SectionKind::SymbolTable,
        SHT_STRTAB => SectionKind::StringTable,
        SHT_RELA | SHT_CUDA_MERC_RELA => SectionKind::Rela,
        SHT_REL => SectionKind::Rel,
        SHT_SYMTAB_SHNDX => SectionKind::SymbolSectionIndices,
        SHT_NOTE => by_name(name).unwrap_or(SectionKind::Note),
        SHT_CUDA_INFO | SHT_CUDA_MERC_INFO if name == b".nv.info" => SectionKind::Info,
        SHT_CUDA_INFO | SHT_CUDA_MERC_INFO => SectionKind::FunctionInfo,
        SHT_CUDA_CALLGRAPH | SHT_CUDA_MERC_CALLGRAPH => SectionKind::CallGraph,
        SHT_CUDA_PROTOTYPE | SHT_CUDA_MERC_PROTOTYPE => SectionKind::Prototype,
        SHT_CUDA_RESOLVED_RELA | SHT_CUDA_MERC_RESOLVED_RELA => SectionKind::ResolvedRela,
        SHT_CUDA_METADATA => SectionKind::Metadata,
        SHT_CUDA_GLOBAL => SectionKind::Global,
        SHT_CUDA_GLOBAL_INIT => SectionKind::GlobalInit,
        SHT_CUDA_LOCAL => SectionKind::Local,
        SHT_CUDA_SHARED if name == b".nv_debug.shared" => SectionKind::SharedModule,
        SHT_CUDA_SHARED => SectionKind::Shared,
        SHT_CUDA_SHARED_RESERVED => SectionKind::SharedReserved,
        SHT_CUDA_RELOCINFO => SectionKind::RelocationActions,
        SHT_CUDA_UFT if name == b".nv.uft" => SectionKind::UnifiedFunctions,
        SHT_CUDA_UFT => SectionKind::UnifiedFunctionStub,
        SHT_CUDA_UIDX => SectionKind::UnifiedIndex,
        SHT_CUDA_UFT_ENTRY => SectionKind::UnifiedFunctionEntries,
        SHT_CUDA_UDT => SectionKind::UnifiedData,
        SHT_CUDA_UDT_ENTRY => SectionKind::UnifiedDataEntries,
        SHT_CUDA_CAPMERC => SectionKind::Capsule,
        SHT_CUDA_COMPAT => SectionKind::Compat,
        SHT_CUDA_HOST => SectionKind::Host,
        SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT17 => SectionKind::Constant((sh_type - SHT_CUDA_CONSTANT0) as u8),
        _ => return None,
    })
}

fn by_name(name: &[u8]) -> Option<SectionKind> {
    if let Some((_, kind)) = EXACT.iter().find(|(n, _)| *n == name) {
        return Some(*kind);
    }
    if name.starts_with(b".nv.constant") {
        return constant(name);
    }
    PREFIXES.iter().find(|(p, _)| name.starts_with(p)).map(|(_, kind)| *kind)
}

fn constant(name: &[u8]) -> Option<SectionKind> {
    let digits = name.get(b".nv.constant".len()..)?;
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    let (number, rest) = digits.split_at_checked(end)?;
    if !number.is_empty() {
        let bank: u8 = std::str::from_utf8(number).ok()?.parse().ok()?;
        let ends = rest.is_empty() || rest.first() == Some(&b'.');
        return (bank <= LAST_BANK && ends).then_some(SectionKind::Constant(bank));
    }
    let named = NAMED_BANKS.iter().find(|(n, _)| {
        let rest = name.strip_prefix(*n);
        rest.is_some_and(|r| r.is_empty() || r.first() == Some(&b'.'))
    });
    named.map(|(_, bank)| SectionKind::NamedConstant(*bank))
}

const LAST_BANK: u8 = (SHT_CUDA_CONSTANT17 - SHT_CUDA_CONSTANT0) as u8;

/// Name of the function that a section belongs to, taken from the section's name: `f` for `.text.f`, `.nv.info.f`, `.nv.constant0.f`.
///
/// Empty names and sections of the whole module give `None`.
pub fn function_name(name: &[u8], sh_type: u32) -> Option<&[u8]> {
    let plain = without_mercury(name);
    let prefix: &[u8] = match classify(name, sh_type) {
        SectionKind::Text => b".text.",
        SectionKind::Capsule => {
            let code = plain.strip_prefix(CAPSULE_PREFIX)?;
            let function = code.strip_prefix(b".text.").or_else(|| code.strip_prefix(b".nv.uft.rel."));
            return function.filter(|n| !n.is_empty());
        }
        SectionKind::FunctionInfo => b".nv.info.",
        SectionKind::Shared => b".nv.shared.",
        SectionKind::Local => b".nv.local.",
        SectionKind::UnifiedFunctionStub => b".nv.uft.rel.",
        SectionKind::Constant(_) => {
            let tail = plain.strip_prefix(b".nv.constant")?;
            let dot = tail.iter().position(|&b| b == b'.')?;
            return tail.get(dot + 1..).filter(|n| !n.is_empty());
        }
        SectionKind::NamedConstant(_) => {
            let tail = plain.strip_prefix(b".nv.constant.")?;
            let dot = tail.iter().position(|&b| b == b'.')?;
            return tail.get(dot + 1..).filter(|n| !n.is_empty());
        }
        _ => return None,
    };
    plain.strip_prefix(prefix).filter(|n| !n.is_empty())
}

impl SectionKind {
    /// What the section is, in a few words.
    pub fn label(self) -> &'static str {
        match self {
            SectionKind::Null => "null",
            SectionKind::StringTable => "string table",
            SectionKind::SymbolTable => "symbol table",
            SectionKind::SymbolSectionIndices => "extended section indices",
            SectionKind::Rel => "relocations without addends",
            SectionKind::Rela => "relocations",
            SectionKind::ResolvedRela => "resolved relocations",
            SectionKind::ToolInfo => "tools",
            SectionKind::CudaInfo => "CUDA version",
            SectionKind::CudaVersion => "CUDA version (old form)",
            SectionKind::Note => "note",
            SectionKind::Info => "module attributes",
            SectionKind::FunctionInfo => "function attributes",
            SectionKind::Compat => "compatibility",
            SectionKind::CallGraph => "call graph",
            SectionKind::Prototype => "prototypes",
            SectionKind::RelocationActions => "relocation actions",
            SectionKind::Metadata => "module ids",
            SectionKind::Host => "host-visible data",
            SectionKind::Text => "code",
            SectionKind::Capsule => "Mercury code",
            SectionKind::UnifiedFunctions => "unified function table",
            SectionKind::UnifiedFunctionStub => "unified function stub",
            SectionKind::UnifiedFunctionEntries => "unified function ids",
            SectionKind::UnifiedData => "unified data table",
            SectionKind::UnifiedDataEntries => "unified data ids",
            SectionKind::UnifiedIndex => "unified index",
            SectionKind::Global => "global memory",
            SectionKind::GlobalInit => "initialized global memory",
            SectionKind::Local => "local memory",
            SectionKind::Shared => "shared memory",
            SectionKind::SharedModule => "shared memory of the module",
            SectionKind::SharedReserved => "reserved shared memory",
            SectionKind::Constant(0) => "kernel parameters",
            SectionKind::Constant(2) => "compiler constants",
            SectionKind::Constant(3) => "constant memory",
            SectionKind::Constant(4) => "address constants",
            SectionKind::Constant(_) => "constant bank",
            SectionKind::NamedConstant(bank) => bank.label(),
            SectionKind::Debug => "debug information",
            SectionKind::DebugLineSass => "line table of the machine code",
            SectionKind::DebugRegisters => "registers of variables",
            SectionKind::DebugRegisterTypes => "register types",
            SectionKind::DebugPtx => "PTX text",
            SectionKind::DescriptorSize => "descriptor size",
            SectionKind::HostReferences => "names used by the host",
            SectionKind::HostFatbin => "embedded device code",
            SectionKind::HostModuleId => "module id",
            SectionKind::Other => "other",
            SectionKind::OtherCuda => "other CUDA section",
        }
    }

    /// True for memory that exists at run time without bytes in the file.
    pub fn is_uninitialized(self) -> bool {
        matches!(
            self,
            SectionKind::Global | SectionKind::Local | SectionKind::Shared | SectionKind::SharedModule | SectionKind::SharedReserved
        )
    }
}

impl NamedBank {
    /// Kind of the constants in the bank.
    pub fn label(self) -> &'static str {
        match self {
            NamedBank::EntryParams => "kernel parameters",
            NamedBank::EntryImageHeaderIndices => "image headers",
            NamedBank::Driver => "driver constants",
            NamedBank::Optimizer => "compiler constants",
            NamedBank::User => "constant memory",
            NamedBank::Pic => "address constants",
            NamedBank::ToolsData => "data of tools",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SectionKind as K;

    /// Name, type in compiled files, type in linked files, kind.
    const SEEN: &[(&str, u32, u32, SectionKind)] = &[
        (".debug_abbrev", 1, 1, K::Debug),
        (".debug_frame", 1, 1, K::Debug),
        (".nv_debug_line_sass", 1, 1, K::DebugLineSass),
        (".nv_debug_info_reg_sass", 1, 1, K::DebugRegisters),
        (".nv_debug_info_reg_type", 1, 1, K::DebugRegisterTypes),
        (".nv_debug_ptx_txt.1691916260", 1, 1, K::DebugPtx),
        (".note.nv.cuinfo", 7, 7, K::CudaInfo),
        (".note.nv.tkinfo", 7, 7, K::ToolInfo),
        (".note.nv.cuver", 7, 7, K::CudaVersion),
        (".nv.callgraph", 0x7000_0001, 0x7000_0001, K::CallGraph),
        (".nv.capmerc.text.f", 0x7000_0016, 0x7000_0016, K::Capsule),
        (".nv.capmerc.nv.uft.rel.f", 0x7000_0016, 0x7000_0016, K::Capsule),
        (".nv.compat", 0x7000_0086, 0x7000_0086, K::Compat),
        (".nv.constant0.k", 0x7000_0064, 1, K::Constant(0)),
        (".nv.constant2.k", 0x7000_0066, 1, K::Constant(2)),
        (".nv.constant3", 0x7000_0067, 1, K::Constant(3)),
        (".nv.constant17", 0x7000_0075, 1, K::Constant(17)),
        (".nv.global", 0x7000_0007, 8, K::Global),
        (".nv.global.init", 0x7000_0008, 1, K::GlobalInit),
        (".nv.info", 0x7000_0000, 0x7000_0000, K::Info),
        (".nv.info.k", 0x7000_0000, 0x7000_0000, K::FunctionInfo),
        (".nv.merc.nv.info", 0x7000_0083, 0x7000_0083, K::Info),
        (".nv.merc.nv.info.k", 0x7000_0083, 0x7000_0083, K::FunctionInfo),
        (".nv.merc.debug_info", 1, 1, K::Debug),
        (
            ".nv.merc.nv.constant.user",
            0x7000_007c,
            0x7000_007c,
            K::NamedConstant(NamedBank::User),
        ),
        (
            ".nv.merc.nv.constant.pic",
            0x7000_007d,
            0x7000_007d,
            K::NamedConstant(NamedBank::Pic),
        ),
        (
            ".nv.merc.nv.constant.optimizer.k",
            0x7000_0084,
            0x7000_0084,
            K::NamedConstant(NamedBank::Optimizer),
        ),
        (".nv.merc.nv.global.init", 0x7000_0008, 0x7000_0008, K::GlobalInit),
        (".nv.merc.nv.shared.reserved.0", 0x7000_0015, 0x7000_0015, K::SharedReserved),
        (".nv.merc.rela.text.k", 0x7000_0082, 0x7000_0082, K::Rela),
        (".nv.merc.nv.resolvedrela.text.k", 0x7000_0088, 0x7000_0088, K::ResolvedRela),
        (".nv.merc.symtab", 0x7000_0085, 0x7000_0085, K::SymbolTable),
        (".nv.prototype", 0x7000_0002, 0x7000_0002, K::Prototype),
        (".nv.rel.action", 0x7000_000b, 0x7000_000b, K::RelocationActions),
        (".nv.resolvedrela.text.f", 0x7000_0003, 0x7000_0003, K::ResolvedRela),
        (".nv.shared.k", 0x7000_000a, 8, K::Shared),
        (".nv.shared.reserved.0", 0x7000_0015, 8, K::SharedReserved),
        (".nv_debug.shared", 0x7000_000a, 8, K::SharedModule),
        (".nv.local.f", 0x7000_0009, 8, K::Local),
        (".nv.uft", 0x7000_000e, 0x7000_000e, K::UnifiedFunctions),
        (".nv.uft.rel.f", 0x7000_000e, 0x7000_000e, K::UnifiedFunctionStub),
        (".nv.uft.entry", 0x7000_0011, 0x7000_0011, K::UnifiedFunctionEntries),
        (".nv.udt", 0x7000_0012, 0x7000_0012, K::UnifiedData),
        (".nv.udt.entry", 0x7000_0014, 0x7000_0014, K::UnifiedDataEntries),
        (".nv.uidx", 0x7000_0010, 1, K::UnifiedIndex),
        (".nv.host", 0x7000_0087, 0x7000_0087, K::Host),
        (".nv.metadata", 0x7000_0004, 0x7000_0004, K::Metadata),
        (".rel.text.f", 9, 9, K::Rel),
        (".rela.nv.global.init", 4, 4, K::Rela),
        (".shstrtab", 3, 3, K::StringTable),
        (".symtab", 2, 2, K::SymbolTable),
        (".symtab_shndx", 18, 18, K::SymbolSectionIndices),
        (".text._Z1kPi", 1, 1, K::Text),
        (".nvHRKE", 1, 1, K::HostReferences),
        ("__nv_relfatbin", 1, 1, K::HostFatbin),
        (".nv.unified.texrefDescSize", 1, 1, K::DescriptorSize),
        (".nv.reservedSmem.cap", 0x7000_0015, 0x7000_0015, K::SharedReserved),
        ("", 0, 0, K::Null),
        (".comment", 1, 1, K::Other),
        (".nv.new", 0x7000_0099, 0x7000_0099, K::OtherCuda),
    ];

    #[test]
    fn compiled_and_linked_types_give_one_kind() {
        for &(name, compiled, linked, kind) in SEEN {
            for sh_type in [compiled, linked] {
                assert_eq!(classify(name.as_bytes(), sh_type), kind, "{name} {sh_type:#x}");
            }
            assert!(!kind.label().is_empty());
        }
    }

    #[test]
    fn functions_are_found_in_names() {
        type Case = (&'static [u8], u32, Option<&'static [u8]>);
        let cases: [Case; 11] = [
            (b".nv.capmerc.nv.uft.rel.f", 0x7000_0016, Some(b"f")),
            (b".text.f", 1, Some(b"f")),
            (b".nv.info.f.g", SHT_CUDA_INFO, Some(b"f.g")),
            (b".nv.info", SHT_CUDA_INFO, None),
            (b".nv.constant0.k", 1, Some(b"k")),
            (b".nv.constant3", 1, None),
            (b".nv.merc.nv.constant.optimizer.k", 0x7000_0084, Some(b"k")),
            (b".nv.merc.nv.constant.user", 0x7000_007c, None),
            (b".nv.capmerc.text.k", 0x7000_0016, Some(b"k")),
            (b".nv.shared.reserved.0", 8, None),
            (b".text.", 1, None),
        ];
        for (name, sh_type, function) in cases {
            assert_eq!(function_name(name, sh_type), function, "{}", String::from_utf8_lossy(name));
        }
    }

    #[test]
    fn mercury_names() {
        assert!(is_mercury_name(b".nv.merc.symtab") && is_mercury_name(b".nv.capmerc.text.f"));
        assert!(!is_mercury_name(b".nv.mercy") && !is_mercury_name(b".text.f"));
        assert_eq!(classify(b".nv.constant18", 1), K::Other);
        assert_eq!(classify(b".nv.constant3x", 1), K::Other);
        assert_eq!(classify(b".nv.constant999", 1), K::Other);
    }
}
