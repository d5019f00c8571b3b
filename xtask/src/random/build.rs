//! Compiles the files of a scenario.
//!
//! 1. Each module is compiled by the oracle's ptxas or by one of another toolkit, then perhaps changed ([`super::patch`]).
//! 2. Further files follow: unified functions and variables, C++ sources, a module with many sections, host objects.
//! 3. Every file gets tags, the dimensions under which links with it are counted.
//!
//! Objects are kept in `target/random/cubins` under a hash of what they were made from, so that a repeated run is quick. An empty file there says
//! that the compiler refused.

use super::cxx::Sources;
use super::module;
use super::unified::Tables;
use super::variety::{ModuleVariety, cxx_file};
use super::{Job, patch};
use crate::context::Context;
use crate::nvcc::good;
use crate::oracle::{self, Toolkit};
use culd_tests::fixture::VERSION_VARIABLE;
use culd_tests::{Error, Result};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Dimensions of each file.
pub(crate) type Tags = BTreeMap<String, BTreeSet<String>>;

/// Host objects of the runtime dimension, in `tests/nvcc`.
const HOST_SOURCES: [&str; 3] = ["parent", "child", "scale"];

/// Which other toolkits compile modules.
#[derive(Debug, Clone)]
pub(crate) enum Selection {
    /// Those that the list marks.
    Default,
    /// All of the list.
    All,
    /// These versions.
    Named(Vec<String>),
}

impl Selection {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "default" => Self::Default,
            "all" => Self::All,
            "none" => Self::Named(Vec::new()),
            list => Self::Named(list.split(',').map(str::to_owned).collect()),
        }
    }

    fn has(&self, toolkit: Toolkit) -> bool {
        match self {
            Self::Default => toolkit.is_default,
            Self::All => true,
            Self::Named(list) => list.iter().any(|v| v == toolkit.version),
        }
    }
}

/// Everything that compiles.
pub(crate) struct Compilers {
    pub(crate) tools: PathBuf,
    cache: PathBuf,
    /// Highest PTX version of the oracle, where it is not that of the generator.
    ptx: Option<&'static str>,
    toolkits: Vec<(Toolkit, PathBuf)>,
    pub(crate) sources: Sources,
    host_sources: PathBuf,
    host_objects: PathBuf,
}

/// One compilation.
struct Unit<'a> {
    /// File name without its end.
    stem: &'a str,
    text: &'a str,
    arch: &'a str,
    flags: Vec<&'a str>,
}

/// Text of a compiler that refuses.
pub(crate) type Complaint = String;

impl Compilers {
    pub(crate) fn new(context: &Context, selection: &Selection) -> Result<Self> {
        let root = context.root.join("target/random");
        let (cache, host_objects) = (root.join("cubins"), root.join("host"));
        for dir in [&cache, &host_objects] {
            std::fs::create_dir_all(dir).map_err(Error::file(dir))?;
        }
        let tools = oracle::bin_dir(context)?;
        let (known, releases) = (oracle::toolkits(), oracle::releases().collect::<Vec<_>>());
        if let Selection::Named(list) = selection
            && let Some(unknown) = list.iter().find(|v| !known.iter().chain(&releases).any(|t| t.version == **v))
        {
            return Err(Error::Other(format!("xtask/toolkits.txt has no version {unknown}")));
        }
        let wanted = known.into_iter().filter(|t| selection.has(*t));
        let mut toolkits: Vec<_> = wanted.map(|t| Ok((t, oracle::ptxas(context, &tools, t)?))).collect::<Result<_>>()?;
        if let Selection::Named(list) = selection {
            for toolkit in releases.into_iter().filter(|t| list.iter().any(|v| v == t.version)) {
                let ptxas = oracle::release(context, toolkit.version)?.join("ptxas");
                toolkits.push((toolkit, ptxas));
            }
        }
        Ok(Self {
            sources: Sources::new(context)?,
            tools,
            cache,
            ptx: oracle_ptx(),
            toolkits,
            host_sources: context.root.join("tests/nvcc"),
            host_objects,
        })
    }

    /// With every compiler that is known, those of all releases of CUDA 13 included.
    pub(crate) fn mixed(context: &Context) -> Result<Self> {
        let mut compilers = Self::new(context, &Selection::All)?;
        for toolkit in oracle::releases() {
            let ptxas = oracle::release(context, toolkit.version)?.join("ptxas");
            compilers.toolkits.push((toolkit, ptxas));
        }
        Ok(compilers)
    }

    /// Whether the oracle is nvJitLink in nvlink's place (`xtask/jitlink.py`): its texts are not nvlink's.
    pub(crate) fn is_library(&self) -> bool {
        self.tools.join(oracle::LIBRARY).exists()
    }

