//! Numbers of the format.

/// `e_machine` of a CUDA device file.
pub const EM_CUDA: u16 = 190;
/// OS ABI of CUDA 13 files.
pub const ELFOSABI_CUDA: u8 = 0x41;
/// OS ABI of CUDA 12 files.
pub const ELFOSABI_CUDA_V7: u8 = 0x33;

/// Relocatable file.
pub const ET_REL: u16 = 1;
/// File type of an extensible whole program (`nvcc -ewp`).
pub const ET_CUDA_EWP: u16 = 0xff00;
/// Executable file.
pub const ET_EXEC: u16 = 2;

/// Inactive section.
pub const SHT_NULL: u32 = 0;
/// Bytes.
pub const SHT_PROGBITS: u32 = 1;
/// Symbol table.
pub const SHT_SYMTAB: u32 = 2;
/// String table.
pub const SHT_STRTAB: u32 = 3;
/// Relocations with addends.
pub const SHT_RELA: u32 = 4;
/// Note.
pub const SHT_NOTE: u32 = 7;
/// No bytes in the file.
pub const SHT_NOBITS: u32 = 8;
/// Relocations without addends.
pub const SHT_REL: u32 = 9;
/// Section indices of symbols that do not fit 16 bits.
pub const SHT_SYMTAB_SHNDX: u32 = 18;
/// First type of the processor's range.
pub const SHT_LOPROC: u32 = 0x7000_0000;
/// `.nv.info`, `.nv.info.*`.
pub const SHT_CUDA_INFO: u32 = 0x7000_0000;
/// `.nv.callgraph`.
pub const SHT_CUDA_CALLGRAPH: u32 = 0x7000_0001;
/// `.nv.prototype`.
pub const SHT_CUDA_PROTOTYPE: u32 = 0x7000_0002;
/// `.nv.resolvedrela.*`.
pub const SHT_CUDA_RESOLVED_RELA: u32 = 0x7000_0003;
/// `.nv.metadata`.
pub const SHT_CUDA_METADATA: u32 = 0x7000_0004;
/// `.nv.constantB`, the bank number is only in the name.
pub const SHT_CUDA_CONSTANT: u32 = 0x7000_0006;
/// `.nv.global` of relocatable files.
pub const SHT_CUDA_GLOBAL: u32 = 0x7000_0007;
/// `.nv.global.init` of relocatable files.
pub const SHT_CUDA_GLOBAL_INIT: u32 = 0x7000_0008;
/// `.nv.local.*`.
pub const SHT_CUDA_LOCAL: u32 = 0x7000_0009;
/// `.nv.shared.*` of relocatable files.
pub const SHT_CUDA_SHARED: u32 = 0x7000_000a;
/// `.nv.rel.action`.
pub const SHT_CUDA_RELOCINFO: u32 = 0x7000_000b;
/// `.nv.uft`, `.nv.uft.rel.*`.
pub const SHT_CUDA_UFT: u32 = 0x7000_000e;
/// `.nv.uidx`.
pub const SHT_CUDA_UIDX: u32 = 0x7000_0010;
/// `.nv.uft.entry`.
pub const SHT_CUDA_UFT_ENTRY: u32 = 0x7000_0011;
/// `.nv.udt`.
pub const SHT_CUDA_UDT: u32 = 0x7000_0012;
/// `.nv.udt.entry`.
pub const SHT_CUDA_UDT_ENTRY: u32 = 0x7000_0014;
/// `.nv.shared.reserved.*`.
pub const SHT_CUDA_SHARED_RESERVED: u32 = 0x7000_0015;
/// `.nv.capmerc.text.*`.
pub const SHT_CUDA_CAPMERC: u32 = 0x7000_0016;
/// `.nv.constant0.*`; bank b is this plus b, up to bank 17.
pub const SHT_CUDA_CONSTANT0: u32 = 0x7000_0064;
/// `.nv.constant17`.
pub const SHT_CUDA_CONSTANT17: u32 = 0x7000_0075;
/// The last type of constant banks; those after bank 17 are named ones of the Mercury view.
pub const SHT_CUDA_CONSTANT_LAST: u32 = 0x7000_007e;
/// `.nv.merc.nv.constant.entry_image_header_indices.*`.
pub const SHT_CUDA_CONSTANT_IMAGE_HEADERS: u32 = 0x7000_0079;
/// `.nv.merc.nv.constant.user`.
pub const SHT_CUDA_CONSTANT_USER: u32 = 0x7000_007c;
/// `.nv.merc.nv.constant.pic`.
pub const SHT_CUDA_CONSTANT_PIC: u32 = 0x7000_007d;
/// `.nv.merc.rela.*`.
pub const SHT_CUDA_MERC_RELA: u32 = 0x7000_0082;
/// `.nv.merc.nv.callgraph`, from CUDA 13.4 on.
pub const SHT_CUDA_MERC_CALLGRAPH: u32 = 0x7000_008a;
/// `.nv.merc.nv.prototype`, from CUDA 13.4 on.
pub const SHT_CUDA_MERC_PROTOTYPE: u32 = 0x7000_008b;
/// `.nv.merc.nv.info`, `.nv.merc.nv.info.*`.
pub const SHT_CUDA_MERC_INFO: u32 = 0x7000_0083;
/// `.nv.merc.nv.constant.optimizer.*`.
pub const SHT_CUDA_CONSTANT_OPTIMIZER: u32 = 0x7000_0084;
/// `.nv.merc.symtab`.
pub const SHT_CUDA_MERC_SYMTAB: u32 = 0x7000_0085;
/// `.nv.compat`.
pub const SHT_CUDA_COMPAT: u32 = 0x7000_0086;
/// `.nv.host`.
pub const SHT_CUDA_HOST: u32 = 0x7000_0087;
/// `.nv.merc.nv.resolvedrela.*`.
pub const SHT_CUDA_MERC_RESOLVED_RELA: u32 = 0x7000_0088;

