//! Damaged files are read or refused with a message that names place and reason; nothing panics.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use cubin::callgraph::CallGraph;
use cubin::capmerc::Capsule;
use cubin::fatbin::Fatbin;
use cubin::model::Model;
use cubin::notes::{CudaInfo, ToolInfo, notes};
use cubin::tables::{Metadata, RelocationActions, prototypes, resolved_relocations};
use cubin::{Cubin, elf32, kind, names, nvinfo, reloc, roundtrip, unified};
use std::path::Path;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// Checks that an error's message says something.
fn named<T, E: std::fmt::Display>(result: Result<T, E>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() > 10 && !text.contains("Some("), "{text:?}");
            None
        }
    }
}

/// Runs every codec over bytes that it may not be made for.
fn all_codecs(data: &[u8]) {
    for record in nvinfo::records(data) {
        if let Some(record) = named(record) {
            let value = record.value();
            if let nvinfo::Value::BranchTargets(list) = value {
                assert!(list.flatten().count() <= data.len());
            }
            assert!(record.words().len() * 4 <= data.len());
        }
    }
    for note in notes(data) {
        if let Some(note) = named(note) {
            named(ToolInfo::read(note.description));
            named(CudaInfo::read(note.description));
        }
    }
    if let Some(capsule) = named(Capsule::read(data)) {
        named(capsule.check());
    }
    named(CallGraph::read(data));
    named(prototypes(data));
    named(resolved_relocations(data));
    named(RelocationActions::read(data));
    named(unified::entries(data));
    named(unified::Index::read(data));
    if let Some(fatbin) = named(Fatbin::parse(data)) {
        assert!(fatbin.entries().filter_map(named).count() <= data.len());
    }
    assert!(Metadata::read(data).rest.len() < 12);
}

/// Uses every accessor of a file; codecs see only the sections that are made for them unless `all`.
fn use_everything(bytes: &[u8], all: bool) -> bool {
    named(elf32::Cubin32::parse(bytes));
    let Some(cubin) = named(Cubin::parse(bytes)) else { return false };
    names::file_flags(cubin.header()).describe();
    named(cubin.program_headers());
    for i in 0..cubin.section_headers().len() as u32 + 1 {
        let Some(section) = named(cubin.section(i)) else { continue };
        let (sh_type, flags) = (section.header.sh_type.get(), section.header.sh_flags.get());
        let kind = kind::classify(section.name, sh_type);
        assert!(!kind.label().is_empty());
        kind::function_name(section.name, sh_type);
        names::section_flags(flags, sh_type);
        names::section_type(sh_type);
        if let Some(list) = named(cubin.relocations(&section)) {
            for r in (0..list.len()).filter_map(|i| list.get(i)) {
                let Some(info) = reloc::reloc_info(r.r_type.get()) else { continue };
                let mut code = [0u8; 16];
                named(reloc::apply(info, &mut code, r.r_addend.get() as u64, 3, true));
                assert!(info.fields.iter().all(|f| f.width > 64 || reloc::field_content(f, &code).is_some()));
            }
        }
        if all {
            all_codecs(section.data);
        }
    }
    for i in 0..cubin.symbol_entries().len() as u32 + 1 {
        if let Some(symbol) = named(cubin.symbol(i)) {
            names::symbol_other(symbol.entry.st_other);
        }
    }
    if let Some(model) = named(Model::read(&cubin))
        && let Some(image) = named(model.image())
    {
        named(image.plan());
    }
    named(roundtrip(bytes));
    true
}

const FILES: [&str; 4] = [
    "L.c.plain.90.cubin",
    "c.plain.75.rel.cubin",
    "L.c.plain.110.cubin",
    "b.plain.100f.rel.cubin",
];

#[test]
fn whole_files_are_fully_usable() {
    for name in FILES {
        assert!(use_everything(&file(name), true));
    }
}

#[test]
fn truncated_files_are_refused() {
    for name in FILES {
        let bytes = file(name);
        for size in (0..bytes.len()).step_by(64) {
            // Section and program headers are at the end, so that every cut hits one of them.
            assert!(!use_everything(&bytes[..size], false), "{name} cut to {size} bytes");
        }
    }
}

#[test]
fn flipped_header_bytes_never_panic() {
    for name in &FILES[..3] {
        let bytes = file(name);
        let cubin = Cubin::parse(&bytes).unwrap();
        let headers = cubin.header().e_shoff.get() as usize..bytes.len();
        for at in (0..64).chain(headers) {
            for mask in [0xff, 0x01, 0x80, 0x10] {
                let mut damaged = bytes.clone();
                damaged[at] ^= mask;
                use_everything(&damaged, false);
            }
        }
    }
}

#[test]
fn flipped_contents_never_panic() {
    for name in &FILES[..3] {
        let bytes = file(name);
        for at in 64..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] = !damaged[at];
            if let Ok(cubin) = Cubin::parse(&damaged) {
                named(Model::read(&cubin));
            }
            if at % 16 == 0 {
                use_everything(&damaged, true);
            }
        }
    }
}

#[test]
fn messages_name_place_and_reason() {
    let bytes = file("L.c.plain.90.cubin");
    let message = |at: usize, value: u8| {
        let mut damaged = bytes.clone();
        damaged[at] = value;
        roundtrip(&damaged).unwrap_err().to_string()
    };
    assert_eq!(message(18, 62), "not a CUDA device file: e_machine is 62");
    assert_eq!(message(58, 40), "e_shentsize is 40, expected 64");
    assert!(message(47, 1).starts_with("section header table is outside the file: offset 0x1"));
    let headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let field = |section: usize, offset: usize| headers + section * 64 + offset;
    let text = message(field(4, 35), 0xff);
    assert!(text.starts_with("section 4") && text.contains("is outside the file"), "{text}");
    let text = message(field(4, 2), 0xff);
    assert!(text.starts_with("section 4") && text.contains("name offset"), "{text}");
    assert_eq!(
        message(field(3, 56), 23),
        "section 3: symbol table with an entry size other than 24"
    );
    let cubin = Cubin::parse(&bytes).unwrap();
    let info = cubin.section_by_name(b".nv.info").unwrap();
    let at = info.header.sh_offset.get() as usize;
    let text = message(at + 2, 0xff);
    assert!(
        text.contains("(.nv.info): payload of an .nv.info record at offset 0x4 needs 255 bytes"),
        "{text}"
    );
}

/// Found by fuzzing: what the header of a file without sections says about their names reached the file that was written.
#[test]
fn a_file_without_sections_has_no_names() {
    let mut bytes = vec![0u8; 128];
    bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x41");
    bytes[16..20].copy_from_slice(&[1, 0, 190, 0]);
    bytes[62..64].copy_from_slice(&17791u16.to_le_bytes());
    assert!(Cubin::parse(&bytes).is_ok(), "the damage is in a field that no reader needs");
    let again = roundtrip(&bytes).unwrap();
    assert!(Cubin::parse(&again).is_ok());
}
