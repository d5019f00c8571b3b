//! Dumps: what is shown, in both forms, of whole and of damaged files.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]

use culd_inspect::TextStyle;
use culd_inspect::dump::{Selection, write_file, write_file_json};
use culd_inspect::file::DeviceFile;
use serde_json::Value;

const AB: &[u8] = include_bytes!("fixtures/ab.sm_90.cubin");
const AB_80: &[u8] = include_bytes!("fixtures/ab.sm_80.cubin");
const AB_100: &[u8] = include_bytes!("fixtures/ab.sm_100.cubin");
const OBJECT: &[u8] = include_bytes!("fixtures/a.sm_90.cubin");

fn text_of(data: &[u8], selection: &Selection) -> String {
    let mut out = Vec::new();
    write_file(&mut out, &DeviceFile::open(data), selection, "x", TextStyle::Plain, false).unwrap();
    String::from_utf8(out).unwrap()
}

fn json_of(data: &[u8], selection: &Selection) -> Value {
    let mut out = Vec::new();
    write_file_json(&mut out, &DeviceFile::open(data), selection, "x", false).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// The lines under a heading, up to the next empty line.
fn block<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let start = text.lines().position(|l| l == heading).unwrap_or_else(|| panic!("no {heading}"));
    text.lines().skip(start + 1).take_while(|l| !l.is_empty()).collect()
}

#[test]
fn kernels_of_a_linked_file() {
    let text = text_of(AB, &Selection::default());
    assert_eq!(
        block(&text, "Kernels"),
        [
            "  registers   stack   frame  barriers   shared    code  params  constant banks       name",
            "         24      16       0         1     1152     896  2: 12   c[0] 540             _Z2kaPif",
            "         24       8       8         0        0     768  1: 8    c[0] 536             _Z2kbPi",
        ]
    );
    assert_eq!(
        block(&text, "Relocations .rela.text._Z2h1i (section 18), patching .text._Z2h1i"),
        [
            "       0x0  R_CUDA_ABS32_HI_32           gb  [27]  bits 32-63 = value >> 32 by linker or driver",
            "      0x10  R_CUDA_ABS32_LO_32           gb  [27]  bits 32-63 = value by linker or driver",
        ]
    );
    assert_eq!(
        block(&text, "Call graph"),
        [
            "  calls",
            "    _Z2kaPif [18] -> _Z6helperi [19]",
            "    _Z2kbPi [25] -> vprintf [26]",
            "  address taken",
            "    _Z2h1i [24]  #ii (string 0x1)",
            "  indirect calls",
            "    _Z6helperi [19]  #ii (string 0x1)",
            "    _Z2kbPi [25]  #ii (string 0x1)",
        ]
    );
    assert!(!text.contains('\x1b'), "plain text has no colours");
    assert!(!text.contains("Problems"));
}

#[test]
fn names_in_c_plus_plus() {
    let selection = Selection {
        demangle: true,
        ..Selection::default()
    };
    assert!(text_of(AB, &selection).contains("ka(int*, float)"));
    assert_eq!(json_of(AB, &selection)["cubins"][0]["functions"][0]["demangled"], "ka(int*, float)");
}

#[test]
fn one_section_and_one_kernel() {
    let section = Selection {
        sections: vec![".nv.constant3".into()],
        ..Selection::default()
    };
    let json = json_of(AB, &section);
    assert_eq!(json["cubins"][0]["sections"].as_array().unwrap().len(), 1);
    let text = text_of(AB, &section);
    assert!(text.contains("000000  00000001 00000002 00000003 00000004"), "{text}");
    for name in ["_Z2kbPi", "kb", "_Z2kb*"] {
        let kernel = Selection {
            kernels: vec![name.into()],
            ..Selection::default()
        };
        let cubin = &json_of(AB, &kernel)["cubins"][0];
        let names: Vec<&str> = cubin["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [".nv.info._Z2kbPi", ".rela.text._Z2kbPi", ".nv.constant0._Z2kbPi", ".text._Z2kbPi"],
            "{name}"
        );
        assert_eq!(cubin["functions"].as_array().unwrap().len(), 1);
        assert_eq!(
            cubin["attributes"][0]["records"].as_array().unwrap().len(),
            3,
            "register count, frame and stack"
        );
    }
}

#[test]
fn keys_are_documented() {
    let docs = include_str!("../../../docs/json.md");
    let part = &docs[docs.find("## `culd dump").unwrap()..docs.find("## `culd diff").unwrap()];
    let selection = Selection {
        demangle: true,
        ..Selection::default()
    };
    let mut count = 0;
    for data in [AB, AB_80, AB_100, OBJECT, &fatbin()] {
        let json = json_of(data, &selection);
        let mut open = vec![&json];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(map) => {
                    for (key, inner) in map {
                        assert!(part.contains(&format!("`{key}`")), "{key} is not documented");
                        count += 1;
                        open.push(inner);
                    }
                }
                Value::Array(list) => open.extend(list),
                _ => {}
            }
        }
    }
    assert!(count > 1000);
}

