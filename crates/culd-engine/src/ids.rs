//! Ids: one newtype per kind of thing, so that an index of one table never reads another.

use rayon::prelude::*;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// An id that is an index into one kind of table.
pub trait Id: Copy {
    /// From a position.
    fn from_index(index: usize) -> Self;
    /// To a position.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        // One more than the position, so that an optional id is as small as an id.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);
        impl $name {
            /// The id at a position; the largest number represents nothing that exists.
            #[inline]
            pub const fn new(number: u32) -> Self { $name(NonZeroU32::MIN.saturating_add(number)) }
            /// The position.
            #[inline]
            pub const fn number(self) -> u32 { self.0.get() - 1 }
        }
        impl Default for $name {
            fn default() -> Self { $name::new(0) }
        }
        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self { $name::new(index as u32) }
            #[inline]
            fn index(self) -> usize { self.number() as usize }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!(stringify!($name), "{}"), self.number()) }
        }
    )*};
}

ids! {
    /// An input object, in link order.
    ObjectId;
    /// A symbol of some input: the object's first symbol number plus the symbol's index.
    SymbolRef;
    /// A section of some input: the object's first section number plus the section's index.
    SectionRef;
    /// A function: one per global name, one per static function.
    FunctionId;
    /// An interned symbol name.
    NameId;
    /// An interned prototype string.
    ProtoId;
    /// A section record of the output.
    SectionId;
    /// A symbol record of the output.
    SymbolId;
    /// A variable in shared memory.
    SharedId;
}

/// Items that one thread takes at least.
pub(crate) const PART: usize = 1024;

/// Consecutive items of a table.
#[derive(Debug)]
pub struct Part<'t, I, T> {
    first: I,
    items: &'t mut [T],
}

impl<I: Id, T> Part<'_, I, T> {
    /// Replaces an item; nothing is done if it is outside of the part.
    pub fn set(&mut self, id: I, item: T) {
        let index = id.index().checked_sub(self.first.index());
        if let Some(place) = index.and_then(|i| self.items.get_mut(i)) {
            *place = item;
        }
    }
}

/// A table indexed by one kind of id.
#[derive(Clone)]
pub struct Table<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Id, T> Table<I, T> {
    /// An empty table.
    pub fn new() -> Self {
        Table {
            items: Vec::new(),
            id: PhantomData,
        }
    }
    /// A table of `len` equal items.
    pub fn filled(len: usize, item: T) -> Self
    where
        T: Clone,
    {
        Table {
            items: vec![item; len],
            id: PhantomData,
        }
    }
    /// Appends an item and returns its id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }
    /// Moves items to the end.
    pub fn append(&mut self, items: &mut Vec<T>) {
        self.items.append(items);
    }
    /// Appends `count` items that are made in parallel.
    pub fn extend_parallel(&mut self, count: usize, make: impl Fn(usize) -> T + Sync + Send)
    where
        T: Send,
    {
        self.items.par_extend((0..count).into_par_iter().with_min_len(PART).map(make));
    }
    /// Touches the memory of so many more items on several threads: a thread that adds them alone waits for the system, which clears the pages.
    pub fn touch(&mut self, more: usize, item: impl Fn(usize) -> T + Sync + Send)
    where
        T: Send,
    {
        let len = self.items.len();
        self.extend_parallel(more, item);
        self.items.truncate(len);
    }
    /// Calls `work` with every item, in parallel.
    pub fn for_each_parallel(&mut self, work: impl Fn(I, &mut T) + Sync + Send)
    where
        T: Send,
    {
        let items = self.items.par_iter_mut().with_min_len(PART).enumerate();
        items.for_each(|(i, item)| work(I::from_index(i), item));
    }
    /// Parts that start at these ids, which ascend; the last one ends with the table.
    pub fn split_mut(&mut self, starts: impl Iterator<Item = I>) -> Vec<Part<'_, I, T>> {
        let (mut rest, mut from) = (self.items.as_mut_slice(), 0);
        let mut parts: Vec<Part<'_, I, T>> = Vec::new();
        for start in starts {
            let Some((head, tail)) = rest.split_at_mut_checked(start.index().saturating_sub(from)) else {
                return parts;
            };
            if let Some(last) = parts.last_mut() {
                last.items = head;
            }
            (rest, from) = (tail, start.index());
            parts.push(Part {
                first: start,
                items: &mut [],
            });
        }
        if let Some(last) = parts.last_mut() {
            last.items = rest;
        }
        parts
    }
    /// Makes room for so many more items.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve(more);
    }
    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }
    /// Items in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    /// Items in order, to change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
    /// Ids with items, in order.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, t)| (I::from_index(i), t))
    }
    /// The items as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }
    /// The items.
    pub fn into_items(self) -> Vec<T> {
        self.items
    }
    /// Item `id`, if the table has it.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }
    /// Adds items until there are `len`.
    pub fn grow(&mut self, len: usize, item: T)
    where
        T: Clone,
    {
        if self.items.len() < len {
            self.items.resize(len, item);
        }
    }
}

impl<I: Id, T> Default for Table<I, T> {
    fn default() -> Self {
        Table::new()
    }
}

impl<I: Id, T> From<Vec<T>> for Table<I, T> {
    fn from(items: Vec<T>) -> Self {
        Table { items, id: PhantomData }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for Table<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}
