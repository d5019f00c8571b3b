//! Copies of literals and matches in chunks of fixed size.
//!
//! A copy may write up to 31 bytes more than requested: what follows is either slack or written later. All functions answer `None`
//! where a chunk would not be inside, and then the output is of no use.
//!
//! Most copies are short and their sizes cannot be foreseen, so two chunks are copied without asking how long the copy is.

const CHUNK: usize = 16;

#[inline(always)]
fn load<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}

#[inline(always)]
fn store<const N: usize>(to: &mut [u8], at: usize, chunk: [u8; N]) -> Option<()> {
    *to.get_mut(at..)?.first_chunk_mut()? = chunk;
    Some(())
}

/// Copies the first `count` bytes of `from` to `to` at `at`.
#[inline(always)]
pub(crate) fn append(to: &mut [u8], at: usize, from: &[u8], count: usize) -> Option<()> {
    if count <= CHUNK {
        store::<CHUNK>(to, at, *from.first_chunk()?)
    } else {
        append_long(to, at, from, count)
    }
}

#[inline(never)]
fn append_long(to: &mut [u8], at: usize, from: &[u8], count: usize) -> Option<()> {
    let to = to.get_mut(at..)?.get_mut(..count)?;
    to.copy_from_slice(from.get(..count)?);
    Some(())
}

/// Repeats what is `offset` bytes back, `count` bytes of it. The two ranges may overlap.
#[inline(always)]
pub(crate) fn repeat(out: &mut [u8], at: usize, offset: usize, count: usize) -> Option<()> {
    let (before, after) = out.split_at_mut_checked(at)?;
    match before.get(at.checked_sub(offset)?..)?.first_chunk::<{ 2 * CHUNK }>() {
        Some(chunks) if count <= 2 * CHUNK => {
            *after.first_chunk_mut()? = *chunks;
            Some(())
        }
        _ => repeat_long(out, at, offset, count),
    }
}

/// Matches that are long or overlap with their own chunks.
#[inline(never)]
fn repeat_long(out: &mut [u8], mut at: usize, offset: usize, count: usize) -> Option<()> {
    if offset < CHUNK {
        return repeat_close(out, at, offset, count);
    }
    let end = at.checked_add(count)?;
    if count >= 128 && offset >= count {
        let (before, after) = out.split_at_mut_checked(at)?;
        let source = before.get(at.checked_sub(offset)?..)?.get(..count)?;
        after.get_mut(..count)?.copy_from_slice(source);
        return Some(());
    }
    while at < end {
        let first = load::<CHUNK>(out, at.checked_sub(offset)?)?;
        store(out, at, first)?;
        at += CHUNK;
    }
    Some(())
}

/// Matches with a period below a chunk: the period is spread over a word, which is written until a chunk is a multiple of the period
/// back.
fn repeat_close(out: &mut [u8], mut at: usize, offset: usize, count: usize) -> Option<()> {
    let from = at.checked_sub(offset)?;
    if offset == 1 {
        let byte = *out.get(from)?;
        out.get_mut(at..)?.get_mut(..count)?.fill(byte);
        return Some(());
    }
    let end = at.checked_add(count)?;
    let far = offset * CHUNK.div_ceil(offset.max(1));
    let near = end.min(at + far);
    if offset >= 8 {
        while at < near {
            let chunk = load::<8>(out, at - offset)?;
            store(out, at, chunk)?;
            at += 8;
        }
    } else {
        let mut shift = offset as u32 * 8;
        let mut word = u64::from_le_bytes(load(out, from)?) & ((1 << (shift & 63)) - 1);
        while shift < 64 {
            word |= word << shift;
            shift *= 2;
        }
        let step = 8 - 8 % offset.max(1);
        while at < near {
            store(out, at, word.to_le_bytes())?;
            at += step;
        }
    }
    while at < end {
        let chunk = load::<CHUNK>(out, at.checked_sub(far)?)?;
        store(out, at, chunk)?;
        at += CHUNK;
    }
    Some(())
}