    /// Writes and compiles the files of a scenario into `dir`. Gives the dimensions of each, or a compiler's complaint.
    pub(crate) fn scenario(&self, job: &Job, dir: &Path) -> Result<std::result::Result<Tags, Complaint>> {
        std::fs::create_dir_all(dir).map_err(Error::file(dir))?;
        let mut rng = job.sources.clone();
        let mut tags = Tags::new();
        for (index, variety) in job.variety.modules.iter().enumerate() {
            let source = module::write(&job.scenario, index, &mut rng.fork());
            let stem = format!("m{index}");
            let unit = Unit {
                stem: &stem,
                text: &source.text,
                arch: &source.arch,
                flags: source.flags.clone(),
            };
            // a directory given on the command line may lack the old ptxas: the module is then one more of the new form
            let old = source.old.then(|| oracle::old_ptxas(&self.tools)).flatten();
            match self.module(&unit, variety, old.as_deref(), dir)? {
                Ok(found) => tags.insert(format!("{stem}.cubin"), found),
                Err(complaint) => return Ok(Err(complaint)),
            };
        }
        Ok(self.further(job, dir, &mut tags)?.map_or(Ok(tags), Err))
    }

    /// The files that are not modules of the scenario.
    fn further(&self, job: &Job, dir: &Path, tags: &mut Tags) -> Result<Option<Complaint>> {
        let (variety, arch) = (&job.variety, &job.scenario.arch);
        let one = |tag: &str| BTreeSet::from([tag.to_owned()]);
        if let Some(tables) = &variety.unified {
            tables.write_indices(dir)?;
            for (file, text) in Tables::files().into_iter().zip(tables.sources(arch)) {
                let stem = file.trim_end_matches(".cubin");
                let unit = Unit {
                    stem,
                    text: &text,
                    arch,
                    flags: Vec::new(),
                };
                if let Err(complaint) = self.compile(&unit, &self.tools.join("ptxas"), dir)? {
                    return Ok(Some(complaint));
                }
                tags.insert(file, one("unified functions and variables"));
            }
        }
        for (index, (flavour, module)) in variety.cxx.iter().enumerate() {
            let name = self.sources.name(variety.first_source, index);
            match self.program(name, *flavour, arch, module, &cxx_file(index), dir)? {
                Ok(found) => tags.insert(cxx_file(index), found),
                Err(complaint) => return Ok(Some(complaint)),
            };
        }
        if let Some(count) = variety.many {
            let text = many(arch, count);
            let unit = Unit {
                stem: "many",
                text: &text,
                arch,
                flags: Vec::new(),
            };
            if let Err(complaint) = self.compile(&unit, &self.tools.join("ptxas"), dir)? {
                return Ok(Some(complaint));
            }
            tags.insert("many.cubin".into(), one("many sections"));
        }
        if variety.runtime {
            self.runtime(arch, dir)?;
            tags.insert("parent.o".into(), one("host objects with libcudadevrt"));
        }
        Ok(None)
    }

    /// Compiles the object `file` of a C++ source.
    pub(crate) fn program(
        &self,
        name: &str,
        flavour: super::cxx::Flavour,
        arch: &str,
        variety: &ModuleVariety,
        file: &str,
        dir: &Path,
    ) -> Result<std::result::Result<BTreeSet<String>, Complaint>> {
        let text = self.sources.ptx(&self.tools, name, flavour)?;
        // nvcc names the oldest architecture; the code is the same for any
        let text = text.replacen(".target sm_75", &format!(".target {arch}"), 1);
        let unit = Unit {
            stem: file.trim_end_matches(".cubin"),
            text: &text,
            arch,
            flags: flavour.ptxas_flags().to_vec(),
        };
        let tags = self.module(&unit, variety, None, dir)?;
        Ok(tags.map(|mut tags| {
            tags.retain(|t| t != "ptxas -g");
            tags.insert(flavour.tag().to_owned());
            tags
        }))
    }

