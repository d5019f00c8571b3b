//! The reader and the linker for web pages, compiled to WebAssembly.
//!
//! 1. The page copies names and contents of files into memory that `abi` gives out.
//! 2. [`show`] describes one file or several; [`compare`] describes what grew between two; [`link`] links the files and describes the result.
//! 3. The answer is one JSON document, the one that the page of `culd report --html` has inside.
//!
//! Nothing is read besides the files that the page hands over, and nothing is sent anywhere.

#[cfg(target_family = "wasm")]
mod abi;
mod memory;

use culd_engine::{Input, LinkOptions};
use culd_input::LoadOptions;
use culd_report::link::Linked;
use culd_report::model::Message;
use culd_report::{Report, growth};
use memory::Memory;
use std::collections::{BTreeMap, BTreeSet};

/// A file: name and contents.
pub type File = (String, Vec<u8>);

fn borrowed(files: &[File]) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect()
}

/// Describes files.
pub fn show(files: &[File]) -> Report {
    Report::of_files(&borrowed(files))
}

/// Describes the second of two files and what grew since the first.
pub fn compare(files: &[File]) -> Report {
    let of = |at: usize| Report::of_files(&borrowed(files.get(at..at + 1).unwrap_or_default()));
    let (before, mut after) = (of(0), of(1));
    after.growth = Some(growth::growth(&before, &after));
    after.title = format!("{} → {}", before.title, after.title);
    after.messages.splice(..0, before.messages);
    after
}

/// Links the files and describes the result; the image comes with it.
pub fn link(files: &[File]) -> (Report, Option<Vec<u8>>) {
    let mut failed = Report::new("link");
    let Some(arch) = target(files) else {
        say(
            &mut failed,
            "error",
            "NoTarget",
            "none of the files has relocatable device code".into(),
        );
        return (failed, None);
    };
    let Some(target) = culd_engine::Arch::parse(&arch) else {
        say(&mut failed, "error", "NoTarget", format!("{arch} cannot be linked for"));
        return (failed, None);
    };
    let options = LoadOptions {
        threads: 1,
        host_info: false,
        ..LoadOptions::new(target)
    };
    let names: Vec<&str> = files.iter().map(|f| f.0.as_str()).collect();
    let outcome = culd_input::load(&names, &options, &Memory { files });
    let mut messages = Report::default();
    for m in outcome.messages() {
        say(&mut messages, m.severity.word(), m.code.name(), m.code.to_string());
    }
    let Some(loaded) = outcome.loaded else {
        failed.messages = messages.messages;
        failed.status = Some("errors".into());
        return (failed, None);
    };
    let inputs: Vec<Input<'_>> = loaded
        .objects
        .iter()
        .map(|o| Input {
            name: &o.name,
            data: &o.bytes,
        })
        .collect();
    let mut link_options = LinkOptions::new(target);
    link_options.map = true;
    link_options.threads = 1;
    let outcome = culd_engine::link(&inputs, &link_options);
    for d in &outcome.messages {
        say(&mut messages, d.severity.word(), d.code.name(), d.code.to_string());
    }
    let list: Vec<(&str, &[u8])> = loaded.objects.iter().map(|o| (&*o.name, &o.bytes[..])).collect();
    let described = outcome.image.as_deref().and_then(|image| {
        let linked = Linked {
            output: "linked",
            image,
            inputs: &list,
            map: outcome.explained.map.as_ref(),
        };
        culd_report::link::report(linked).ok()
    });
    let is_linked = described.is_some();
    let mut report = described.unwrap_or(failed);
    report.title = format!("link of {} files for {arch}", files.len());
    report.status = Some(if is_linked { "linked" } else { "errors" }.into());
    report.messages = messages.messages;
    (report, outcome.image)
}

/// The architecture to link for: the one that most files have relocatable cubins for; the newest of several.
fn target(files: &[File]) -> Option<String> {
    let report = show(files);
    let mut archs: BTreeMap<(u32, &str), BTreeSet<&str>> = BTreeMap::new();
    for unit in report.units.iter().filter(|u| u.relocatable) {
        archs.entry((unit.sm, &unit.arch)).or_default().insert(&unit.file);
    }
    let most = archs.iter().max_by_key(|(arch, files)| (files.len(), **arch))?;
    Some(most.0.1.to_owned())
}

fn say(report: &mut Report, severity: &str, code: &str, text: String) {
    report.messages.push(Message {
        severity: severity.into(),
        code: code.into(),
        text,
    });
}

/// How many of the files' cubins are relocatable, and how many are linked.
pub fn kinds(files: &[File]) -> [usize; 2] {
    let report = show(files);
    let relocatable = report.units.iter().filter(|u| u.relocatable).count();
    [relocatable, report.units.len() - relocatable]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    fn example(name: &str) -> File {
        let path = format!("{}/../../examples/saxpy/{name}", env!("CARGO_MANIFEST_DIR"));
        (name.to_owned(), std::fs::read(path).unwrap())
    }

    #[test]
    fn the_target_is_what_most_files_have() {
        let mistakes = |name: &str| {
            let path = format!("{}/../../tests/mistakes/objects/{name}", env!("CARGO_MANIFEST_DIR"));
            (name.to_owned(), std::fs::read(path).unwrap())
        };
        let files = ["helper_80.o", "main.cubin", "parts.cubin"].map(mistakes);
        assert_eq!(target(&files).as_deref(), Some("sm_90"));
        assert_eq!(target(&files[..1]).as_deref(), Some("sm_80"));
        // One each: the newer one.
        assert_eq!(target(&files[..2]).as_deref(), Some("sm_90"));
        assert_eq!(target(&[]), None);
    }

    #[test]
    fn files_are_shown_compared_and_linked() {
        let (a, b) = (example("saxpy.cubin"), example("combine.cubin"));
        let files = [a.clone(), b];
        assert_eq!(show(&files).units.len(), 2);
        assert_eq!(kinds(&files), [2, 0]);
        let (report, image) = link(&files);
        assert_eq!(report.status.as_deref(), Some("linked"), "{:?}", report.messages);
        assert!(image.unwrap().starts_with(b"\x7fELF"));
        let unit = &report.units[0];
        assert_eq!(unit.inputs, ["saxpy.cubin", "combine.cubin"]);
        assert!(unit.functions.iter().all(|f| f.input.is_some()));
        let same = compare(&[a.clone(), a]);
        assert!(same.growth.unwrap().changes.is_empty());
    }

    #[test]
    fn a_file_that_is_not_device_code_is_a_message() {
        let (report, image) = link(&[("x".into(), b"text".to_vec())]);
        assert!(image.is_none() && report.messages.len() == 1);
        assert_eq!(show(&[("x".into(), b"text".to_vec())]).messages.len(), 1);
    }
}
