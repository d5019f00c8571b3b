//! Recorded files come back byte for byte, and the pieces of the model say what the files say.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use cubin::model::{Body, Model};
use cubin::write::WriterKind;
use cubin::{Cubin, roundtrip};
use std::collections::BTreeSet;
use std::path::Path;

fn files() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<_> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "cubin"));
    paths.sort();
    let read = |p: &std::path::PathBuf| (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(p).unwrap());
    paths.iter().map(read).collect()
}

#[test]
fn recorded_files_come_back() {
    let files = files();
    assert!(files.len() >= 17);
    for (name, bytes) in &files {
        let again = roundtrip(bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(again == *bytes, "{name} differs");
    }
}

#[test]
fn every_form_is_covered() {
    let mut archs = BTreeSet::new();
    let mut forms = BTreeSet::new();
    for (_, bytes) in files() {
        let cubin = Cubin::parse(&bytes).unwrap();
        let writer = cubin::layout::writer_of(&cubin);
        archs.insert(cubin::names::file_flags(cubin.header()).sm);
        forms.insert((cubin.header().e_type.get(), writer == WriterKind::Finalizer));
    }
    assert!(archs.len() >= 8, "{archs:?}");
    assert_eq!(forms.len(), 4);
}

#[test]
fn a_change_in_the_model_reaches_the_file() {
    let (_, bytes) = files().into_iter().find(|(n, _)| n == "L.ab.plain.86.cubin").unwrap();
    let cubin = Cubin::parse(&bytes).unwrap();
    let mut model = Model::read(&cubin).unwrap();
    let symbols = model.sections.iter_mut().find_map(|s| match &mut s.body {
        Body::Symbols(list) => Some(list),
        _ => None,
    });
    symbols.unwrap()[5].value ^= 0x10;
    let info = model.sections.iter_mut().find_map(|s| match &mut s.body {
        Body::Records(list) if list.len() > 3 => Some(list),
        _ => None,
    });
    let dropped = info.unwrap().pop().unwrap().size();
    let out = model.image().unwrap().emit().unwrap();
    let again = Cubin::parse(&out).unwrap();
    assert_eq!(
        again.symbol(5).unwrap().entry.st_value.get(),
        cubin.symbol(5).unwrap().entry.st_value.get() ^ 0x10
    );
    assert_eq!(again.symbol(5).unwrap().name, cubin.symbol(5).unwrap().name);
    let sizes = |c: &Cubin<'_>| c.sections().map(|s| s.unwrap().header.sh_size.get()).collect::<Vec<_>>();
    let (a, b) = (sizes(&cubin), sizes(&again));
    let changed: Vec<_> = a.iter().zip(&b).filter(|(a, b)| a != b).collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].0 - changed[0].1, dropped as u64);
    // Code is still where its header says it is.
    for (x, y) in cubin.sections().zip(again.sections()) {
        let (x, y) = (x.unwrap(), y.unwrap());
        assert!(!x.name.starts_with(b".text.") || x.data == y.data);
    }
}

#[test]
fn a_name_can_be_added_to_a_model() {
    let (_, bytes) = files().into_iter().find(|(n, _)| n == "L.ab.plain.86.cubin").unwrap();
    let cubin = Cubin::parse(&bytes).unwrap();
    let mut model = Model::read(&cubin).unwrap();
    let names = (model.header.section_names - 1) as usize;
    let Body::Strings(strings) = &mut model.sections[names].body else {
        panic!("no section names")
    };
    assert_eq!(strings.push(b"a\0b"), None);
    let count = strings.len();
    let name = strings.push(b".mine").unwrap();
    assert_eq!(strings.iter().last(), Some((name, &b".mine"[..])));
    assert_eq!(strings.len(), count + 1);
    let last = model.sections.len() - 1;
    model.sections[last].name = name;
    let out = model.image().unwrap().emit().unwrap();
    let again = Cubin::parse(&out).unwrap();
    assert_eq!(again.section(last as u32 + 1).unwrap().name, b".mine");
}
