//! A scenario: what a set of modules defines, before any text is written.
//!
//! 1. Choose which traits of device code the scenario has at all, so that scenarios differ in kind and not only in detail.
//! 2. Choose variables, functions, kernels and textures, each with its linkage and the modules that define it.
//! 3. In some scenarios, break one rule on purpose: both linkers must then say the same thing.
//!
//! The text of each module ([`super::module`]) and the links ([`super::links`]) are chosen by generators of their own.

use culd_tests::rng::Rng;

/// Architectures with one view per file, which are linked by default.
pub(crate) const CLASSIC: [&str; 8] = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a"];
/// Architectures of CUDA 12 with one view per file.
pub(crate) const CUDA_12: [&str; 15] = [
    "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a",
];
/// Architectures with a second view in each file.
pub(crate) const BLACKWELL: [&str; 7] = ["sm_100", "sm_100a", "sm_100f", "sm_103", "sm_110", "sm_120", "sm_121"];

/// What a scenario may contain. One flag each, so that a failure can be narrowed down by reading the scenario's first line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traits {
    pub(crate) weak: bool,
    pub(crate) common: bool,
    pub(crate) tables: bool,
    pub(crate) constants: bool,
    pub(crate) shared: bool,
    pub(crate) own_shared: bool,
    pub(crate) dynamic_shared: bool,
    pub(crate) indirect: bool,
    pub(crate) recursion: bool,
    pub(crate) system: bool,
    pub(crate) locals: bool,
    pub(crate) bounds: bool,
    pub(crate) textures: bool,
    pub(crate) independent: bool,
    pub(crate) doubles: bool,
    pub(crate) switches: bool,
    pub(crate) pressure: bool,
    pub(crate) same_static: bool,
    pub(crate) alias: bool,
    pub(crate) managed: bool,
    pub(crate) odd_target: bool,
    pub(crate) mixed_arch: bool,
    pub(crate) lines: bool,
    pub(crate) big: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Const,
    Shared,
}

impl Space {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Const => "const",
            Self::Shared => "shared",
        }
    }
}

/// Linkage of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linkage {
    Visible,
    Static,
    Weak,
    Common,
}

/// Where a symbol is defined and how.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) linkage: Linkage,
    /// Modules with a definition, ascending; empty means that it is undefined.
    pub(crate) homes: Vec<usize>,
    /// Of a weak symbol: the module whose copy is strong.
    pub(crate) strong: Option<usize>,
}

impl Place {
    /// The directive of the definition in `module`, if there is one.
    pub(crate) fn directive(&self, module: usize) -> Option<&'static str> {
        self.homes.contains(&module).then_some(match self.linkage {
            Linkage::Weak if self.strong != Some(module) => ".weak ",
            Linkage::Visible | Linkage::Weak => ".visible ",
            Linkage::Static => "",
            Linkage::Common => ".common ",
        })
    }

    /// Whether code in `module` can name it.
    pub(crate) fn reachable(&self, module: usize) -> bool {
        self.linkage != Linkage::Static || self.homes.contains(&module)
    }
}

/// A scalar type of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
}

const SCALARS: [Scalar; 10] = [
    Scalar { name: "b8", size: 1 },
    Scalar { name: "u8", size: 1 },
    Scalar { name: "s16", size: 2 },
    Scalar { name: "u16", size: 2 },
    Scalar { name: "b32", size: 4 },
    Scalar { name: "s32", size: 4 },
    Scalar { name: "f32", size: 4 },
    Scalar { name: "b64", size: 8 },
    Scalar { name: "u64", size: 8 },
    Scalar { name: "f64", size: 8 },
];

#[derive(Debug, Clone)]
pub(crate) struct Var {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) scalar: Scalar,
    /// Array length; 0 is not an array.
    pub(crate) count: usize,
    pub(crate) align: usize,
    pub(crate) init: bool,
    pub(crate) managed: bool,
    /// `extern .shared x[]`: size given at launch.
    pub(crate) dynamic: bool,
    pub(crate) place: Place,
}

/// A parameter or result type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Word,
    Long,
    Struct,
}

/// What a function takes and gives.
pub(crate) struct Signature {
    pub(crate) result: Option<Pass>,
    pub(crate) params: &'static [Pass],
}

