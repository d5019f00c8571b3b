//! NULL pointers, text that is not UTF-8 and unknown numbers are refused; nothing crashes.

use culd_c::*;
use std::ptr::{null, null_mut};

const SAXPY: &[u8] = include_bytes!("../../culd/examples/data/saxpy.cubin");
const COMBINE: &[u8] = include_bytes!("../../culd/examples/data/combine.cubin");

#[test]
fn null_is_refused() {
    assert!(culd_linker_new(null()).is_null());
    assert!(culd_linker_new(c"sm_1".as_ptr()).is_null());
    assert!(culd_linker_new(c"\xff".as_ptr()).is_null());
    culd_linker_free(null_mut());
    assert!(culd_link(null()).is_null());
    assert!(!culd_result_ok(null()));
    assert!(culd_result_image(null(), null_mut()).is_null());
    assert_eq!(culd_result_diagnostic_count(null()), 0);
    assert!(!culd_result_diagnostic(null(), 0, null_mut()));
    assert!(!culd_result_kernel(null(), 0, null_mut()));
    assert!(culd_result_json(null()).is_null());
    culd_result_free(null_mut());
    assert!(culd_dump(null(), null(), 0, false).is_null());
    assert!(culd_diff(null(), 0, null(), 0, false).is_null());
    assert!(culd_text_get(null()).is_null());
    culd_text_free(null_mut());

    let linker = culd_linker_new(c"sm_90".as_ptr());
    assert!(!linker.is_null());
    let refused = [
        culd_linker_add_memory(linker, 0, null(), null(), 10) as i32,
        culd_linker_add_memory(linker, 99, null(), SAXPY.as_ptr().cast(), SAXPY.len()) as i32,
        culd_linker_add_memory(linker, 0, c"\xff".as_ptr(), SAXPY.as_ptr().cast(), SAXPY.len()) as i32,
        culd_linker_add_file(linker, null()) as i32,
        culd_linker_set(linker, 99, true) as i32,
        culd_linker_set_release(linker, c"9.0".as_ptr()) as i32,
    ];
    assert_eq!(refused, [1; 6]);
    culd_linker_free(linker);
}

#[test]
fn a_link_from_memory_and_what_is_in_it() {
    let linker = culd_linker_new(c"sm_90".as_ptr());
    for (name, bytes) in [(c"saxpy.cubin", SAXPY), (c"combine.cubin", COMBINE)] {
        assert_eq!(
            culd_linker_add_memory(linker, 1, name.as_ptr(), bytes.as_ptr().cast(), bytes.len()) as i32,
            0
        );
    }
    let (first, second) = (culd_link(linker), culd_link(linker));
    let (mut size, mut again) = (0, 0);
    let (a, b) = (culd_result_image(first, &mut size), culd_result_image(second, &mut again));
    assert!(size > 0 && size == again);
    let same = culd_diff(a, size, b, again, false);
    assert!(culd_text_good(same));
    let other = culd_diff(a, size, SAXPY.as_ptr().cast(), SAXPY.len(), true);
    assert!(!culd_text_good(other));
    let dump = culd_dump(c"out".as_ptr(), a, size, true);
    assert!(culd_text_good(dump) && !culd_text_get(dump).is_null());
    for text in [same, other, dump] {
        culd_text_free(text);
    }
    assert_eq!(culd_result_kernel_count(first), 1);
    culd_result_free(first);
    culd_result_free(second);
    culd_linker_free(linker);
}
