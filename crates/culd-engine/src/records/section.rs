//! Section records of the output.

use crate::ids::{FunctionId, ObjectId, SectionId};
use crate::names::Name;

/// What a section of the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// `.shstrtab`.
    SectionNames,
    /// `.strtab`.
    Strings,
    /// `.symtab`.
    Symbols,
    /// `.symtab_shndx`.
    ExtendedIndices,
    /// `.note.nv.tkinfo`.
    ToolNote,
    /// `.note.nv.cuinfo`.
    CudaNote,
    /// `.nv.info`.
    Info,
    /// `.nv.compat`.
    Compat,
    /// `.nv.info.F`.
    FunctionInfo(FunctionId),
    /// `.text.F`.
    Text(FunctionId),
    /// `.nv.shared.K`.
    KernelShared,
    /// `.nv_debug.shared`.
    ModuleShared,
    /// A `.nv_debug.shared` that holds nothing (`-ewp`).
    EmptyShared,
    /// `.nv.shared.reserved.*`.
    ReservedShared,
    /// `.nv.constant0.K`.
    Parameters,
    /// `.nv.constant2.F`.
    Literals,
    /// `.nv.constant3` and other module banks.
    Constant(u32),
    /// `.nv.global`.
    Global,
    /// `.nv.global.init`.
    GlobalInit,
    /// `.debug_*`, `.nv_debug_*`.
    Debug(DebugKind),
    /// `.rel.X` of a section.
    Rel(SectionId),
    /// `.rela.X` of a section.
    Rela(SectionId),
    /// `.nv.resolvedrela.X` of a section.
    ResolvedRela(SectionId),
    /// `.nv.callgraph`.
    Callgraph,
    /// `.nv.prototype`.
    Prototype,
    /// `.nv.rel.action`.
    RelAction,
    /// `.nv.uft`: stubs of unified functions at their places.
    Uft,
    /// `.nv.uft.rel.F` of a relocatable output.
    Stub(FunctionId),
    /// `.nv.info..nv.uft`.
    UftInfo,
    /// `.nv.uft.entry`.
    UftEntry,
    /// `.nv.udt`.
    Udt,
    /// `.nv.udt.entry`.
    UdtEntry,
    /// `.nv.uidx`.
    Uidx,
    /// `.nv.host`: a file that the linker only hands on.
    HostData,
    /// Bytes that the linker has no rule for.
    PassedThrough,
}

/// Debug sections with rules of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugKind {
    /// `.debug_frame`, `.debug_line`, `.nv_debug_line_sass`: relocations against lost definitions go.
    Code,
    /// All others.
    Other,
}

/// One input section inside an output section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Object.
    pub object: ObjectId,
    /// Section index there.
    pub section: u32,
    /// Offset in the output section.
    pub base: u64,
}

/// Pieces of a section. Most have one, so that it is in the record, and an id says which of the two it is.
#[derive(Debug, Clone)]
pub enum Pieces {
    /// One piece, stored inline.
    One(Piece),
    /// No piece or several, ascending.
    #[allow(clippy::box_collection, reason = "few records have several, and there are many records")]
    Others(Option<Box<Vec<Piece>>>),
}

impl Pieces {
    /// No pieces.
    pub const EMPTY: Pieces = Pieces::Others(None);

    /// Adds a piece.
    pub fn push(&mut self, piece: Piece) {
        match self {
            Pieces::Others(None) => *self = Pieces::One(piece),
            Pieces::One(first) => *self = Pieces::Others(Some(Box::new(vec![*first, piece]))),
            Pieces::Others(Some(all)) => all.push(piece),
        }
    }
    /// As a slice.
    pub fn as_slice(&self) -> &[Piece] {
        match self {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Others(all) => all.as_deref().map_or(&[], Vec::as_slice),
        }
    }
}

impl From<Vec<Piece>> for Pieces {
    fn from(pieces: Vec<Piece>) -> Self {
        Pieces::Others(Some(Box::new(pieces)))
    }
}

/// Form in which a section record is emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emission {
    /// A section, if it is not empty or must not be left out.
    Emit,
    /// Its name in the string table, no section.
    NameOnly,
    /// No section and no name.
    Never,
}

