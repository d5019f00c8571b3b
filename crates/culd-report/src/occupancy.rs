//! How many blocks of a kernel are resident on a multiprocessor, and what limits them.
//!
//! The numbers of [`TABLE`] are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and of the
//! calculator that NVIDIA publishes with the toolkit (`cuda_occupancy.h`): allocation units, register files per block, reserved shared memory,
//! barriers. The calculation:
//!
//! 1. A block has `ceil(threads / 32)` warps. Warps are limited by the multiprocessor, blocks by their own number.
//! 2. Registers are allocated per warp in units, and each of the four (sm_60: two) partitions of the multiprocessor has its share of them.
//!    A block whose warps, rounded up to partitions, need more than the registers of a block does not start at all.
//! 3. Shared memory of a block is static + dynamic + reserved, rounded up to the unit.
//! 4. From sm_90 on, named barriers are limited too.
//! 5. The smallest of these is the number of blocks; every resource that gives it limits the kernel.

use serde::Serialize;

/// Limits of an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Number: 90 for sm_90.
    pub sm: u32,
    /// Warps per multiprocessor.
    pub warps: u32,
    /// Blocks per multiprocessor.
    pub blocks: u32,
    /// Registers per multiprocessor.
    pub registers: u32,
    /// Registers per block.
    pub registers_per_block: u32,
    /// Registers per thread.
    pub registers_per_thread: u32,
    /// Registers are allocated to a warp in multiples of this.
    pub register_unit: u32,
    /// Partitions of the multiprocessor.
    pub partitions: u32,
    /// Bytes of shared memory per multiprocessor.
    pub shared: u32,
    /// Bytes of shared memory per block, with the opt-in of the launch, without the reserved bytes.
    pub shared_per_block: u32,
    /// Bytes of shared memory that the system reserves in each block.
    pub shared_reserved: u32,
    /// Shared memory is allocated in multiples of this.
    pub shared_unit: u32,
    /// Named barriers per multiprocessor; 0 where they do not limit.
    pub barriers: u32,
}

const KIB: u32 = 1024;

/// A row: number, warps, blocks, KiB of shared memory per multiprocessor and per block.
const fn row(sm: u32, warps: u32, blocks: u32, shared: u32, shared_per_block: u32) -> Limits {
    let is_ampere = sm >= 80;
    Limits {
        sm,
        warps,
        blocks,
        registers: 64 * KIB,
        registers_per_block: if sm == 53 || sm == 62 { 32 * KIB } else { 64 * KIB },
        registers_per_thread: 255,
        register_unit: 256,
        partitions: if sm == 60 { 2 } else { 4 },
        shared: shared * KIB,
        shared_per_block: shared_per_block * KIB,
        shared_reserved: if is_ampere { KIB } else { 0 },
        shared_unit: if is_ampere { 128 } else { 256 },
        barriers: match sm {
            90 | 100 | 103 => 2 * blocks,
            101 | 110 | 120 | 121 => blocks,
            _ => 0,
        },
    }
}

/// The architectures, by number.
pub const TABLE: [Limits; 21] = [
    row(50, 64, 32, 64, 48),
    row(52, 64, 32, 96, 48),
    row(53, 64, 32, 64, 48),
    row(60, 64, 32, 64, 48),
    row(61, 64, 32, 96, 48),
    row(62, 64, 32, 64, 48),
    row(70, 64, 32, 96, 96),
    row(72, 64, 32, 96, 96),
    row(75, 32, 16, 64, 64),
    row(80, 64, 32, 164, 163),
    row(86, 48, 16, 100, 99),
    row(87, 48, 16, 164, 163),
    row(88, 48, 16, 100, 99),
    row(89, 48, 24, 100, 99),
    row(90, 64, 32, 228, 227),
    row(100, 64, 32, 228, 227),
    row(101, 48, 24, 228, 227),
    row(103, 64, 32, 228, 227),
    row(110, 48, 24, 228, 227),
    row(120, 48, 24, 100, 99),
    row(121, 48, 24, 100, 99),
];

/// Threads of a warp.
pub const WARP: u32 = 32;
/// Threads that a block can have.
pub const BLOCK: u32 = 1024;

/// Partitions that the check of a launch assumes; on sm_60, too, which has two.
const LAUNCH_PARTITIONS: u32 = 4;

/// Resources of a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Threads per block.
    pub threads: u32,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of static and dynamic shared memory, without the reserved bytes.
    pub shared: u64,
    /// Named barriers.
    pub barriers: u32,
}

/// Resource that limits occupancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Warps per multiprocessor.
    Warps,
    /// Blocks per multiprocessor.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
    /// Named barriers.
    Barriers,
    /// More threads than the kernel was compiled for.
    LaunchBounds,
}

impl Limiter {
    /// The word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Limiter::Warps => "warps",
            Limiter::Blocks => "blocks",
            Limiter::Registers => "registers",
            Limiter::Shared => "shared",
            Limiter::Barriers => "barriers",
            Limiter::LaunchBounds => "launch bounds",
        }
    }
}