pub(crate) const SIGNATURES: [Signature; 7] = [
    Signature {
        result: Some(Pass::Word),
        params: &[Pass::Word],
    },
    Signature {
        result: Some(Pass::Word),
        params: &[Pass::Word, Pass::Long],
    },
    Signature {
        result: None,
        params: &[Pass::Long],
    },
    Signature {
        result: Some(Pass::Long),
        params: &[Pass::Long],
    },
    Signature {
        result: Some(Pass::Word),
        params: &[],
    },
    Signature {
        result: Some(Pass::Long),
        params: &[Pass::Long, Pass::Word, Pass::Word],
    },
    Signature {
        result: Some(Pass::Word),
        params: &[Pass::Struct, Pass::Word],
    },
];

#[derive(Debug, Clone)]
pub(crate) struct Func {
    pub(crate) name: String,
    /// Index into [`SIGNATURES`].
    pub(crate) signature: usize,
    pub(crate) place: Place,
    /// A function calls only higher ranks, so that cycles appear only where `recursive` is set.
    pub(crate) rank: usize,
    pub(crate) recursive: bool,
    pub(crate) alias: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) params: Vec<&'static str>,
    pub(crate) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextureKind {
    Texture,
    Surface,
}

#[derive(Debug, Clone)]
pub(crate) struct Texture {
    pub(crate) name: String,
    pub(crate) kind: TextureKind,
    pub(crate) place: Place,
}

/// A rule that the scenario breaks on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    UndefinedVar,
    UndefinedFunc,
    DuplicateVar,
    DuplicateFunc,
    ExternSize,
    ExternSpace,
    ExternSignature,
    EntryAndFunc,
    TooMuchConst,
    TooMuchShared,
}

const FAULTS: [Fault; 10] = [
    Fault::UndefinedVar,
    Fault::UndefinedFunc,
    Fault::DuplicateVar,
    Fault::DuplicateFunc,
    Fault::ExternSize,
    Fault::ExternSpace,
    Fault::ExternSignature,
    Fault::EntryAndFunc,
    Fault::TooMuchConst,
    Fault::TooMuchShared,
];

#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) arch: String,
    pub(crate) modules: usize,
    pub(crate) traits: Traits,
    pub(crate) fault: Option<Fault>,
    pub(crate) vars: Vec<Var>,
    pub(crate) funcs: Vec<Func>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) textures: Vec<Texture>,
}

impl Scenario {
    pub(crate) fn generate(rng: &mut Rng, arch: &str) -> Self {
        let modules = rng.pick([1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 10]);
        let traits = random_traits(rng);
        let fault = if rng.chance(9) { Some(rng.pick(FAULTS)) } else { None };
        let mut planner = Planner {
            rng,
            modules,
            traits: &traits,
            names: Names::default(),
        };
        let vars = planner.vars();
        let funcs = planner.funcs();
        let kernels = planner.kernels();
        let textures = planner.textures();
        let mut scenario = Self {
            arch: arch.to_owned(),
            modules,
            fault,
            vars,
            funcs,
            kernels,
            textures,
            traits: traits.clone(),
        };
        scenario.break_a_rule(rng);
        scenario
    }

    /// Faults that change definitions; the others are made while the text is written.
    fn break_a_rule(&mut self, rng: &mut Rng) {
        let two = rng.sample(self.modules, 2);
        let plain = |v: &&mut Var| v.place.linkage == Linkage::Visible && !v.dynamic;
        match self.fault {
            Some(Fault::UndefinedVar) => {
                if let Some(v) = self.vars.iter_mut().find(plain) {
                    v.place.homes.clear();
                }
            }
            Some(Fault::DuplicateVar) if two.len() == 2 => {
                if let Some(v) = self.vars.iter_mut().find(plain) {
                    v.place.homes = two;
                }
            }
            Some(Fault::UndefinedFunc) => {
                if let Some(f) = self.funcs.iter_mut().find(|f| f.place.linkage == Linkage::Visible) {
                    f.place.homes.clear();
                }
            }
            Some(Fault::DuplicateFunc) if two.len() == 2 => {
                if let Some(f) = self.funcs.iter_mut().find(|f| f.place.linkage == Linkage::Visible) {
                    f.place.homes = two;
                }
            }
            Some(fault @ (Fault::TooMuchConst | Fault::TooMuchShared)) => {
                let (space, bytes) = if fault == Fault::TooMuchConst {
                    (Space::Const, 9000)
                } else {
                    (Space::Shared, 6500)
                };
                for home in 0..2.min(self.modules) {
                    let place = Place {
                        linkage: Linkage::Visible,
                        homes: vec![home],
                        strong: None,
                    };
                    let scalar = Scalar { name: "b32", size: 4 };
                    let name = format!("huge{home}");
                    self.vars.push(Var {
                        name,
                        space,
                        scalar,
                        count: bytes,
                        align: 4,
                        init: false,
                        managed: false,
                        dynamic: false,
                        place,
                    });
                }
            }
            _ => {}
        }
    }
}

