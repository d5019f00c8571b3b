//! The recorded links again, in this process: quick enough to run for every change that `cargo mutants` makes to the linker.
//!
//! Links that need more than the library (index files, libraries, other options, the outputs of other links) are left to
//! `cargo test -p culd-tests --test recorded`, which runs the program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed unwrap is a failed test")]

use cubin::Cubin;
use cubin::notes::{ToolInfo, notes};
use culd::{Identity, Input, LinkOptions, Message, Status, Target, ToolNote};
use culd_fuzz::judge::InMemory;
use culd_input::{LoadOptions, Style, load};
use culd_tests::fixture::{Fixture, Recorded};
use std::path::{Path, PathBuf};

/// Options and inputs of a recorded link; nothing if there are words that are not understood here.
fn understood<'f>(link: &Recorded, files: &'f [(String, Vec<u8>)]) -> Option<(LinkOptions<'f>, LoadOptions, Vec<PathBuf>, String)> {
    let mut words = link.args.split_whitespace();
    let arch = link.args.split_whitespace().find_map(|w| w.strip_prefix("-arch="))?;
    let mut options = LinkOptions::new(Target::parse(arch)?);
    let mut loading = LoadOptions::new(culd_input::Target::parse(arch)?);
    (options.identity, loading.style) = (Identity::Nvlink, Style::Nvlink);
    (options.threads, loading.threads) = (1, 1);
    let (mut inputs, mut output) = (Vec::new(), "a.out".to_owned());
    while let Some(word) = words.next() {
        match word {
            "-o" => output = words.next()?.to_owned(),
            "-r" => options.relocatable = true,
            "-g" => options.debug = true,
            "-v" | "--verbose" => options.verbose = true,
            "--preserve-relocs" => options.preserve_relocs = true,
            "--force-rela" => options.force_rela = true,
            "--reserve-null-pointer" => options.reserve_null_pointer = true,
            _ if word.starts_with("-arch=") => {}
            // Host objects ask for what the program finds out about them.
            _ if word.ends_with(".cubin") && files.iter().any(|(name, _)| name == word) => inputs.push(word.into()),
            _ => return None,
        }
    }
    (!inputs.is_empty()).then_some((options, loading, inputs, output))
}

/// The linker's own note in a linked file: the record of the command line is the program's work, not the library's.
fn note(image: &[u8]) -> Option<ToolNote> {
    let cubin = Cubin::parse(image).ok()?;
    let section = cubin.sections().flatten().find(|s| s.name == b".note.nv.tkinfo")?;
    let mut tools = notes(section.data).flatten().filter_map(|n| ToolInfo::read(n.description).ok());
    let info = tools.find(|t| t.tool == b"nvlink")?;
    Some(ToolNote {
        object_name: info.object.to_vec(),
        tool_name: info.tool.to_vec(),
        version: info.tool_version.to_vec(),
        build: info.build.to_vec(),
        command_line: info.arguments.to_vec(),
    })
}

/// How a link differs from the record; nothing if it is the same or is not understood.
fn difference(link: &Recorded, files: &[(String, Vec<u8>)], count: &mut usize) -> Option<String> {
    let (mut options, loading, inputs, output) = understood(link, files)?;
    let expected = link.outcome.files.get(&output);
    if let Some(note) = expected.and_then(|image| note(image)) {
        options.note = note;
    }
    let outcome = load(&inputs, &loading, &InMemory(files));
    let Some(loaded) = outcome.loaded.filter(|l| l.late.is_none()) else {
        return expected.map(|_| "not loaded".into());
    };
    let objects = loaded.objects.iter().map(|o| Input {
        name: &o.name,
        data: &o.bytes,
    });
    let outcome = culd::link(&objects.collect::<Vec<_>>(), &options);
    *count += 1;
    let said = String::from_utf8_lossy(&[&link.outcome.stderr[..], &link.outcome.stdout[..]].concat()).into_owned();
    let texts = outcome.messages.iter().map(|m| match m {
        Message::Diagnostic(d) => d.code.to_string(),
        Message::Text(text) => text.clone(),
    });
    let unsaid = { texts }.find(|text| !said.contains(text.as_str()));
    match (outcome.status, &outcome.image, expected) {
        _ if unsaid.is_some() => unsaid,
        (Status::Success, Some(ours), Some(theirs)) if ours == theirs => None,
        (Status::Success, Some(_), Some(_)) => Some("other bytes".into()),
        (Status::Success, ..) => Some("linked, which nvlink does not".into()),
        (_, _, None) => None,
        _ => Some("refused".into()),
    }
}

#[test]
fn recorded_links() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let (mut count, mut all) = (0, 0);
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "fixture")) {
        let fixture = Fixture::decode(&std::fs::read(path).unwrap()).unwrap();
        let files: Vec<_> = fixture.inputs.into_iter().collect();
        for link in fixture.links.iter().filter(|l| !l.outcome.crashed()) {
            all += 1;
            if let Some(difference) = difference(link, &files, &mut count) {
                panic!("{}: {}: {difference}", path.file_name().unwrap().display(), link.args);
            }
        }
    }
    println!("{count} of {all} links");
    assert!(count > 300, "only {count} of {all} links");
}
