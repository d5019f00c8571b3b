//! The recorded functions: one compressed file, so that the tests run without any compiler.
//!
//! Before compression: a sequence of records. A record is its fields, each with a u32 length first: arch, name, input code, linked
//! code, then the numbers (entry, relocated offsets, indirect branches) as u32. Records are ordered by name, then architecture, so
//! that the near-identical code of related architectures is close together.

use super::Pair;

/// The recorded file.
pub(crate) const RECORDED: &[u8] = include_bytes!("../fixtures/functions.lz4");

/// The same functions with compiler and linker of 13.4.
#[allow(dead_code, reason = "only one of the tests that share this module reads it")]
pub(crate) const RECORDED_LATER: &[u8] = include_bytes!("../fixtures/functions-13.4.lz4");

/// Functions whose scoreboards change with the fences of a link for a debugger (13.0).
#[allow(dead_code, reason = "only one of the tests that share this module reads it")]
pub(crate) const RECORDED_FENCES: &[u8] = include_bytes!("../fixtures/functions-fences.lz4");

/// Packs functions.
pub(crate) fn pack(pairs: &[Pair]) -> Vec<u8> {
    let mut sorted: Vec<&Pair> = pairs.iter().collect();
    sorted.sort_by_key(|p| (&p.name, &p.arch));
    let mut raw = Vec::new();
    for pair in sorted {
        for field in [pair.arch.as_bytes(), pair.name.as_bytes(), &pair.input, &pair.linked] {
            raw.extend_from_slice(&(field.len() as u32).to_le_bytes());
            raw.extend_from_slice(field);
        }
        let mut numbers = vec![u32::from(pair.entry), pair.relocated.len() as u32];
        numbers.extend(&pair.relocated);
        numbers.push(pair.indirect.len() as u32);
        for (at, targets) in &pair.indirect {
            numbers.extend([*at, targets.len() as u32]);
            numbers.extend(targets);
        }
        numbers.iter().for_each(|n| raw.extend_from_slice(&n.to_le_bytes()));
    }
    lz4_flex::compress_prepend_size(&raw)
}

/// Unpacks functions; stops at the first damaged record.
pub(crate) fn unpack(packed: &[u8]) -> Vec<Pair> {
    let raw = lz4_flex::decompress_size_prepended(packed).unwrap_or_default();
    let mut reader = Reader { rest: &raw };
    std::iter::from_fn(|| reader.pair()).collect()
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (head, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*head))
    }

    fn field(&mut self) -> Option<Vec<u8>> {
        let size = self.number()? as usize;
        let (head, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(head.to_vec())
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn pair(&mut self) -> Option<Pair> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
        Some(Pair {
            arch: text(self.field()?)?,
            name: text(self.field()?)?,
            input: self.field()?,
            linked: self.field()?,
            entry: self.number()? != 0,
            relocated: self.list(Self::number)?.into_iter().collect(),
            indirect: self.list(|r| Some((r.number()?, r.list(Self::number)?)))?.into_iter().collect(),
            later: false,
        })
    }
}
