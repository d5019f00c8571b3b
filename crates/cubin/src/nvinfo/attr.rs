//! Attribute codes that the linker uses by name; [`attribute_info`](super::attribute_info) describes all.

/// Never written.
pub const ERROR: u8 = 0x00;
/// The kernel reads `ctaid.z`.
pub const CTAIDZ_USED: u8 = 0x04;
/// Older form of [`CRS_STACK_SIZE`].
pub const SYNC_STACK: u8 = 0x0d;
/// Functions that the driver must provide, and child kernels.
pub const EXTERNS: u8 = 0x0f;
/// Stack frame of a function.
pub const FRAME_SIZE: u8 = 0x11;
/// Stack of a kernel with everything it calls.
pub const MIN_STACK_SIZE: u8 = 0x12;
/// Limit of registers.
pub const MAXREG_COUNT: u8 = 0x1b;
/// Call-return stack.
pub const CRS_STACK_SIZE: u8 = 0x1e;
/// Only in inputs.
pub const MAX_STACK_SIZE: u8 = 0x23;
/// Only in inputs.
pub const LOAD_CACHE_REQUEST: u8 = 0x26;
/// An input is of a toolkit before 10.0.
pub const HAS_PRE_V10_OBJECT: u8 = 0x2c;
/// Registers of a function.
pub const REGCOUNT: u8 = 0x2f;
/// Number of mbarriers.
pub const NUM_MBARRIERS: u8 = 0x38;
/// Stack of a region.
pub const SAM_REGION_STACK_SIZE: u8 = 0x3b;
/// Reserved shared memory is used.
pub const RESERVED_SMEM_USED: u8 = 0x41;
/// Virtual resource count.
pub const VRC_CTA_INIT_COUNT: u8 = 0x4a;
/// Number of barriers.
pub const NUM_BARRIERS: u8 = 0x4c;
/// Languages that the code was compiled from.
pub const LANGUAGE: u8 = 0x66;
/// Fragments at entry.
pub const AT_ENTRY_FRAGMENTS: u8 = 0x4f;
/// Sparse matrix mask.
pub const SPARSE_MMA_MASK: u8 = 0x50;
/// Tensor core of one CTA.
pub const TCGEN05_1CTA_USED: u8 = 0x51;
/// Tensor core of a CTA pair.
pub const TCGEN05_2CTA_USED: u8 = 0x52;
/// Options of the finalizer: only in the Mercury view.
pub const FINALIZER_OPTIONS: u8 = 0x5a;
/// Version of the Mercury instructions.
pub const MERCURY_ISA_VERSION: u8 = 0x5f;
/// Registers are reconfigured.
pub const REG_RECONFIG: u8 = 0x54;
