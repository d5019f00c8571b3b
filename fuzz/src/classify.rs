//! Links a mutant in this process and classifies the result.
//!
//! | result | meaning |
//! |---|---|
//! | same | linked, with the bytes of the undamaged program: the damage was in something that does not matter |
//! | different | linked, with other bytes |
//! | refused | an error and no file |
//! | silent | a file without its end was accepted under culd's name, and no message names it |
//! | blow-up | more memory or a larger file than the bounds allow |
//! | slow | over a second |
//! | inconsistent | an image that cannot be read, success without an image, refusal without a message |
//!
//! A crash or a hang is seen by whoever started this process.

use crate::mutant::{Mode, Mutant, Source};
use culd_engine::{Arch, Identity, Input, LinkOptions, Status};
use culd_input::files::{FileId, Files, Opened};
use culd_input::{LoadOptions, load};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of output per byte of input, and what comes on top.
pub const OUTPUT_BOUND: (usize, usize) = (8, 1 << 20);
/// Bytes of memory per byte of input, and what comes on top.
pub const MEMORY_BOUND: (usize, usize) = (128, 64 << 20);
/// No mutant takes longer.
pub const TIME_BOUND: Duration = Duration::from_secs(1);

/// How often a link that took too long is tried again.
const RETRIES: usize = 3;

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Linked, same bytes.
    Same,
    /// Linked, other bytes.
    Different,
    /// Refused.
    Refused,
    /// A cut file was accepted.
    Silent,
    /// Over a bound.
    BlowUp,
    /// Over a second.
    Slow,
    /// A broken promise.
    Inconsistent,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 7] = [
        Class::Same,
        Class::Different,
        Class::Refused,
        Class::Silent,
        Class::BlowUp,
        Class::Slow,
        Class::Inconsistent,
    ];

    /// True for results that must not be.
    pub fn is_failure(self) -> bool {
        !matches!(self, Class::Same | Class::Different | Class::Refused)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Same => "same",
            Class::Different => "different",
            Class::Refused => "refused",
            Class::Silent => "silent",
            Class::BlowUp => "blow-up",
            Class::Slow => "slow",
            Class::Inconsistent => "inconsistent",
        })
    }
}

/// The inputs of a mutant as files.
pub struct InMemory<'m>(pub &'m [(String, Vec<u8>)]);

impl Files for InMemory<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened> {
        let found = self.0.iter().find(|(name, _)| Path::new(name) == path);
        let (_, bytes) = found.ok_or(io::ErrorKind::NotFound)?;
        Ok(Opened {
            bytes: bytes.clone().into(),
            id: FileId::Path(path.to_owned()),
        })
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.iter().any(|(name, _)| Path::new(name) == path)
    }
    fn is_dir(&self, _: &Path) -> bool {
        false
    }
    fn current_dir(&self) -> io::Result<PathBuf> {
        Ok("/".into())
    }
}

/// What a link came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Linked {
    /// The image.
    pub image: Option<Vec<u8>>,
    /// Whether anything was said about a failure.
    pub explained: bool,
    /// What was said about the inputs, line by line.
    pub said: Vec<String>,
    /// Success was reported.
    pub success: bool,
}

/// Loads and links files as the program does.
pub fn link(files: &[(String, Vec<u8>)], arch: &str, identity: Identity, mode: Mode) -> Linked {
    let nothing = |explained| Linked {
        image: None,
        explained,
        said: Vec::new(),
        success: false,
    };
    let Some(target) = Arch::parse(arch) else {
        return nothing(true);
    };
    let mut load_options = LoadOptions::new(target);
    load_options.threads = 1;
    load_options.identity = identity;
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| name.into()).collect();
    let outcome = load(&paths, &load_options, &InMemory(files));
    let messages: Vec<_> = outcome.messages().cloned().collect();
    let Some(loaded) = outcome.loaded else {
        return nothing(!messages.is_empty());
    };
    let mut options = LinkOptions::new(target);
    options.identity = identity;
    options.threads = 1;
    options.inputs_checked = true;
    // An image that cannot be read is a failure here, not a refusal.
    options.verify = false;
    options.relocatable = mode == Mode::Relocatable;
    options.debug = mode == Mode::Debug;
    options.preserve_relocs = mode == Mode::Preserve;
    options.usage = mode == Mode::Verbose;
    let inputs: Vec<Input<'_>> = loaded
        .objects
        .iter()
        .map(|o| Input {
            name: &o.name,
            data: &o.bytes,
        })
        .collect();
    let outcome = culd_engine::link(&inputs, &options);
    Linked {
        said: messages.iter().map(|m| m.code.to_string()).collect(),
        explained: !outcome.messages.is_empty() || loaded.deferred_error.is_some(),
        success: outcome.status == Status::Success && loaded.deferred_error.is_none(),
        image: outcome.image.filter(|_| loaded.deferred_error.is_none()),
    }
}

