//! A conformance case.
//!
//! A directory holds sources (`*.ptx`, `*.cu`), `cmd` (one line of linker arguments per link), `desc` (one line), and if needed
//! `build` (compiler flags per file, `*:` for all) and `build.sh` (made inputs; `$PATCH` is the script that changes one ELF field).
//!
//! 1. [`Case::load`] reads the directory.
//! 2. [`Case::build`] compiles its inputs into a work directory, once: the stamp holds the text of all sources.
//! 3. [`Case::links`] are run in order; a later one may use an earlier one's output.

use crate::run::search_path;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// One case, as it is in its directory.
#[derive(Debug, Clone)]
pub struct Case {
    /// Directory name.
    pub name: String,
    /// One line on what it shows.
    pub description: String,
    /// Arguments of each link, as shell words.
    pub links: Vec<String>,
    /// Where the sources are.
    pub source: PathBuf,
    flags: BTreeMap<String, String>,
    /// An architecture to take instead of the case's own.
    other_arch: Option<(String, String)>,
    /// PTX version to write into the sources.
    ptx: Option<String>,
}

impl Case {
    /// Reads the case in `source`.
    pub fn load(source: &Path) -> Result<Self> {
        let read = |name: &str| std::fs::read_to_string(source.join(name)).map_err(Error::file(source.join(name)));
        let links = read("cmd")?
            .lines()
            .filter(|l| !l.starts_with('#') && !l.trim().is_empty())
            .map(str::to_owned)
            .collect();
        let flags = read("build").unwrap_or_default();
        let flags = flags
            .lines()
            .filter_map(|l| l.split_once(':'))
            .map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()))
            .collect();
        Ok(Self {
            name: source.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            description: read("desc").unwrap_or_default().trim().to_owned(),
            links,
            source: source.to_owned(),
            flags,
            other_arch: None,
            ptx: None,
        })
    }

    /// All cases of a directory in name order, or those named.
    pub fn load_all(dir: &Path, names: &[String]) -> Result<Vec<Self>> {
        if !names.is_empty() {
            return names.iter().map(|n| Self::load(&dir.join(n))).collect();
        }
        let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
            .map_err(Error::file(dir))?
            .filter_map(|e| e.ok().map(|e| e.path()))
            .filter(|p| p.join("cmd").is_file())
            .collect();
        found.sort();
        found.iter().map(|p| Self::load(p)).collect()
    }

    /// The same case for another architecture: its name is taken wherever the case names its own.
    pub fn for_arch(&self, arch: &str) -> Self {
        let (old, new) = (self.arch().to_owned(), arch.to_owned());
        let links = self.links.iter().map(|l| renamed(l, &old, &new)).collect();
        let flags = self.flags.iter().map(|(k, v)| (k.clone(), renamed(v, &old, &new))).collect();
        Self {
            name: format!("{}-{arch}", self.name),
            links,
            flags,
            other_arch: Some((old, new)),
            ..self.clone()
        }
    }

    /// The architecture of the first link, for which sources are compiled.
    pub fn arch(&self) -> &str {
        let first = self.links.first().map_or("", String::as_str);
        first.split_whitespace().find_map(|w| w.strip_prefix("-arch=")).unwrap_or("sm_90")
    }

    /// The same case for compilers that know PTX up to this version.
    #[must_use]
    pub fn with_ptx(mut self, version: Option<&str>) -> Self {
        self.ptx = version.map(str::to_owned);
        self
    }

    /// Whether its inputs are compiled by nvcc.
    pub fn needs_nvcc(&self) -> Result<bool> {
        let script = std::fs::read_to_string(self.source.join("build.sh")).unwrap_or_default();
        Ok(script.contains("nvcc") || self.compiled_sources()?.iter().any(|(_, tool)| *tool == "nvcc"))
    }

    /// Compiles the inputs into `dir` with the tools on `path`, unless they are there already.
    ///
    /// A source that does not compile is left out, as the links may be about that.
    pub fn build(&self, dir: &Path, tools: &Path) -> Result<()> {
        let stamp = self.stamp(tools)?;
        let stamp_file = dir.with_extension("stamp");
        if std::fs::read(&stamp_file).is_ok_and(|s| s == stamp) {
            return Ok(());
        }
        fresh_copy(&self.source, dir)?;
        self.set_ptx(dir)?;
        for (source, tool) in self.compiled_sources()? {
            let stem = source.rsplit_once('.').map_or(source.as_str(), |(s, _)| s);
            let flags = self.flags.get(&source).or_else(|| self.flags.get("*")).map_or("", String::as_str);
            let line = match tool {
                "ptxas" => format!("ptxas -arch={} --compile-only {flags} {source} -o {stem}.cubin", self.arch()),
                _ => format!("nvcc -arch={} -rdc=true -cubin {flags} {source} -o {stem}.cubin", self.arch()),
            };
            self.shell(&line, dir, tools)?;
        }
        let script = dir.join("build.sh");
        if let (Some((old, new)), true) = (&self.other_arch, script.is_file()) {
            let text = std::fs::read_to_string(&script).map_err(Error::file(&script))?;
            std::fs::write(&script, renamed(&text, old, new)).map_err(Error::file(&script))?;
        }
        if script.is_file() {
            self.shell("sh -e ./build.sh", dir, tools)?;
        }
        std::fs::write(&stamp_file, stamp).map_err(Error::file(&stamp_file))
    }

    /// Writes the PTX version into the sources in `dir`.
    fn set_ptx(&self, dir: &Path) -> Result<()> {
        let Some(version) = &self.ptx else { return Ok(()) };
        for entry in std::fs::read_dir(dir).map_err(Error::file(dir))? {
            let path = entry.map_err(Error::file(dir))?.path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let own = |line: &str| match line.starts_with(".version ") {
                true => format!(".version {version}\n"),
                false => format!("{line}\n"),
            };
            if text.lines().any(|l| l.starts_with(".version ")) {
                std::fs::write(&path, text.lines().map(own).collect::<String>()).map_err(Error::file(&path))?;
            }
        }
        Ok(())
    }

    fn compiled_sources(&self) -> Result<Vec<(String, &'static str)>> {
        let mut out = Vec::new();
        for entry in std::fs::read_dir(&self.source).map_err(Error::file(&self.source))? {
            let name = entry.map_err(Error::file(&self.source))?.file_name().to_string_lossy().into_owned();
            match name.rsplit_once('.').map(|(_, e)| e) {
                Some("ptx") => out.push((name, "ptxas")),
                Some("cu") => out.push((name, "nvcc")),
                _ => {}
            }
        }
        out.sort();
        Ok(out)
    }

    fn shell(&self, line: &str, dir: &Path, tools: &Path) -> Result<()> {
        let patch = crate::cases_dir().join("patch.py");
        let path = search_path(tools)?;
        let out = Command::new("sh")
            .args(["-c", line])
            .current_dir(dir)
            .env("PATH", path)
            .env("PATCH", patch)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .map_err(|source| Error::Start {
                tool: line.to_owned(),
                source,
            })?;
        if out.status.code() == Some(127) {
            let text = String::from_utf8_lossy(&out.stderr).into_owned();
            return Err(Error::Tool {
                tool: line.to_owned(),
                status: out.status.to_string(),
                text,
            });
        }
        Ok(())
    }

    /// The compilers' directory, and every source with its name: a change means a new build.
    fn stamp(&self, tools: &Path) -> Result<Vec<u8>> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.source)
            .map_err(Error::file(&self.source))?
            .filter_map(|e| e.ok().map(|e| e.path()))
            .collect();
        files.sort();
        let mut out = tools.as_os_str().as_encoded_bytes().to_vec();
        out.push(0);
        out.extend(self.ptx.iter().flat_map(|v| v.bytes()));
        out.push(0);
        for file in files
            .iter()
            .filter(|f| f.is_file() && !f.ends_with("expect") && !f.ends_with("desc"))
        {
            out.extend_from_slice(file.file_name().unwrap_or_default().as_encoded_bytes());
            out.push(0);
            out.extend(std::fs::read(file).map_err(Error::file(file))?);
        }
        Ok(out)
    }
}

