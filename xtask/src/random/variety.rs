//! What a scenario has beside the text of its modules. Chosen after everything else, so that a seed keeps its modules and its links.
//!
//! 1. Each [`Dimension`] is present in a share of the scenarios; `--dims` names those that every scenario gets.
//! 2. Some change how a module is compiled, or its object afterwards: [`ModuleVariety`].
//! 3. The others are more input files and options, which are added to most links of the scenario ([`Variety::extend`]).

use super::cxx::{FLAVOURS, Flavour};
use super::links::Link;
use super::patch::Patch;
use super::scenario::Scenario;
use super::unified::{INDICES, Tables};
use culd_tests::rng::Rng;

/// A dimension of scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// Modules compiled by ptxas of other toolkits.
    Toolkits,
    /// Modules compiled with `-ewp`.
    WholeProgram,
    /// Objects whose data sections have standard types.
    Types,
    /// Objects with sections that are not NVIDIA's.
    Unknown,
    /// Objects without `SHF_INFO_LINK`.
    Flags,
    /// Modules with unified functions and variables.
    Unified,
    /// Objects of C++ sources.
    Cxx,
    /// A module with many sections.
    Many,
    /// Host objects that need libcudadevrt.
    Runtime,
}

/// Dimensions with their names and in how many of 1,000 scenarios they are.
const DIMENSIONS: [(Dimension, &str, usize); 9] = [
    (Dimension::Toolkits, "toolkits", 300),
    (Dimension::WholeProgram, "ewp", 60),
    (Dimension::Types, "types", 80),
    (Dimension::Unknown, "unknown", 70),
    (Dimension::Flags, "flags", 50),
    (Dimension::Unified, "unified", 100),
    (Dimension::Cxx, "cxx", 80),
    (Dimension::Many, "many", 4),
    (Dimension::Runtime, "runtime", 40),
];

/// Architectures for which host objects are compiled.
const RUNTIME_ARCHS: [&str; 4] = ["sm_80", "sm_90", "sm_100", "sm_120"];
/// How many of 100 links have a group of further files.
const IN_LINK: usize = 85;

/// Which dimensions scenarios have.
#[derive(Debug, Clone)]
pub(crate) enum Focus {
    /// Each in its share.
    Shares,
    /// These in every scenario, the others in none.
    Only(Vec<Dimension>),
    /// Each in its share, without those in which differences are known (docs/compatibility.md).
    Settled {
        /// For sm_100 and later, where most have some.
        blackwell: bool,
    },
    /// Each in its share, without those that bring files of others into a recorded link.
    Recordable,
}

impl Focus {
    /// Reads `toolkits,ewp`, `none`, or what continuous integration runs (`settled`, `settled-blackwell`); returns the word that is not a dimension.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "settled" => return Ok(Self::Settled { blackwell: false }),
            "settled-blackwell" => return Ok(Self::Settled { blackwell: true }),
            _ => {}
        }
        let named = |word: &str| DIMENSIONS.iter().find(|d| d.1 == word).map(|d| d.0).ok_or_else(|| word.to_owned());
        let words = text.split(',').filter(|w| *w != "none");
        words.map(named).collect::<Result<_, _>>().map(Self::Only)
    }

    /// None of them: the modules of the scenario alone.
    pub(crate) fn plain() -> Self {
        Self::Only(Vec::new())
    }

    /// The names of all dimensions, for a message.
    pub(crate) fn names() -> String {
        DIMENSIONS.map(|d| d.1).join(", ")
    }

    fn has(&self, dimension: Dimension, rng: &mut Rng) -> bool {
        let share = DIMENSIONS.iter().find(|d| d.0 == dimension).map_or(0, |d| d.2);
        let chosen = rng.below(1000) < share;
        match self {
            Self::Shares => chosen,
            Self::Only(list) => list.contains(&dimension),
            Self::Settled { blackwell: true } => chosen && dimension == Dimension::Flags,
            Self::Settled { blackwell: false } => {
                chosen && !matches!(dimension, Dimension::WholeProgram | Dimension::Unknown | Dimension::Unified)
            }
            Self::Recordable => chosen && !matches!(dimension, Dimension::Cxx | Dimension::Many | Dimension::Runtime),
        }
    }
}

