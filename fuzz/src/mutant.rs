//! A mutant: a whole link with one damaged input, generated from a seed and a number.
//!
//! 1. Choose a program (objects that were linked together, of any architecture), one of its objects, and how that object is packed.
//! 2. Choose which linker to behave like and in which mode it links.
//! 3. Damage the packed object: cut it off, or make some changes that follow its format.

use crate::mutate;
use crate::seeds::{Program, Seeds};
use crate::wrap::Kind;
use culd_engine::Identity;
use culd_tests::rng::Rng;

/// Programs with more bytes than this are left out: a million links take their time.
const PROGRAM_BYTES: usize = 60_000;

/// The mode of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// A final link.
    Final,
    /// `-r`.
    Relocatable,
    /// `-g`.
    Debug,
    /// `--preserve-relocs`.
    Preserve,
    /// `-v`.
    Verbose,
}

impl Mode {
    /// The option.
    pub fn option(self) -> &'static str {
        match self {
            Mode::Final => "",
            Mode::Relocatable => "-r",
            Mode::Debug => "-g",
            Mode::Preserve => "--preserve-relocs",
            Mode::Verbose => "-v",
        }
    }
}

/// One mutant.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// Number of the program.
    pub program: usize,
    /// Target.
    pub arch: String,
    /// Names and contents of the inputs, in link order.
    pub files: Vec<(String, Vec<u8>)>,
    /// Which of them is damaged.
    pub victim: usize,
    /// How it is packed.
    pub kind: Kind,
    /// Linker to behave like.
    pub identity: Identity,
    /// Mode of the link.
    pub mode: Mode,
    /// The damage is a missing end and nothing else.
    pub is_cut: bool,
}

impl Mutant {
    /// The arguments of the same link on a command line.
    pub fn args(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|(n, _)| n.as_str()).collect();
        format!("-arch={} {} {} -o out.cubin", self.arch, self.mode.option(), names.join(" "))
    }

    /// Bytes of all inputs.
    pub fn size(&self) -> usize {
        self.files.iter().map(|(_, b)| b.len()).sum()
    }
}

/// Source of mutants.
#[derive(Debug)]
pub struct Source {
    programs: Vec<Program>,
    pieces: Vec<Vec<u8>>,
    seed: u64,
}

impl Source {
    /// Mutants of the small programs.
    pub fn new(seeds: Seeds, seed: u64) -> Self {
        let mut programs = seeds.programs;
        programs.retain(|p| p.objects.iter().map(Vec::len).sum::<usize>() <= PROGRAM_BYTES);
        let mut pieces = seeds.cubins;
        pieces.retain(|p| p.len() <= PROGRAM_BYTES);
        Source { programs, pieces, seed }
    }

    /// Targets of the programs, each once.
    pub fn targets(&self) -> Vec<&str> {
        let mut list: Vec<&str> = self.programs.iter().map(|p| p.arch.as_str()).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    /// A program by number.
    pub fn program(&self, number: usize) -> Option<&Program> {
        self.programs.get(number)
    }

    /// Mutant `number`; the same for every run. `None` without programs.
    pub fn mutant(&self, number: u64) -> Option<Mutant> {
        let mut rng = Rng::new(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
        let rng = &mut rng;
        // Every target gets its share, however many programs there are for it.
        let target = *rng.choose(&self.targets())?;
        let of_target = |p: &usize| self.programs.get(*p).is_some_and(|p| p.arch == target);
        let candidates: Vec<usize> = (0..self.programs.len()).filter(of_target).collect();
        let program = *rng.choose(&candidates)?;
        let Program { arch, objects } = self.programs.get(program)?;
        let victim = rng.below(objects.len());
        let kind = rng.pick([
            Kind::Cubin,
            Kind::Cubin,
            Kind::Cubin,
            Kind::Fatbin,
            Kind::Zstd,
            Kind::Lz4,
            Kind::Host,
            Kind::Archive,
        ]);
        let mut mutant = Mutant {
            program,
            arch: arch.clone(),
            files: objects.iter().enumerate().map(|(i, o)| (format!("{i}.cubin"), o.clone())).collect(),
            victim,
            kind,
            identity: rng.pick([Identity::Nvlink, Identity::Culd]),
            mode: rng.pick([
                Mode::Final,
                Mode::Final,
                Mode::Final,
                Mode::Final,
                Mode::Relocatable,
                Mode::Debug,
                Mode::Preserve,
                Mode::Verbose,
            ]),
            is_cut: rng.chance(10),
        };
        let digits: String = arch.chars().filter(char::is_ascii_digit).collect();
        let packed = kind.pack(digits.parse().unwrap_or_default(), objects.get(victim)?);
        let bytes = if mutant.is_cut {
            mutate::cut(&packed, rng)?
        } else {
            mutate::damage(&packed, rng.choose(&self.pieces)?, rng)
        };
        *mutant.files.get_mut(victim)? = (format!("{victim}.{}", kind.suffix()), bytes);
        Some(mutant)
    }
}
