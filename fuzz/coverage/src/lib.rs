//! What the coverage-guided targets have in common.
//!
//! 1. [`try_one`] runs a target on one file and watches its time and memory: over a bound is a finding like a panic is.
//! 2. [`mutate`] makes the next file: mostly with the mutator that knows the formats, sometimes with libFuzzer's own, which knows what the
//!    code has compared with.
//!
//! Time is the processor's, not the clock's: a process that was held up has found nothing.

use culd_fuzz::classify::MEMORY_BOUND;
use culd_fuzz::mutate::change;
use culd_fuzz::targets::PARTNERS;
use culd_tests::rng::Rng;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use peak_alloc::PeakAlloc;

pub use libfuzzer_sys;

/// Longest honest run in milliseconds; the code is several times slower here than in a release build.
const TIME_BOUND: i64 = 2000;
/// In how many of 100 cases libFuzzer makes the next file.
const BLIND: usize = 35;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Processor time of this process in milliseconds.
fn spent() -> i64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |u| u.user_time().num_milliseconds())
}

/// Runs a target; panics when it breaks a promise.
pub fn try_one(target: fn(&[u8]) -> bool, bytes: &[u8]) {
    MEMORY.reset_peak_usage();
    let (before, start) = (MEMORY.current_usage(), spent());
    target(bytes);
    let (memory, time) = (MEMORY.peak_usage().saturating_sub(before), spent() - start);
    let partners: usize = PARTNERS.iter().map(|(_, _, o)| o.len()).max().unwrap_or(0);
    let bound = (bytes.len() + partners) * MEMORY_BOUND.0 + MEMORY_BOUND.1;
    assert!(memory <= bound, "{memory} bytes of memory, the bound is {bound}");
    assert!(time <= TIME_BOUND, "{time} ms, the bound is {TIME_BOUND}");
}

/// Makes one change to a file; may take pieces of another one.
pub type Change = fn(&mut Vec<u8>, &[u8], &mut Rng);

/// A change of a file whose last byte may select a mode.
pub fn change_file(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    change(bytes, other, rng);
    if let Some(last) = bytes.last_mut().filter(|_| rng.chance(15)) {
        *last = rng.next() as u8;
    }
}

/// Changes the `size` bytes in `data`, which has room for `max`; the new size.
pub fn mutate(data: &mut [u8], size: usize, max: usize, seed: u32, change: Change) -> usize {
    let rng = &mut Rng::new(seed.into());
    if size == 0 || rng.chance(BLIND) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max);
    }
    let mut bytes = data[..size].to_vec();
    let other = PARTNERS[rng.below(PARTNERS.len())].2;
    for _ in 0..rng.pick([1, 1, 1, 2, 3]) {
        change(&mut bytes, other, rng);
    }
    let len = bytes.len().min(max);
    data[..len].copy_from_slice(&bytes[..len]);
    len
}

/// The two functions that libFuzzer calls.
#[macro_export]
macro_rules! target {
    ($target:path) => {
        $crate::target!($target, $crate::change_file);
    };
    ($target:path, $change:path) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            $crate::try_one($target, data);
        });
        $crate::libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::mutate(data, size, max_size, seed, $change)
        });
    };
}
