//! Links under bad conditions, a few of each kind; `cargo xtask fault-injection` does thousands (see `culd_tests::fault_injection`).

#![cfg_attr(not(unix), allow(unused_imports, reason = "the conditions are those of Unix"))]

#[cfg(unix)]
use culd_tests::fault_injection;
use culd_tests::linker::linker;
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let linker = if arguments.list { Ok(std::path::PathBuf::new()) } else { linker() };
    let linker = match linker {
        Ok(linker) => Arc::new(linker),
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    type Work = fn(&std::path::Path) -> culd_tests::Result<()>;
    let work: [(&str, Work); 4] = [
        ("killed-links-leave-whole-files", |l| fault_injection::kills(l, 30, 1).map(drop)),
        ("failed-writes-leave-the-old-file", |l| {
            fault_injection::write_failures(l, 10, 1).map(drop)
        }),
        ("shortened-inputs-are-errors", |l| {
            fault_injection::truncations(l, 20, 8 << 20, 1).map(drop)
        }),
        ("results-depend-on-nothing-else", |l| {
            let some: Vec<_> = fault_injection::fixtures()?.into_iter().step_by(20).collect();
            fault_injection::same_everywhere(l, &some, 1).map(drop)
        }),
    ];
    let trial = |(name, run): (&str, Work)| {
        let linker = Arc::clone(&linker);
        Trial::test(name, move || run(&linker).map_err(Failed::from))
    };
    libtest_mimic::run(&arguments, work.map(trial).into()).exit_code()
}
