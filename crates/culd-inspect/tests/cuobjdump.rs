//! A dump shows what the vendor's dumper shows: same sections, symbols, relocations and attributes.
//!
//! Runs when `CULD_ORACLE` names the directory of the NVIDIA tools; `CULD_DUMP_SAMPLE` names a directory with more cubins to compare.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]

use culd_inspect::dump::{Selection, write_file_json};
use culd_inspect::file::DeviceFile;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Everything compared, one line each.
type Facts = BTreeMap<String, Vec<String>>;

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_else(|_| panic!("no number: {text}"))
}

fn number(text: &str) -> u64 {
    let text = text.trim();
    if text.starts_with("0x") {
        hex(text)
    } else {
        text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
    }
}

/// The numbers in the value of an attribute.
fn value_numbers(text: &str) -> Vec<u64> {
    let inside = |t: &str| hex(&t[t.rfind('(').unwrap() + 1..t.rfind(')').unwrap()]);
    if let Some(rest) = text.trim().strip_prefix("externs:") {
        return rest.split('\t').filter(|t| t.contains('(')).map(inside).collect();
    }
    if text.contains("Ordinal") {
        let parts = text.split(['\t', '\n']).filter_map(|p| p.rsplit_once(':'));
        return parts
            .filter(|(k, _)| !k.contains("Parameter Space"))
            .map(|(_, v)| number(v))
            .collect();
    }
    if let Some((first, rest)) = text.trim().split_once(")\t")
        && first.contains('(')
        && rest.contains(':')
    {
        let (_, value) = rest.rsplit_once(':').unwrap();
        return vec![inside(&format!("{first})")), number(value)];
    }
    text.split_whitespace().filter(|t| t.starts_with("0x")).map(hex).collect()
}

/// What the vendor's dumper shows.
fn theirs(text: &str) -> Facts {
    let mut facts = Facts::new();
    let mut lines = text.lines().peekable();
    let (mut place, mut mode) = (String::new(), "");
    while let Some(line) = lines.next() {
        if line.starts_with("Index Offset") {
            mode = "sections";
        } else if line.starts_with(".section .symtab") || line.starts_with(" index           value") {
            mode = "symbols";
        } else if let Some(rest) = line.strip_prefix(".section ") {
            let name = rest.split_whitespace().next().unwrap();
            mode = if rest.ends_with("\tREL") || rest.ends_with("\tRELA") {
                "relocations"
            } else {
                ""
            };
            place = name.to_owned();
        } else if line.starts_with(".nv.info") || line.starts_with(".nv.compat") {
            (mode, place) = ("attributes", line.trim().to_owned());
        } else if line.is_empty() && mode != "attributes" {
            mode = "";
        } else if mode == "sections" {
            let w: Vec<&str> = line.split_whitespace().collect();
            let n = w.len();
            // An unknown section type is two words; names may be empty.
            let (name, w) = (w[n - 1], &w[..n - 1]);
            let k = w.len();
            let tail: Vec<u64> = w[k - 3..].iter().map(|x| hex(x)).collect();
            let head: Vec<u64> = w[..5].iter().map(|x| hex(x)).collect();
            facts
                .entry("sections".into())
                .or_default()
                .push(format!("{head:x?} {tail:x?} {name}"));
        } else if mode == "symbols" {
            let w: Vec<&str> = line.split_whitespace().collect();
            if w.len() < 6 || w[0] == "index" || w[0] == "0" {
                continue;
            }
            let numbers: Vec<u64> = w[..6].iter().map(|x| hex(x)).collect();
            facts
                .entry("symbols".into())
                .or_default()
                .push(format!("{numbers:x?} {}", w.get(6).filter(|n| **n != "(null)").unwrap_or(&"")));
        } else if mode == "relocations" {
            let w: Vec<&str> = line.split("    ").map(str::trim).collect();
            let addend = w.get(3).map_or(0, |a| hex(a));
            facts
                .entry(format!("relocations {place}"))
                .or_default()
                .push(format!("{:x} {} {} {addend:x}", hex(w[0]), w[1], w[2]));
        } else if mode == "attributes" {
            let Some(name) = line.trim().strip_prefix("Attribute:\t") else {
                continue;
            };
            let format = lines.next().unwrap().trim().strip_prefix("Format:\t").unwrap().to_owned();
            let mut value = String::new();
            while let Some(next) = lines.peek() {
                if next.starts_with("\t<") || next.starts_with('.') || (next.is_empty() && !value.contains("Indirect")) {
                    break;
                }
                value.push_str(next.trim_start().trim_start_matches("Value:"));
                value.push('\n');
                lines.next();
            }
            let name = if name.starts_with("unknown") { "?" } else { name };
            let numbers = value_numbers(&value);
            // Some values it prints as words only.
            let shown = if numbers.is_empty() && !value.trim().is_empty() && !value.contains("externs") {
                "words".to_owned()
            } else {
                format!("{numbers:x?}")
            };
            facts
                .entry(format!("attributes {place}"))
                .or_default()
                .push(format!("{name} {format} {shown}"));
        }
    }
    facts
}

fn int(v: &Value) -> u64 {
    v.as_u64().unwrap_or_else(|| v.as_i64().unwrap().cast_unsigned())
}

