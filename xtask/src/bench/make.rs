//! Makes the inputs of a link.
//!
//! 1. A few modules are compiled by the real ptxas; results are kept in `target/bench/cache`, with the text they were made from.
//! 2. All names have one length. A compiled module whose names are placeholders is a [`Template`]: copies of it with the placeholders
//!    overwritten are the objects that ptxas would make of the renamed text, thousands of them in no time.
//! 3. Host objects are assembled around fatbins made by the real fatbinary.

use super::ptx::hash;
use crate::nvcc::good;
use crate::report::parallel;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The architecture of all links.
pub(super) const ARCH: &str = "sm_90";
/// The architecture of links with two views of the code.
pub(super) const BLACKWELL: &str = "sm_100";

/// A name: what kind of thing, which object, which of its things. All names are equally long.
pub(super) fn name(kind: char, object: usize, index: usize) -> String {
    format!("{kind}_{object:06x}_{index:03x}")
}

/// The placeholder with this number.
pub(super) fn hole(index: usize) -> String {
    format!("t_zzzzzz_{index:03x}")
}

/// What every placeholder starts with.
const HOLE: &[u8] = b"t_zzzzzz_";
/// The length of a name.
const LENGTH: usize = HOLE.len() + 3;

/// A compiled module with placeholders.
pub(super) struct Template {
    bytes: Vec<u8>,
    /// Where they are, and their numbers.
    holes: Vec<(usize, usize)>,
}

impl Template {
    /// Finds the placeholders.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let number = |at: usize| {
            let digits = std::str::from_utf8(bytes.get(at + HOLE.len()..at + LENGTH)?).ok()?;
            Some((at, usize::from_str_radix(digits, 16).ok()?))
        };
        let starts = (0..bytes.len()).filter(|&at| bytes.get(at..at + HOLE.len()) == Some(HOLE));
        let holes = starts.filter_map(number).collect();
        Self { bytes, holes }
    }

    /// A copy in which `name_of` names the placeholders.
    pub(super) fn with(&self, name_of: impl Fn(usize) -> String) -> Vec<u8> {
        let mut out = self.bytes.clone();
        for &(at, number) in &self.holes {
            let name = name_of(number);
            if let (Some(place), LENGTH) = (out.get_mut(at..at + LENGTH), name.len()) {
                place.copy_from_slice(name.as_bytes());
            }
        }
        out
    }
}

/// The directory of one link, being filled.
pub(super) struct Maker<'a> {
    tools: &'a Path,
    cache: PathBuf,
    /// The directory.
    pub(super) dir: PathBuf,
    /// The arguments: names of files in it, in link order.
    pub(super) files: Vec<String>,
    /// How much is in them.
    pub(super) bytes: u64,
    /// What they are linked for.
    pub(super) arch: &'static str,
    pub(super) jobs: usize,
}

impl<'a> Maker<'a> {
    /// Starts with an empty directory.
    pub(super) fn new(tools: &'a Path, cache: &Path, dir: &Path, jobs: usize) -> Result<Self> {
        std::fs::create_dir_all(cache).map_err(Error::file(cache))?;
        Ok(Self {
            tools,
            cache: cache.to_owned(),
            dir: crate::nvcc::fresh(dir)?,
            files: Vec::new(),
            bytes: 0,
            arch: ARCH,
            jobs,
        })
    }

    /// Adds an input.
    pub(super) fn put(&mut self, name: String, bytes: &[u8]) -> Result<()> {
        let path = self.dir.join(&name);
        std::fs::write(&path, bytes).map_err(Error::file(path))?;
        self.bytes += bytes.len() as u64;
        self.files.push(name);
        Ok(())
    }

    /// Adds object number `i`.
    pub(super) fn object(&mut self, i: usize, bytes: &[u8]) -> Result<()> {
        self.put(format!("o{i:06}.cubin"), bytes)
    }

    /// Compiles PTX.
    pub(super) fn ptxas(&self, text: &str, arch: &str) -> Result<Vec<u8>> {
        self.cached(&format!("{arch}\n{text}"), |dir| {
            write(&dir.join("m.ptx"), text.as_bytes())?;
            let mut ptxas = Command::new(self.tools.join("ptxas"));
            ptxas.args([&format!("-arch={arch}"), "--compile-only", "m.ptx", "-o", "out"]);
            good(ptxas.current_dir(dir)).map(drop)
        })
    }

    /// Compiles PTX with placeholders.
    pub(super) fn template(&self, text: &str) -> Result<Template> {
        self.ptxas(text, self.arch).map(Template::new)
    }

