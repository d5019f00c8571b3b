//! Links under bad conditions: killed, out of space, elsewhere, with other numbers of threads. Each function repeats one kind of trial
//! and counts; the ordinary tests do a few, `cargo xtask fault-injection` does thousands.
//!
//! 1. [`kills`]: SIGKILL at a random moment. Afterwards the output is the old file or the new one.
//! 2. [`write_failures`]: a limit on the size of files stops the write somewhere. The output is the old file, no other file remains.
//! 3. [`truncations`]: an input is cut short while the link runs. The link fails or has its usual bytes.
//! 4. [`same_everywhere`]: threads, directories, locale, temporary directory, spelling of paths. One result.

use crate::fixture::{Fixture, Recorded};
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Counts by what happened.
pub type Counts = BTreeMap<&'static str, u64>;

/// A link that takes a while: one object has this many bytes of data.
const BYTES: u64 = 16 << 20;

/// A link in a directory of its own: its inputs, and what its output is before and after.
struct Bench {
    directory: tempfile::TempDir,
    linker: PathBuf,
    old: Vec<u8>,
    new: Vec<u8>,
    /// How long the whole link takes.
    time: Duration,
}

impl Bench {
    fn new(linker: &Path, bytes: u64) -> Result<Self> {
        let directory = tempfile::tempdir().map_err(Error::file("temporary directory"))?;
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("invalid/base");
        let (big, data) = (6400 + bytes, bytes);
        let text = format!(
            "base kernel.cubin\nwith helper.cubin\nfile.size = {big}\nsection[.nv.global.init].sh_offset = 6400\n\
             section[.nv.global.init].sh_size = {data}\nsymbol[table].st_size = {data}\n"
        );
        let recipe = Recipe::build(&text, &base)?;
        let write = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).map_err(Error::file(name));
        write(&recipe.name, &recipe.bytes)?;
        recipe.others.iter().try_for_each(|(name, bytes)| write(name, bytes))?;
        let mut bench = Bench {
            directory,
            linker: linker.to_owned(),
            old: b"the old file\n".to_vec(),
            new: Vec::new(),
            time: Duration::ZERO,
        };
        let start = Instant::now();
        let done = bench.command().status().map_err(Error::file(linker))?;
        bench.time = start.elapsed();
        if !done.success() {
            return Err(Error::Other(format!("the link fails by itself: {done}")));
        }
        bench.new = bench.output()?;
        Ok(bench)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("out.cubin")
    }

    fn output(&self) -> Result<Vec<u8>> {
        std::fs::read(self.path()).map_err(Error::file(self.path()))
    }

    /// The link, ready to start, with its output in place.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.linker);
        let words = ["-arch=sm_90", "kernel.cubin", "helper.cubin", "-o", "out.cubin"];
        command.args(words).current_dir(self.directory.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn start(&self) -> Result<Child> {
        std::fs::write(self.path(), &self.old).map_err(Error::file(self.path()))?;
        self.command().spawn().map_err(Error::file(&self.linker))
    }

    /// Files other than the inputs and the output.
    fn leftovers(&self) -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(self.directory.path()).map_err(Error::file(self.directory.path()))?;
        let names = ["kernel.cubin", "helper.cubin", "out.cubin"];
        let paths = entries.filter_map(|e| e.ok().map(|e| e.path()));
        Ok(paths.filter(|p| !names.iter().any(|n| p.ends_with(n))).collect())
    }

    /// Which file the output is.
    fn output_state(&self) -> Result<&'static str> {
        match self.output()? {
            bytes if bytes == self.old => Ok("old"),
            bytes if bytes == self.new => Ok("new"),
            bytes => Err(Error::Other(format!("a mixed output of {} bytes", bytes.len()))),
        }
    }
}

/// Kills `count` links at random times.
pub fn kills(linker: &Path, count: usize, seed: u64) -> Result<Counts> {
    let bench = Bench::new(linker, BYTES)?;
    let mut rng = Rng::new(seed);
    let mut counts = Counts::new();
    // Most of the moments are in the link, some after it.
    let span = (bench.time.as_micros() as usize).max(1) * 5 / 4;
    for _ in 0..count {
        let mut child = bench.start()?;
        std::thread::sleep(Duration::from_micros(rng.below(span) as u64));
        child.kill().map_err(Error::file("kill"))?;
        child.wait().map_err(Error::file("wait"))?;
        *counts.entry(bench.output_state()?).or_default() += 1;
        for left in bench.leftovers()? {
            *counts.entry("temporary file remains").or_default() += 1;
            std::fs::remove_file(&left).map_err(Error::file(left))?;
        }
    }
    Ok(counts)
}

