//! C++ programs: the sources of `tests/cxx`, compiled by nvcc in several ways and linked in random subsets.
//!
//! 1. Every source becomes PTX once per [`Flavour`], in `target/cxx`; ptxas compiles it for each architecture that a link needs.
//! 2. Each link chooses an architecture, a subset (nearly always with `core.cu`, which the others refer to), a flavour per file and options.
//!
//! Random scenarios have such objects among their inputs, too.

use super::build::Compilers;
use super::links;
use super::variety::ModuleVariety;
use super::{Plan, Session};
use crate::context::{Context, Linker};
use crate::report::{Report, parallel};
use culd_tests::rng::Rng;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the compiler writes beside the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Plain,
    /// `-lineinfo`
    Lines,
    /// `-G`
    Debug,
}

/// Architectures of the C++ programs unless others are named.
pub(crate) const ARCHS: &str = "sm_80,sm_90,sm_100,sm_120";

/// The source that the others refer to.
const CORE: &str = "core";

/// All flavours.
pub(crate) const FLAVOURS: [Flavour; 3] = [Flavour::Plain, Flavour::Lines, Flavour::Debug];

impl Flavour {
    fn label(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Lines => "lines",
            Self::Debug => "debug",
        }
    }

    /// The dimension in the summary.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::Plain => "C++",
            Self::Lines => "C++ -lineinfo",
            Self::Debug => "C++ -G",
        }
    }

    fn nvcc_flag(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Lines => Some("-lineinfo"),
            Self::Debug => Some("-G"),
        }
    }

    /// What nvcc passes to ptxas.
    pub(crate) fn ptxas_flags(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &[],
            Self::Lines => &["--generate-line-info"],
            Self::Debug => &["-g", "--dont-merge-basicblocks", "--return-at-end"],
        }
    }
}

/// The C++ sources and where their PTX is kept.
pub(crate) struct Sources {
    dir: PathBuf,
    texts: PathBuf,
    names: Vec<String>,
}

impl Sources {
    pub(crate) fn new(context: &Context) -> Result<Self> {
        let (dir, texts) = (context.root.join("tests/cxx"), context.root.join("target/cxx"));
        std::fs::create_dir_all(&texts).map_err(Error::file(&texts))?;
        let names = source_names(&dir)?;
        Ok(Self { dir, texts, names })
    }

    /// Source `index` of a program: the first is the one that the others refer to, the next follow each other in the list from any number on.
    pub(crate) fn name(&self, first: usize, index: usize) -> &str {
        let others: Vec<&String> = self.names.iter().filter(|n| *n != CORE).collect();
        let at = index.checked_sub(1).and_then(|i| (first + i).checked_rem(others.len()));
        at.and_then(|at| others.get(at)).map_or(CORE, |n| n)
    }

    /// The PTX of a source. It is compiled unless a text newer than it and its header is there.
    pub(crate) fn ptx(&self, tools: &Path, name: &str, flavour: Flavour) -> Result<String> {
        let source = self.dir.join(format!("{name}.cu"));
        let text = self.texts.join(format!("{name}-{}.ptx", flavour.label()));
        let time = |p: &Path| std::fs::metadata(p).and_then(|m| m.modified()).ok();
        let newest = time(&source).max(time(&self.dir.join("shapes.h")));
        if time(&text) <= newest {
            // another thread or run may need the same
            let temporary = text.with_extension(format!("{}-{:?}.ptx", std::process::id(), std::thread::current().id()));
            self.compile(tools, name, flavour, &temporary)?;
            std::fs::rename(&temporary, &text).map_err(Error::file(&text))?;
        }
        std::fs::read_to_string(&text).map_err(Error::file(text))
    }

    fn compile(&self, tools: &Path, name: &str, flavour: Flavour, output: &Path) -> Result<()> {
        // from the directory of the sources, with a relative name: nvcc writes the name into the object
        let out = Command::new(tools.join("nvcc"))
            .args(["-rdc=true", "-ptx", "--extended-lambda", "-arch=compute_75"])
            .args(flavour.nvcc_flag())
            .arg(format!("{name}.cu"))
            .arg("-o")
            .arg(output)
            .current_dir(&self.dir)
            .output()
            .map_err(|source| Error::Start {
                tool: "nvcc".into(),
                source,
            })?;
        if out.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        Err(Error::Tool {
            tool: format!("nvcc {name}.cu"),
            status: out.status.to_string(),
            text,
        })
    }
}

/// Runs `plan.count` links of random subsets into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let compilers = Compilers::new(context, &plan.toolkits)?;
    let names = &compilers.sources.names;
    let wanted: Vec<(&String, Flavour)> = names.iter().flat_map(|n| FLAVOURS.map(|f| (n, f))).collect();
    parallel(&wanted, plan.jobs, |(name, flavour)| {
        if let Err(e) = compilers.sources.ptx(&compilers.tools, name, *flavour) {
            report.named(&format!("compile {name}.cu"), Some(&e.to_string()));
        }
    });
    let session = Session::new(&compilers, linker, plan, report, context.root.join("target/random"));
    let seeds: Vec<u64> = (0..plan.count as u64).map(|i| plan.seed + i).collect();
    parallel(&seeds, plan.jobs, |&seed| {
        if let Err(e) = one(&session, seed) {
            report.named(&format!("program {seed}"), Some(&e.to_string()));
        }
    });
    session.summary(&format!("{} C++ programs from {} sources", seeds.len(), names.len()));
    Ok(())
}

fn source_names(dir: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(dir).map_err(Error::file(dir))?;
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter_map(|n| n.strip_suffix(".cu").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

fn one(session: &Session<'_>, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let names = &session.compilers.sources.names;
    let arch = &session.plan.archs[rng.fork().below(session.plan.archs.len())];
    // one flavour for all, or one for each file
    let common = if rng.chance(60) { Some(rng.pick(FLAVOURS)) } else { None };
    let has_toolkits = rng.chance(25);
    let k = rng.between(1, names.len());
    let mut chosen: Vec<&String> = rng.sample(names.len(), k).into_iter().map(|i| &names[i]).collect();
    if rng.chance(90) {
        chosen.retain(|n| *n != CORE);
        chosen.extend(names.iter().filter(|n| *n == CORE));
    }
    rng.shuffle(&mut chosen);
    let dir: PathBuf = session.directory(arch, seed);
    std::fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    let mut tags = super::build::Tags::new();
    for name in chosen {
        let flavour = common.unwrap_or_else(|| rng.pick(FLAVOURS));
        let variety = ModuleVariety {
            toolkit: (has_toolkits && rng.chance(50)).then(|| rng.below(1 << 16)),
            ..ModuleVariety::default()
        };
        let file = format!("{name}.cubin");
        match session.compilers.program(name, flavour, arch, &variety, &file, &dir)? {
            Ok(found) => tags.insert(file, found),
            Err(text) => return Err(Error::Other(format!("ptxas {name}: {text}"))),
        };
    }
    let mut files: Vec<String> = tags.keys().cloned().collect();
    rng.shuffle(&mut files);
    let link = links::any(&mut rng, arch, &files);
    let name = format!("program {seed} {arch}");
    let repeat = format!("cargo xtask cxx --seed {seed} --count 1 --arch {arch}{}", session.plan.suffix());
    let same = session.link(&name, &repeat, &format!("cxx-{seed}"), &link, &dir, &mut tags)?;
    session.leave(&dir, same)
}
