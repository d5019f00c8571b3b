//! A recorded case: its inputs and what nvlink made of them.
//!
//! A fixture file is `MAGIC`, then one zstd stream that holds a line of JSON (the manifest) and the blobs after it, one after another.
//! Every name in the manifest refers to a blob by number, so that equal contents are stored once.
//!
//! 1. [`Fixture::record`] runs the links of a case with nvlink, in order, each in a directory with the outputs of those before it.
//! 2. [`Fixture::encode`] and [`Fixture::decode`] turn it into bytes and back.
//! 3. [`Fixture::replay`] gives the same directories to another linker and compares the results. Later links get nvlink's earlier outputs,
//!    so that one difference does not count twice.

use crate::case::fresh_copy;
use crate::run::{self, Outcome};
use crate::verdict::{Difference, compare_as, compare_files};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

const MAGIC: &[u8] = b"culd fixture 1\n";
/// The variable by which culd takes the version of the nvlink that it represents.
pub const VERSION_VARIABLE: &str = "CULD_NVLINK_VERSION";
/// No honest fixture unpacks to more.
const MAX_UNPACKED: u64 = 64 << 20;

/// One case with nvlink's results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fixture {
    /// The nvlink that it is from; `None` for the pinned one.
    pub version: Option<String>,
    /// Input files by name.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// The links, in order.
    pub links: Vec<Recorded>,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Arguments as shell words.
    pub args: String,
    /// What nvlink did. Where it crashed, what it wrote is not kept.
    pub outcome: Outcome,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    inputs: BTreeMap<String, usize>,
    links: Vec<ManifestLink>,
    blobs: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct ManifestLink {
    args: String,
    exit: i32,
    stdout: usize,
    stderr: usize,
    files: BTreeMap<String, usize>,
}

/// Blobs by number, each content once.
#[derive(Default)]
struct Blobs<'a> {
    known: BTreeMap<&'a [u8], usize>,
    order: Vec<&'a [u8]>,
}

impl<'a> Blobs<'a> {
    fn add(&mut self, bytes: &'a [u8]) -> usize {
        *self.known.entry(bytes).or_insert_with(|| {
            self.order.push(bytes);
            self.order.len() - 1
        })
    }

    fn add_all(&mut self, files: &'a BTreeMap<String, Vec<u8>>) -> BTreeMap<String, usize> {
        files.iter().map(|(n, b)| (n.clone(), self.add(b))).collect()
    }
}

impl Fixture {
    /// Records `links` over the files in `inputs`; `is_input` says which of them count. `work` is a directory that may be used.
    pub fn record(nvlink: &Path, inputs: &Path, links: &[String], work: &Path, is_input: impl Fn(&str) -> bool) -> Result<Self> {
        let mut fixture = Self::default();
        for name in run::stamps(inputs)?.into_keys().filter(|n| is_input(n)) {
            let path = inputs.join(&name);
            fixture.inputs.insert(name, std::fs::read(&path).map_err(Error::file(path))?);
        }
        for args in links {
            fixture.unpack_for(fixture.links.len(), work)?;
            let mut outcome = run::link(nvlink, args, work, None)?;
            if outcome.crashed() {
                outcome.files.clear();
            }
            fixture.links.push(Recorded {
                args: args.clone(),
                outcome,
            });
        }
        Ok(fixture)
    }

    /// Makes `dir` the directory in which link number `link` starts.
    pub fn unpack_for(&self, link: usize, dir: &Path) -> Result<()> {
        let staged = tempfile::tempdir().map_err(Error::file(dir))?;
        let earlier = self.links.iter().take(link).flat_map(|l| &l.outcome.files);
        for (name, bytes) in self.inputs.iter().chain(earlier) {
            let path = staged.path().join(name);
            std::fs::write(&path, bytes).map_err(Error::file(path))?;
        }
        fresh_copy(staged.path(), dir)
    }

    /// Runs every link with `linker` in `dir`; for each, how it differs from what was recorded.
    pub fn replay(&self, linker: &Path, dir: &Path) -> Result<Vec<(usize, Outcome, Difference)>> {
        self.replay_with(linker, dir, &[])
    }

    /// Like [`Fixture::replay`], with more variables in the environment.
    pub fn replay_with(&self, linker: &Path, dir: &Path, variables: &[(&str, &str)]) -> Result<Vec<(usize, Outcome, Difference)>> {
        Ok(self.compare(self.outcomes(linker, dir, variables)?))
    }

