use super::{Patterns, glob};
use crate::options::{Identity, KernelFilter};
use crate::testing::{Linked, Small, options};

#[test]
fn patterns_with_and_without_stars_match_alike() {
    let list = [b"k1".to_vec(), b"_Z*x".to_vec(), Vec::new()];
    let patterns = Patterns::new(&list);
    for (name, expected) in [("k1", true), ("k12", false), ("_Z2kx", true), ("", true), ("x", false)] {
        assert_eq!(patterns.matches(name.as_bytes()), expected, "{name}");
        assert_eq!(list.iter().any(|p| glob(p, name.as_bytes())), expected, "{name}");
    }
}

#[test]
fn globs_are_anchored_and_only_support_stars() {
    assert!(glob(b"*alpha*", b"my_alpha_kernel"));
    assert!(glob(b"_Z2k1*", b"_Z2k1Pi"));
    assert!(!glob(b"k1", b"k12"));
    assert!(glob(b"", b""));
    assert!(!glob(b"", b"k"));
    assert!(glob(b"a*b*c", b"aXbYbZc"));
    assert!(!glob(b"a?c", b"abc"));
}

#[test]
fn only_functions_that_a_kernel_reaches_stay() {
    let object = Small::new().kernel("k").function("f").function("g").function("h");
    Linked::run(vec![object.call("k", "f").call("f", "g")], &options(), |l| {
        assert_eq!(["k", "f", "g", "h"].map(|name| l.is_live(name)), [true, true, true, false]);
    });
}

#[test]
fn relocatable_links_and_debug_links_keep_every_function() {
    let object = || Small::new().kernel("k").function("unused");
    let (mut relocatable, mut debug) = (options(), options());
    (relocatable.relocatable, debug.debug) = (true, true);
    for (options, expected) in [(options(), false), (relocatable, true), (debug, true)] {
        Linked::run(vec![object()], &options, |l| assert_eq!(l.is_live("unused"), expected));
    }
}

#[test]
fn a_function_whose_address_is_taken_stays_and_culd_follows_its_calls() {
    let object = || {
        Small::new()
            .kernel("k")
            .function("f")
            .function("g")
            .taken("f", "_Z1fi")
            .call("f", "g")
    };
    Linked::run(vec![object()], &options(), |l| {
        assert_eq!((l.is_live("f"), l.is_live("g")), (true, true))
    });
    let mut nvlink = options();
    nvlink.identity = Identity::Nvlink;
    Linked::run(vec![object()], &nvlink, |l| {
        assert_eq!((l.is_live("f"), l.is_live("g")), (true, false))
    });
}

#[test]
fn only_selected_kernels_are_roots() {
    let object = Small::new()
        .kernel("k")
        .kernel("l")
        .function("f")
        .function("g")
        .call("k", "f")
        .call("l", "g");
    let mut options = options();
    options.kernels = Some(KernelFilter {
        external: vec![b"k".to_vec()],
        explicit: true,
        ..KernelFilter::default()
    });
    Linked::run(vec![object], &options, |l| {
        assert_eq!(["k", "l", "f", "g"].map(|name| l.is_live(name)), [true, false, true, false]);
        assert_eq!(l.names(&l.link.live.kernels), ["k"]);
    });
}

#[test]
fn a_filter_for_external_names_does_not_select_static_functions() {
    let filter = KernelFilter {
        external: vec![b"*".to_vec()],
        ..KernelFilter::default()
    };
    let selection = super::Selection::new(&filter);
    assert!(selection.selects(b"k", false));
    assert!(!selection.selects(b"k", true));
}

#[test]
fn the_only_kernel_of_a_link_is_marked() {
    let one = || Small::new().kernel("k").function("f");
    Linked::run(vec![one()], &options(), |l| assert_eq!(l.link.live.only, Some(l.id("k"))));
    Linked::run(vec![one().kernel("l")], &options(), |l| assert_eq!(l.link.live.only, None));
    Linked::run(vec![one().declare_kernel("undefined")], &options(), |l| {
        assert_eq!(l.link.live.only, None)
    });
}

#[test]
fn an_undefined_function_stays_only_if_live_code_calls_it() {
    let object = Small::new()
        .kernel("k")
        .function("dead")
        .call("k", "wanted")
        .call("dead", "unwanted");
    Linked::run(vec![object], &options(), |l| {
        assert_eq!((l.is_live("wanted"), l.is_live("unwanted")), (true, false));
    });
}

#[test]
fn an_undefined_function_stays_if_live_code_has_a_relocation_against_it() {
    let object = Small::new()
        .kernel("k")
        .function("dead")
        .uses("k", "wanted")
        .uses("dead", "unwanted");
    Linked::run(vec![object], &options(), |l| {
        assert_eq!((l.is_live("wanted"), l.is_live("unwanted")), (true, false));
    });
}

#[test]
fn definitions_of_driver_functions_count_as_kernels_unless_there_is_one_kernel() {
    let object = || Small::new().kernel("k").function("malloc");
    Linked::run(vec![object()], &options(), |l| assert!(!l.is_live("malloc")));
    Linked::run(vec![object().kernel("l")], &options(), |l| {
        assert!(l.link.live.is_kernel[l.id("malloc")])
    });
}
