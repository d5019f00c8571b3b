//! Runs the fuzz targets: `culd-fuzz [--runs N] [--seed S] [TARGET..]`.
//!
//! 1. For every target and run, choose a seed file and damage it; the generator is seeded by target, seed and run number.
//! 2. Before the target sees it, the file is noted; a panic writes it to `target/fuzz/<target>-<run>.bin` and names it.
//!
//! 3. A run that takes longer than [`LIMIT`] is a failure too.
//!
//! `culd-fuzz mutants|compare --seed S --from A --to B ..` is what `cargo xtask mutate` starts (see [`culd_fuzz::batch`]).
//! `culd-fuzz show --seed S --from N --dir F` writes the files of mutant N.
//! `culd-fuzz unpack|keep --dir F` and `culd-fuzz replay` are for `cargo xtask fuzz` (see [`culd_fuzz::corpus`]).
#![forbid(unsafe_code)]

use culd_fuzz::batch::{self, Programs};
use culd_fuzz::corpus;
use culd_fuzz::mutant::Source;
use culd_fuzz::mutate::damage;
use culd_fuzz::seeds::{Program, Seeds};
use culd_fuzz::targets;
use culd_input::Identity;
use culd_tests::rng::Rng;
use culd_tests::{Error, Result};
use peak_alloc::PeakAlloc;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest honest run, in a debug build on a busy machine.
const LIMIT: Duration = Duration::from_secs(10);
const TARGETS: [&str; 8] = [
    "parse_cubin",
    "roundtrip",
    "parse_fatbin",
    "parse_archive",
    "parse_host_object",
    "load",
    "link_two",
    "link",
];

/// Counts memory, so that the use of a single link can be seen.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory in use when the meter was started.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

/// What is being tried now, for the panic hook.
static CURRENT: Mutex<Option<(String, Vec<Vec<u8>>)>> = Mutex::new(None);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("culd-fuzz: {e}");
            ExitCode::FAILURE
        }
    }
}

/// The command line.
#[derive(Default)]
struct Args {
    runs: u64,
    seed: u64,
    names: Vec<String>,
    from: u64,
    to: u64,
    every: u64,
    nvlink: Option<PathBuf>,
    culd: Option<PathBuf>,
    directory: PathBuf,
}

impl Args {
    fn parse() -> std::result::Result<Self, lexopt::Error> {
        use lexopt::prelude::*;
        let mut args = Args {
            runs: 2000,
            seed: 1,
            every: 1000,
            ..Args::default()
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("runs") => args.runs = parser.value()?.parse()?,
                Long("seed") => args.seed = parser.value()?.parse()?,
                Long("from") => args.from = parser.value()?.parse()?,
                Long("to") => args.to = parser.value()?.parse()?,
                Long("every") => args.every = parser.value()?.parse()?,
                Long("nvlink") => args.nvlink = Some(parser.value()?.into()),
                Long("culd") => args.culd = Some(parser.value()?.into()),
                Long("dir") => args.directory = parser.value()?.into(),
                Value(v) => args.names.push(v.string()?),
                _ => return Err(arg.unexpected()),
            }
        }
        Ok(args)
    }
}

fn run() -> Result<()> {
    let args = Args::parse().map_err(|e| Error::Other(e.to_string()))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_owned);
    let seeds = Seeds::load(&root.join("tests/fixtures"))?;
    match args.names.first().map(String::as_str) {
        Some("unpack") => unpack(&seeds, &args.directory),
        Some("keep") => keep(&args.directory),
        Some("show") => show(&Source::new(seeds, args.seed), args.from, &args.directory),
        Some("replay") => replay(&seeds, &root),
        Some("mutants" | "compare") => run_batch(&args, &Source::new(seeds, args.seed)),
        _ => run_targets(&args, &seeds, &root),
    }
}

/// Unpacks the sound and the kept files of every target, for coverage-guided fuzzing.
fn unpack(seeds: &Seeds, dir: &Path) -> Result<()> {
    for (target, _) in corpus::TARGETS {
        let dir = dir.join(target).join("start");
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(Error::file(&dir))?;
        }
        std::fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
        let sound = corpus::sound(target, seeds).into_iter().enumerate();
        let sound = sound.map(|(i, bytes)| (format!("sound-{i}"), bytes));
        for (name, bytes) in sound.chain(corpus::kept(target)?) {
            std::fs::write(dir.join(&name), bytes).map_err(Error::file(dir.join(name)))?;
        }
    }
    Ok(())
}

/// Keeps the files in a directory of files for every target.
fn keep(dir: &Path) -> Result<()> {
    for (target, _) in corpus::TARGETS {
        let dir = dir.join(target).join("least");
        if !dir.is_dir() {
            continue;
        }
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(&dir).map_err(Error::file(&dir))? {
            let path = entry.map_err(Error::file(&dir))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(name, std::fs::read(&path).map_err(Error::file(path))?);
        }
        println!("{target}: {} files", files.len());
        corpus::keep(target, files)?;
    }
    Ok(())
}

/// Writes the files of one mutant into a directory and prints its command.
fn show(source: &Source, number: u64, directory: &Path) -> Result<()> {
    let mutant = source.mutant(number).ok_or_else(|| Error::Other("no such mutant".into()))?;
    batch::unpack(&mutant, directory)?;
    let (identity, cut) = (mutant.identity, mutant.is_cut);
    println!("{identity:?} {} (input {}, cut: {cut})", mutant.args(), mutant.victim);
    Ok(())
}