/// Lets `count` links run into a limit on the size of files.
pub fn write_failures(linker: &Path, count: usize, seed: u64) -> Result<Counts> {
    let bench = Bench::new(linker, BYTES)?;
    let mut rng = Rng::new(seed);
    let mut counts = Counts::new();
    let blocks = bench.new.len() / 512;
    for i in 0..count {
        std::fs::write(bench.path(), &bench.old).map_err(Error::file(bench.path()))?;
        // Every second link gets an error, the others a signal.
        let trap = if i % 2 == 0 { "trap '' XFSZ; " } else { "" };
        let script = format!("{trap}ulimit -c 0; ulimit -f {}; exec \"$0\" \"$@\"", rng.below(blocks));
        let plain = bench.command();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(&bench.linker).args(plain.get_args());
        let out = shell.current_dir(bench.directory.path()).output().map_err(Error::file("sh"))?;
        if out.status.success() {
            return Err(Error::Other("success, although the output cannot have been written".into()));
        }
        if i % 2 == 0 && (out.status.code().is_none() || out.stderr.is_empty()) {
            return Err(Error::Other(format!("not an orderly end: {}", out.status)));
        }
        if bench.output_state()? != "old" {
            return Err(Error::Other("the old output was deleted".into()));
        }
        *counts.entry("old").or_default() += 1;
        for left in bench.leftovers()? {
            if i % 2 == 0 {
                return Err(Error::Other(format!("{} remains", left.display())));
            }
            std::fs::remove_file(&left).map_err(Error::file(left))?;
        }
    }
    Ok(counts)
}

/// Cuts an input short during `count` links.
pub fn truncations(linker: &Path, count: usize, bytes: u64, seed: u64) -> Result<Counts> {
    let bench = Bench::new(linker, bytes)?;
    let input = bench.directory.path().join("kernel.cubin");
    let sound = std::fs::read(&input).map_err(Error::file(&input))?;
    let mut rng = Rng::new(seed);
    let mut counts = Counts::new();
    let span = (bench.time.as_micros() as usize).max(1);
    for _ in 0..count {
        std::fs::write(&input, &sound).map_err(Error::file(&input))?;
        let mut child = bench.start()?;
        std::thread::sleep(Duration::from_micros(rng.below(span) as u64));
        let file = std::fs::File::options().write(true).open(&input).map_err(Error::file(&input))?;
        file.set_len(rng.below(sound.len()) as u64).map_err(Error::file(&input))?;
        let status = child.wait().map_err(Error::file("wait"))?;
        let what = match (status.code(), bench.output_state()?) {
            (Some(0), "new") => "linked before",
            (Some(1 | 255), "old") => "refused",
            (code, file) => return Err(Error::Other(format!("{status}, exit {code:?}, {file} output"))),
        };
        *counts.entry(what).or_default() += 1;
    }
    Ok(counts)
}

/// Numbers of threads that must not matter.
const THREADS: [usize; 5] = [1, 2, 3, 8, 64];

