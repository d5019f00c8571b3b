use super::Fate;
use crate::diagnostics::Code;
use crate::testing::{Linked, Small, messages, options};

#[test]
fn a_strong_definition_beats_a_weak_one_in_either_order() {
    let strong = || Small::new().kernel("k").call("k", "f").function("f");
    let weak = || Small::new().weak("f", 8);
    Linked::run(vec![strong(), weak()], &options(), |l| assert_eq!(l.winner("f"), Some(0)));
    Linked::run(vec![weak(), strong()], &options(), |l| assert_eq!(l.winner("f"), Some(1)));
}

#[test]
fn two_strong_definitions_are_an_error_that_names_both_files() {
    let object = || Small::new().function("f");
    let error = Code::MultipleDefinition {
        symbol: "f".into(),
        file: "2".into(),
        first: "1".into(),
    };
    let declares = Small::new().kernel("k").call("k", "f");
    assert!(messages(vec![declares, object(), object()], &options()).contains(&error));
}

#[test]
fn of_weak_definitions_the_one_with_fewer_registers_wins() {
    let object = |registers| Small::new().weak("f", registers);
    Linked::run(vec![object(20), object(12), object(16)], &options(), |l| {
        assert_eq!(l.winner("f"), Some(1))
    });
}

#[test]
fn of_equal_weak_definitions_the_first_stays() {
    let object = || Small::new().weak("f", 20);
    Linked::run(vec![object(), object()], &options(), |l| assert_eq!(l.winner("f"), Some(0)));
}

#[test]
fn with_equal_registers_the_newer_virtual_architecture_wins() {
    let object = |virtual_sm| Small::compiled_for(virtual_sm).weak("f", 20);
    Linked::run(vec![object(75), object(80)], &options(), |l| assert_eq!(l.winner("f"), Some(1)));
    Linked::run(vec![object(80), object(75)], &options(), |l| assert_eq!(l.winner("f"), Some(0)));
}

#[test]
fn every_definition_has_a_fate() {
    let object = |registers| Small::new().weak("f", registers);
    Linked::run(vec![object(20), object(12), object(16)], &options(), |l| {
        let symbols = (0..l.link.inputs.symbol_count).map(|n| l.resolved().fate(crate::ids::SymbolRef::new(n as u32)));
        let fates: Vec<Fate> = symbols.filter(|fate| *fate != Fate::None).collect();
        assert_eq!(fates, [Fate::Replaced, Fate::Winner, Fate::Rejected]);
    });
}

#[test]
fn static_functions_of_one_name_are_separate_functions() {
    let object = |kernel| Small::new().kernel(kernel).local("f").call(kernel, "f");
    Linked::run(vec![object("k"), object("l")], &options(), |l| {
        assert_eq!(l.functions("f").len(), 2);
        assert!(l.functions("f").iter().all(|&f| l.link.live.alive[f]));
    });
}

#[test]
fn functions_are_numbered_by_first_mention() {
    let uses = Small::new().kernel("k").call("k", "b").call("k", "a");
    let defines = Small::new().function("a").function("b");
    Linked::run(vec![uses, defines], &options(), |l| {
        let ids: Vec<_> = l.resolved().functions.ids().collect();
        assert_eq!(l.names(&ids), ["k", "b", "a"]);
    });
}

#[test]
fn calls_of_a_rejected_definition_are_ignored() {
    let first = Small::new().function("f");
    let rejected = Small::new().weak("f", 8).function("g").call("f", "g");
    Linked::run(vec![first, rejected], &options(), |l| {
        assert!(l.resolved().direct.of(l.id("f")).is_empty())
    });
}

#[test]
fn calls_of_a_replaced_definition_stay() {
    let replaced = Small::new().weak("f", 8).function("g").call("f", "g");
    let strong = Small::new().function("f");
    Linked::run(vec![replaced, strong], &options(), |l| {
        assert_eq!(l.names(l.resolved().direct.of(l.id("f"))), ["g"])
    });
}

#[test]
fn only_a_relocatable_link_lists_a_repeated_call_once() {
    let caller = || Small::new().kernel("k").function("f").call("k", "f").call("k", "f");
    let count = |l: Linked<'_, '_>| l.resolved().direct.of(l.id("k")).len();
    assert_eq!(Linked::run(vec![caller()], &options(), count), 2);
    let mut relocatable = options();
    relocatable.relocatable = true;
    assert_eq!(Linked::run(vec![caller()], &relocatable, count), 1);
}

#[test]
fn different_prototypes_of_a_function_are_an_error() {
    let uses = Small::new().kernel("k").call("k", "f").prototype("f", "_Z1fi");
    let defines = |prototype| Small::new().function("f").prototype("f", prototype);
    let error = Code::PrototypeMismatch {
        symbol: "f".into(),
        file: "1".into(),
        first: "1".into(),
    };
    assert!(messages(vec![uses, defines("_Z1ff")], &options()).contains(&error));
    let uses = Small::new().kernel("k").call("k", "f").prototype("f", "_Z1fi");
    assert!(!messages(vec![uses, defines("_Z1fi")], &options()).contains(&error));
}

#[test]
fn a_different_prototype_is_reported_with_the_definition_that_prevailed_then() {
    let uses = |kernel, prototype| Small::new().kernel(kernel).call(kernel, "f").prototype("f", prototype);
    let weak = |registers| Small::new().weak("f", registers);
    let objects = vec![
        weak(20),
        weak(12),
        uses("k", "_Z1fi"),
        uses("l", "_Z1ff"),
        Small::new().function("f"),
    ];
    let error = Code::PrototypeMismatch {
        symbol: "f".into(),
        file: "3".into(),
        first: "1".into(),
    };
    assert!(messages(objects, &options()).contains(&error));
    let before = vec![uses("k", "_Z1fi"), uses("l", "_Z1ff"), Small::new().function("f")];
    let error = Code::PrototypeMismatch {
        symbol: "f".into(),
        file: "1".into(),
        first: "0".into(),
    };
    assert!(messages(before, &options()).contains(&error));
}

#[test]
fn a_name_is_a_kernel_everywhere_or_nowhere() {
    let kernel = Small::new().kernel("k");
    let function = Small::new().kernel("other").call("other", "k");
    let error = Code::EntryMismatch { symbol: "k".into() };
    assert!(messages(vec![kernel, function], &options()).contains(&error));
}
