//! `.nv.callgraph`: calls, functions whose address is taken, and indirect calls.
//!
//! 1. The section is a list of word pairs. A pair whose first word is 0 and whose second is -1, -2, -3 or -4 opens a segment.
//! 2. Segment -1: caller, callee. Segment -2: function whose address is taken, prototype. Segment -3: caller of an indirect call, prototype.
//!    Segment -4: function, function whose address it takes. Functions are symbol indices, prototypes are offsets in the string table.
//! 3. Each segment occurs once, in this order; files of all observed toolkits have all four.

use crate::codec::CodecError;
use crate::raw::Pair;
use zerocopy::{FromBytes, IntoBytes};

/// The four segments.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CallGraph<'d> {
    /// Caller and callee.
    pub calls: &'d [Pair],
    /// Functions whose address is taken, and their prototypes.
    pub address_taken: &'d [Pair],
    /// Callers of indirect calls, and the prototypes of the calls.
    pub indirect_calls: &'d [Pair],
    /// Functions, and the functions whose address they take.
    pub takers: &'d [Pair],
    /// Number of segments present, 4 in complete files.
    pub segments: u8,
}

/// The mark that opens segment `number` (1 to 4).
fn mark(number: u8) -> Pair {
    Pair {
        first: 0.into(),
        second: (u32::from(number)).wrapping_neg().into(),
    }
}

impl<'d> CallGraph<'d> {
    /// A graph with all four segments.
    pub fn new(calls: &'d [Pair], address_taken: &'d [Pair], indirect_calls: &'d [Pair], takers: &'d [Pair]) -> Self {
        CallGraph {
            calls,
            address_taken,
            indirect_calls,
            takers,
            segments: 4,
        }
    }

    /// Takes a section apart.
    pub fn read(data: &'d [u8]) -> Result<Self, CodecError> {
        const WHAT: &str = "call graph";
        let mut rest = <[Pair]>::ref_from_bytes(data).map_err(|_| CodecError::Unit {
            what: WHAT,
            size: data.len(),
            unit: size_of::<Pair>(),
        })?;
        let mut lists = [&[][..]; 4];
        let mut segments = 0u8;
        while let Some((first, tail)) = rest.split_first() {
            let place = data.len() - size_of_val(rest);
            if segments >= 4 || *first != mark(segments + 1) {
                return Err(CodecError::Value {
                    what: WHAT,
                    offset: place,
                    field: "segment mark",
                    value: first.second.get().into(),
                });
            }
            let size = tail.iter().position(is_mark).unwrap_or(tail.len());
            let (list, next) = tail.split_at(size);
            if let Some(slot) = lists.get_mut(usize::from(segments)) {
                *slot = list;
            }
            segments += 1;
            rest = next;
        }
        let [calls, address_taken, indirect_calls, takers] = lists;
        Ok(CallGraph {
            calls,
            address_taken,
            indirect_calls,
            takers,
            segments,
        })
    }

    /// Appends the section's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let lists = [self.calls, self.address_taken, self.indirect_calls, self.takers];
        for (number, list) in (1..=self.segments).zip(lists) {
            out.extend_from_slice(mark(number).as_bytes());
            out.extend_from_slice(list.as_bytes());
        }
    }

    /// Size of the section.
    pub fn size(&self) -> usize {
        let pairs = self.calls.len() + self.address_taken.len() + self.indirect_calls.len() + self.takers.len();
        (pairs + usize::from(self.segments)) * size_of::<Pair>()
    }
}

fn is_mark(pair: &Pair) -> bool {
    // Symbol 0 names nothing, so that no edge starts with it.
    pair.first.get() == 0 && (1..=4).contains(&pair.second.get().wrapping_neg())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    fn pair(a: u32, b: u32) -> Pair {
        Pair {
            first: a.into(),
            second: b.into(),
        }
    }

    #[test]
    fn four_segments_round_trip() {
        let calls = [pair(3, 4), pair(3, 5)];
        let taken = [pair(4, 0)];
        let graph = CallGraph::new(&calls, &taken, &[], &taken);
        let mut out = Vec::new();
        graph.write(&mut out);
        assert_eq!(out.len(), graph.size());
        assert_eq!(&out[..8], &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(CallGraph::read(&out).unwrap(), graph);
    }

    #[test]
    fn damage_is_named() {
        let mut out = Vec::new();
        CallGraph::new(&[pair(1, 2)], &[], &[], &[]).write(&mut out);
        assert!(CallGraph::read(&out[..out.len() - 1]).is_err());
        assert_eq!(CallGraph::read(&out[..16]).unwrap().segments, 1);
        let error = CallGraph::read(&out[8..]).unwrap_err();
        assert_eq!(error.to_string(), "call graph at offset 0x0: segment mark is 0x2");
        out.extend_from_slice(mark(4).as_bytes());
        assert!(CallGraph::read(&out).is_err());
        assert_eq!(CallGraph::read(&[]).unwrap().segments, 0);
    }
}
