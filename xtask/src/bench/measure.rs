//! What a process costs: wall time, processor time and memory.
//!
//! 1. The task starts itself once more as a meter, which starts the program: the system reports how much memory the largest of all ended
//!    children took, so each program needs a parent of its own.
//! 2. The meter limits the processor time, waits, and prints the costs in one line. The wall time ends with the program; the other costs are also those
//!    of processes that outlive the program (a large link frees its memory in one): the meter becomes their parent and waits for them.
//! 3. The floor is a program too: it reads all inputs and writes as many bytes as the linker did, and nothing else.

use crate::system;
use culd_tests::{Error, Result};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// First argument of the meter.
const METER: &str = "meter";
/// First argument of the floor.
const FLOOR: &str = "floor";

/// What one run cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// Seconds.
    pub(super) wall: f64,
    /// Seconds of processor time, of all threads, in the program and in the system.
    pub(super) cpu: f64,
    /// Largest memory in megabytes.
    pub(super) memory: f64,
    pub(super) exit: i32,
    /// Pages that the system handed out on first use.
    pub(super) faults: f64,
}

/// Runs a program and says what it cost; it is ended after `limit` seconds of processor time.
pub(super) fn cost(program: &Path, args: &[String], dir: &Path, limit: u64) -> Result<Cost> {
    cost_on(program, args, dir, limit, 0)
}

/// Like [`cost`], on a machine of so many cores; 0 means all.
pub(super) fn cost_on(program: &Path, args: &[String], dir: &Path, limit: u64, cores: usize) -> Result<Cost> {
    let own = std::env::current_exe().map_err(Error::file("xtask"))?;
    let mut meter = Command::new(own);
    meter.arg(METER).arg(limit.to_string()).arg(cores.to_string());
    meter.arg(program).args(args).current_dir(dir);
    let line = crate::nvcc::good(&mut meter)?;
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    match numbers.as_slice() {
        &[wall, cpu, memory, exit, faults] => Ok(Cost {
            wall: wall / 1e6,
            cpu: cpu / 1e6,
            memory: memory * 1024.0 / 1e6,
            exit: exit as i32,
            faults,
        }),
        _ => Err(Error::Other(format!("the meter said: {line}"))),
    }
}

/// The least that a link can cost on so many cores (0: one thread, any core).
pub(super) fn floor(files: &[String], output: u64, dir: &Path, cores: usize) -> Result<Cost> {
    let own = std::env::current_exe().map_err(Error::file("xtask"))?;
    let mut args = vec![FLOOR.to_owned(), "floor.tmp".into(), output.to_string(), cores.max(1).to_string()];
    args.extend_from_slice(files);
    let runs: Vec<Cost> = (0..5).map(|_| cost_on(&own, &args, dir, 100, cores)).collect::<Result<_>>()?;
    let best = runs.into_iter().min_by(|a, b| a.wall.total_cmp(&b.wall));
    best.ok_or_else(|| Error::Other("the floor was not measured".into()))
}

/// Does the work of the meter or the floor if that is what this process was started for.
pub(crate) fn inner() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let work: fn(Vec<OsString>) -> std::io::Result<()> = match args.next()?.to_str()? {
        METER => meter,
        FLOOR => read_and_write,
        _ => return None,
    };
    let done = work(args.collect());
    if let Err(e) = &done {
        eprintln!("{e}");
    }
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn usage() -> std::io::Error {
    std::io::Error::other("wrong arguments")
}

fn meter(args: Vec<OsString>) -> std::io::Result<()> {
    let [limit, cores, program, rest @ ..] = args.as_slice() else {
        return Err(usage());
    };
    let number = |text: &OsString| text.to_str().and_then(|t| t.parse::<u64>().ok()).ok_or_else(usage);
    let (limit, cores) = (number(limit)?, number(cores)?);
    system::limit_time(limit)?;
    if cores > 0 {
        system::stay_on(cores as usize)?;
    }
    system::adopt_orphans()?;
    let mut command = Command::new(program);
    command.args(rest).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let wall = start.elapsed();
    system::wait_for_orphans()?;
    let used = system::costs()?;
    println!(
        "{} {} {} {} {}",
        wall.as_micros(),
        used.cpu,
        used.memory,
        status.code().unwrap_or(-1),
        used.faults
    );
    Ok(())
}

fn read_and_write(args: Vec<OsString>) -> std::io::Result<()> {
    let [output, size, threads, inputs @ ..] = args.as_slice() else {
        return Err(usage());
    };
    let number = |text: &OsString| text.to_str().and_then(|t| t.parse::<usize>().ok()).ok_or_else(usage);
    let (mut left, threads) = (number(size)?, number(threads)?.max(1));
    let read = |inputs: &[OsString]| -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 20];
        for input in inputs {
            let mut file = std::fs::File::open(input)?;
            while file.read(&mut buffer)? > 0 {}
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let mut shares = inputs.chunks(inputs.len().div_ceil(threads).max(1));
        let own = shares.next().unwrap_or_default();
        let others: Vec<_> = shares.map(|share| scope.spawn(|| read(share))).collect();
        let done = read(own);
        others.into_iter().try_fold(done?, |(), other| other.join().map_err(|_| usage())?)
    })?;
    let buffer = vec![0; 1 << 20];
    let mut file = std::fs::File::create(output)?;
    while left > 0 {
        let part = left.min(buffer.len());
        file.write_all(buffer.get(..part).unwrap_or_default())?;
        left -= part;
    }
    Ok(())
}