    /// Compiles CUDA C++ in two steps: ptxas writes its command line into debug information, and nvcc would give it the name of a
    /// temporary file.
    pub(super) fn nvcc(&self, text: &str, flags: &[&str], ptxas_flags: &[&str]) -> Result<Vec<u8>> {
        self.cached(&format!("{flags:?}\n{text}"), |dir| {
            write(&dir.join("m.cu"), text.as_bytes())?;
            let mut nvcc = Command::new(self.tools.join("nvcc"));
            nvcc.args([&format!("-arch={ARCH}"), "-rdc=true", "-ptx", "m.cu", "-o", "m.ptx"])
                .args(flags);
            good(nvcc.current_dir(dir))?;
            let mut ptxas = Command::new(self.tools.join("ptxas"));
            ptxas
                .args([&format!("-arch={ARCH}"), "-m64", "--compile-only", "m.ptx", "-o", "out"])
                .args(ptxas_flags);
            good(ptxas.current_dir(dir)).map(drop)
        })
    }

    /// What `make` leaves in `out`, unless it was made from the same text before.
    fn cached(&self, text: &str, make: impl Fn(&Path) -> Result<()>) -> Result<Vec<u8>> {
        let dir = self.cache.join(format!("{:016x}", hash(text)));
        let (stamp, out) = (dir.join("stamp"), dir.join("out"));
        if !std::fs::read(&stamp).is_ok_and(|s| s == text.as_bytes()) {
            crate::nvcc::fresh(&dir)?;
            make(&dir)?;
            write(&stamp, text.as_bytes())?;
        }
        std::fs::read(&out).map_err(Error::file(out))
    }

    /// Host objects, each with one fatbin of its images; written as `<name>.o` into the directory.
    pub(super) fn host_objects(&self, objects: &[HostObject]) -> Result<()> {
        let failure = Mutex::new(None);
        parallel(objects, self.jobs, |object| {
            if let Err(e) = self.host_object(object) {
                failure.lock().map(|mut f| *f = Some(e)).ok();
            }
        });
        failure.into_inner().ok().flatten().map_or(Ok(()), Err)
    }

    fn host_object(&self, object: &HostObject) -> Result<()> {
        let dir = self.dir.join(format!("{}.parts", object.name));
        std::fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
        let mut fatbinary = Command::new(self.tools.join("fatbinary"));
        fatbinary.args(["-64", "--device-c", "--create=fatbin"]).current_dir(&dir);
        for (i, image) in object.images.iter().enumerate() {
            write(&dir.join(format!("image{i}")), &image.bytes)?;
            fatbinary.arg(format!("--image3=kind={},sm={},file=image{i}", image.kind, image.sm));
        }
        good(&mut fatbinary)?;
        write(&dir.join("host.s"), object.assembly().as_bytes())?;
        let to = self.dir.join(format!("{}.o", object.name));
        good(Command::new("as").args(["host.s", "-o"]).arg(to).current_dir(&dir))?;
        std::fs::remove_dir_all(&dir).map_err(Error::file(dir))
    }
}

/// One image of a fatbin.
pub(super) struct Image {
    pub(super) kind: &'static str,
    pub(super) sm: u32,
    pub(super) bytes: Vec<u8>,
}

/// A host object.
pub(super) struct HostObject {
    pub(super) name: String,
    pub(super) images: Vec<Image>,
    /// Kernels that its host code starts.
    pub(super) kernels: Vec<String>,
}

impl HostObject {
    /// What nvcc -dc leaves in an object for the device linker, without the host code.
    fn assembly(&self) -> String {
        let kernels: String = match self.kernels.as_slice() {
            [] => " .byte 0\n".into(),
            kernels => kernels.iter().map(|k| format!(" .string \"{k}\"\n")).collect(),
        };
        format!(
            " .section __nv_module_id,\"a\"\n .balign 16\n .string \"_{name}\"\n\
             \x20.section __nv_relfatbin,\"a\"\n .balign 8\nfatbin: .incbin \"fatbin\"\n\
             \x20.section .nvFatBinSegment,\"aw\"\n .balign 8\n .long 0x466243b1, 1\n .quad fatbin, 0\n\
             \x20.section .nvHRKE,\"a\"\n{kernels}",
            name = self.name
        )
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_differ_in_the_names_alone() {
        let text = format!("x{}y{}z", hole(0), hole(0x1f));
        let template = Template::new(text.clone().into_bytes());
        let copy = template.with(|i| name('f', 0xabc, i));
        assert_eq!(copy, b"xf_000abc_000yf_000abc_01fz");
        assert_eq!(template.with(hole), text.into_bytes());
    }
}