/// Makes `dst` an exact copy of the plain files in `src`.
pub fn fresh_copy(src: &Path, dst: &Path) -> Result<()> {
    if dst.exists() {
        std::fs::remove_dir_all(dst).map_err(Error::file(dst))?;
    }
    std::fs::create_dir_all(dst).map_err(Error::file(dst))?;
    for entry in std::fs::read_dir(src).map_err(Error::file(src))? {
        let from = entry.map_err(Error::file(src))?.path();
        if from.is_file() {
            let to = dst.join(from.file_name().unwrap_or_default());
            std::fs::copy(&from, &to).map_err(Error::file(&from))?;
            // an old time: a file that is written again at once must not look untouched on a coarse clock
            let file = std::fs::File::options().append(true).open(&to).map_err(Error::file(&to))?;
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30))
                .map_err(Error::file(&to))?;
        }
    }
    Ok(())
}

/// The text with another name of the architecture; longer names stay.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let number = |name: &str| name.trim_start_matches("sm_").to_owned();
    let mut out = text.replace(&format!("compute_{}", number(old)), &format!("compute_{}", number(new)));
    let mut at = 0;
    while let Some(found) = out.get(at..).and_then(|rest| rest.find(old)).map(|p| at + p) {
        let end = found + old.len();
        let longer = out
            .get(end..)
            .and_then(|r| r.chars().next())
            .is_some_and(|c| c.is_ascii_alphanumeric());
        if longer {
            at = end;
        } else {
            out.replace_range(found..end, new);
            at = found + new.len();
        }
    }
    out
}