/// Does up to `most` links of each of `fixtures` with every number of threads in three directories; all results of a link have to be one.
/// Gives links and runs.
pub fn same_everywhere(linker: &Path, fixtures: &[PathBuf], most: usize) -> Result<(usize, usize)> {
    let (mut links, mut runs) = (0, 0);
    for path in fixtures {
        // The cases about damaged and doubtful inputs: nvlink takes them, culd does not.
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if ["bad-", "stress-", "lib-"].iter().any(|p| name.starts_with(p)) {
            continue;
        }
        let fixture = Fixture::decode(&std::fs::read(path).map_err(Error::file(path))?)?;
        let root = tempfile::tempdir().map_err(Error::file("temporary directory"))?;
        let inputs = root.path().join("a directory/in");
        std::fs::create_dir_all(&inputs).map_err(Error::file(&inputs))?;
        for (name, bytes) in &fixture.inputs {
            std::fs::write(inputs.join(name), bytes).map_err(Error::file(inputs.join(name)))?;
        }
        // Words in quotes are for a shell, which is not asked here. The path of an index file (--uidx-file=) is part of the output.
        let is_plain = |l: &&Recorded| l.outcome.exit == 0 && !l.args.contains('\'') && !l.args.contains("-uidx");
        let sound = fixture.links.iter().filter(is_plain);
        let mut commands: Vec<&str> = sound.map(|l| l.args.as_str()).collect();
        commands.dedup();
        for args in commands.into_iter().take(most) {
            let link = Link {
                linker,
                fixture: &fixture,
                args,
                inputs: &inputs,
                root: root.path(),
            };
            let done = link.same_everywhere(path)?;
            (links, runs) = (links + usize::from(done > 0), runs + done);
        }
    }
    if links == 0 {
        return Err(Error::Other("nothing was linked".into()));
    }
    Ok((links, runs))
}

/// A link that is done in several places.
struct Link<'a> {
    linker: &'a Path,
    fixture: &'a Fixture,
    args: &'a str,
    /// Directory of the inputs.
    inputs: &'a Path,
    /// Directory of everything.
    root: &'a Path,
}

impl Link<'_> {
    /// How often it was done. Never for what culd refuses on purpose (a library that is not found) and for links that need the output
    /// of another one: there is no result to compare.
    fn same_everywhere(&self, path: &Path) -> Result<usize> {
        if let Err(Error::Tool { .. }) = self.elsewhere(THREADS[0], 0) {
            return Ok(0);
        }
        let (mut reference, mut runs) = (None, 0);
        for threads in THREADS {
            for place in 0..3 {
                let got = self.elsewhere(threads, place)?;
                runs += 1;
                if *reference.get_or_insert_with(|| got.clone()) != got {
                    return Err(Error::Other(format!(
                        "{}: {}: another result with {threads} threads in place {place}",
                        path.display(),
                        self.args
                    )));
                }
            }
        }
        Ok(runs)
    }

    /// Links in one of three places: beside the inputs, from another directory by relative paths, by absolute paths through a link.
    fn elsewhere(&self, threads: usize, place: usize) -> Result<Vec<u8>> {
        let (linker, inputs, root) = (self.linker, self.inputs, self.root);
        let other = root.join("elsewhere");
        let linked = root.join("linked");
        std::fs::create_dir_all(&other).map_err(Error::file(&other))?;
        if !linked.exists() {
            std::os::unix::fs::symlink(inputs, &linked).map_err(Error::file(&linked))?;
        }
        let (directory, prefix): (&Path, PathBuf) = match place {
            0 => (inputs, PathBuf::new()),
            1 => (&other, "../a directory/in/.".into()),
            _ => (Path::new("/"), linked),
        };
        // With -g the name of the output, without its directory, is part of the output.
        let results = other.join(format!("{threads}-{place}"));
        std::fs::create_dir_all(&results).map_err(Error::file(&results))?;
        let output = results.join("out.cubin");
        let mut command = Command::new(linker);
        let mut words = self.args.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "-o" => {
                    words.next();
                    continue;
                }
                name if self.fixture.inputs.contains_key(name) => command.arg(prefix.join(name)),
                option => command.arg(option),
            };
        }
        command
            .arg("-o")
            .arg(&output)
            .arg(format!("--threads={threads}"))
            .current_dir(directory);
        command.env("LC_ALL", ["C", "de_DE.UTF-8", "tr_TR.UTF-8"][place]);
        command.env("TMPDIR", [Path::new("/tmp"), &other, root][place]);
        let out = command.output().map_err(Error::file(linker))?;
        if !out.status.success() {
            let text = String::from_utf8_lossy(&out.stderr).into_owned();
            return Err(Error::Tool {
                tool: format!("{command:?}"),
                status: out.status.to_string(),
                text,
            });
        }
        std::fs::read(&output).map_err(Error::file(&output))
    }
}

/// The recorded links.
pub fn fixtures() -> Result<Vec<PathBuf>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut list: Vec<PathBuf> = std::fs::read_dir(&directory)
        .map_err(Error::file(&directory))?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "fixture"))
        .collect();
    list.sort();
    Ok(list)
}
