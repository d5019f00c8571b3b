//! The recorded links again, in this process: quick enough to run for every change that `cargo mutants` makes to the linker.
//!
//! Links that need more than the library (index files, libraries, other options) are left to `cargo test -p culd-tests --test recorded`,
//! which runs the program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed unwrap is a failed test")]

use cubin::Cubin;
use cubin::notes::{ToolInfo, notes};
use culd_engine::{Arch, Code, Diagnostic, Identity, Input, KernelFilter, LinkOptions, Severity, Status, ToolNote};
use culd_fuzz::classify::InMemory;
use culd_input::{LoadOptions, load};
use culd_tests::fixture::{Fixture, Recorded};
use std::path::{Path, PathBuf};

/// Options and inputs of a recorded link; nothing if there are words that are not understood here.
fn understood<'f>(link: &Recorded, files: &'f [(String, Vec<u8>)]) -> Option<(LinkOptions<'f>, LoadOptions, Vec<PathBuf>, String)> {
    let mut words = link.args.split_whitespace();
    let arch = link.args.split_whitespace().find_map(|w| w.strip_prefix("-arch="))?;
    let mut options = LinkOptions::new(Arch::parse(arch)?);
    let mut loading = LoadOptions::new(Arch::parse(arch)?);
    (options.identity, loading.identity) = (Identity::Nvlink, Identity::Nvlink);
    (options.threads, loading.threads) = (1, 1);
    let (mut inputs, mut output) = (Vec::new(), "a.out".to_owned());
    while let Some(word) = words.next() {
        match word {
            "-o" => output = words.next()?.to_owned(),
            "-r" => options.relocatable = true,
            "-g" => options.debug = true,
            "-v" | "--verbose" => options.usage = true,
            "--preserve-relocs" => options.preserve_relocs = true,
            "--force-rela" => options.force_rela = true,
            "--reserve-null-pointer" => options.reserve_null_pointer = true,
            "--enable-extended-smem=true" => options.extended_smem = true,
            _ if word.starts_with("-arch=") => {}
            _ if word.starts_with("--kernels-used=") => options.kernels = word.split_once('=').map(|(_, names)| kernels(names)),
            // Host objects need what the program reads from them.
            _ if word.ends_with(".cubin") && files.iter().any(|(name, _)| name == word) => inputs.push(word.into()),
            _ => return None,
        }
    }
    (!inputs.is_empty()).then_some((options, loading, inputs, output))
}

/// Kernels whose names contain one of these.
fn kernels(names: &str) -> KernelFilter {
    let patterns: Vec<Vec<u8>> = names.split(',').map(|name| format!("*{name}*").into_bytes()).collect();
    KernelFilter {
        external: patterns.clone(),
        internal: patterns,
        explicit: true,
        early: true,
        ..KernelFilter::default()
    }
}

/// The linker's own note in a linked file: the record of the command line is the program's work, not the library's.
fn note(image: &[u8]) -> Option<ToolNote> {
    let cubin = Cubin::parse(image).ok()?;
    let section = cubin.sections().flatten().find(|s| s.name == b".note.nv.tkinfo")?;
    let mut tools = notes(section.data).flatten().filter_map(|n| ToolInfo::read(n.description).ok());
    let info = tools.find(|t| t.tool == b"nvlink")?;
    let mut note = ToolNote::new(info.tool, info.tool_version, info.build);
    note.object_name = info.object.to_vec();
    note.command_line = info.arguments.to_vec();
    Some(note)
}

