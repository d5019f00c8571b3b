//! Differences are named: one field is changed at a time and the report must name that field and nothing else.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]

use culd_inspect::TextStyle;
use culd_inspect::diff::{DiffReport, Finding, Group, Options, compare, compare_files, write_json, write_text};
use culd_inspect::view::View;

const AB: &[u8] = include_bytes!("fixtures/ab.sm_90.cubin");
const BA: &[u8] = include_bytes!("fixtures/ba.sm_90.cubin");
const AB_100: &[u8] = include_bytes!("fixtures/ab.sm_100.cubin");
const AB_80: &[u8] = include_bytes!("fixtures/ab.sm_80.cubin");
const OBJECT: &[u8] = include_bytes!("fixtures/a.sm_90.cubin");

fn report(a: &[u8], b: &[u8]) -> DiffReport {
    compare(&View::parse(a).unwrap(), &View::parse(b).unwrap(), Options::default())
}

fn text(a: &[u8], b: &[u8]) -> String {
    let names = ["a.cubin", "b.cubin"];
    let found = compare_files(a, b, names, Options::default()).unwrap();
    let mut out = Vec::new();
    write_text(&mut out, &found, names, Options::default(), TextStyle::Plain).unwrap();
    String::from_utf8(out).unwrap()
}

/// Offset of a section's bytes in the file.
fn place(data: &[u8], name: &str) -> usize {
    let view = View::parse(data).unwrap();
    let section = view.section_by_name(name.as_bytes()).unwrap();
    usize::try_from(section.header.sh_offset.get()).unwrap()
}

/// Offset of a section's header in the file.
fn header_place(data: &[u8], name: &str) -> usize {
    let view = View::parse(data).unwrap();
    let index = view.section_by_name(name.as_bytes()).unwrap().index as usize;
    usize::try_from(view.header.e_shoff.get()).unwrap() + 64 * index
}

/// Offset of a symbol's entry in the file.
fn symbol_place(data: &[u8], name: &str) -> usize {
    let view = View::parse(data).unwrap();
    let table = &view.tables[0];
    let index = (0..table.entries.len()).find(|&i| table.name(i as u32) == name.as_bytes()).unwrap();
    place(data, ".symtab") + 24 * index
}

/// The messages after one change.
fn after(data: &[u8], change: impl Fn(&mut Vec<u8>)) -> Vec<String> {
    let mut changed = data.to_vec();
    change(&mut changed);
    report(data, &changed).findings.iter().map(Finding::message).collect()
}

