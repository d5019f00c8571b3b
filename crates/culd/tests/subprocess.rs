//! Large links run in a child process: what a caller sees is the same as with `--no-fork`, whatever happens to either process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use cubin::build::{Binding, Form, FunctionCode, ObjectBuilder, Target};
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// More than the bytes of inputs from which a link is large.
const LARGE: usize = 9 << 20;

/// A directory with `large.cubin`, which has a kernel and a variable of this size, and `undefined.cubin`, whose kernel calls a function that no object defines.
fn inputs(bytes: usize) -> TempDir {
    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes, calls) in [("large.cubin", bytes, false), ("undefined.cubin", bytes, true)] {
        let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13).unwrap();
        let kernel = object.declare_kernel(b"kernel").unwrap();
        let code: Vec<u8> = std::iter::repeat_n(NOP.to_le_bytes(), 16).flatten().collect();
        object.define(kernel, FunctionCode::new(code, 24)).unwrap();
        object.add_global_init(b"data", Binding::Global, &vec![7; bytes], 8).unwrap();
        if calls {
            let absent = object.declare_function(b"absent", Binding::Global).unwrap();
            object.add_call(kernel, absent).unwrap();
        }
        fs::write(dir.path().join(name), object.finish().unwrap()).unwrap();
    }
    dir
}

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_culd"));
    command.current_dir(dir).args(["-arch=sm_80", "-o", "out.cubin"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(dir: &Path, arguments: &[&str]) -> (Output, Option<Vec<u8>>) {
    let _absent_at_first = fs::remove_file(dir.join("out.cubin"));
    let output = command(dir, arguments).output().unwrap();
    (output, fs::read(dir.join("out.cubin")).ok())
}

/// The child of a process, while there is one.
fn child_of(parent: u32) -> Option<i32> {
    let list = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    list.split_whitespace().next()?.parse().ok()
}

fn wait_for_child(parent: &Child) -> i32 {
    let start = Instant::now();
    loop {
        if let Some(child) = child_of(parent.id()) {
            return child;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "a large link has a child process");
    }
}

/// A link that does not end: one of its inputs is a pipe that nobody writes to.
fn endless(dir: &Path) -> (Child, i32) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let parent = command(dir, &["large.cubin", "pipe"]).spawn().unwrap();
    let child = wait_for_child(&parent);
    (parent, child)
}

fn is_alive(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.is_empty())
}

#[test]
fn results_are_those_of_one_process() {
    let dir = inputs(LARGE);
    for arguments in [
        &["large.cubin"][..],
        &["large.cubin", "-v"],
        &["undefined.cubin"],
        &["absent.cubin", "large.cubin"],
    ] {
        let (one, file) = run(dir.path(), &[arguments, &["--no-fork"]].concat());
        let (two, other) = run(dir.path(), arguments);
        assert_eq!(
            (one.status, &one.stdout, &one.stderr),
            (two.status, &two.stdout, &two.stderr),
            "{arguments:?}"
        );
        assert_eq!(file.is_some(), one.status.success());
        assert!(file == other, "{arguments:?}");
    }
}

#[test]
fn many_inputs_are_a_large_link_and_few_small_ones_are_not() {
    let dir = inputs(1);
    fs::copy(dir.path().join("undefined.cubin"), dir.path().join("a.cubin")).unwrap();
    let many = vec!["a.cubin"; 600];
    let (one, _) = run(dir.path(), &[&many[..], &["--no-fork"]].concat());
    let (two, _) = run(dir.path(), &many);
    assert_eq!((one.status, &one.stderr), (two.status, &two.stderr));
    let started = command(dir.path(), &["large.cubin", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child_of(started.id()), None, "a small link has one process");
    let ended = started.wait_with_output().unwrap();
    assert!(!ended.status.success(), "standard input is not an object");
}

#[test]
fn the_variable_keeps_one_process() {
    let dir = inputs(LARGE);
    let mut started = command(dir.path(), &["large.cubin", "-"]);
    let started = started.stdin(Stdio::piped()).env("CULD_NO_FORK", "1").spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child_of(started.id()), None);
    started.wait_with_output().unwrap();
}

#[test]
fn a_child_that_is_killed_ends_its_parent_in_the_same_way() {
    let dir = inputs(LARGE);
    let (parent, child) = endless(dir.path());
    rustix::process::kill_process(rustix::process::Pid::from_raw(child).unwrap(), rustix::process::Signal::TERM).unwrap();
    let ended = parent.wait_with_output().unwrap();
    assert_eq!(ended.status.signal(), Some(15), "{}", ended.status);
    assert!(!dir.path().join("out.cubin").exists());
}

#[test]
fn a_parent_that_is_killed_ends_its_child() {
    let dir = inputs(LARGE);
    let (mut parent, child) = endless(dir.path());
    assert!(is_alive(child));
    parent.kill().unwrap();
    // The pipe of messages ends when both processes have ended.
    let mut said = String::new();
    parent.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    parent.wait().unwrap();
    let start = Instant::now();
    while is_alive(child) {
        assert!(start.elapsed() < Duration::from_secs(20), "the child of a killed parent is killed");
    }
    assert!(!dir.path().join("out.cubin").exists());
}