/// How one module is compiled and changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModuleVariety {
    /// Which of the toolkits that support the module's architecture.
    pub(crate) toolkit: Option<usize>,
    pub(crate) whole_program: bool,
    pub(crate) patches: Vec<(Patch, Rng)>,
}

/// What a scenario has beside its modules' text.
#[derive(Debug, Clone)]
pub(crate) struct Variety {
    pub(crate) modules: Vec<ModuleVariety>,
    pub(crate) unified: Option<Tables>,
    /// C++ sources: how each is compiled.
    pub(crate) cxx: Vec<(Flavour, ModuleVariety)>,
    /// Number of the first one, see [`super::cxx::Sources::name`].
    pub(crate) first_source: usize,
    /// Functions of the module with many sections.
    pub(crate) many: Option<usize>,
    pub(crate) runtime: bool,
}

impl Variety {
    pub(crate) fn generate(rng: &mut Rng, scenario: &Scenario, focus: &Focus) -> Self {
        let on = DIMENSIONS.map(|(d, ..)| focus.has(d, rng).then_some(d));
        let has = |d: Dimension| on.contains(&Some(d));
        let number = super::module::number(&scenario.arch);
        let module = |rng: &mut Rng, often: usize| {
            let toolkit = (has(Dimension::Toolkits) && rng.chance(often)).then(|| rng.below(1 << 16));
            let whole_program = has(Dimension::WholeProgram) && rng.chance(40);
            let kinds = [
                (Dimension::Types, Patch::StandardTypes),
                (Dimension::Unknown, Patch::UnknownSections),
                (Dimension::Flags, Patch::NoInfoLink),
            ];
            let chosen = kinds.map(|(d, p)| (has(d) && rng.chance(60)).then(|| (p, rng.fork())));
            let patches = chosen.into_iter().flatten().collect();
            ModuleVariety {
                toolkit,
                whole_program,
                patches,
            }
        };
        let modules = (0..scenario.modules).map(|_| module(rng, 55)).collect();
        let unified = (has(Dimension::Unified) && number >= 90).then(|| Tables::generate(rng));
        let count = if has(Dimension::Cxx) { rng.between(1, 4) } else { 0 };
        let cxx = (0..count).map(|_| (rng.pick(FLAVOURS), module(rng, 40))).collect();
        Self {
            modules,
            unified,
            cxx,
            first_source: rng.below(1 << 16),
            many: has(Dimension::Many).then(|| rng.between(700, 1500)),
            runtime: has(Dimension::Runtime) && RUNTIME_ARCHS.contains(&scenario.arch.as_str()),
        }
    }

    /// Adds the further files and options to the links. Of a link in two steps one step gets a group.
    pub(crate) fn extend(&self, links: &mut [Link], rng: &mut Rng) {
        let groups = self.groups();
        let mut taken = vec![false; groups.len()];
        for link in links {
            for ((files, taken), anywhere) in groups.iter().zip(&mut taken).zip([true, true, true, false]) {
                let here = rng.chance(if link.keeps.is_some() { 50 } else { IN_LINK });
                let in_first = std::mem::replace(taken, here && link.keeps.is_some());
                if files.is_empty() || !here || in_first {
                    continue;
                }
                link.args = if anywhere && rng.chance(50) {
                    format!("{files} {}", link.args)
                } else {
                    format!("{} {files}", link.args)
                };
            }
            if self.unified.is_some() && rng.chance(60) {
                let index = if rng.chance(50) { INDICES[0] } else { rng.pick(INDICES) };
                link.args.push_str(&format!(" --uidx-file={index}"));
            }
        }
    }

    /// Files of each kind, as words.
    fn groups(&self) -> [String; 4] {
        let unified = self.unified.as_ref().map_or(Vec::new(), |_| Tables::files());
        let cxx: Vec<String> = (0..self.cxx.len()).map(cxx_file).collect();
        let many = if self.many.is_some() { "many.cubin" } else { "" };
        let runtime = if self.runtime {
            "parent.o child.o scale.o -L. -lcudadevrt"
        } else {
            ""
        };
        [unified.join(" "), cxx.join(" "), many.to_owned(), runtime.to_owned()]
    }
}

/// Name of the object of C++ source `index` of a scenario.
pub(crate) fn cxx_file(index: usize) -> String {
    format!("c{index}.cubin")
}