/// The result for one block size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// Threads per block.
    pub threads: u32,
    /// Blocks per multiprocessor; 0 when the kernel cannot be launched like this.
    pub blocks: u32,
    /// Warps per multiprocessor.
    pub warps: u32,
    /// Warps in per cent of the most that are possible, rounded down.
    pub percent: u32,
    /// What gives the number of blocks.
    pub limited_by: Vec<Limiter>,
}

/// The limits of an architecture.
pub fn limits(sm: u32) -> Option<&'static Limits> {
    TABLE.iter().find(|l| l.sm == sm)
}

/// Resident blocks of a kernel.
pub fn occupancy(limits: &Limits, needs: Needs) -> Occupancy {
    let warps = needs.threads.div_ceil(WARP).max(1);
    let candidates = [
        (Limiter::Warps, if needs.threads > BLOCK { 0 } else { limits.warps / warps }),
        (Limiter::Blocks, limits.blocks),
        (Limiter::Registers, by_registers(limits, needs.registers, warps)),
        (Limiter::Shared, by_shared(limits, needs.shared)),
        (Limiter::Barriers, by_barriers(limits, needs.barriers)),
    ];
    let blocks = candidates.iter().map(|c| c.1).min().unwrap_or(0);
    let resident = blocks * warps;
    Occupancy {
        threads: needs.threads,
        blocks,
        warps: resident,
        percent: resident * 100 / limits.warps.max(1),
        limited_by: candidates.iter().filter(|c| c.1 == blocks).map(|c| c.0).collect(),
    }
}

/// Resident blocks of a kernel that was read from a file. None when its registers are not known.
pub fn of_kernel(limits: &Limits, f: &crate::Function, threads: u32, dynamic: u64) -> Option<Occupancy> {
    let needs = Needs {
        threads,
        registers: f.registers?,
        shared: f.shared.saturating_add(dynamic),
        barriers: f.barriers,
    };
    let result = occupancy(limits, needs);
    if f.required_threads.or(f.max_threads).is_none_or(|most| threads <= most) {
        return Some(result);
    }
    Some(Occupancy {
        blocks: 0,
        warps: 0,
        percent: 0,
        limited_by: vec![Limiter::LaunchBounds],
        ..result
    })
}

fn by_registers(limits: &Limits, registers: u32, warps: u32) -> u32 {
    if registers == 0 {
        return u32::MAX;
    }
    let per_warp = registers.saturating_mul(WARP).next_multiple_of(limits.register_unit);
    let assumed = per_warp.saturating_mul(warps.next_multiple_of(LAUNCH_PARTITIONS));
    if assumed > limits.registers_per_block || registers > limits.registers_per_thread {
        return 0;
    }
    limits.registers / limits.partitions / per_warp * limits.partitions / warps
}

fn by_shared(limits: &Limits, shared: u64) -> u32 {
    let total = shared
        .saturating_add(limits.shared_reserved.into())
        .next_multiple_of(limits.shared_unit.into());
    if total > u64::from(limits.shared_per_block + limits.shared_reserved) {
        return 0;
    }
    let fitting = u64::from(limits.shared).checked_div(total);
    fitting.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX))
}

fn by_barriers(limits: &Limits, barriers: u32) -> u32 {
    match limits.barriers {
        0 => u32::MAX,
        available => available.checked_div(barriers).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    fn of(sm: u32, threads: u32, registers: u32, shared: u64) -> (u32, u32, Vec<Limiter>) {
        let o = occupancy(
            limits(sm).unwrap(),
            Needs {
                threads,
                registers,
                shared,
                barriers: 0,
            },
        );
        (o.blocks, o.percent, o.limited_by)
    }

    #[test]
    fn every_resource_can_limit() {
        assert_eq!(of(90, 256, 32, 0), (8, 100, vec![Limiter::Warps, Limiter::Registers]));
        assert_eq!(of(90, 32, 16, 0), (32, 50, vec![Limiter::Blocks]));
        assert_eq!(of(90, 256, 70, 0), (3, 37, vec![Limiter::Registers]));
        assert_eq!(of(90, 128, 32, 100 * 1024), (2, 12, vec![Limiter::Shared]));
        assert_eq!(of(75, 1024, 32, 0), (1, 100, vec![Limiter::Warps]));
    }

    #[test]
    fn a_kernel_that_cannot_start_has_no_blocks() {
        // 1024 threads with 65 registers need 72 x 1024.
        assert_eq!(of(80, 1024, 65, 0), (0, 0, vec![Limiter::Registers]));
        assert_eq!(of(80, 128, 32, 164 * 1024).0, 0);
        assert_eq!(of(80, 1056, 32, 0).0, 0);
    }

    #[test]
    fn numbers_are_in_order() {
        assert!(TABLE.is_sorted_by_key(|l| l.sm));
    }
}