/// A section record of the output.
#[derive(Debug, Clone)]
pub struct OutSection<'d> {
    /// Name.
    pub name: Name<'d>,
    /// nvlink's own number of the record, those of dead functions counted.
    pub number: u32,
    /// What it is.
    pub class: Class,
    /// Type, in the form of relocatable files.
    pub sh_type: u32,
    /// Flags.
    pub flags: u64,
    /// Alignment.
    pub align: u64,
    /// Entry size.
    pub entsize: u8,
    /// Size so far.
    pub size: u64,
    /// Input sections in it.
    pub pieces: Pieces,
    /// Bytes that were computed; they replace the pieces.
    #[allow(clippy::box_collection, reason = "few records have any, and there are many records")]
    pub bytes: Option<Box<Vec<u8>>>,
    /// Section whose index is written to `sh_info`.
    pub owner: Option<SectionId>,
    /// Companion `.rel.X`, `.rela.X`, `.nv.resolvedrela.X`.
    pub companions: [Option<SectionId>; 3],
    /// Relocations of the texture slots that the linker adds to a parameter bank; those of the input's own slots (`-ewp`) are in `companions`.
    pub slot_relocs: Option<SectionId>,
    /// Form of the companion that was made first.
    pub first_companion: Option<RelocForm>,
    /// Form in which it is emitted.
    pub emission: Emission,
    /// An empty shared section that is emitted gets no section symbol.
    pub no_symbol: bool,
}

/// What a new section record starts with.
#[derive(Debug, Clone, Copy)]
pub struct NewSection<'d> {
    /// Name.
    pub name: Name<'d>,
    /// What it is.
    pub class: Class,
    /// Type, in the form of relocatable files.
    pub sh_type: u32,
    /// Flags.
    pub flags: u64,
    /// Alignment.
    pub align: u64,
    /// Entry size.
    pub entsize: u8,
}

/// Form of the entries of a relocation section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocForm {
    /// `.rel`: the addend is in the field.
    Rel,
    /// `.rela`: the entry has the addend.
    Rela,
}

impl<'d> OutSection<'d> {
    /// An empty section with this number.
    pub fn new(new: NewSection<'d>, number: u32) -> Self {
        Self {
            name: new.name,
            number,
            class: new.class,
            sh_type: new.sh_type,
            flags: new.flags,
            align: new.align,
            entsize: new.entsize,
            size: 0,
            pieces: Pieces::EMPTY,
            bytes: None,
            owner: None,
            companions: [None; 3],
            slot_relocs: None,
            first_companion: None,
            emission: Emission::Emit,
            no_symbol: false,
        }
    }
}

impl RelocForm {
    /// The form of entries that have addends, or do not.
    pub fn with_addends(has_addends: bool) -> Self {
        if has_addends { RelocForm::Rela } else { RelocForm::Rel }
    }
    /// Its place in [`OutSection::companions`].
    pub fn companion(self) -> usize {
        match self {
            RelocForm::Rel => 0,
            RelocForm::Rela => 1,
        }
    }
}

/// Relocations of one input section, in order of arrival.
#[derive(Debug, Clone, Copy)]
pub struct RelocRef {
    /// Object.
    pub object: ObjectId,
    /// Index into the object's relocation sections.
    pub index: u32,
    /// Output section that is patched.
    pub target: SectionId,
    /// Offset of the input section in it.
    pub base: u64,
}

/// Ids of the sections that every link has.
#[derive(Debug, Clone, Copy)]
pub struct StandardSections {
    /// `.shstrtab`.
    pub section_names: SectionId,
    /// `.strtab`.
    pub strings: SectionId,
    /// `.symtab`.
    pub symbols: SectionId,
    /// `.symtab_shndx`.
    pub extended: SectionId,
    /// `.note.nv.tkinfo`.
    pub tool_note: Option<SectionId>,
    /// `.note.nv.cuinfo`.
    pub cuda_note: Option<SectionId>,
    /// `.nv.info`.
    pub info: SectionId,
    /// `.nv.compat`.
    pub compat: Option<SectionId>,
    /// `.nv.callgraph`.
    pub callgraph: SectionId,
    /// `.nv.prototype`.
    pub prototype: SectionId,
}

/// Size of a shared section that is not emitted.
pub(crate) const ABSENT: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_small() {
        assert_eq!(size_of::<Pieces>(), size_of::<Piece>());
        assert!(size_of::<OutSection<'_>>() <= 120);
    }

    #[test]
    fn pieces_stay_in_order() {
        let piece = |section| Piece {
            object: ObjectId::new(0),
            section,
            base: 0,
        };
        let mut pieces = Pieces::EMPTY;
        for n in 0..4 {
            assert_eq!(pieces.as_slice(), (0..n).map(piece).collect::<Vec<_>>());
            pieces.push(piece(n));
        }
    }
}
