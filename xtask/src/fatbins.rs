//! `cargo xtask fatbins`: which entry of a fat binary is linked.
//!
//! 1. Every entry is one empty kernel named after its place, so that the output says which one was taken. Code is compiled once for each
//!    architecture and place and kept in `target/fatbins`; PTX is left to the linkers; the LTO entry is one file that nvcc makes.
//! 2. A container has one to five entries of random kinds and architectures, a way to store them, a target, and sometimes an option.
//! 3. Both linkers link it. Exit code, messages and bytes are compared, and so is the place that was taken.
//!
//! `cargo xtask pairs` links the objects of all architectures for all architectures.

use crate::context::{Context, Linker};
use crate::nvcc::{fresh, good};
use crate::oracle;
use crate::report::{Report, parallel};
use culd_tests::rng::Rng;
use culd_tests::run::{self, Outcome};
use culd_tests::verdict::compare;
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Every architecture that the tools support.
const ARCHS: [&str; 23] = [
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f", "110", "110a", "110f", "120", "120a",
    "120f", "121", "121a", "121f",
];
/// Parts of [`ARCHS`] to choose from: within one, more entries can be used for the target.
const POOLS: [std::ops::Range<usize>; 5] = [0..23, 0..8, 8..23, 8..14, 17..23];
/// Entries of a fat binary at most.
const MOST: usize = 5;
/// How entries are stored.
const STORED: [&str; 3] = ["none", "speed", "size"];

/// What to run.
pub(crate) struct Plan {
    /// Fat binaries.
    pub(crate) count: usize,
    /// Seed of the first one.
    pub(crate) seed: u64,
    /// Threads.
    pub(crate) jobs: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Ptx,
    Lto,
}

impl Kind {
    /// Its name for fatbinary.
    fn word(self) -> &'static str {
        match self {
            Self::Code => "elf",
            Self::Ptx => "ptx",
            Self::Lto => "nvvm",
        }
    }
}

/// One fat binary and the link that is given it.
struct RandomFatbin {
    entries: Vec<(Kind, &'static str)>,
    stored: &'static str,
    target: &'static str,
    options: &'static str,
}

impl RandomFatbin {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let pool = ARCHS.get(rng.pick(POOLS.each_ref()).clone()).unwrap_or(&ARCHS);
        let one = |rng: &mut Rng| rng.choose(pool).copied().unwrap_or("90");
        let target = one(&mut rng);
        let count = rng.between(1, MOST);
        let kinds = [Kind::Code, Kind::Code, Kind::Code, Kind::Ptx, Kind::Ptx, Kind::Lto];
        let entries = (0..count).map(|_| (rng.pick(kinds), one(&mut rng))).collect();
        Self {
            entries,
            stored: rng.pick(STORED),
            target,
            options: rng.pick(["", "", "", "", "", "-v", "-Werror", "-w", "-disable-infos"]),
        }
    }

    fn text(&self) -> String {
        let entries: Vec<String> = self.entries.iter().map(|(k, a)| format!("{} sm_{a}", k.word())).collect();
        format!("[{}] for sm_{} {}", entries.join(", "), self.target, self.options)
    }
}

/// Runs `plan.count` fat binaries into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let bench = Bench {
        tools: oracle::bin_dir(context)?,
        work: context.root.join("target/fatbins"),
        linker,
        taken: Mutex::default(),
    };
    std::fs::create_dir_all(&bench.work).map_err(Error::file(&bench.work))?;
    bench.make_lto()?;
    let places: Vec<(&str, usize)> = ARCHS.iter().flat_map(|a| (0..MOST).map(move |i| (*a, i))).collect();
    parallel(&places, plan.jobs, |(arch, place)| {
        if let Err(e) = bench.make(arch, *place) {
            report.named(&format!("compile an entry for sm_{arch}"), Some(&e.to_string()));
        }
    });
    let seeds: Vec<u64> = (0..plan.count as u64).map(|i| plan.seed + i).collect();
    parallel(&seeds, plan.jobs, |&seed| {
        let fatbin = RandomFatbin::new(seed);
        let failure = bench.compare(seed, &fatbin).unwrap_or_else(|e| Some(e.to_string()));
        let failure = failure.map(|why| format!("{}\n{why}\nrepeat: cargo xtask fatbins --seed {seed} --count 1", fatbin.text()));
        report.quiet(&format!("fatbin {seed}"), failure.as_deref());
    });
    let taken = bench.taken.lock().map_err(|e| Error::Other(e.to_string()))?;
    let parts: Vec<String> = taken.iter().map(|(k, n)| format!("{k} {n}")).collect();
    println!("{} fat binaries; taken by nvlink: {}", seeds.len(), parts.join(", "));
    Ok(())
}

/// Links one object of every architecture for every architecture: which linker accepts which object, and with which message.
pub(crate) fn run_pairs(context: &Context, linker: &Linker, jobs: usize, report: &Report) -> Result<()> {
    let bench = Bench {
        tools: oracle::bin_dir(context)?,
        work: context.root.join("target/fatbins"),
        linker,
        taken: Mutex::default(),
    };
    std::fs::create_dir_all(&bench.work).map_err(Error::file(&bench.work))?;
    for arch in ARCHS {
        bench.make(arch, 0)?;
    }
    let pairs: Vec<(&str, &str)> = ARCHS.iter().flat_map(|a| ARCHS.iter().map(move |b| (*a, *b))).collect();
    parallel(&pairs, jobs, |(object, target)| {
        let failure = bench.pair(object, target).unwrap_or_else(|e| Some(e.to_string()));
        report.quiet(&format!("object of sm_{object} for sm_{target}"), failure.as_deref());
    });
    println!("{} pairs of architectures", pairs.len());
    Ok(())
}