fn random_traits(rng: &mut Rng) -> Traits {
    Traits {
        weak: rng.chance(50),
        common: rng.chance(35),
        tables: rng.chance(50),
        constants: rng.chance(55),
        shared: rng.chance(50),
        own_shared: rng.chance(35),
        dynamic_shared: rng.chance(30),
        indirect: rng.chance(40),
        recursion: rng.chance(25),
        system: rng.chance(35),
        locals: rng.chance(40),
        bounds: rng.chance(40),
        textures: rng.chance(15),
        independent: rng.chance(35),
        doubles: rng.chance(50),
        switches: rng.chance(30),
        pressure: rng.chance(40),
        same_static: rng.chance(35),
        alias: rng.chance(8),
        managed: rng.chance(12),
        odd_target: rng.chance(20),
        mixed_arch: rng.chance(15),
        lines: rng.chance(30),
        big: rng.chance(4),
    }
}

/// Names that no other symbol of the scenario has: each holds a number of its own.
#[derive(Default)]
struct Names {
    next: usize,
}

impl Names {
    fn fresh(&mut self, rng: &mut Rng, kind: &str) -> String {
        const STEMS: [&str; 12] = [
            "",
            "",
            "",
            "",
            "alpha",
            "x9_",
            "_z",
            "data$",
            "Quite_a_long_identifier_",
            "_Z3fooIiE",
            "_ZN2ns3bar",
            "__nv_",
        ];
        self.next += 1;
        let mut name = match rng.pick(STEMS) {
            // valid mangled names, so that the call-graph dump has something to demangle
            "_Z3fooIiE" => format!("_Z{}{kind}{}IiEiT_", kind.len() + self.next.to_string().len(), self.next),
            // a name that the driver keeps for itself
            "__nv_" if kind == "f" && self.next.is_multiple_of(2) => format!("__cuda_syscall_f{}", self.next),
            "_ZN2ns3bar" => format!("_ZN2ns{}{kind}{}Ei", kind.len() + self.next.to_string().len(), self.next),
            stem => format!("{stem}{kind}{}", self.next),
        };
        if rng.chance(2) {
            name.push_str(&"L".repeat(rng.between(20, 60)));
        }
        name
    }
}

/// Chooses the symbols.
struct Planner<'a> {
    rng: &'a mut Rng,
    modules: usize,
    traits: &'a Traits,
    names: Names,
}

