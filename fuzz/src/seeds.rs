//! Where the files come from: the inputs and results in `tests/fixtures`, and the programs in `fuzz/programs`.

use culd_tests::fixture::Fixture;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};

/// Objects that were linked together.
#[derive(Debug, Clone)]
pub struct Program {
    /// Target of the link.
    pub arch: String,
    /// Relocatable device objects.
    pub objects: Vec<Vec<u8>>,
}

/// The corpus.
#[derive(Debug, Default)]
pub struct Seeds {
    /// Device files, relocatable and linked.
    pub cubins: Vec<Vec<u8>>,
    /// Of these, files that are surely as ptxas or nvlink wrote them.
    pub pristine: Vec<Vec<u8>>,
    /// Fat binary containers.
    pub fatbins: Vec<Vec<u8>>,
    /// Archives and host objects.
    pub containers: Vec<Vec<u8>>,
    /// Whole links.
    pub programs: Vec<Program>,
}

/// First bytes of a fat binary.
const FATBIN: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
/// e_machine of device files.
const EM_CUDA: [u8; 2] = [190, 0];

fn is_cubin(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF") && bytes.get(18..20) == Some(&EM_CUDA)
}

impl Seeds {
    /// Reads every fixture of `dir`, in name order.
    pub fn load(dir: &Path) -> Result<Self> {
        let mut paths: Vec<_> = std::fs::read_dir(dir)
            .map_err(Error::file(dir))?
            .filter_map(|e| e.ok().map(|e| e.path()))
            .collect();
        paths.sort();
        let mut seeds = Self::default();
        for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "fixture")) {
            let fixture = Fixture::decode(&std::fs::read(path).map_err(Error::file(path))?)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            seeds.add(fixture, name.starts_with("random-"));
        }
        seeds.add_programs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("programs"))?;
        Ok(seeds)
    }

    /// Directories of objects that belong together, named after their target and what is special about them: `sm_100-debug`.
    fn add_programs(&mut self, dir: &Path) -> Result<()> {
        let list = |dir: &Path| -> Result<Vec<PathBuf>> {
            let entries = std::fs::read_dir(dir).map_err(Error::file(dir))?;
            let mut paths: Vec<_> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
            paths.sort();
            Ok(paths)
        };
        for directory in list(dir)?.into_iter().filter(|p| p.is_dir()) {
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut objects = Vec::new();
            for path in list(&directory)? {
                objects.push(std::fs::read(&path).map_err(Error::file(path))?);
            }
            self.pristine.extend(objects.iter().cloned());
            self.cubins.extend(objects.iter().cloned());
            let arch = name.split('-').next().unwrap_or_default().to_owned();
            self.programs.push(Program { arch, objects });
        }
        Ok(())
    }

    fn add(&mut self, fixture: Fixture, pristine: bool) {
        let outputs = fixture.links.iter().flat_map(|l| l.outcome.files.values());
        self.pristine.extend(outputs.filter(|b| is_cubin(b)).cloned());
        if pristine {
            // The emitter does not support the layout of files of CUDA 12 (OS ABI 0x33).
            self.pristine
                .extend(fixture.inputs.values().filter(|b| b.get(7) == Some(&0x41)).cloned());
        }
        let Some(first) = fixture.links.first() else { return };
        if let Some(arch) = first.args.split_whitespace().find_map(|w| w.strip_prefix("-arch=")) {
            let objects: Vec<Vec<u8>> = first
                .args
                .split_whitespace()
                .filter_map(|w| fixture.inputs.get(w))
                .filter(|b| is_cubin(b))
                .cloned()
                .collect();
            if !objects.is_empty() {
                self.programs.push(Program {
                    arch: arch.to_owned(),
                    objects,
                });
            }
        }
        for bytes in fixture.inputs.into_values() {
            if is_cubin(&bytes) {
                self.cubins.push(bytes);
                continue;
            }
            if let Some(at) = bytes.windows(4).position(|w| w == FATBIN) {
                self.fatbins.push(bytes[at..].to_vec());
            }
            if bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"!<arch>") {
                self.containers.push(bytes);
            }
        }
        // one linked file per fixture is enough
        self.cubins
            .extend(first.outcome.files.values().filter(|b| is_cubin(b)).take(1).cloned());
    }
}