struct Bench<'a> {
    tools: PathBuf,
    work: PathBuf,
    linker: &'a Linker,
    /// What nvlink took, by kind: a test in which it takes nothing would show nothing.
    taken: Mutex<BTreeMap<&'static str, usize>>,
}

impl Bench<'_> {
    fn entry(&self, kind: Kind, arch: &str, place: usize) -> PathBuf {
        match kind {
            Kind::Code => self.work.join(format!("{arch}-{place}.cubin")),
            Kind::Ptx => self.work.join(format!("{arch}-{place}.ptx")),
            Kind::Lto => self.work.join("lto.ltoir"),
        }
    }

    /// The PTX and the code of one place for one architecture, unless they are there.
    fn make(&self, arch: &str, place: usize) -> Result<()> {
        let (ptx, code) = (self.entry(Kind::Ptx, arch, place), self.entry(Kind::Code, arch, place));
        if code.exists() {
            return Ok(());
        }
        let text = format!(".version 9.0\n.target sm_{arch}\n.address_size 64\n.visible .entry K_{place}()\n{{\n\tret;\n}}\n");
        std::fs::write(&ptx, text).map_err(Error::file(&ptx))?;
        let mut ptxas = Command::new(self.tools.join("ptxas"));
        ptxas
            .arg(format!("-arch=sm_{arch}"))
            .arg("--compile-only")
            .arg(&ptx)
            .arg("-o")
            .arg(&code);
        good(&mut ptxas).map(drop)
    }

    fn make_lto(&self) -> Result<()> {
        let file = self.entry(Kind::Lto, "", 0);
        if file.exists() {
            return Ok(());
        }
        let source = self.work.join("lto.cu");
        std::fs::write(&source, "__global__ void lto() {}\n").map_err(Error::file(&source))?;
        let mut nvcc = Command::new(self.tools.join("nvcc"));
        good(nvcc.args(["-dlto", "-arch=sm_80", "-ltoir"]).arg(source).arg("-o").arg(file)).map(drop)
    }

    fn compare(&self, seed: u64, fatbin: &RandomFatbin) -> Result<Option<String>> {
        let dir = fresh(&self.work.join(format!("{}-{seed}", std::process::id())))?;
        let mut fatbinary = Command::new(self.tools.join("fatbinary"));
        fatbinary
            .args(["-64", "-c", "--create=all.fatbin"])
            .arg(format!("--compress-mode={}", fatbin.stored));
        for (place, &(kind, arch)) in fatbin.entries.iter().enumerate() {
            let file = self.entry(kind, arch, place);
            fatbinary.arg(format!("--image3=kind={},sm={arch},file={}", kind.word(), file.display()));
        }
        good(fatbinary.current_dir(&dir))?;
        let args = format!("-arch=sm_{} {} all.fatbin -o out.cubin", fatbin.target, fatbin.options);
        let link = |tool: &Path| {
            let outcome = run::link(tool, &args, &dir, Some(&self.tools))?;
            for name in outcome.files.keys() {
                std::fs::remove_file(dir.join(name)).map_err(Error::file(dir.join(name)))?;
            }
            Ok::<_, Error>(outcome)
        };
        let want = link(&self.tools.join("nvlink"))?;
        let got = link(&self.linker.as_nvlink)?;
        self.count(fatbin, &want);
        let (a, b) = (taken(&got), taken(&want));
        let failure = match compare(&got, &want) {
            _ if a != b => Some(format!("took {a:?}, nvlink took {b:?}")),
            Some(difference) => Some(format!("{difference}\n{}", String::from_utf8_lossy(&want.stderr))),
            None => None,
        };
        if failure.is_none() {
            std::fs::remove_dir_all(&dir).map_err(Error::file(&dir))?;
        }
        Ok(failure)
    }

    /// Links the object of one architecture for another.
    fn pair(&self, object: &str, target: &str) -> Result<Option<String>> {
        let dir = fresh(&self.work.join(format!("{}-{object}-{target}", std::process::id())))?;
        let file = dir.join("in.cubin");
        std::fs::copy(self.entry(Kind::Code, object, 0), &file).map_err(Error::file(&file))?;
        let args = format!("-arch=sm_{target} in.cubin -o out.cubin");
        let want = run::link(&self.tools.join("nvlink"), &args, &dir, None)?;
        for name in want.files.keys() {
            std::fs::remove_file(dir.join(name)).map_err(Error::file(dir.join(name)))?;
        }
        let got = run::link(&self.linker.as_nvlink, &args, &dir, None)?;
        std::fs::remove_dir_all(&dir).map_err(Error::file(&dir))?;
        Ok(compare(&got, &want).map(|d| format!("{d}\n{}", String::from_utf8_lossy(&want.stderr))))
    }

    fn count(&self, fatbin: &RandomFatbin, nvlink: &Outcome) {
        let what = match taken(nvlink).first().and_then(|place| fatbin.entries.get(*place)) {
            Some((kind, _)) => kind.word(),
            None if nvlink.exit == 0 => "none",
            None => "refused",
        };
        if let Ok(mut taken) = self.taken.lock() {
            *taken.entry(what).or_default() += 1;
        }
    }
}

/// The places whose kernels are in the output.
fn taken(outcome: &Outcome) -> Vec<usize> {
    let Some(bytes) = outcome.files.get("out.cubin") else {
        return Vec::new();
    };
    let holds = |place: &usize| {
        let name = format!(".text.K_{place}");
        bytes.windows(name.len()).any(|w| w == name.as_bytes())
    };
    (0..MOST).filter(holds).collect()
}