/// Gives the sound and the kept files to their targets.
fn replay(seeds: &Seeds, root: &Path) -> Result<()> {
    save_on_panic(root.join("target/fuzz"));
    for (target, run) in corpus::TARGETS {
        let files: Vec<Vec<u8>> = corpus::sound(target, seeds)
            .into_iter()
            .chain(corpus::kept(target)?.into_values())
            .collect();
        let (count, mut accepted) = (files.len(), 0);
        for (i, bytes) in files.into_iter().enumerate() {
            let files = [bytes];
            note(target, i as u64, &files);
            accepted += usize::from(run(&files[0]));
        }
        println!("ok      {target}: {count} files, {accepted} accepted");
    }
    Ok(())
}

/// A part of the work of `cargo xtask mutate`.
fn run_batch(args: &Args, source: &Source) -> Result<()> {
    let directory = tempfile::tempdir().map_err(Error::file("temporary directory"))?;
    let as_nvlink = match &args.culd {
        Some(culd) => culd_tests::run::as_nvlink(culd, directory.path())?,
        None => PathBuf::new(),
    };
    let programs = args.culd.as_deref().map(|culd| Programs {
        culd,
        as_nvlink: &as_nvlink,
        work: directory.path(),
        every: args.every.max(1),
    });
    match (&args.nvlink, programs) {
        (Some(nvlink), Some(programs)) => batch::compare(source, args.from..args.to, nvlink, programs),
        _ => batch::mutants(source, args.from..args.to, programs, (start_meter, read_meter)),
    }
}

fn start_meter() {
    MEMORY.reset_peak_usage();
    BEFORE.store(MEMORY.current_usage(), Ordering::Relaxed);
}

fn read_meter() -> usize {
    MEMORY.peak_usage().saturating_sub(BEFORE.load(Ordering::Relaxed))
}

/// Runs the targets that were named, or all.
fn run_targets(args: &Args, seeds: &Seeds, root: &Path) -> Result<()> {
    let (runs, seed, names) = (args.runs, args.seed, &args.names);
    save_on_panic(root.join("target/fuzz"));
    for name in TARGETS.into_iter().filter(|t| names.is_empty() || names.iter().any(|n| n == t)) {
        let start = Instant::now();
        if name == "roundtrip" {
            for (i, bytes) in seeds.pristine.iter().enumerate() {
                note("pristine", i as u64, std::slice::from_ref(bytes));
                targets::exact(bytes);
            }
            println!("ok      {name}: {} undamaged files come back byte for byte", seeds.pristine.len());
        }
        let accepted = fuzz(name, seeds, runs, seed)?;
        println!(
            "ok      {name}: {runs} runs from seed {seed}, {accepted} accepted, {:.1} s",
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// Runs one target; how many damaged files it accepted.
fn fuzz(name: &str, seeds: &Seeds, runs: u64, seed: u64) -> Result<u64> {
    let base = name.bytes().fold(seed, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
    let mut accepted = 0;
    for run in 0..runs {
        let mut rng = Rng::new(base.wrapping_add(run.wrapping_mul(0x1_0000_0001)));
        let start = Instant::now();
        accepted += u64::from(one(name, run, seeds, &mut rng).ok_or_else(|| Error::Other(format!("no seed files for {name}")))?);
        if start.elapsed() > LIMIT {
            save(Path::new("target/fuzz"));
            return Err(Error::Other(format!(
                "{name} run {run}: took {:.1} s",
                start.elapsed().as_secs_f64()
            )));
        }
    }
    Ok(accepted)
}

fn note(name: &str, run: u64, files: &[Vec<u8>]) {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some((format!("{name}-{run}"), files.to_vec()));
}

/// One run. Nothing if there is no seed file of the kind.
fn one(name: &str, run: u64, seeds: &Seeds, rng: &mut Rng) -> Option<bool> {
    let list = match name {
        "parse_cubin" | "roundtrip" | "link_two" => &seeds.cubins,
        "parse_fatbin" => &seeds.fatbins,
        "load" | "parse_archive" | "parse_host_object" => &seeds.containers,
        _ => return link(name, run, seeds, rng),
    };
    let bytes = damage(rng.choose(list)?, rng.clone().choose(list)?, rng);
    let files = [bytes];
    note(name, run, &files);
    let bytes = &files[0];
    Some(match name {
        "parse_cubin" => targets::parse_cubin(bytes),
        "roundtrip" => targets::round_trip(bytes),
        "parse_fatbin" => targets::parse_fatbin(bytes),
        "parse_archive" => targets::parse_archive(bytes),
        "parse_host_object" => targets::parse_host_object(bytes),
        "link_two" => targets::link_two(bytes),
        _ => {
            let file = if bytes.starts_with(b"!") { "x.a" } else { "x.o" };
            targets::load_input(bytes, file, rng.pick([Identity::Nvlink, Identity::Culd]))
        }
    })
}

fn link(name: &str, run: u64, seeds: &Seeds, rng: &mut Rng) -> Option<bool> {
    let mut program: Program = rng.choose(&seeds.programs)?.clone();
    let victim = rng.below(program.objects.len());
    let other = rng.choose(&seeds.cubins)?;
    let bytes = damage(&program.objects[victim], other, rng);
    program.objects[victim] = bytes;
    note(name, run, &program.objects);
    Some(targets::link(&program, rng))
}

/// The panic hook runs before the process ends, also where panics abort.
fn save_on_panic(dir: PathBuf) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        usual(info);
        save(&dir);
    }));
}

fn save(dir: &Path) {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((label, files)) = current.as_ref() else { return };
    if std::fs::create_dir_all(dir).is_err() {
        return;
    }
    for (i, bytes) in files.iter().enumerate() {
        let path = dir.join(format!("{label}-{i}.bin"));
        match std::fs::write(&path, bytes) {
            Ok(()) => eprintln!("saved {}", path.display()),
            Err(e) => eprintln!("cannot save {}: {e}", path.display()),
        }
    }
}