/// Writable.
pub const SHF_WRITE: u64 = 1;
/// Occupies memory.
pub const SHF_ALLOC: u64 = 2;
/// Executable.
pub const SHF_EXECINSTR: u64 = 4;
/// `sh_info` is a section index.
pub const SHF_INFO_LINK: u64 = 0x40;

/// Section of the Mercury view.
pub const SHF_CUDA_MERCURY: u64 = 0x1000_0000;
/// Note section with `cuinfo`.
pub const SHF_CUDA_NOTE_CUINFO: u64 = 0x0100_0000;
/// Note section with `tkinfo`.
pub const SHF_CUDA_NOTE_TKINFO: u64 = 0x0200_0000;
/// Number of barriers that a function uses, in CUDA 12 files.
pub const SHF_CUDA_BARRIERS: u64 = 0x07f0_0000;

/// Segment that is loaded.
pub const PT_LOAD: u32 = 1;
/// The program header table itself.
pub const PT_PHDR: u32 = 6;

/// First reserved section index.
pub const SHN_LORESERVE: u16 = 0xff00;
/// Common symbol.
pub const SHN_COMMON: u16 = 0xfff2;
/// The index is in `.symtab_shndx`.
pub const SHN_XINDEX: u16 = 0xffff;

/// Absolute symbol.
pub const SHN_ABS: u16 = 0xfff1;

/// Local binding.
pub const STB_LOCAL: u8 = 0;
/// Global binding.
pub const STB_GLOBAL: u8 = 1;
/// Weak binding.
pub const STB_WEAK: u8 = 2;
/// Data object.
pub const STT_OBJECT: u8 = 1;
/// Function.
pub const STT_FUNC: u8 = 2;
/// Section.
pub const STT_SECTION: u8 = 3;
/// Texture reference.
pub const STT_CUDA_TEXTURE: u8 = 10;
/// Sampler reference.
pub const STT_CUDA_SAMPLER: u8 = 11;
/// Surface reference.
pub const STT_CUDA_SURFACE: u8 = 12;
/// Data object of a relocatable device file.
pub const STT_CUDA_OBJECT: u8 = 13;

/// `st_other`: managed variable.
pub const STO_CUDA_MANAGED: u8 = 0x04;
/// Visibility in `st_other`: internal.
pub const STV_INTERNAL: u8 = 1;
/// `st_other`: kernel.
pub const STO_CUDA_ENTRY: u8 = 0x10;
/// `st_other`: bits that name the memory space.
pub const STO_CUDA_SPACE: u8 = 0xe0;
/// Memory space bits: global.
pub const STO_CUDA_GLOBAL: u8 = 0x20;
/// Memory space bits: shared.
pub const STO_CUDA_SHARED: u8 = 0x40;
/// Memory space bits: constant.
pub const STO_CUDA_CONSTANT: u8 = 0x80;

/// Size of a constant bank.
pub const CONSTANT_LIMIT: u64 = 0x10000;

/// Name of the symbol that the device runtime library has for the size of user constants.
pub const CONSTANT_SIZE_SYMBOL: &[u8] = b".nv.ptx.const0.size";

/// Symbols of the system and their values in the SASS view.
pub const SYSTEM_SYMBOLS: [(&[u8], u64); 2] = [(b".nv.reservedSmem.offset0", 0x40), (b".nv.reservedSmem.cap", 0x400)];
