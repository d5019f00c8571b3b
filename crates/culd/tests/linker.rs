//! The session API: inputs of every kind through one door, errors as values.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use culd::{Identity, InputKind, LinkError, Linker, Severity};

const SAXPY: &[u8] = include_bytes!("../examples/data/saxpy.cubin");
const COMBINE: &[u8] = include_bytes!("../examples/data/combine.cubin");

fn linker() -> Linker {
    Linker::for_arch("sm_90").unwrap()
}

fn codes(error: &LinkError) -> Vec<&str> {
    error.diagnostics().iter().map(|d| d.code.as_str()).collect()
}

#[test]
fn every_way_to_add_an_input_gives_the_same_image() {
    let together = linker().input("a.cubin", SAXPY).input("b.cubin", COMBINE).link().unwrap();
    let named = linker()
        .input_as(InputKind::Cubin, "a.cubin", SAXPY)
        .input_as(InputKind::Cubin, "b.cubin", COMBINE)
        .link()
        .unwrap();
    let mut eager = linker();
    eager.add(None, "a.cubin", SAXPY).unwrap();
    eager.add(Some(InputKind::Cubin), "b.cubin", COMBINE).unwrap();
    let work = tempfile::tempdir().unwrap();
    let files = [("a.cubin", SAXPY), ("b.cubin", COMBINE)].map(|(name, bytes)| {
        let path = work.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    });
    let from_files = culd::link_files("sm_90", &files).unwrap();
    for other in [&named, &eager.link().unwrap(), &eager.link().unwrap(), &from_files] {
        assert!(together.image() == other.image());
        assert_eq!(together.kernels(), other.kernels());
    }
    let mut mixed = linker();
    mixed.add(None, "a.cubin", SAXPY).unwrap();
    assert!(mixed.input("b.cubin", COMBINE).link().unwrap().image() == together.image());
}

#[test]
fn an_unknown_stack_is_not_a_number() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/mistakes/objects/recursion.cubin");
    let linked = linker().input("r.cubin", std::fs::read(path).unwrap()).link().unwrap();
    assert!(linked.kernels().iter().any(|k| k.stack.is_none()), "{:?}", linked.kernels());
    let known = linker().input("a", SAXPY).input("b", COMBINE).link().unwrap();
    assert!(known.kernels().iter().all(|k| k.stack.is_some()));
}

#[test]
fn two_inputs_may_have_the_same_name() {
    let linked = linker().input("x", SAXPY).input("x", COMBINE).link().unwrap();
    assert_eq!(linked.kernels().len(), 1);
}

#[test]
fn errors_name_code_file_and_symbol() {
    let error = linker()
        .input("a", SAXPY)
        .input("b", COMBINE)
        .input("c", COMBINE)
        .link()
        .unwrap_err();
    assert_eq!(
        (codes(&error)[0], codes(&error).last()),
        ("MultipleDefinition", Some(&"MergeFailed"))
    );
    let first = &error.diagnostics()[0];
    assert_eq!((first.severity, first.file.as_deref()), (Severity::Error, Some("c")));
    assert!(first.symbol.is_some());
    assert!(error.to_string().contains('c'));

    assert_eq!(codes(&linker().input("a", b"nonsense").link().unwrap_err()), ["Unusable"]);
    assert_eq!(
        codes(&linker().input_as(InputKind::Ptx, "a", SAXPY).link().unwrap_err()),
        ["WrongKind"]
    );
    assert_eq!(codes(&linker().file("/no/such/file").link().unwrap_err()), ["Unusable"]);
    assert_eq!(codes(&Linker::for_arch("sm_9").unwrap_err()), ["UnknownTarget"]);
    assert_eq!(
        codes(&Linker::for_arch("sm_80").unwrap().input("a", SAXPY).link().unwrap_err()),
        ["ArchMismatch"]
    );
}

#[test]
fn what_is_refused_at_once_is_not_part_of_the_link() {
    let mut linker = linker();
    linker.add(None, "a", SAXPY).unwrap();
    assert!(linker.add(None, "broken", &SAXPY[..100]).is_err());
    linker.add(None, "b", COMBINE).unwrap();
    assert!(linker.link().is_ok());
}

#[test]
fn options_reach_the_link() {
    let object = linker().relocatable(true).usage(false).input("a", SAXPY).link().unwrap();
    assert!(object.kernels().is_empty());
    let again = linker().input("r", object.into_image()).input("b", COMBINE).link().unwrap();
    assert_eq!(again.kernels().len(), 1);
    let nvlink = linker()
        .identity(Identity::Nvlink)
        .input("a", SAXPY)
        .input("b", COMBINE)
        .link()
        .unwrap();
    assert_eq!(nvlink.kernels(), again.kernels());
    let none = linker()
        .identity(Identity::Nvlink)
        .kernel_used("absent")
        .input("a", SAXPY)
        .input("b", COMBINE)
        .link()
        .unwrap();
    assert!(none.kernels().is_empty());
    assert!(none.report_json().contains("\"target\": \"sm_90\""));
}
