use crate::diagnostics::Code;
use crate::testing::{Linked, Small, messages, options};
use cubin::build::Binding::Global;

#[test]
fn a_kernels_shared_variables_are_sorted_by_alignment_then_size() {
    let object = Small::new()
        .kernel("k")
        .shared("k", "small", 4, 4)
        .shared("k", "big", 64, 16)
        .shared("k", "middle", 8, 4);
    let object = object.uses("k", "small").uses("k", "big").uses("k", "middle");
    Linked::run(vec![object], &options(), |l| {
        let offset = |name| l.shared(name).1;
        assert_eq!([offset("big"), offset("small"), offset("middle")], [Some(0), Some(64), Some(68)]);
        assert_eq!(l.section(".nv.shared.k").unwrap().size, 76);
    });
}

#[test]
fn kernels_start_their_own_shared_variables_at_the_same_offset() {
    let object = Small::new().kernel("k").kernel("l").shared("k", "a", 32, 4).shared("l", "b", 16, 4);
    Linked::run(vec![object.uses("k", "a").uses("l", "b")], &options(), |l| {
        assert_eq!((l.shared("a").1, l.shared("b").1), (Some(0), Some(0)));
    });
}

#[test]
fn a_module_variable_that_several_kernels_use_has_one_offset_before_their_own() {
    let object = Small::new()
        .kernel("k")
        .kernel("l")
        .module_shared("both", 32, 4)
        .shared("k", "own", 8, 8);
    let object = object.uses("k", "both").uses("l", "both").uses("k", "own");
    Linked::run(vec![object], &options(), |l| {
        assert_eq!((l.shared("both").1, l.shared("own").1), (Some(0), Some(32)));
        assert!(l.layout.shared.has_slots);
        assert_eq!(l.section(".nv.shared.l").unwrap().size, 32);
    });
}

#[test]
fn module_variables_of_different_kernels_share_memory() {
    let object = Small::new()
        .kernel("k")
        .kernel("l")
        .module_shared("a", 32, 4)
        .module_shared("b", 16, 4);
    Linked::run(vec![object.uses("k", "a").uses("l", "b")], &options(), |l| {
        assert_eq!((l.shared("a").1, l.shared("b").1), (Some(0), Some(0)));
        assert!(!l.layout.shared.has_slots);
    });
}

#[test]
fn a_function_gives_its_variables_to_every_kernel_that_reaches_it() {
    let object = Small::new()
        .kernel("k")
        .kernel("l")
        .kernel("m")
        .function("f")
        .module_shared("v", 32, 4);
    let object = object.call("k", "f").call("l", "f").uses("f", "v");
    Linked::run(vec![object], &options(), |l| {
        let size = |name| l.section(name).map(|s| s.size).filter(|&size| size != crate::records::ABSENT);
        assert_eq!(l.shared("v").1, Some(0));
        assert_eq!(
            [size(".nv.shared.k"), size(".nv.shared.l"), size(".nv.shared.m")],
            [Some(32), Some(32), None]
        );
    });
}

#[test]
fn a_module_variable_without_references_gets_no_space() {
    let object = Small::new().kernel("k").module_shared("unused", 32, 4);
    Linked::run(vec![object], &options(), |l| assert_eq!(l.shared("unused").1, None));
}

#[test]
fn dynamic_shared_memory_starts_after_the_static_variables_at_a_multiple_of_16() {
    let object = Small::new().kernel("k").shared("k", "own", 20, 4).dynamic_shared("dynamic", 4);
    Linked::run(vec![object.uses("k", "own").uses("k", "dynamic")], &options(), |l| {
        assert!(l.shared("dynamic").0.is_dynamic());
        assert_eq!(l.layout.shared.dynamic_value(l.id("k")), Some(32));
    });
}

#[test]
fn a_kernel_may_have_48_kib_of_static_shared_memory() {
    let object = |size| Small::new().kernel("k").shared("k", "v", size, 4).uses("k", "v");
    let is_refused = |size| {
        messages(vec![object(size)], &options())
            .iter()
            .any(|m| matches!(m, Code::TooMuchShared { .. }))
    };
    assert!(!is_refused(0xc000));
    assert!(is_refused(0xc004));
}

#[test]
fn a_module_may_have_64_kib_of_constants() {
    let object = |size| Small::new().kernel("k").constant("v", Global, &vec![1; size], 4).uses("k", "v");
    let is_refused = |size| {
        messages(vec![object(size)], &options())
            .iter()
            .any(|m| matches!(m, Code::TooMuchConstant { .. }))
    };
    assert!(!is_refused(0x10000));
    assert!(is_refused(0x10004));
}

#[test]
fn a_relocatable_link_sums_shared_memory_and_lays_nothing_out() {
    let object = Small::new()
        .kernel("k")
        .shared("k", "a", 32, 4)
        .shared("k", "b", 8, 4)
        .uses("k", "a")
        .uses("k", "b");
    let mut options = options();
    options.relocatable = true;
    Linked::run(vec![object], &options, |l| {
        assert_eq!(l.section(".nv.shared.k").unwrap().size, 40);
        assert!(l.layout.shared.offset.iter().all(Option::is_none));
    });
}
