//! What one unit contributes to a link: code, messages, host information, as values.

use crate::bytes::Bytes;
use crate::host_info::HostLists;
use crate::message::{LoadCode, Message};
use crate::registration::ModuleIds;
use crate::select::Candidate;
use cubin::fatbin::{Entry, Packed};
use culd_base::Severity;
use std::ops::Range;
use std::sync::Arc;

/// One thing that happens when a unit is taken in.
#[derive(Debug)]
pub(crate) enum Item<B = Bytes> {
    Message(Message),
    Object(Piece<B>),
    /// PTX text to compile; its place in the order stays.
    Ptx(Piece<B>, Vec<u8>),
    /// A module for link-time optimization, with the options it was compiled with.
    Lto(Piece<B>, culd_lto::ModuleKind, Vec<u8>),
}

impl Item {
    /// The message, when it is one.
    pub(crate) fn into_message(self) -> Option<Message> {
        match self {
            Item::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// A piece of device code.
#[derive(Debug)]
pub(crate) struct Piece<B = Bytes> {
    pub(crate) name: Arc<str>,
    pub(crate) bytes: B,
}

/// What a unit says about the kernels that host code uses.
#[derive(Debug, Default)]
pub(crate) enum HostPart {
    /// Nothing, and that does not matter.
    #[default]
    Silent,
    /// Nothing, so all kernels have to stay.
    Unknown,
    /// The lists of what is used.
    Lists(Box<HostLists>),
}

/// Everything a unit contributes.
#[derive(Debug, Default)]
pub(crate) struct Extracted {
    pub(crate) steps: Vec<Item>,
    pub(crate) host: HostPart,
    /// Ids of the host object; registered even without code for the target.
    pub(crate) ids: Option<ModuleIds>,
}

impl Extracted {
    /// True for a host object that announces a fatbin and has none.
    pub(crate) fn lacks_fatbin(&self) -> bool {
        let first = self.steps.first();
        matches!(first, Some(Item::Message(m)) if matches!(m.code, LoadCode::FatbinMissing { .. }))
    }

    /// True when a message ends the load here.
    pub(crate) fn is_fatal(&self) -> bool {
        self.steps
            .iter()
            .any(|s| matches!(s, Item::Message(m) if m.severity == Severity::Fatal))
    }
}

/// An entry of a fatbin that was chosen.
pub(crate) struct ChosenEntry<'u> {
    pub(crate) name: Arc<str>,
    pub(crate) entry: Entry<'u>,
    /// What there was to choose from.
    pub(crate) all: Vec<Candidate>,
}

/// A part of what a unit contributes.
pub(crate) enum Part<'u> {
    /// Done.
    Item(Item<BytesAt>),
    /// A compressed entry.
    Packed(ChosenEntry<'u>, Packed<'u>),
}

/// Where the bytes of a piece are.
#[derive(Debug)]
pub(crate) enum BytesAt {
    Alone(Bytes),
    /// A range of the shared.
    Shared(Range<usize>),
}

impl Part<'_> {
    /// The step; nothing for an entry that was never unpacked.
    pub(crate) fn into_step(self, shared: &Bytes) -> Option<Item> {
        let bytes = |at| match at {
            BytesAt::Alone(bytes) => bytes,
            BytesAt::Shared(range) => shared.slice(range).unwrap_or_else(|| Vec::new().into()),
        };
        let piece = |Piece { name, bytes: at }: Piece<BytesAt>| Piece { name, bytes: bytes(at) };
        match self {
            Part::Item(Item::Message(message)) => Some(Item::Message(message)),
            Part::Item(Item::Object(object)) => Some(Item::Object(piece(object))),
            Part::Item(Item::Ptx(text, options)) => Some(Item::Ptx(piece(text), options)),
            Part::Item(Item::Lto(module, kind, options)) => Some(Item::Lto(piece(module), kind, options)),
            Part::Packed(..) => None,
        }
    }
}
