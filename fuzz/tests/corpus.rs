//! Everything that coverage-guided fuzzing found worth keeping is run through its target: no panic, no broken promise.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed unwrap is a failed test")]

use culd_fuzz::corpus;

fn replay(target: &str) {
    let (_, run) = corpus::TARGETS.into_iter().find(|(name, _)| *name == target).expect("a target");
    let kept = corpus::kept(target).unwrap();
    assert!(kept.len() >= 50, "{target}: {} files are kept", kept.len());
    // What the target says about a file does not matter: it panics when a promise is broken.
    let accepted = kept.values().filter(|bytes| run(bytes)).count();
    assert!(accepted > 0, "{target} accepts nothing");
}

#[test]
fn parse_cubin() {
    replay("parse_cubin");
}

#[test]
fn parse_fatbin() {
    replay("parse_fatbin");
}

#[test]
fn parse_archive() {
    replay("parse_archive");
}

#[test]
fn parse_host_object() {
    replay("parse_host_object");
}

#[test]
fn link_two() {
    replay("link_two");
}

#[test]
fn roundtrip() {
    replay("roundtrip");
}

#[test]
fn jit() {
    replay("jit");
}