impl Planner<'_> {
    fn one_home(&mut self, linkage: Linkage) -> Place {
        Place {
            linkage,
            homes: vec![self.rng.below(self.modules)],
            strong: None,
        }
    }

    /// Copies in several modules, perhaps a strong one among them.
    fn copies(&mut self, linkage: Linkage) -> Place {
        let k = self.rng.between(1, self.modules);
        let homes = self.rng.sample(self.modules, k);
        let strong = if linkage == Linkage::Weak && homes.len() > 1 && self.rng.chance(25) {
            self.rng.choose(&homes).copied()
        } else {
            None
        };
        Place { linkage, homes, strong }
    }

    fn var(&mut self, space: Space) -> Var {
        let kind = match space {
            Space::Global => "g",
            Space::Const => "c",
            Space::Shared => "s",
        };
        let name = self.names.fresh(self.rng, kind);
        let scalar = self.rng.pick(SCALARS);
        let count = self.rng.pick([0, 0, 0, 1, 2, 3, 5, 7, 8, 16, 33, 64]);
        let align = self.rng.pick([0, 0, 0, 0, 4, 8, 16, 32, 64, 128]);
        let align = if space == Space::Shared { align.min(32) } else { align }.max(scalar.size);
        let place = self.one_home(Linkage::Visible);
        let init = space != Space::Shared && self.rng.chance(50);
        Var {
            name,
            space,
            scalar,
            count,
            align,
            init,
            managed: false,
            dynamic: false,
            place,
        }
    }

    fn vars(&mut self) -> Vec<Var> {
        let mut vars = Vec::new();
        for _ in 0..self.rng.pick([0, 1, 2, 3, 5, 8]) {
            let mut v = self.var(Space::Global);
            match self.rng.below(10) {
                0..3 if self.traits.weak => v.place = self.copies(Linkage::Weak),
                3..5 if self.traits.common => {
                    v.place = self.copies(Linkage::Common);
                    v.init = false;
                }
                5..7 => v.place.linkage = Linkage::Static,
                7 if self.traits.managed => v.managed = true,
                _ => {}
            }
            vars.push(v);
        }
        if self.traits.constants {
            for _ in 0..self.rng.pick([1, 2, 3, 5]) {
                let v = self.scoped(Space::Const);
                vars.push(v);
            }
        }
        if self.traits.shared {
            for _ in 0..self.rng.pick([1, 2, 3, 5, 7]) {
                let v = self.scoped(Space::Shared);
                vars.push(v);
            }
        }
        if self.traits.dynamic_shared {
            for _ in 0..self.rng.pick([1, 1, 2]) {
                let mut v = self.var(Space::Shared);
                (v.dynamic, v.place.homes) = (true, Vec::new());
                vars.push(v);
            }
        }
        if self.traits.same_static && self.modules > 1 {
            let k = self.rng.between(2, self.modules);
            let name = self.names.fresh(self.rng, "v");
            for home in self.rng.sample(self.modules, k) {
                let space = self.rng.pick([Space::Global, Space::Global, Space::Const]);
                let mut v = self.var(space);
                v.name.clone_from(&name);
                v.place = Place {
                    linkage: Linkage::Static,
                    homes: vec![home],
                    strong: None,
                };
                vars.push(v);
            }
        }
        vars
    }

    fn scoped(&mut self, space: Space) -> Var {
        let mut v = self.var(space);
        match self.rng.below(10) {
            0..2 if self.traits.weak => v.place = self.copies(Linkage::Weak),
            2..6 => v.place.linkage = Linkage::Static,
            _ => {}
        }
        v
    }

    fn funcs(&mut self) -> Vec<Func> {
        let n = if self.traits.big {
            self.rng.between(15, 40)
        } else {
            self.rng.pick([0, 1, 2, 3, 4, 6, 8, 10])
        };
        let mut funcs = Vec::new();
        for rank in 0..n {
            let place = match self.rng.below(10) {
                0..3 => self.one_home(Linkage::Static),
                3..6 if self.traits.weak => self.copies(Linkage::Weak),
                _ => self.one_home(Linkage::Visible),
            };
            let name = self.names.fresh(self.rng, "f");
            let signature = if self.rng.chance(40) { 0 } else { self.rng.below(SIGNATURES.len()) };
            let recursive = self.traits.recursion && self.rng.chance(30);
            let alias =
                (self.traits.alias && place.linkage == Linkage::Visible && self.rng.chance(40)).then(|| self.names.fresh(self.rng, "al"));
            // aliases of functions named like driver functions are a known difference
            let alias = alias.filter(|_| !name.starts_with("__cuda_syscall"));
            funcs.push(Func {
                name,
                signature,
                place,
                rank,
                recursive,
                alias,
            });
        }
        if self.traits.same_static && self.modules > 1 {
            let name = self.names.fresh(self.rng, "st");
            let k = self.rng.between(2, self.modules);
            for home in self.rng.sample(self.modules, k) {
                let place = Place {
                    linkage: Linkage::Static,
                    homes: vec![home],
                    strong: None,
                };
                funcs.push(Func {
                    name: name.clone(),
                    signature: 0,
                    place,
                    rank: n + home,
                    recursive: false,
                    alias: None,
                });
            }
        }
        funcs
    }

    fn kernels(&mut self) -> Vec<Kernel> {
        let n = if self.traits.big {
            self.rng.between(5, 16)
        } else {
            self.rng.pick([0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 6])
        };
        let mut kernels = Vec::new();
        for _ in 0..n {
            let place = match self.rng.below(10) {
                0 => self.one_home(Linkage::Static),
                1..3 if self.traits.weak => self.copies(Linkage::Weak),
                _ => self.one_home(Linkage::Visible),
            };
            let count = self.rng.pick([0, 1, 1, 2, 3, 6]);
            let mut params: Vec<&str> = (0..count)
                .map(|_| self.rng.pick(["u64", "u64", "u32", "u8", "u16", "f64", "blob"]))
                .collect();
            if self.traits.textures && self.rng.chance(25) {
                params.push("texref");
            }
            kernels.push(Kernel {
                name: self.names.fresh(self.rng, "k"),
                params,
                place,
            });
        }
        kernels
    }

    fn textures(&mut self) -> Vec<Texture> {
        let n = if self.traits.textures { self.rng.between(1, 5) } else { 0 };
        (0..n)
            .map(|_| Texture {
                name: self.names.fresh(self.rng, "t"),
                kind: self.rng.pick([TextureKind::Texture, TextureKind::Texture, TextureKind::Surface]),
                place: self.one_home(Linkage::Visible),
            })
            .collect()
    }
}