/// A classified mutant.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Class.
    pub class: Class,
    /// Time of the link.
    pub time: Duration,
    /// Most memory that was held during the link, above what was held before.
    pub memory: usize,
    /// Size of the image.
    pub output: usize,
}

/// Classifies the results of mutants; has the results of the undamaged programs.
pub struct Classifier<'s> {
    source: &'s Source,
    undamaged: HashMap<(usize, bool, Mode), Option<Vec<u8>>>,
    /// Starts to measure memory; the second answers how much it was at most.
    meter: (fn(), fn() -> usize),
}

impl<'s> Classifier<'s> {
    /// A classifier for mutants of `source`.
    pub fn new(source: &'s Source, meter: (fn(), fn() -> usize)) -> Self {
        Classifier {
            source,
            undamaged: HashMap::new(),
            meter,
        }
    }

    fn undamaged(&mut self, mutant: &Mutant) -> Option<&[u8]> {
        let source = self.source;
        let key = (mutant.program, mutant.identity == Identity::Nvlink, mutant.mode);
        let image = self.undamaged.entry(key).or_insert_with(|| {
            let program = source.program(mutant.program)?;
            let named = |(i, o): (usize, &Vec<u8>)| (format!("{i}.cubin"), o.clone());
            let files: Vec<_> = program.objects.iter().enumerate().map(named).collect();
            link(&files, &program.arch, mutant.identity, mutant.mode).image
        });
        image.as_deref()
    }

    /// Links a mutant and classifies the result.
    pub fn classify(&mut self, mutant: &Mutant) -> (Verdict, Linked) {
        let before = self.undamaged(mutant).map(<[u8]>::to_vec);
        (self.meter.0)();
        let start = Instant::now();
        let linked = link(&mutant.files, &mutant.arch, mutant.identity, mutant.mode);
        let mut time = start.elapsed();
        // A busy machine may have been elsewhere for a second: the fastest of some tries counts.
        for _ in 0..RETRIES {
            if time > TIME_BOUND {
                let start = Instant::now();
                link(&mutant.files, &mutant.arch, mutant.identity, mutant.mode);
                time = time.min(start.elapsed());
            }
        }
        let memory = (self.meter.1)();
        let output = linked.image.as_ref().map_or(0, Vec::len);
        let size = mutant.size();
        // An archive that was cut after its first eight bytes is a whole archive without members: it is named, not refused.
        let name = mutant.files.get(mutant.victim).map_or("", |(name, _)| name);
        let is_named = linked.said.iter().any(|line| line.contains(name));
        let class = match &linked.image {
            _ if output > size * OUTPUT_BOUND.0 + OUTPUT_BOUND.1 || memory > size * MEMORY_BOUND.0 + MEMORY_BOUND.1 => Class::BlowUp,
            _ if time > TIME_BOUND => Class::Slow,
            None if linked.success || !linked.explained => Class::Inconsistent,
            Some(_) if !linked.success => Class::Inconsistent,
            None => Class::Refused,
            Some(image) if cubin::Cubin::parse(image).is_err() => Class::Inconsistent,
            Some(_) if mutant.is_cut && mutant.identity == Identity::Culd && !is_named => Class::Silent,
            Some(image) if before.as_ref() == Some(image) => Class::Same,
            Some(_) => Class::Different,
        };
        let verdict = Verdict {
            class,
            time,
            memory,
            output,
        };
        (verdict, linked)
    }
}