    /// Compiles a module and changes it. An older ptxas that refuses it is tried without flags, then the oracle's takes its place.
    fn module(
        &self,
        unit: &Unit<'_>,
        variety: &ModuleVariety,
        old: Option<&Path>,
        dir: &Path,
    ) -> Result<std::result::Result<BTreeSet<String>, Complaint>> {
        let mut tags = BTreeSet::new();
        let toolkit = variety.toolkit.filter(|_| old.is_none()).and_then(|n| self.pick(n, unit.arch));
        let mut made = false;
        if let Some((toolkit, ptxas)) = toolkit {
            let (arch, text) = lowered(unit, *toolkit);
            for flags in [unit.flags.clone(), Vec::new()] {
                let attempt = Unit {
                    text: &text,
                    arch: &arch,
                    flags,
                    ..*unit
                };
                made = made || self.compile(&attempt, ptxas, dir)?.is_ok();
            }
            if made {
                tags.insert(format!("ptxas {}", toolkit.version));
            }
        }
        if !made {
            let ptxas = old.map_or_else(|| self.tools.join("ptxas"), Path::to_owned);
            if variety.whole_program && old.is_none() {
                // refused where the address of a function is taken
                let flags = unit.flags.iter().copied().chain(["-ewp"]).collect();
                made = self.compile(&Unit { flags, ..*unit }, &ptxas, dir)?.is_ok();
                tags.extend(made.then(|| "ptxas -ewp".to_owned()));
            }
            if !made && let Err(complaint) = self.compile(unit, &ptxas, dir)? {
                return Ok(Err(format!("{}: {complaint}", unit.stem)));
            }
            tags.extend(old.map(|_| "ptxas 12.9.86".to_owned()));
            let named = |flag: &str| unit.flags.contains(&flag).then(|| format!("ptxas {flag}"));
            tags.extend(["-g", "-lineinfo"].into_iter().filter_map(named));
        }
        self.patch(&dir.join(format!("{}.cubin", unit.stem)), variety, &mut tags)?;
        Ok(Ok(tags))
    }

    fn patch(&self, object: &Path, variety: &ModuleVariety, tags: &mut BTreeSet<String>) -> Result<()> {
        for (kind, rng) in &variety.patches {
            let bytes = std::fs::read(object).map_err(Error::file(object))?;
            if let Some(changed) = patch::apply(&bytes, *kind, &mut rng.clone()) {
                std::fs::write(object, changed).map_err(Error::file(object))?;
                tags.insert(kind.tag().to_owned());
            }
        }
        Ok(())
    }

    /// The text of a module with the highest PTX version of an oracle of CUDA 12.
    fn own_version<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(own) = &self.ptx else { return text.into() };
        let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
        match head.starts_with(".version ") {
            true => format!(".version {own}\n{rest}").into(),
            false => text.into(),
        }
    }

    /// A toolkit that supports the architecture.
    fn pick(&self, number: usize, arch: &str) -> Option<&(Toolkit, PathBuf)> {
        let able: Vec<_> = self.toolkits.iter().filter(|(t, _)| supports(t.version, arch)).collect();
        // nvlink refuses sm_90 objects of CUDA 11: seldom enough
        let newer: Vec<_> = able.iter().filter(|(t, _)| !t.version.starts_with("11.")).copied().collect();
        let list = if module::number(arch) >= 90 && !number.is_multiple_of(16) {
            newer
        } else {
            able
        };
        list.get(number.checked_rem(list.len())?).copied()
    }

    /// Compiles one file, or takes it from an earlier run.
    fn compile(&self, unit: &Unit<'_>, ptxas: &Path, dir: &Path) -> Result<std::result::Result<(), Complaint>> {
        let (ptx, cubin) = (format!("{}.ptx", unit.stem), format!("{}.cubin", unit.stem));
        let (source, object) = (dir.join(&ptx), dir.join(&cubin));
        let text = match ptxas.starts_with(&self.tools) {
            true => self.own_version(unit.text),
            false => unit.text.into(),
        };
        let unit = &Unit {
            text: &text,
            flags: unit.flags.clone(),
            ..*unit
        };
        std::fs::write(&source, unit.text).map_err(Error::file(&source))?;
        let flags = unit.flags.join(" ");
        let cached = self
            .cache
            .join(hash(&[unit.text, unit.arch, &flags, unit.stem, &ptxas.to_string_lossy()]));
        match std::fs::copy(&cached, &object) {
            Ok(0) => return Ok(Err("refused in an earlier run".to_owned())),
            Ok(_) => return Ok(Ok(())),
            Err(_) => {}
        }
        let out = Command::new(ptxas)
            .arg(format!("-arch={}", unit.arch))
            // ptxas ignores -ewp beside this
            .args((!unit.flags.contains(&"-ewp")).then_some("--compile-only"))
            .args(&unit.flags)
            .args([&ptx, "-o", &cubin])
            .current_dir(dir)
            .output()
            .map_err(|source| Error::Start {
                tool: "ptxas".into(),
                source,
            })?;
        // rename is atomic: another thread or run may look at the same time
        let temporary = cached.with_extension(std::process::id().to_string());
        if out.status.success() {
            std::fs::copy(&object, &temporary).map_err(Error::file(&temporary))?;
        } else {
            std::fs::write(&temporary, []).map_err(Error::file(&temporary))?;
        }
        std::fs::rename(&temporary, &cached).map_err(Error::file(&cached))?;
        Ok(match out.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&out.stderr).into_owned()),
        })
    }

    /// Host objects that start kernels from kernels, and the library that they need.
    fn runtime(&self, arch: &str, dir: &Path) -> Result<()> {
        for source in HOST_SOURCES {
            let object = self.host_objects.join(format!("{source}-{arch}.o"));
            if !object.exists() {
                let temporary = self.host_objects.join(format!("{source}-{arch}.{}.o", std::process::id()));
                let mut nvcc = Command::new(self.tools.join("nvcc"));
                nvcc.arg("-dc")
                    .arg(format!("-arch={arch}"))
                    .arg(format!("{source}.cu"))
                    .arg("-o")
                    .arg(&temporary);
                good(nvcc.current_dir(&self.host_sources))?;
                std::fs::rename(&temporary, &object).map_err(Error::file(&object))?;
            }
            std::fs::copy(&object, dir.join(format!("{source}.o"))).map_err(Error::file(&object))?;
        }
        let library = oracle::device_runtime(&self.tools)?;
        std::fs::copy(&library, dir.join("libcudadevrt.a")).map_err(Error::file(library))?;
        Ok(())
    }
}

