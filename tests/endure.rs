//! Links under bad conditions, a few of each kind; `cargo xtask endure` does thousands (see `culd_tests::endure`).

#![cfg_attr(not(unix), allow(unused_imports, reason = "the conditions are those of Unix"))]

#[cfg(unix)]
use culd_tests::endure;
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
        ("killed-links-leave-whole-files", |l| endure::kills(l, 30, 1).map(drop)),
        ("failed-writes-leave-the-old-file", |l| endure::write_failures(l, 10, 1).map(drop)),
        ("shortened-inputs-are-errors", |l| endure::truncations(l, 20, 8 << 20, 1).map(drop)),
        ("results-depend-on-nothing-else", |l| {
            let some: Vec<_> = endure::fixtures()?.into_iter().step_by(20).collect();
            endure::same_everywhere(l, &some, 1).map(drop)
        }),
    ];
    let trial = |(name, run): (&str, Work)| {
        let linker = Arc::clone(&linker);
        Trial::test(name, move || run(&linker).map_err(Failed::from))
    };
    libtest_mimic::run(&arguments, work.map(trial).into()).exit_code()
}
