//! What [`super::plain`] drafts and [`super::fill`] makes records of.

use crate::ids::{FunctionId, Id as _, NameId, ObjectId, SectionId, SectionRef, SymbolId, SymbolRef};
use crate::object::Object;
use crate::records::*;

/// A section record to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionDraft {
    pub(super) object: ObjectId,
    /// Records of dead functions of the group before it.
    pub(super) dead: u32,
    pub(super) what: What,
}

/// What a section record is made from: numbers of symbols and sections are those of its object.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Text(TextDraft),
    /// Attributes of a kernel, made with its text.
    KernelInfo {
        symbol: u32,
        function: FunctionId,
        text: SectionId,
    },
    /// Attributes of another function, made for a section of the input.
    Info {
        section: u32,
        function: FunctionId,
        text: SectionId,
    },
    Shared {
        symbol: u32,
        text: SectionId,
    },
    Parameters {
        section: u32,
        slots: SectionId,
        text: SectionId,
    },
    /// Relocations that the linker adds to a parameter bank.
    Slots {
        section: u32,
        bank: SectionId,
    },
    Relocs {
        symbol: u32,
        text: SectionId,
        form: RelocForm,
    },
}

/// The text of a function, and the records that belong to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextDraft {
    pub(super) symbol: u32,
    pub(super) section: u32,
    pub(super) function: FunctionId,
    pub(super) info: Option<SectionId>,
    pub(super) shared: Option<SectionId>,
    pub(super) parameters: Option<SectionId>,
    /// `.rel` and `.rela`.
    pub(super) companions: [Option<SectionId>; 2],
    pub(super) first_companion: Option<RelocForm>,
}

/// The symbol record of a function, made by its first mention.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolDraft {
    pub(super) object: ObjectId,
    pub(super) index: u32,
    pub(super) function: FunctionId,
    /// Its name, if other objects see it.
    pub(super) name: Option<NameId>,
}

/// An input section that is appended to a record from before the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Append {
    pub(super) place: SectionRef,
    pub(super) target: SectionId,
    pub(super) piece: Piece,
    pub(super) align: u64,
    pub(super) size: u64,
}

/// Relocations of an input section: of a text, or of an appended section (its number in the group).
#[derive(Debug, Clone, Copy)]
pub(super) struct RelocDraft {
    pub(super) reloc: RelocRef,
    pub(super) append: Option<u32>,
}

/// The drafts of consecutive objects.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Number of objects.
    pub(super) count: usize,
    pub(super) sections: Vec<SectionDraft>,
    pub(super) symbols: Vec<SymbolDraft>,
    pub(super) locals: Vec<SymbolTableEntry>,
    pub(super) globals: Vec<SymbolId>,
    pub(super) texts: Vec<FunctionId>,
    pub(super) memory: Vec<SectionId>,
    pub(super) relocs: Vec<RelocDraft>,
    /// Input sections that are the contents of a record of the group.
    pub(super) placed: Vec<(SectionRef, SectionId)>,
    pub(super) appended: Vec<Append>,
    /// Undefined variables, with their records.
    pub(super) variables: Vec<(SymbolRef, SymbolId)>,
    /// Texts of functions that had a symbol before the run.
    pub(super) known: Vec<SectionId>,
    /// Number of records that nvlink makes for dead functions and drops again.
    pub(super) dead: u32,
    /// Places of the sections of the object that is drafted.
    pub(super) slots: Vec<Slot>,
}

/// Place of an input section.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    Nothing,
    /// A text of the group.
    Text(SectionId),
    /// A parameter bank of the group.
    Bank,
    /// Number of an appended section.
    Appended(u32),
    /// The text of a dead function, with a bit for each kind of record that was counted for it.
    Dead(u8),
}

/// Numbers of drafts of all kinds.
pub(super) type Lengths = [usize; 11];

impl Group {
    pub(super) fn lengths(&self) -> Lengths {
        [
            self.sections.len(),
            self.symbols.len(),
            self.locals.len(),
            self.globals.len(),
            self.texts.len(),
            self.memory.len(),
            self.relocs.len(),
            self.placed.len(),
            self.appended.len(),
            self.variables.len(),
            self.known.len(),
        ]
    }

    pub(super) fn truncate(&mut self, to: Lengths) {
        let [
            sections,
            symbols,
            locals,
            globals,
            texts,
            memory,
            relocs,
            placed,
            appended,
            variables,
            known,
        ] = to;
        self.sections.truncate(sections);
        self.symbols.truncate(symbols);
        self.locals.truncate(locals);
        self.globals.truncate(globals);
        self.texts.truncate(texts);
        self.memory.truncate(memory);
        self.relocs.truncate(relocs);
        self.placed.truncate(placed);
        self.appended.truncate(appended);
        self.variables.truncate(variables);
        self.known.truncate(known);
    }

    /// A section record, without its symbol.
    pub(super) fn record(&mut self, object: &Object<'_>, what: What) -> SectionId {
        let id = SectionId::from_index(self.sections.len());
        self.sections.push(SectionDraft {
            object: object.id,
            dead: self.dead,
            what,
        });
        id
    }

    /// A section record and its symbol.
    pub(super) fn section(&mut self, object: &Object<'_>, what: What) -> SectionId {
        let id = self.record(object, what);
        self.locals.push(SymbolTableEntry::Section(id));
        id
    }

    pub(super) fn slot(&self, section: u32) -> Slot {
        self.slots.get(section as usize).copied().unwrap_or(Slot::Nothing)
    }

    pub(super) fn set_slot(&mut self, section: u32, slot: Slot) {
        if let Some(place) = self.slots.get_mut(section as usize) {
            *place = slot;
        }
    }

    /// Counts a record of the dead function of a text, once for each kind.
    pub(super) fn count_dead(&mut self, section: u32, counted: u8, kind: usize) -> u8 {
        let bit = 1 << kind;
        self.dead += u32::from(counted & bit == 0);
        self.set_slot(section, Slot::Dead(counted | bit));
        counted | bit
    }

    pub(super) fn text(&mut self, id: SectionId) -> Option<&mut TextDraft> {
        match self.sections.get_mut(id.index()) {
            Some(SectionDraft {
                what: What::Text(text), ..
            }) => Some(text),
            _ => None,
        }
    }
}
