#![no_main]

culd_fuzz_coverage::target!(culd_fuzz::targets::round_trip);