/// The keys of a cubin are all there, whatever the file holds.
#[test]
fn keys_are_always_there() {
    const KEYS: &[&str] = &[
        "name",
        "problems",
        "header",
        "program_headers",
        "functions",
        "sections",
        "symbol_tables",
        "relocations",
        "attributes",
        "notes",
        "callgraph",
        "prototypes",
        "relocation_actions",
        "unified",
        "metadata",
        "capsules",
    ];
    for data in [AB, AB_80, AB_100, OBJECT] {
        let json = json_of(data, &Selection::default());
        let cubin = json["cubins"][0].as_object().unwrap();
        let mut found: Vec<&str> = cubin.keys().map(String::as_str).collect();
        let mut expected = KEYS.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn text_and_json_agree() {
    for data in [AB, AB_80, AB_100, OBJECT] {
        let cubin = &json_of(data, &Selection::default())["cubins"][0];
        let text = text_of(data, &Selection::default());
        for s in cubin["sections"].as_array().unwrap() {
            let line = format!(
                "  {:>5} {:>#9x} {:>#9x} ",
                s["index"].as_u64().unwrap(),
                s["offset"].as_u64().unwrap(),
                s["size"].as_u64().unwrap()
            );
            assert!(
                text.lines()
                    .any(|l| l.starts_with(&line) && l.ends_with(s["name"].as_str().unwrap())),
                "{line}"
            );
        }
        let relocations = |v: &Value| v["entries"].as_array().unwrap().len();
        let entries: usize = cubin["relocations"].as_array().unwrap().iter().map(relocations).sum();
        let patches = |l: &&str| (l.contains("  R_CUDA_") || l.contains("  R_MERCURY_")) && l.contains(" bits");
        assert_eq!(text.lines().filter(|l| patches(l) && l.contains("] ")).count(), entries);
        // The type is a word of its own, however long it is.
        let kinds = text.lines().filter(patches).filter_map(|l| l.split_whitespace().nth(1));
        assert!(kinds.into_iter().all(|kind| !kind.contains("_Z")));
    }
}

/// A container with two cubins and PTX.
fn fatbin() -> Vec<u8> {
    use cubin::fatbin::{NewEntry, Writer};
    let mut writer = Writer::new();
    writer.add(&NewEntry::elf(90, AB)).unwrap();
    writer.add(&NewEntry::elf(100, AB_100)).unwrap();
    writer.finish()
}

#[test]
fn containers() {
    let data = fatbin();
    let file = DeviceFile::open(&data);
    assert_eq!(file.kind, "fatbin");
    let names: Vec<&str> = file.parts.iter().map(|p| p.row.name.as_str()).collect();
    assert_eq!(names, [":0:sm_90", ":1:sm_100"]);
    let text = text_of(&data, &Selection::default());
    assert!(text.starts_with("x: fatbin, 2 parts with device code\n"), "{}", &text[..100]);
    assert!(text.contains("\nx:1:sm_100: 64-bit cubin, executable, sm_100"));
    // An archive with the container as its member.
    let mut archive = b"!<arch>\n".to_vec();
    archive.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "m.fatbin/", 0, 0, 0, 644, data.len()).bytes());
    archive.extend(&data);
    let file = DeviceFile::open(&archive);
    let names: Vec<&str> = file.parts.iter().map(|p| p.row.name.as_str()).collect();
    assert_eq!((file.kind, names), ("archive", vec!["m.fatbin:0:sm_90", "m.fatbin:1:sm_100"]));
    assert!(DeviceFile::open(b"hello").problems[0].reason.contains("device code"));
    // The container and the archive hold the same device code under different names.
    let found = culd_inspect::diff::compare_files(&data, &archive, ["x", "y"], Default::default()).unwrap();
    assert!(found.container && found.only.is_empty() && found.parts.len() == 2);
}

/// Files cut anywhere and files with a wrong byte are shown as far as they go, with a word on what is wrong, and never end in a panic.
#[test]
fn damaged_files() {
    for data in [AB, AB_100, OBJECT] {
        for end in (0..data.len()).step_by(64) {
            let cut = &data[..end];
            let mut out = Vec::new();
            let outcome = write_file(
                &mut out,
                &DeviceFile::open(cut),
                &Selection::default(),
                "x",
                TextStyle::Plain,
                false,
            )
            .unwrap();
            assert!(outcome.damaged, "cut at {end:#x}");
            json_of(cut, &Selection::default());
        }
        for at in (0..64).chain((64..data.len()).step_by(37)) {
            for flip in [0xff, 0x40] {
                let mut changed = data.to_vec();
                changed[at] ^= flip;
                text_of(&changed, &Selection::default());
                json_of(&changed, &Selection::default());
            }
        }
    }
}

#[test]
fn problems_of_a_file_are_printed() {
    let cut = &AB[..AB.len() - 600];
    let text = text_of(cut, &Selection::default());
    assert!(
        text.contains("section headers: table of 32 at 0x2020 ends outside the file"),
        "{text}"
    );
    assert!(text.contains(".text._Z2kaPif") || text.contains("Header"));
    let mut bad = AB.to_vec();
    let at = bad.windows(24).position(|w| w[8] == 56 && w[0] == 0x90 && w[12] == 0x15).unwrap();
    bad[at + 12] = 0xee;
    let text = text_of(&bad, &Selection::default());
    assert!(
        text.contains(".rela.text._Z2kaPif: entry 0: symbol 238 does not exist, there are 29"),
        "{text}"
    );
}

#[test]
fn relocations_of_mercury_code_are_inside_of_it() {
    let text = text_of(AB_100, &Selection::default());
    assert!(text.contains("R_MERCURY_"), "{text}");
    assert!(!text.contains("Problems"), "{text}");
}