    /// How the outcomes of the links differ from what was recorded.
    pub fn compare(&self, outcomes: Vec<Outcome>) -> Vec<(usize, Outcome, Difference)> {
        // Those of CUDA 12 were recorded with nvJitLink in nvlink's place.
        let is_library = self.version.as_deref().is_some_and(|v| v.starts_with("12."));
        let compared = |(i, (got, link)): (usize, (Outcome, &Recorded))| {
            let difference = match is_library {
                true => compare_files(&got, &link.outcome),
                false => compare_as(&got, &link.outcome, self.version.as_deref()),
            };
            Some((i, got, difference?))
        };
        outcomes.into_iter().zip(&self.links).enumerate().filter_map(compared).collect()
    }

    /// What `linker` does in `dir`, link by link.
    pub fn outcomes(&self, linker: &Path, dir: &Path, variables: &[(&str, &str)]) -> Result<Vec<Outcome>> {
        let version = self.version.as_deref().map(|v| (VERSION_VARIABLE, v));
        let variables: Vec<(&str, &str)> = variables.iter().copied().chain(version).collect();
        let outcome = |i, link: &Recorded| {
            self.unpack_for(i, dir)?;
            run::link_with(linker, &link.args, dir, None, &variables)
        };
        self.links.iter().enumerate().map(|(i, link)| outcome(i, link)).collect()
    }

    /// The file form.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut blobs = Blobs::default();
        let inputs = blobs.add_all(&self.inputs);
        let links = self
            .links
            .iter()
            .map(|l| ManifestLink {
                args: l.args.clone(),
                exit: l.outcome.exit,
                stdout: blobs.add(&l.outcome.stdout),
                stderr: blobs.add(&l.outcome.stderr),
                files: blobs.add_all(&l.outcome.files),
            })
            .collect();
        let manifest = Manifest {
            version: self.version.clone(),
            inputs,
            links,
            blobs: blobs.order.iter().map(|b| b.len()).collect(),
        };
        let mut plain = serde_json::to_vec(&manifest).map_err(|e| Error::Other(e.to_string()))?;
        plain.push(b'\n');
        plain.extend(blobs.order.concat());
        let mut out = MAGIC.to_vec();
        out.extend(ruzstd::encoding::compress_to_vec(
            plain.as_slice(),
            ruzstd::encoding::CompressionLevel::Fastest,
        ));
        Ok(out)
    }

    /// Reads the file form.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |why: &str| Error::Other(format!("not a fixture: {why}"));
        let packed = bytes.strip_prefix(MAGIC).ok_or_else(|| bad("other first line"))?;
        let mut plain = Vec::new();
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|e| bad(&e.to_string()))?;
        decoder
            .take(MAX_UNPACKED)
            .read_to_end(&mut plain)
            .map_err(|e| bad(&e.to_string()))?;
        let end = plain.iter().position(|b| *b == b'\n').ok_or_else(|| bad("no manifest"))?;
        let (head, mut rest) = plain.split_at(end + 1);
        let manifest: Manifest = serde_json::from_slice(head).map_err(|e| bad(&e.to_string()))?;
        let mut blobs = Vec::new();
        for len in manifest.blobs {
            let (blob, tail) = rest.split_at_checked(len).ok_or_else(|| bad("cut short"))?;
            blobs.push(blob.to_vec());
            rest = tail;
        }
        let get = |i: usize| blobs.get(i).cloned().ok_or_else(|| bad("no such blob"));
        let all = |files: BTreeMap<String, usize>| files.into_iter().map(|(n, i)| Ok((n, get(i)?))).collect::<Result<BTreeMap<_, _>>>();
        let link = |l: ManifestLink| {
            let outcome = Outcome {
                exit: l.exit,
                stdout: get(l.stdout)?,
                stderr: get(l.stderr)?,
                files: all(l.files)?,
            };
            Ok(Recorded { args: l.args, outcome })
        };
        Ok(Self {
            version: manifest.version,
            inputs: all(manifest.inputs)?,
            links: manifest.links.into_iter().map(link).collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_form_keeps_everything_and_stores_equal_blobs_once() -> Result<()> {
        let big = vec![7; 5000];
        let files: BTreeMap<String, Vec<u8>> = [("a".to_owned(), big.clone()), ("b".to_owned(), big)].into();
        let outcome = Outcome {
            exit: 255,
            stdout: b"x\xff".to_vec(),
            stderr: Vec::new(),
            files: files.clone(),
        };
        let fixture = Fixture {
            version: Some("13.4.92".into()),
            inputs: files,
            links: vec![Recorded {
                args: "-o b a".into(),
                outcome,
            }],
        };
        let bytes = fixture.encode()?;
        assert!(bytes.len() < 1000, "{} bytes", bytes.len());
        assert_eq!(Fixture::decode(&bytes)?, fixture);
        assert!(Fixture::decode(&bytes[..bytes.len() / 2]).is_err());
        Ok(())
    }
}