fn put(data: &mut [u8], at: usize, bytes: &[u8]) {
    data[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn the_same_file() {
    let same = report(AB, AB);
    assert!(same.is_same());
    assert_eq!(text(AB, AB), "a.cubin and b.cubin are the same\n");
}

#[test]
fn input_order_in_under_forty_lines() {
    let found = report(AB, BA);
    let shown = text(AB, BA);
    assert!(shown.lines().count() < 40, "{shown}");
    assert!(shown.contains("same sections and symbols in another order"), "{shown}");
    assert!(
        shown.contains("function _Z2kaPif: first in A, after _Z6helperi in B (.nv.info.*, .rela.text.*, .text.*)"),
        "{shown}"
    );
    assert!(shown.contains("ga: value is 0x0 in A, 0x14 in B (.nv.global.init)"), "{shown}");
    // Nothing but order and places differs: no code, no relocation, no attribute.
    let groups = [Group::Order, Group::SymbolOrder, Group::SymbolFields];
    assert!(found.findings.iter().all(|f| groups.contains(&f.group)), "{shown}");
}

#[test]
fn header_fields() {
    assert_eq!(
        after(AB, |d| put(d, 16, &[1, 0])),
        ["file type is executable in A, relocatable in B"]
    );
    assert_eq!(after(AB, |d| put(d, 8, &[7])), ["ABI version is 0x8 in A, 0x7 in B"]);
    assert_eq!(after(AB, |d| put(d, 49, &[80])), ["architecture is sm_90 in A, sm_80 in B"]);
    assert_eq!(after(AB, |d| put(d, 48, &[6])), ["low byte of e_flags is 0x4 in A, 0x6 in B"]);
    assert_eq!(
        after(AB, |d| put(d, 51, &[9])),
        ["cuinfo note in e_flags is section 0x6 in A, section 0x9 in B"]
    );
}

#[test]
fn section_header_fields() {
    let at = header_place(AB, ".nv.global.init");
    assert_eq!(
        after(AB, |d| put(d, at + 8, &[2])),
        [".nv.global.init: flags is 0x3 in A, 0x2 in B"]
    );
    assert_eq!(
        after(AB, |d| put(d, at + 4, &[8, 0, 0, 0x70])),
        [".nv.global.init: type is PROGBITS in A, CUDA_GLOBAL_INITIALIZED in B"]
    );
    let at = header_place(AB, ".rela.text._Z2h1i");
    assert_eq!(
        after(AB, |d| put(d, at + 44, &[0x19])),
        [".rela.text._Z2h1i: section in sh_info is .text._Z2h1i in A, .text._Z2kaPif in B"]
    );
    let at = header_place(AB, ".text._Z2h1i");
    assert_eq!(
        after(AB, |d| put(d, at + 44, &[0x18, 0, 0, 40])),
        [".text._Z2h1i: register count in sh_info is 0 in A, 40 in B"]
    );
    let at = header_place(AB, ".nv.global");
    assert_eq!(
        after(AB, |d| put(d, at + 32, &[0x30]))[0],
        ".nv.global: size is 0x28 in A, 0x30 in B"
    );
}

#[test]
fn symbol_fields() {
    let at = symbol_place(AB, "ga");
    assert_eq!(
        after(AB, |d| put(d, at + 8, &[4])),
        ["ga: value is 0x0 in A, 0x4 in B (.nv.global.init)",]
    );
    assert_eq!(after(AB, |d| put(d, at + 16, &[8])), ["ga: size is 0x4 in A, 0x8 in B"]);
    assert_eq!(after(AB, |d| put(d, at + 4, &[0x21])), ["ga: binding is GLOBAL in A, WEAK in B"]);
    assert_eq!(after(AB, |d| put(d, at + 5, &[4])), ["ga: other is 0 in A, 0x4 (managed) in B"]);
    assert_eq!(
        after(AB, |d| put(d, at + 6, &[0x1f])),
        ["ga: section is .nv.global.init in A, .nv.global in B"]
    );
}

#[test]
fn one_relocation() {
    let at = place(AB, ".rela.text._Z2kbPi");
    let subject = "relocation at .text._Z2kbPi+0x60";
    assert_eq!(
        after(AB, |d| put(d, at + 8, &[57])),
        [format!("{subject}: type is R_CUDA_ABS32_LO_32 in A, R_CUDA_ABS32_HI_32 in B")]
    );
    assert_eq!(
        after(AB, |d| put(d, at + 12, &[0x15])),
        [format!("{subject}: symbol is $str in A, ga in B")]
    );
    assert_eq!(
        after(AB, |d| put(d, at + 16, &[8])),
        [format!("{subject}: addend is 0x0 in A, 0x8 in B")]
    );
    let moved = after(AB, |d| put(d, at, &[0x70]));
    assert_eq!(moved[0], format!("{subject}: R_CUDA_ABS32_LO_32 $str only in A"));
    assert_eq!(moved[1], "relocation at .text._Z2kbPi+0x70: R_CUDA_ABS32_LO_32 $str only in B");
}

#[test]
fn relocation_order() {
    let at = place(AB, ".rela.text._Z2h1i");
    let found = after(AB, |d| {
        let (x, y) = (d[at..at + 24].to_vec(), d[at + 24..at + 48].to_vec());
        put(d, at, &y);
        put(d, at + 24, &x);
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("2 relocations of .rela.text._Z2h1i: same entries in another order"),
        "{found:?}"
    );
}

#[test]
fn one_attribute() {
    let at = place(AB, ".nv.info");
    // The second record: register count of h1.
    assert_eq!(
        after(AB, |d| put(d, at + 12 + 8, &[26])),
        [".nv.info: EIATTR_REGCOUNT of _Z2h1i is 24 (0x18) in A, 26 (0x1a) in B"]
    );
    let at = place(AB, ".nv.info._Z2kaPif");
    assert_eq!(
        after(AB, |d| put(d, at + 0x26, &[2])),
        [".nv.info._Z2kaPif: EIATTR_NUM_BARRIERS is 1 in A, 2 in B"]
    );
    assert_eq!(after(AB, |d| put(d, at + 0x25, &[0x4a])).len(), 2);
    let at = place(AB, ".nv.compat");
    assert_eq!(
        after(AB, |d| put(d, at + 2, &[1])),
        [".nv.compat: EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET is 0 in A, 1 in B"]
    );
}

#[test]
fn one_instruction() {
    let at = place(AB, ".text._Z2kbPi");
    assert_eq!(
        after(AB, |d| put(d, at + 0x120 + 4, &[8])),
        ["instruction at .text._Z2kbPi+0x120: immediate or second operand (bits 32-63) is 0x0 in A, 0x8 in B"]
    );
    let stall = after(AB, |d| d[at + 0x120 + 13] ^= 2);
    assert!(
        stall[0].starts_with("instruction at .text._Z2kbPi+0x120: stall count (bits 105-108) is"),
        "{stall:?}"
    );
}

#[test]
fn data_notes_and_call_graph() {
    let at = place(AB, ".nv.global.init");
    assert_eq!(
        after(AB, |d| put(d, at + 0x10, &[6])),
        [".nv.global.init+0x10 (gb+0x0): byte 05 in A, 06 in B"]
    );
    let at = place(AB, ".note.nv.cuinfo");
    assert_eq!(
        after(AB, |d| put(d, at + 26, &[80])),
        [".note.nv.cuinfo: virtual architecture is compute_90 in A, compute_80 in B"]
    );
    let at = place(AB, ".nv.callgraph");
    assert_eq!(
        after(AB, |d| put(d, at + 12, &[0x18])),
        [".nv.callgraph: call is _Z2kaPif -> _Z6helperi in A, _Z2kaPif -> _Z2h1i in B"]
    );
    let at = place(AB, ".debug_frame");
    let frame = after(AB, |d| put(d, at + 0x30 + 28, &[0x90]));
    assert!(
        frame[0].starts_with(".debug_frame: instructions of the frame of _Z2kaPif is"),
        "{frame:?}"
    );
}

#[test]
fn padding_and_tail() {
    let shoff = usize::try_from(View::parse(AB).unwrap().header.e_shoff.get()).unwrap();
    let padding = after(AB, |d| put(d, shoff - 1, &[1]));
    assert_eq!(padding.len(), 1);
    assert!(
        padding[0].starts_with("padding between sections is all zero in A, 1 bytes not zero"),
        "{padding:?}"
    );
    assert_eq!(
        after(AB, |d| d.extend([0; 8])),
        ["number of bytes after the last table is 0 in A, 8 in B"]
    );
}

/// Flips a bit of every byte: there is always a difference, and hardly ever one without a name.
#[test]
fn every_byte_matters() {
    for (name, data) in [("sm_90", AB), ("sm_100", AB_100), ("sm_80", AB_80), ("object", OBJECT)] {
        let view = View::parse(data).unwrap();
        let mut unnamed = Vec::new();
        for at in (0..data.len()).step_by(7) {
            let mut changed = data.to_vec();
            changed[at] ^= 0x10;
            let Ok(other) = View::parse(&changed) else { continue };
            let found = compare(&view, &other, Options::default());
            assert!(!found.is_same(), "{name}: byte {at:#x}");
            if found.findings.iter().all(|f| f.group == Group::Bytes) {
                unnamed.push((at, found.findings[0].message()));
            }
        }
        assert!(
            unnamed.len() * 100 < data.len() / 7,
            "{name}: {} of {}: {:?}",
            unnamed.len(),
            data.len() / 7,
            &unnamed[..20.min(unnamed.len())]
        );
    }
}

#[test]
fn json_has_the_same_differences() {
    let mut changed = AB.to_vec();
    let at = symbol_place(AB, "ga");
    changed[at + 16] = 8;
    let names = ["x", "y"];
    let found = compare_files(AB, &changed, names, Options::default()).unwrap();
    assert!(!found.is_same());
    let mut out = Vec::new();
    write_json(&mut out, &found, names).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["same"], false);
    let first = &json["parts"][0]["differences"][0];
    assert_eq!(
        (&first["symbol"], &first["field"], &first["a"], &first["b"]),
        (&"ga".into(), &"size".into(), &"0x4".into(), &"0x8".into())
    );
    assert_eq!(first["message"], "ga: size is 0x4 in A, 0x8 in B");
    documented(&json, "culd diff");
}

/// Every key of a JSON document is named in the part of the documentation that describes the command.
fn documented(json: &serde_json::Value, command: &str) {
    let docs = include_str!("../../../docs/json.md");
    let start = docs.find(&format!("## `{command}")).unwrap();
    let part = &docs[start..];
    let part = &part[..part[3..].find("\n## ").map_or(part.len(), |e| e + 3)];
    let mut open = vec![json];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Object(map) => {
                for (key, inner) in map {
                    assert!(part.contains(&format!("`{key}`")), "{key} is not documented");
                    open.push(inner);
                }
            }
            serde_json::Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
}

#[test]
fn trouble_is_an_error() {
    let names = ["x", "y"];
    assert_eq!(
        compare_files(AB, b"hello", names, Options::default()).unwrap_err(),
        "y: not a file with device code"
    );
    assert!(compare_files(&AB[..40], AB, names, Options::default()).is_err());
}