/// The highest PTX version of the release that culd acts as, if it is in the list of toolkits.
pub(crate) fn oracle_ptx() -> Option<&'static str> {
    let version = std::env::var(VERSION_VARIABLE).ok()?;
    let minor = |v: &str| v.rsplit_once('.').map(|(minor, _)| minor.to_owned());
    let own = oracle::toolkits().into_iter().find(|t| minor(t.version) == minor(&version));
    own.map(|t| t.ptx)
}

/// Whether ptxas of a toolkit can compile for an architecture.
fn supports(version: &str, arch: &str) -> bool {
    let mut words = version.split('.').map_while(|w| w.parse::<u32>().ok());
    let version = (words.next().unwrap_or(0), words.next().unwrap_or(0));
    let least = match (module::number(arch), arch.chars().last()) {
        (88, _) => return false,
        (103 | 121, _) | (100.., Some('f')) => (12, 9),
        (100.., _) => (12, 8),
        (_, Some('a')) => (12, 0),
        (89.., _) => (11, 8),
        _ => (11, 0),
    };
    version >= least
}

/// Architecture and text for a toolkit: CUDA 12 has another name for sm_110.
fn lowered(unit: &Unit<'_>, toolkit: Toolkit) -> (String, String) {
    if toolkit.version.starts_with("13.") {
        return (unit.arch.to_owned(), unit.text.to_owned());
    }
    let arch = unit.arch.replace("sm_110", "sm_101");
    let text = unit.text.replacen(".version 9.0", &format!(".version {}", toolkit.ptx), 1);
    (arch, text.replacen(".target sm_110", ".target sm_101", 1))
}

/// A module with many tiny functions and kernels, some of which call or name others.
fn many(arch: &str, count: usize) -> String {
    let mut text = format!(".version 9.0\n.target {arch}\n.address_size 64\n");
    for i in 0..count {
        text.push_str(&match i % 4 {
            0 => format!(".visible .entry many_k{i} () {{ ret; }}\n"),
            1 => format!(".visible .func many_f{i} () {{ ret; }}\n"),
            2 => format!(".func many_s{i} () {{ ret; }}\n.visible .global .u64 many_p{i} = many_s{i};\n"),
            _ => format!(".weak .entry many_w{i} () {{ call many_f{}; ret; }}\n", i - 2),
        });
    }
    text
}

/// A name for what some texts make together: FNV-1a in 128 bits. It names cache entries and nothing else.
fn hash(parts: &[&str]) -> String {
    let mut h: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in parts.iter().flat_map(|p| p.bytes().chain([0])) {
        h = (h ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("{h:032x}")
}

#[cfg(test)]
mod tests {
    use super::supports;

    #[test]
    fn toolkits_support_the_architectures_of_their_time() {
        let all = |arch: &str| -> Vec<&str> {
            crate::oracle::toolkits()
                .into_iter()
                .map(|t| t.version)
                .filter(|v| supports(v, arch))
                .collect()
        };
        assert_eq!(all("sm_75").len(), 11);
        assert_eq!(all("sm_88").len(), 0);
        assert_eq!(all("sm_90").first(), Some(&"11.8.89"));
        assert_eq!(all("sm_90a").first(), Some(&"12.0.140"));
        assert_eq!(all("sm_100"), ["12.8.93", "12.9.86"]);
        assert_eq!(all("sm_110"), ["12.8.93", "12.9.86"]);
        assert_eq!(all("sm_100f"), ["12.9.86"]);
        assert_eq!(all("sm_121"), ["12.9.86"]);
    }
}