/// How a link differs from the record; nothing if it is the same or is not understood.
fn difference(link: &Recorded, files: &[(String, Vec<u8>)], count: &mut usize) -> Option<String> {
    let (mut options, loading, inputs, output) = understood(link, files)?;
    let expected = link.outcome.files.get(&output);
    if let Some(note) = expected.and_then(|image| note(image)) {
        options.note = note;
    }
    let outcome = load(&inputs, &loading, &InMemory(files));
    let Some(loaded) = outcome.loaded.filter(|l| l.deferred_error.is_none()) else {
        return expected.map(|_| "not loaded".into());
    };
    let objects = loaded.objects.iter().map(|o| Input {
        name: &o.name,
        data: &o.bytes,
    });
    let outcome = culd_engine::link(&objects.collect::<Vec<_>>(), &options);
    *count += 1;
    let said = String::from_utf8_lossy(&[&link.outcome.stderr[..], &link.outcome.stdout[..]].concat()).into_owned();
    let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
    let (ours, theirs) = (
        outcome.messages.iter().filter(is_error).count(),
        said.matches("nvlink error").count(),
    );
    if ours != theirs {
        return Some(format!("{ours} errors, nvlink has {theirs}"));
    }
    let graph = outcome.explained.callgraph.iter().map(|line| line.text.clone());
    let used = outcome
        .explained
        .usage
        .iter()
        .flat_map(|u| u.kernels.iter().map(|k| k.to_string()).chain([u.memory.to_string()]));
    let texts = outcome.messages.iter().map(|d| d.code.to_string()).chain(graph).chain(used);
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
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let (mut count, mut all) = (0, 0);
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "fixture")) {
        let fixture = Fixture::decode(&std::fs::read(path).unwrap()).unwrap();
        let mut files: Vec<_> = fixture.inputs.into_iter().collect();
        for link in fixture.links.iter().filter(|l| !l.outcome.crashed()) {
            all += 1;
            if let Some(difference) = difference(link, &files, &mut count) {
                panic!("{}: {}: {difference}", path.file_name().unwrap().display(), link.args);
            }
            // A later link may use what this one made.
            files.extend(link.outcome.files.clone());
        }
    }
    println!("{count} of {all} links");
    assert!(count > 300, "only {count} of {all} links");
}

/// The errors of a recorded link under culd's own name.
fn own_errors(case: &str, inputs: &[&str], arch: &str) -> Vec<Code> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fixtures/{case}.fixture"));
    let fixture = Fixture::decode(&std::fs::read(path).unwrap()).unwrap();
    let objects: Vec<Input<'_>> = inputs
        .iter()
        .map(|&name| Input {
            name,
            data: fixture
                .inputs
                .get(name)
                .unwrap_or_else(|| panic!("{name}: {:?}", fixture.inputs.keys())),
        })
        .collect();
    let outcome = culd_engine::link(&objects, &LinkOptions::new(Arch::parse(arch).unwrap()));
    let codes = outcome
        .messages
        .into_iter()
        .filter(|d| d.severity == Severity::Error)
        .map(|d| d.code);
    codes.collect()
}

/// Under its own name culd lists what fills a memory, the largest first.
#[test]
fn full_memories_name_their_contents() {
    let list = |names: &[(&str, u64)]| names.iter().map(|&(name, size)| (name.to_owned(), size)).collect::<Vec<_>>();
    let shared = own_errors("limit-shared-extended", &["s80.cubin", "t80.cubin"], "sm_80").into_iter();
    let shared: Vec<_> = shared
        .filter_map(|code| match code {
            Code::TooMuchShared { entry, contributors, .. } => Some((entry, contributors)),
            _ => None,
        })
        .collect();
    let of = |kernel: &str| shared.iter().find(|(entry, _)| entry == kernel).map(|(_, list)| list.clone());
    assert_eq!(of("k"), Some(list(&[("big", 40000), ("$__own__5", 64)])));
    assert_eq!(of("kt"), Some(list(&[("more", 250_000), ("big", 40000)])));
    let constants = own_errors("data-const-64k-over", &["a.cubin", "b.cubin"], "sm_90");
    let [Code::TooMuchConstant { contributors, .. }] = constants.as_slice() else {
        panic!("{constants:?}")
    };
    assert_eq!(*contributors, list(&[("b.cubin", 32772), ("a.cubin", 32768)]));
}
