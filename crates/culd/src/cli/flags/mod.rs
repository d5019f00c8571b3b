//! The flag table and its vocabulary.
//!
//! One entry per flag has its names, the kind of its value, its description and its place in the recorded command line. Everything else reads
//! the table: parsing ([`crate::cli::parse`]), `--help` and the reference page ([`crate::cli::help`]), the recorded command line ([`crate::cli::note`]).

mod flag;
mod own;
mod shared;

pub use flag::{Allowed, Flag, Id, Kind, Known, Recorded};

use crate::cli::called::Called;
use flag::BASE;

/// Every flag: nvlink's in the order of its help, nvlink's unlisted ones, culd's own.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    shared::PUBLIC.iter().chain(shared::HIDDEN).chain(own::OWN)
}

/// The flags that exist under a program name.
pub fn known_to(called: Called) -> impl Iterator<Item = &'static Flag> {
    all().filter(move |f| !called.is_nvlink() || (f.known == Known::Both && f.since <= called.version.release.toolkit))
}

/// Finds a flag by its long name.
pub fn by_long(name: &[u8], called: Called) -> Option<&'static Flag> {
    known_to(called).find(|f| f.long.as_bytes() == name && f.is_listed(called))
}

/// Finds a flag by its short name.
pub fn by_short(name: &[u8], called: Called) -> Option<&'static Flag> {
    known_to(called).find(|f| f.short.is_some_and(|s| s.as_bytes() == name))
}

/// Finds the single-letter flag that a glued value may follow: `-lfoo`, `-m64`.
pub fn by_glued_letter(name: &[u8], called: Called) -> Option<&'static Flag> {
    let letter = name.get(..1)?;
    known_to(called).find(|f| f.glued && f.short.is_some_and(|s| s.as_bytes() == letter))
}

/// The table entry of a flag.
pub fn flag(id: Id) -> &'static Flag {
    all().find(|f| f.id == id).unwrap_or(&BASE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_one_entry_and_every_name_is_unique() {
        let ids: Vec<Id> = all().map(|f| f.id).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), ids.len());
        assert_eq!(ids.len(), Id::WhyLive as usize + 1, "an id without an entry");
        let mut longs: Vec<&str> = all().map(|f| f.long).collect();
        longs.sort_unstable();
        longs.dedup();
        assert_eq!(longs.len(), ids.len());
        let mut shorts: Vec<&str> = all().filter_map(|f| f.short).collect();
        let n = shorts.len();
        shorts.sort_unstable();
        shorts.dedup();
        assert_eq!(shorts.len(), n);
    }

    #[test]
    fn every_flag_is_described_and_recorded_places_are_unique() {
        assert!(
            all().all(|f| !f.about.is_empty() && f.about.ends_with('.')),
            "own words for each flag"
        );
        assert!(shared::PUBLIC.iter().all(|f| !f.nvlink_help.is_empty() && !f.hidden));
        let mut places: Vec<u8> = all()
            .filter_map(|f| match f.recorded {
                Recorded::Never => None,
                Recorded::At(n) | Recorded::LongFormAt(n) => Some(n),
            })
            .collect();
        let n = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), n);
    }
}
