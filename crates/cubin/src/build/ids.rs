//! Handles of a builder's parts, and why a builder refuses.

use crate::codec::CodecError;
use crate::write::WriteError;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// Valid for the builder that returned it; it is not the number in the file, which exists only when the object is finished.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(super) u32);
    };
}

handle! {
    /// A section.
    SectionId
}
handle! {
    /// A symbol; every section has one too.
    SymbolId
}
handle! {
    /// A function, defined or only declared.
    FunctionId
}
handle! {
    /// A prototype string of the call graph.
    PrototypeId
}

impl SymbolId {
    /// Symbol 0, which every table has. ptxas refers to it in relocations that need no symbol.
    pub const NULL: SymbolId = SymbolId(u32::MAX);
}

/// Why a part is refused or an object cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A name that a string table cannot hold.
    #[error("name '{name}' is empty or contains a NUL")]
    Name {
        /// The name.
        name: String,
    },
    /// Two live sections of one name.
    #[error("section '{name}' exists already")]
    DuplicateSection {
        /// Section name.
        name: String,
    },
    /// A handle of another builder.
    #[error("{what} {index} does not belong to this builder")]
    UnknownId {
        /// Kind of the handle.
        what: &'static str,
        /// Its number.
        index: u32,
    },
    /// Something that was deleted is still referenced.
    #[error("{from} references '{name}', which was deleted")]
    Deleted {
        /// Section that contains the reference.
        from: String,
        /// Name of what was deleted.
        name: String,
    },
    /// A reference to the symbol of a section that has none in the file.
    #[error("{from} references the symbol of section '{name}': sections of its kind have no symbol")]
    NoSymbol {
        /// Section that contains the reference.
        from: String,
        /// Section name.
        name: String,
    },
    /// An operation that needs the code of a function that is only declared.
    #[error("function '{name}' has no code")]
    NoCode {
        /// Function name.
        name: String,
    },
    /// Code for a function that has some.
    #[error("function '{name}' is defined already")]
    Redefined {
        /// Function name.
        name: String,
    },
    /// Contents for a section that the builder fills itself, or that has no bytes.
    #[error("the contents of section '{name}' are not bytes of the caller")]
    NotBytes {
        /// Section name.
        name: String,
    },
    /// A constant bank that does not exist.
    #[error("constant bank {bank}: banks are 0 to 17")]
    Bank {
        /// The bank.
        bank: u8,
    },
    /// An alignment that is not a power of two, or too large.
    #[error("'{name}': alignment {align:#x} is not a power of two up to 2^30")]
    Align {
        /// Section or symbol name.
        name: String,
        /// The alignment.
        align: u64,
    },
    /// A number that does not fit its field.
    #[error("{what} is {value:#x}, at most {max:#x} can be written")]
    TooLarge {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Largest value.
        max: u64,
    },
    /// An architecture without a known form of its objects.
    #[error("no object form is known for sm_{sm} and this toolkit")]
    Target {
        /// Architecture number.
        sm: u8,
    },
    /// Contents that cannot be encoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The emitter refused.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A name for a message.
pub(super) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
