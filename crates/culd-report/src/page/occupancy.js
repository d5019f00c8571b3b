// The calculation of crates/culd-report/src/occupancy.rs, with the same table: architectures are in the data.

const WARP = 32;
const LAUNCH_PARTITIONS = 4;
const up = (n, unit) => Math.ceil(n / unit) * unit;

function blocksByRegisters(limits, registers, warps) {
  if (!registers) return Infinity;
  const perWarp = up(registers * WARP, limits.register_unit);
  if (perWarp * up(warps, LAUNCH_PARTITIONS) > limits.registers_per_block || registers > limits.registers_per_thread) return 0;
  return Math.floor((Math.floor(limits.registers / limits.partitions / perWarp) * limits.partitions) / warps);
}

function blocksByShared(limits, shared) {
  const total = up(shared + limits.shared_reserved, limits.shared_unit);
  if (total > limits.shared_per_block + limits.shared_reserved) return 0;
  return total ? Math.floor(limits.shared / total) : Infinity;
}

function occupancy(limits, needs) {
  const warps = Math.max(1, Math.ceil(needs.threads / WARP));
  const candidates = [
    ["warps", needs.threads > 1024 ? 0 : Math.floor(limits.warps / warps)],
    ["blocks", limits.blocks],
    ["registers", blocksByRegisters(limits, needs.registers, warps)],
    ["shared", blocksByShared(limits, needs.shared)],
    ["barriers", limits.barriers && needs.barriers ? Math.floor(limits.barriers / needs.barriers) : Infinity],
  ];
  const blocks = Math.min(...candidates.map((c) => c[1]));
  return {
    threads: needs.threads, blocks, warps: blocks * warps, percent: Math.floor((blocks * warps * 100) / limits.warps),
    limited_by: candidates.filter((c) => c[1] === blocks).map((c) => c[0]),
  };
}

const limitsOf = (sm) => state.report.architectures.find((l) => l.sm === sm) || null;

/**
 * Occupancy of a kernel with the dynamic shared memory that is set; null when it cannot be known. Without a number of threads it is the one
 * that is set, or the most that the kernel allows.
 */
function occupancyOf(f, asked) {
  const limits = limitsOf(state.sm);
  if (!limits || !f.kernel || f.registers === null) return null;
  const threads = asked || Math.min(state.block, f.required_threads || f.max_threads || 1024);
  const result = occupancy(limits, { threads, registers: f.registers, shared: f.shared + state.dynamic, barriers: f.barriers });
  const allowed = f.required_threads || f.max_threads;
  if (allowed && threads > allowed) return { ...result, blocks: 0, warps: 0, percent: 0, limited_by: ["launch_bounds"] };
  return result;
}
