#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    culd_fuzz::targets::parse_archive(data);
});
