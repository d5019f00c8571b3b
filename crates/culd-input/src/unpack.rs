//! Unpacking the compressed entries of many units.
//!
//! 1. Every unit says how much its entries unpack to.
//! 2. Units are taken together up to 32 MiB, which bounds the memory that damaged sizes can claim. They share one buffer: memory for each would cost as
//!    much as unpacking it.
//! 3. Each unpacks into its own place, several at once when there is much to do, and continues by checking the result.
//!
//! Units without compressed entries need no memory.

use crate::buffer::HugeBuffer;
use crate::bytes::Bytes;
use crate::extract::Extractor;
use crate::extracted::Extracted;
use crate::options::LoadOptions;
use crate::plan::Unit;
use rayon::prelude::*;

/// Most bytes that are unpacked at once, unless one unit needs more.
const BATCH: usize = 32 << 20;

/// Examines all units.
pub(crate) fn extract_all(units: &[Unit], options: &LoadOptions, parallel: bool) -> Vec<Extracted> {
    let examine = |unit| {
        let extractor = Extractor::new(unit, options);
        let size = extractor.packed_size();
        (extractor, size)
    };
    let examined: Vec<(Extractor<'_>, usize)> = if parallel {
        units.par_iter().map(examine).collect()
    } else {
        units.iter().map(examine).collect()
    };
    if examined.iter().all(|(_, size)| *size == 0) {
        let nothing = Bytes::from(Vec::new());
        let finish = |(mut extractor, _): (Extractor<'_>, usize)| {
            extractor.unpack(0, &mut []);
            extractor.finish(&nothing)
        };
        return match parallel {
            true => examined.into_par_iter().map(finish).collect(),
            false => examined.into_iter().map(finish).collect(),
        };
    }
    let mut extracted = Vec::with_capacity(units.len());
    let mut examined = examined.into_iter().peekable();
    while examined.peek().is_some() {
        let (mut batch, mut size) = (Vec::new(), 0);
        while let Some(next) = examined.next_if(|next| batch.is_empty() || size + next.1 <= BATCH) {
            size += next.1;
            batch.push(next);
        }
        extracted.append(&mut unpack(batch, size, parallel));
    }
    extracted
}

/// Examines one unit.
pub(crate) fn examine(unit: &Unit, options: &LoadOptions) -> Option<Extracted> {
    extract_all(std::slice::from_ref(unit), options, false).pop()
}

/// Unpacks what a batch of units has, in a buffer of `size` bytes.
fn unpack<'u>(batch: Vec<(Extractor<'u>, usize)>, size: usize, parallel: bool) -> Vec<Extracted> {
    let mut buffer = HugeBuffer::new(size);
    let mut rest = &mut *buffer;
    let mut start = 0;
    let mut places = Vec::with_capacity(batch.len());
    for (extractor, size) in batch {
        let (place, tail) = std::mem::take(&mut rest).split_at_mut_checked(size).unwrap_or_default();
        places.push((extractor, start, place));
        rest = tail;
        start += size;
    }
    let unpack = |(mut extractor, start, place): (Extractor<'u>, usize, &mut [u8])| {
        extractor.unpack(start, place);
        extractor
    };
    let unpacked: Vec<Extractor<'u>> = if parallel && size > 0 {
        places.into_par_iter().map(unpack).collect()
    } else {
        places.into_iter().map(unpack).collect()
    };
    let shared = Bytes::from(buffer);
    match parallel {
        true => unpacked.into_par_iter().map(|extractor| extractor.finish(&shared)).collect(),
        false => unpacked.into_iter().map(|extractor| extractor.finish(&shared)).collect(),
    }
}
