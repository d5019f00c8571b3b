#![no_main]

culd_fuzz_coverage::target!(culd_fuzz::jit::run, culd_fuzz::jit::change);
