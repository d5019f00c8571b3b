use crate::diagnostics::Code;
use crate::ids::Id;
use crate::options::LinkOptions;
use crate::records::OutSymbol;
use crate::testing::{Linked, Small, messages, options};
use cubin::build::Binding::{Global, Local, Weak};

fn kernel() -> Small {
    Small::new().kernel("k")
}

#[test]
fn sections_of_several_inputs_are_appended_at_multiples_of_their_alignment() {
    let (a, b) = (kernel().global("a", Global, 5, 4), Small::new().global("b", Global, 16, 16));
    Linked::run(vec![a, b], &options(), |l| {
        let section = l.section(".nv.global").unwrap();
        assert_eq!((section.size, section.align), (32, 16));
        assert_eq!((l.symbol("a").value, l.symbol("b").value), (0, 16));
    });
}

#[test]
fn a_section_of_an_input_is_appended_once_for_all_its_variables() {
    let object = kernel()
        .global("a", Global, 4, 4)
        .global("b", Global, 4, 4)
        .global("c", Local, 4, 4);
    Linked::run(vec![object], &options(), |l| {
        let section = l.section(".nv.global").unwrap();
        assert_eq!((section.size, section.pieces.as_slice().len()), (12, 1));
    });
}

#[test]
fn a_declaration_refers_to_the_definition_of_another_object() {
    let uses = kernel().variable("v", 4).uses("k", "v");
    let defines = Small::new().global("v", Global, 4, 4);
    Linked::run(vec![uses, defines], &options(), |l| {
        assert!(l.symbol("v").section.is_some());
        assert_eq!(l.symbol("v").first_mention.index(), 0);
        assert_eq!(l.messages, []);
    });
}

#[test]
fn a_variable_without_a_definition_is_an_undefined_reference() {
    let uses = kernel().variable("v", 4).uses("k", "v");
    let error = Code::UndefinedReference {
        symbol: "v".into(),
        file: "0".into(),
        files: vec!["0".into()],
    };
    assert!(messages(vec![uses], &options()).contains(&error));
}

#[test]
fn a_weak_variable_after_another_definition_loses() {
    let first = kernel().global_init("v", Global, &[1; 4], 4);
    let weak = Small::new().global_init("v", Weak, &[2; 4], 4);
    Linked::run(vec![first, weak], &options(), |l| {
        assert_eq!(l.symbol("v").value, 0);
        assert_eq!(l.layout.records.quirks.overridden.len(), 1);
    });
}

#[test]
fn a_strong_variable_takes_the_record_of_a_weak_one() {
    let weak = kernel().global_init("v", Weak, &[2; 4], 4);
    let strong = Small::new().global_init("v", Global, &[1; 4], 4);
    Linked::run(vec![weak, strong], &options(), |l| {
        assert_eq!(l.symbol("v").value, 4, "the strong definition's bytes follow the weak one's");
        let named = l.layout.records.symbols.iter().filter(|s| s.name == b"v");
        assert_eq!(named.count(), 1);
    });
}

#[test]
fn two_strong_variables_are_an_error() {
    let (a, b) = (kernel().global("v", Global, 4, 4), Small::new().global("v", Global, 4, 4));
    let error = Code::MultipleDefinition {
        symbol: "v".into(),
        file: "1".into(),
        first: "0".into(),
    };
    assert!(messages(vec![a, b], &options()).contains(&error));
}

#[test]
fn a_declaration_of_another_size_is_an_error() {
    let (a, b) = (
        kernel().global("v", Global, 8, 8),
        Small::new().kernel("l").variable("v", 4).uses("l", "v"),
    );
    let found = messages(vec![a, b], &options());
    assert!(
        found
            .iter()
            .any(|m| matches!(m, Code::SizeMismatch { symbol, .. } if symbol == "v")),
        "{found:?}"
    );
}

#[test]
fn a_name_in_two_memory_spaces_is_an_error() {
    let (a, b) = (kernel().global("v", Global, 4, 4), Small::new().constant("v", Global, &[0; 4], 4));
    let found = messages(vec![a, b], &options());
    assert!(
        found
            .iter()
            .any(|m| matches!(m, Code::SpaceMismatch { symbol, .. } if symbol == "v")),
        "{found:?}"
    );
}

#[test]
fn common_variables_get_the_largest_size_after_all_inputs() {
    let (a, b) = (
        kernel().common("c", 4, 4).global("v", Global, 4, 4),
        Small::new().common("c", 64, 4),
    );
    Linked::run(vec![a, b], &options(), |l| {
        assert_eq!(l.symbol("c").size, 64);
        assert!(l.symbol("c").value >= 4, "storage follows the variables of the inputs");
        assert_eq!(l.section(".nv.global").unwrap().size, l.symbol("c").value + 64);
    });
}

