//! The calculation of occupancy against the calculator that comes with the CUDA toolkit (`cuda_occupancy.h`), for every architecture.
//!
//! Needs a C++ compiler and the header: `CULD_ORACLE` names the directory of the toolkit's programs. Without them the test has nothing to do.
#![allow(clippy::unwrap_used, reason = "tests")]

use culd_report::occupancy::{Limits, Needs, TABLE, occupancy};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn include() -> Option<PathBuf> {
    let stated = std::env::var_os("CULD_ORACLE").map(PathBuf::from);
    let include = stated?.parent()?.join("include");
    include.join("cuda_occupancy.h").is_file().then_some(include)
}

/// Architectures that the calculator has.
fn is_known(limits: &Limits) -> bool {
    // It has no shared memory sizes for sm_88.
    limits.sm != 88
}

fn rows() -> Vec<(&'static Limits, Needs)> {
    let mut rows = Vec::new();
    for limits in TABLE.iter().filter(|l| is_known(l)) {
        for threads in [
            1, 31, 32, 33, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 544, 640, 672, 768, 800, 896, 1000, 1024,
        ] {
            for registers in [
                1, 8, 16, 24, 25, 32, 33, 40, 41, 48, 56, 63, 64, 65, 72, 80, 96, 100, 128, 129, 160, 168, 200, 240, 255,
            ] {
                for shared in [
                    0,
                    1,
                    255,
                    256,
                    1024,
                    5000,
                    16384,
                    33000,
                    48 * 1024,
                    65536,
                    99 * 1024,
                    101_377,
                    163 * 1024,
                    200_000,
                    227 * 1024,
                ] {
                    let barriers = (threads + registers) % 17;
                    let needs = Needs {
                        threads,
                        registers,
                        shared,
                        barriers,
                    };
                    // The calculator takes more than a block may have for a mistake of the caller.
                    if shared <= limits.shared_per_block.into() {
                        rows.push((limits, needs));
                    }
                }
            }
        }
    }
    rows
}

#[test]
fn the_calculator_of_the_toolkit_agrees() {
    let Some(include) = include() else {
        println!("left out: CULD_ORACLE does not lead to cuda_occupancy.h");
        return;
    };
    let work = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = work.join("calculator");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calculator.cpp");
    let built = Command::new("g++")
        .arg("-I")
        .arg(include)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .output();
    let Ok(built) = built else {
        println!("left out: no g++");
        return;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let rows = rows();
    let mut text = String::new();
    for (l, n) in &rows {
        writeln!(
            text,
            "{} {} {} {} 0 {} {} {} {} {} {} {}",
            l.sm,
            n.threads,
            n.registers,
            n.shared,
            n.barriers,
            l.warps * 32,
            l.registers,
            l.registers_per_block,
            l.shared,
            l.shared_per_block,
            l.shared_reserved
        )
        .unwrap();
    }
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers: Vec<i64> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|l| l.parse().unwrap())
        .collect();
    assert_eq!(answers.len(), rows.len());
    let mut wrong = Vec::new();
    for ((limits, needs), expected) in rows.iter().zip(&answers) {
        let ours = occupancy(limits, *needs);
        if i64::from(ours.blocks) != *expected {
            wrong.push(format!(
                "sm_{} {needs:?}: calculator {expected}, here {} by {:?}",
                limits.sm, ours.blocks, ours.limited_by
            ));
        }
    }
    println!("{} rows compared", rows.len());
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        rows.len(),
        wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n")
    );
}
