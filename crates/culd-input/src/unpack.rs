//! Unpacking the compressed entries of many units.
//!
//! 1. Every unit says how much its entries unpack to.
//! 2. Units are taken together up to 32 MiB, a bound for what damaged sizes can ask for. They share one room: memory for each would cost as
//!    much as unpacking it.
//! 3. Each unpacks into its own place, several at once when there is much to do, and goes on to check what came out.

use crate::bytes::Bytes;
use crate::examine::{Examiner, Finding, Piece, Step, Taken};
use crate::options::LoadOptions;
use crate::plan::Unit;
use crate::room::Room;
use cubin::fatbin::Packed;
use rayon::prelude::*;
use std::ops::Range;

/// Most bytes of one room, unless one unit needs more.
const ROOM: usize = 32 << 20;

/// A part of what a unit contributes.
pub(crate) enum Part<'u> {
    /// Done.
    Step(Step<Held>),
    /// A compressed entry.
    Packed(Taken<'u>, Packed<'u>),
}

/// Where the bytes of a piece are.
#[derive(Debug)]
pub(crate) enum Held {
    Alone(Bytes),
    /// A range of the room.
    Shared(Range<usize>),
}

impl Part<'_> {
    /// The step; nothing for an entry that was never unpacked.
    pub(crate) fn into_step(self, room: &Bytes) -> Option<Step> {
        let bytes = |held| match held {
            Held::Alone(bytes) => bytes,
            Held::Shared(range) => room.slice(range).unwrap_or_else(|| Vec::new().into()),
        };
        let piece = |Piece { name, bytes: held }: Piece<Held>| Piece { name, bytes: bytes(held) };
        match self {
            Part::Step(Step::Say(message)) => Some(Step::Say(message)),
            Part::Step(Step::Object(object)) => Some(Step::Object(piece(object))),
            Part::Step(Step::Ptx(text, options)) => Some(Step::Ptx(piece(text), options)),
            Part::Step(Step::Lto(module, kind, options)) => Some(Step::Lto(piece(module), kind, options)),
            Part::Packed(..) => None,
        }
    }
}

/// Examines all units.
pub(crate) fn examine_all(units: &[Unit], options: &LoadOptions, parallel: bool) -> Vec<Finding> {
    let examine = |unit| {
        let examiner = Examiner::new(unit, options);
        let size = examiner.packed_size();
        (examiner, size)
    };
    let examined: Vec<(Examiner<'_>, usize)> = if parallel {
        units.par_iter().map(examine).collect()
    } else {
        units.iter().map(examine).collect()
    };
    let mut findings = Vec::with_capacity(units.len());
    let mut examined = examined.into_iter().peekable();
    while examined.peek().is_some() {
        let (mut batch, mut size) = (Vec::new(), 0);
        while let Some(next) = examined.next_if(|next| batch.is_empty() || size + next.1 <= ROOM) {
            size += next.1;
            batch.push(next);
        }
        findings.extend(unpack(batch, size, parallel));
    }
    findings
}

/// Examines one unit.
pub(crate) fn examine(unit: &Unit, options: &LoadOptions) -> Option<Finding> {
    examine_all(std::slice::from_ref(unit), options, false).pop()
}

/// Unpacks what a batch of units has, in a room of `size` bytes.
fn unpack<'u>(batch: Vec<(Examiner<'u>, usize)>, size: usize, parallel: bool) -> impl Iterator<Item = Finding> + use<'u> {
    let mut room = Room::new(size);
    let mut rest = &mut *room;
    let mut start = 0;
    let mut places = Vec::with_capacity(batch.len());
    for (examiner, size) in batch {
        let (place, tail) = std::mem::take(&mut rest).split_at_mut_checked(size).unwrap_or_default();
        places.push((examiner, start, place));
        rest = tail;
        start += size;
    }
    let unpack = |(mut examiner, start, place): (Examiner<'u>, usize, &mut [u8])| {
        examiner.unpack(start, place);
        examiner
    };
    let unpacked: Vec<Examiner<'u>> = if parallel && size > 0 {
        places.into_par_iter().map(unpack).collect()
    } else {
        places.into_iter().map(unpack).collect()
    };
    let shared = Bytes::from(room);
    unpacked.into_iter().map(move |examiner| examiner.finish(&shared))
}