#[test]
fn a_dead_function_leaves_no_section_and_no_symbol() {
    let object = kernel().function("live").function("dead").call("k", "live");
    Linked::run(vec![object], &options(), |l| {
        assert!(l.section(".text.live").is_some());
        assert!(l.section(".text.dead").is_none());
        assert!(l.layout.records.symbol_of[l.id("dead")].is_none());
    });
}

#[test]
fn static_variables_of_one_name_are_separate_symbols() {
    let object = |kernel| Small::new().kernel(kernel).global("v", Local, 4, 4).uses(kernel, "v");
    Linked::run(vec![object("k"), object("l")], &options(), |l| {
        let symbols = l.layout.records.symbols.iter().filter(|s| s.name == b"v");
        assert_eq!(symbols.map(|s| s.value).collect::<Vec<_>>(), [0, 4]);
    });
}

#[test]
fn a_replaced_function_keeps_its_place_and_takes_the_new_body() {
    let weak = kernel().weak("f", 8).call("k", "f");
    let strong = Small::new().function("g").function("f").kernel("l").call("l", "g");
    Linked::run(vec![weak, strong], &options(), |l| {
        let texts = l.names(&l.layout.records.texts);
        assert_eq!(texts, ["f", "k", "g", "l"]);
        let piece = l.section(".text.f").unwrap().pieces.as_slice().first().unwrap().object;
        assert_eq!(piece.index(), 1);
    });
}

/// The records of a link as text, without what the merge alone reads, and the number of objects that were merged in runs.
fn records(objects: Vec<Small>, threads: usize) -> (String, usize) {
    let options = LinkOptions { threads, ..options() };
    Linked::run(objects, &options, |l| {
        let records = &l.layout.records;
        let symbols = records.symbols.iter().map(|s| OutSymbol {
            name_id: None,
            ..s.clone()
        });
        let functions = records.functions.enumerate().filter(|(f, _)| l.link.live.alive[*f]);
        let lists = (&records.order, &records.texts, &records.memory, &records.relocs, &records.symbol_of);
        let tables = (&records.sections, symbols.collect::<Vec<_>>(), functions.collect::<Vec<_>>());
        (
            format!("{lists:#?} {tables:#?} {:#?} {:#?}", records.placement, records.quirks),
            records.in_runs,
        )
    })
}

fn is_merged_in_runs(count: usize, objects: impl Fn() -> Vec<Small>) {
    let (one, many) = (records(objects(), 1), records(objects(), 4));
    assert_eq!((one.1, many.1), (0, count));
    for (a, b) in one.0.lines().zip(many.0.lines()) {
        assert_eq!(a, b);
    }
    assert_eq!(one.0.len(), many.0.len());
}

#[test]
fn kernels_and_functions_are_merged_in_runs() {
    is_merged_in_runs(5, || {
        vec![
            kernel().call("k", "f").call("k", "h"),
            Small::new().function("f").call("f", "g"),
            Small::new().kernel("j").parameters("j", 8).call("j", "g").function("g"),
            Small::new().function("dead").call("dead", "g").local("static"),
            Small::new().weak("g", 9).weak("w", 9).function("h").call("h", "w"),
            Small::new().kernel("i").parameters("i", 16).call("i", "w").weak("w", 9),
        ]
    });
}

#[test]
fn an_object_that_is_not_plain_ends_a_run() {
    // A replaced definition, then one more run.
    is_merged_in_runs(5, || {
        vec![
            kernel().call("k", "f"),
            Small::new().kernel("a").call("a", "f"),
            Small::new().weak("f", 9),
            Small::new().function("f").global("v", Global, 4, 4),
            Small::new().kernel("b").call("b", "f"),
            Small::new().kernel("c").call("c", "f"),
            Small::new().kernel("d").call("d", "f"),
            Small::new().kernel("e").call("e", "f"),
        ]
    });
}

#[test]
fn functions_that_different_toolkits_sanitized_are_refused() {
    let object = |toolkit, kernel| {
        let functions = Small::new().made_by(toolkit).weak("check", 16).kernel(kernel);
        functions.sanitized("check").sanitized(kernel)
    };
    let mismatches = |objects| -> Vec<Code> {
        let found = messages(objects, &options()).into_iter();
        found.filter(|c| matches!(c, Code::SanitizerMismatch { .. })).collect()
    };
    let error = |file: &str, toolkit, first| Code::SanitizerMismatch {
        file: file.into(),
        toolkit,
        first,
    };
    assert_eq!(mismatches(vec![object(131, "a"), object(132, "b")]), [error("1", 132, 131)]);
    assert_eq!(mismatches(vec![object(132, "a"), object(130, "b")]), [error("1", 130, 132)]);
    assert_eq!(mismatches(vec![object(132, "a"), object(132, "b"), kernel().made_by(130)]), []);
    let lost = Small::new().made_by(130).weak("check", 16).sanitized("check");
    assert_eq!(mismatches(vec![object(132, "a"), lost]), []);
}
