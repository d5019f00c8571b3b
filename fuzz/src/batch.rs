//! What a child process does: a range of mutants, one line each.
//!
//! * [`mutants`]: links them in this process; every `cli`-th also through the program, in a directory of its own, and compares.
//! * [`compare`]: gives them to the real nvlink and to culd under its name.

use crate::classify::{Classifier, Linked};
use crate::mutant::{Mutant, Source};
use culd_engine::Identity;
use culd_tests::run::{self, Outcome};
use culd_tests::verdict;
use culd_tests::{Error, Result};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// The programs that mutants are also given to.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'p> {
    /// culd.
    pub culd: &'p Path,
    /// culd under the name nvlink.
    pub as_nvlink: &'p Path,
    /// A directory to work in.
    pub work: &'p Path,
    /// Every so many mutants.
    pub every: u64,
}

/// Links a range of mutants; `meter` measures memory.
pub fn mutants(source: &Source, range: Range<u64>, programs: Option<Programs<'_>>, meter: (fn(), fn() -> usize)) -> Result<()> {
    let mut classifier = Classifier::new(source, meter);
    let mut out = std::io::stdout().lock();
    let say = |e| Error::File {
        path: "standard output".into(),
        source: e,
    };
    for number in range {
        let Some(mutant) = source.mutant(number) else {
            writeln!(out, "{number} none").map_err(say)?;
            continue;
        };
        let (verdict, linked) = classifier.classify(&mutant);
        let (micros, size) = (verdict.time.as_micros(), mutant.size());
        let (class, memory, output) = (verdict.class, verdict.memory, verdict.output);
        let (kind, arch) = (mutant.kind.suffix(), &mutant.arch);
        writeln!(out, "{number} {class} {micros} {size} {memory} {output} {kind} {arch}").map_err(say)?;
        if let Some(programs) = programs.filter(|p| number.is_multiple_of(p.every))
            && let Some(difference) = through_program(&mutant, &linked, programs)?
        {
            writeln!(out, "{number} program {difference}").map_err(say)?;
        }
        out.flush().map_err(say)?;
    }
    Ok(())
}

/// Writes a mutant's files into a directory, with the command.
pub fn unpack(mutant: &Mutant, directory: &Path) -> Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory).map_err(Error::file(directory))?;
    }
    std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
    for (name, bytes) in &mutant.files {
        std::fs::write(directory.join(name), bytes).map_err(Error::file(directory.join(name)))?;
    }
    Ok(())
}

/// Runs the program on a mutant; says how it differs from the link in this process.
fn through_program(mutant: &Mutant, linked: &Linked, programs: Programs<'_>) -> Result<Option<String>> {
    let directory = programs.work.join("program");
    unpack(mutant, &directory)?;
    let tool = match mutant.identity {
        Identity::Nvlink => programs.as_nvlink,
        Identity::Culd => programs.culd,
    };
    let outcome = run::link(tool, &mutant.args(), &directory, None)?;
    let wrote = outcome.files.contains_key("out.cubin");
    Ok(match outcome.exit {
        0 | 1 | 255 if outcome.files.len() > usize::from(wrote) => Some("left a file".into()),
        0 if wrote && linked.success => None,
        1 | 255 if !wrote && !linked.success && !outcome.stderr.is_empty() => None,
        // Debug builds of the program look at the finished file, the link in this process does not.
        1 if !wrote && String::from_utf8_lossy(&outcome.stderr).contains("failed verification") => None,
        code => Some(format!(
            "exit {code}, output {wrote}, in the library: success {}: {}",
            linked.success,
            String::from_utf8_lossy(&outcome.stderr).lines().last().unwrap_or_default()
        )),
    })
}

/// How a program took a mutant, in a word.
fn word(outcome: &Outcome, undamaged: Option<&[u8]>) -> &'static str {
    match (outcome.exit, outcome.files.get("out.cubin")) {
        (124 | 137, _) => "hang",
        (153, _) => "blow-up",
        (_, Some(file)) if file.len() > 200 << 20 => "blow-up",
        (code, _) if code > 128 && code != 255 => "crash",
        (0, Some(file)) if Some(file.as_slice()) == undamaged => "same",
        (0, Some(_)) => "different",
        (0, None) => "silent",
        _ if outcome.crashed() => "internal-error",
        _ => "refused",
    }
}

/// Gives mutants to nvlink and to culd under its name.
pub fn compare(source: &Source, range: Range<u64>, nvlink: &Path, programs: Programs<'_>) -> Result<()> {
    for number in range {
        let Some(mutant) = source.mutant(number) else { continue };
        let directory = programs.work.join("compare");
        let run_on = |tool: &Path, mutant: &Mutant| {
            unpack(mutant, &directory)?;
            run::link(tool, &mutant.args(), &directory, None)
        };
        let theirs = run_on(nvlink, &mutant)?;
        let ours = run_on(programs.as_nvlink, &mutant)?;
        // The undamaged program: both write the same bytes.
        let mut sound = mutant.clone();
        let objects = source.program(mutant.program).map_or(&[][..], |p| p.objects.as_slice());
        sound.files = objects.iter().enumerate().map(|(i, o)| (format!("{i}.cubin"), o.clone())).collect();
        let undamaged = run_on(programs.as_nvlink, &sound)?.files.remove("out.cubin");
        let (theirs, ours) = (&theirs, &ours);
        let reference = undamaged.as_deref();
        let agree = if verdict::compare(ours, theirs).is_none() {
            "agree"
        } else {
            "differ"
        };
        println!(
            "{number} {} {} {agree} {} {}",
            word(theirs, reference),
            word(ours, reference),
            mutant.kind.suffix(),
            mutant.arch
        );
    }
    Ok(())
}
