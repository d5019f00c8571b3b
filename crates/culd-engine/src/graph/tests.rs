use super::CallEdges;
use crate::par::Threads;
use crate::testing::{Linked, Small, options};

fn run(object: Small, test: impl FnOnce(Linked<'_, '_>)) {
    Linked::run(vec![object], &options(), test);
}

fn chain() -> Small {
    Small::new().kernel("k").function("f").function("g").call("k", "f").call("f", "g")
}

#[test]
fn functions_that_call_each_other_are_one_component() {
    run(chain().call("g", "f"), |l| {
        let component = |name| l.link.graph.component(l.id(name));
        assert_eq!(component("f"), component("g"));
        assert_ne!(component("k"), component("f"));
    });
}

#[test]
fn callees_are_numbered_before_their_callers() {
    run(chain(), |l| {
        let component = |name| l.link.graph.component(l.id(name));
        assert!(component("g") < component("f") && component("f") < component("k"));
    });
}

#[test]
fn an_indirect_call_reaches_every_function_of_its_prototype() {
    let object = Small::new()
        .kernel("k")
        .function("a")
        .function("b")
        .function("c")
        .indirect_call("k", "_Z1fi");
    let object = object.taken("a", "_Z1fi").taken("b", "_Z1fi").taken("c", "_Z1ff");
    run(object, |l| {
        let marked = l.link.graph.mark(l.resolved(), [l.id("k")]);
        assert_eq!(["a", "b", "c"].map(|name| marked[l.id(name)]), [true, true, false]);
    });
}

#[test]
fn several_threads_mark_what_one_does() {
    let mut object = Small::new().kernel("k").kernel("other");
    let names: Vec<&'static str> = (0..3000).map(|n| &*format!("f{n}").leak()).collect();
    object = names.iter().fold(object, |object, name| object.function(name));
    for (n, name) in names.iter().enumerate() {
        // Levels of very different sizes, cycles, functions with many callers, and one that nothing calls.
        let caller = match n {
            0 => "k",
            2999 => continue,
            _ => names[n / 7 * 3 % n],
        };
        object = object.call(caller, name).call(name, names[n % 5]);
    }
    run(object, |l| {
        let edges = CallEdges::new(l.resolved());
        for root in ["k", "other", "f2", "f2999"] {
            let one = edges.mark(l.resolved(), [l.id(root)]);
            let several = edges.mark_all(l.resolved(), [l.id(root)], Threads::new(0, 4));
            assert_eq!(one.as_slice(), several.as_slice(), "{root}");
        }
    });
}

#[test]
fn the_deepest_path_counts_not_the_sum_of_all_paths() {
    let object = chain().function("h").call("k", "h");
    run(object, |l| {
        let stack = |f| i64::from(l.resolved().functions[f].name == b"h") * 100 + 16;
        let deepest = l.link.graph.deepest(l.resolved(), stack);
        let of = |name| deepest[l.link.graph.component(l.id(name))];
        assert_eq!([of("k"), of("f"), of("h")], [Some(132), Some(32), Some(116)]);
    });
}

#[test]
fn the_stack_above_a_recursive_function_is_unknown() {
    run(chain().function("h").call("g", "g").call("k", "h"), |l| {
        let cyclic = l.link.graph.reaches_cycle(l.resolved());
        let of = |name| cyclic[l.link.graph.component(l.id(name))];
        assert_eq!([of("k"), of("f"), of("g"), of("h")], [true, true, true, false]);
    });
}

#[test]
fn a_fold_joins_the_values_of_all_callees() {
    let object = chain().function("h").call("k", "h");
    run(object, |l| {
        let count = |_, n: &mut u32| *n += 1;
        let sizes = l.link.graph.fold(l.resolved(), count, |n, callee| *n += callee);
        assert_eq!(sizes[l.link.graph.component(l.id("k"))], 4);
        assert_eq!(sizes[l.link.graph.component(l.id("h"))], 1);
    });
}

#[test]
fn reach_lists_the_sources_of_every_mark_in_order() {
    let object = chain().kernel("l").call("l", "g");
    run(object, |l| {
        let (marks, sources) = ([l.id("f"), l.id("g")], [l.id("k"), l.id("l")]);
        let mut hits = Vec::new();
        l.link
            .graph
            .reach(l.resolved(), &marks, &sources, |mark, source| hits.push((mark, source)));
        hits.sort_unstable();
        assert_eq!(hits, [(0, 0), (1, 0), (1, 1)]);
    });
}

#[test]
fn a_call_path_is_a_shortest_one() {
    run(chain().call("k", "g"), |l| {
        let path = l.link.graph.path(l.resolved(), l.id("k"), l.id("g"));
        assert_eq!(l.names(&path), ["k", "g"]);
        assert!(l.link.graph.path(l.resolved(), l.id("g"), l.id("k")).is_empty());
    });
}

#[test]
fn callees_list_indirect_targets_before_direct_ones() {
    let object = chain()
        .function("a")
        .function("b")
        .taken("a", "_Z1fi")
        .taken("b", "_Z1fi")
        .indirect_call("k", "_Z1fi");
    run(object, |l| {
        let callees = l.link.graph.callees(l.resolved(), l.id("k"));
        assert_eq!(l.names(&callees), ["b", "a", "f"]);
    });
}