/// The numbers of a value, in the order in which the vendor's dumper prints them.
fn our_numbers(v: &Value) -> Vec<u64> {
    let list = |v: &Value| v.as_array().unwrap().iter().map(int).collect::<Vec<u64>>();
    let fields = |names: &[&str]| names.iter().map(|n| int(&v[*n])).collect::<Vec<u64>>();
    match v["kind"].as_str().unwrap() {
        "flag" => Vec::new(),
        "number" => vec![int(&v["number"])],
        "symbol_number" => fields(&["symbol", "number"]),
        "symbols" => v["symbols"].as_array().unwrap().iter().map(|s| int(&s["symbol"])).collect(),
        "offsets" => list(&v["offsets"]),
        "words" => list(&v["words"]),
        "parameter_bank" => vec![int(&v["symbol"]), int(&v["size"]) << 16 | int(&v["offset"])],
        "parameter" => fields(&["index", "ordinal", "offset", "size", "log_alignment", "space", "bank"]),
        "branches" => {
            let branches = v["branches"].as_array().unwrap();
            branches
                .iter()
                .flat_map(|b| [vec![int(&b["offset"])], list(&b["targets"])].concat())
                .collect()
        }
        "dimensions" => list(&v["xyz"]),
        "bytes" => {
            let digits: Vec<char> = v["hex"].as_str().unwrap().chars().collect();
            let bytes: Vec<u8> = digits
                .chunks(2)
                .map(|c| u8::from_str_radix(&c.iter().collect::<String>(), 16).unwrap())
                .collect();
            bytes
                .chunks_exact(4)
                .map(|w| u32::from_le_bytes(w.try_into().unwrap()).into())
                .collect()
        }
        other => panic!("no comparison for {other}"),
    }
}

/// What our dump shows.
fn ours(cubin: &Value) -> Facts {
    let mut facts = Facts::new();
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    for s in cubin["sections"].as_array().unwrap() {
        let head: Vec<u64> = ["index", "offset", "size", "entry_size", "align"]
            .iter()
            .map(|k| int(&s[*k]))
            .collect();
        let tail: Vec<u64> = ["flags_value", "link", "info"].iter().map(|k| int(&s[*k])).collect();
        facts
            .entry("sections".into())
            .or_default()
            .push(format!("{head:x?} {tail:x?} {}", text(&s["name"])));
    }
    for s in cubin["symbol_tables"][0]["symbols"].as_array().into_iter().flatten() {
        let section = match s["section"].as_u64() {
            Some(index) => index,
            None if s["section_name"] == "common" => 0xfff2,
            None => 0,
        };
        let numbers = [
            int(&s["index"]),
            int(&s["value"]),
            int(&s["size"]),
            int(&s["info_value"]),
            int(&s["other_value"]),
            section,
        ];
        facts
            .entry("symbols".into())
            .or_default()
            .push(format!("{numbers:x?} {}", text(&s["name"])));
    }
    for r in cubin["relocations"].as_array().unwrap() {
        let name = text(&r["section_name"]);
        for e in r["entries"].as_array().unwrap() {
            let addend = if e["addend"].is_null() { 0 } else { int(&e["addend"]) };
            let line = format!(
                "{:x} {} {} {addend:x}",
                int(&e["offset"]),
                text(&e["symbol_name"]),
                text(&e["type"])
            );
            facts.entry(format!("relocations {name}")).or_default().push(line);
        }
    }
    for a in cubin["attributes"].as_array().unwrap() {
        let name = text(&a["section_name"]);
        for r in a["records"].as_array().unwrap() {
            let line = format!("{} {} {:x?}", text(&r["name"]), text(&r["format"]), our_numbers(&r["value"]));
            facts.entry(format!("attributes {name}")).or_default().push(line);
        }
    }
    facts
}

/// Differences between two lists of facts. An attribute without a name in the vendor's dumper agrees with any name.
fn differences(theirs: &Facts, ours: &Facts) -> Vec<String> {
    let mut out = Vec::new();
    for (key, list) in theirs {
        let Some(mine) = ours.get(key) else {
            out.push(format!("{key}: we show nothing"));
            continue;
        };
        if list.len() != mine.len() {
            out.push(format!("{key}: {} there, {} here", list.len(), mine.len()));
        }
        for (x, y) in list.iter().zip(mine) {
            let same = match (x.strip_prefix("? "), x.strip_suffix("words")) {
                (Some(rest), _) => y.ends_with(rest),
                (None, Some(rest)) => y.starts_with(rest),
                (None, None) => x == y,
            };
            if !same {
                out.push(format!("{key}: theirs {x}\n    ours {y}"));
            }
        }
    }
    out
}

fn sample() -> Vec<PathBuf> {
    let mut list = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")];
    open.extend(std::env::var_os("CULD_DUMP_SAMPLE").map(PathBuf::from));
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "cubin") {
                list.push(path);
            }
        }
    }
    list.sort();
    list
}

#[test]
fn same_as_the_vendors_dumper() {
    let Some(tools) = std::env::var_os("CULD_ORACLE") else {
        eprintln!("skipped: CULD_ORACLE does not name the directory of the real tools");
        return;
    };
    let mut bad = Vec::new();
    let (mut files, mut facts) = (0, 0);
    for path in sample() {
        let output = std::process::Command::new(Path::new(&tools).join("cuobjdump"))
            .arg("-elf")
            .arg(&path)
            .output()
            .unwrap();
        if !output.status.success() {
            continue;
        }
        let data = std::fs::read(&path).unwrap();
        let mut json = Vec::new();
        write_file_json(&mut json, &DeviceFile::open(&data), &Selection::default(), "x", false).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let theirs = theirs(&String::from_utf8_lossy(&output.stdout));
        let found = differences(&theirs, &ours(&json["cubins"][0]));
        files += 1;
        facts += theirs.values().map(Vec::len).sum::<usize>();
        bad.extend(found.into_iter().take(5).map(|d| format!("{}: {d}", path.display())));
    }
    println!("{files} files, {facts} facts compared");
    assert!(files >= 5 && facts > 500, "{files} files, {facts} facts");
    assert!(
        bad.is_empty(),
        "{} differences\n{}",
        bad.len(),
        bad.iter().take(30).cloned().collect::<Vec<_>>().join("\n")
    );
}
