use crate::testing::{Linked, Small, options};
use cubin::build::Binding::{Global, Local};

/// The positions of sections among the emitted ones; they must all exist.
fn positions(l: &Linked<'_, '_>, names: &[&str]) -> Vec<usize> {
    let sections = l.emitted_sections();
    let position = |name: &&str| sections.iter().position(|s| s == name);
    names
        .iter()
        .map(|name| position(name).unwrap_or_else(|| panic!("{name} in {sections:?}")))
        .collect()
}

fn object() -> Small {
    let object = Small::new().kernel("k").parameters("k", 8).global("zero", Global, 4, 4);
    object
        .global_init("data", Global, &[1; 4], 4)
        .constant("constant", Global, &[1; 4], 4)
        .uses("k", "zero")
}

#[test]
fn sections_are_sorted_by_rank() {
    Linked::run(vec![object()], &options(), |l| {
        let order = [
            ".shstrtab",
            ".strtab",
            ".symtab",
            ".nv.info",
            ".nv.constant0.k",
            ".text.k",
            ".nv.global.init",
            ".nv.global",
        ];
        let places = positions(&l, &order);
        assert!(places.is_sorted(), "{places:?}");
    });
}

#[test]
fn sections_of_one_rank_keep_the_order_of_creation() {
    let first = Small::new().kernel("b").kernel("a");
    let second = Small::new().kernel("c");
    Linked::run(vec![first, second], &options(), |l| {
        let places = positions(&l, &[".text.b", ".text.a", ".text.c"]);
        assert!(places.is_sorted(), "{places:?}");
    });
}

#[test]
fn a_final_link_emits_no_section_for_resolved_relocations() {
    let object = || Small::new().kernel("k").shared("k", "v", 4, 4).uses("k", "v");
    let is_emitted = |l: Linked<'_, '_>| l.emitted_sections().contains(&".rel.text.k".to_owned());
    assert!(!Linked::run(vec![object()], &options(), is_emitted));
    let mut relocatable = options();
    relocatable.relocatable = true;
    assert!(Linked::run(vec![object()], &relocatable, is_emitted));
}

#[test]
fn relocations_that_the_driver_resolves_keep_their_section() {
    Linked::run(vec![object()], &options(), |l| {
        assert!(l.emitted_sections().contains(&".rel.text.k".to_owned()))
    });
}

#[test]
fn static_symbols_come_before_global_ones() {
    let object = Small::new()
        .kernel("k")
        .local("f")
        .call("k", "f")
        .global("g", Global, 4, 4)
        .global("s", Local, 4, 4);
    Linked::run(vec![object], &options(), |l| {
        let symbols = l.emitted_symbols();
        let place = |name: &str| symbols.iter().position(|s| s == name).unwrap();
        assert!(place("f") < place("k") && place("s") < place("g"), "{symbols:?}");
        let first_global = l.order.symbols.first_global as usize;
        assert_eq!(l.order.symbols.order.len() + 1 - first_global, 2, "k and g");
    });
}

#[test]
fn dead_functions_have_no_symbol_in_the_table() {
    let object = Small::new().kernel("k").function("dead");
    Linked::run(vec![object], &options(), |l| assert_eq!(l.emitted_symbols(), ["k"]));
}

#[test]
fn only_live_functions_whose_address_is_not_taken_have_a_prototype() {
    let object = Small::new()
        .kernel("k")
        .function("f")
        .function("taken")
        .function("dead")
        .call("k", "f")
        .call("k", "taken");
    let object = object
        .prototype("f", "_Z1fi")
        .prototype("taken", "_Z1fi")
        .prototype("dead", "_Z1fi")
        .taken("taken", "_Z1fi");
    Linked::run(vec![object], &options(), |l| {
        let listed: Vec<_> = super::prototyped(l.link, l.layout).into_iter().map(|(f, _)| f).collect();
        assert_eq!(l.names(&listed), ["f"]);
    });
}

#[test]
fn a_kernel_without_shared_variables_has_no_shared_section() {
    let object = Small::new().kernel("k").kernel("l").shared("k", "v", 4, 4).uses("k", "v");
    Linked::run(vec![object], &options(), |l| {
        let sections = l.emitted_sections();
        assert!(sections.contains(&".nv.shared.k".to_owned()));
        assert!(!sections.contains(&".nv.shared.l".to_owned()));
    });
}
