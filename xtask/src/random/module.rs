//! Writes one module of a scenario as PTX.
//!
//! 1. Bodies are written first ([`super::body`]); they note every symbol that they use.
//! 2. Tables of addresses and a few unused declarations are added.
//! 3. Declarations and definitions follow from what is defined here and what was used, in a random order.
//! 4. The target, compiler flags and line directives of the module are chosen.

use super::body::{Body, Owner};
use super::scenario::{Fault, Func, Kernel, Linkage, Pass, SIGNATURES, Scalar, Scenario, Space, TextureKind, Var};
use culd_tests::rng::Rng;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A module ready for ptxas.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// The architecture that it is compiled for: the scenario's, or one that the scenario's accepts.
    pub(crate) arch: String,
    /// Further flags for ptxas.
    pub(crate) flags: Vec<&'static str>,
    /// To be compiled by the ptxas of CUDA 12.
    pub(crate) old: bool,
}

/// System functions, which stay undefined in a link.
const SYSTEM: [(&str, &str); 4] = [
    ("vprintf", ".extern .func (.param .b32 rv) vprintf (.param .b64 a, .param .b64 b);"),
    ("malloc", ".extern .func (.param .b64 rv) malloc (.param .b64 a);"),
    ("free", ".extern .func free (.param .b64 a);"),
    (
        "__assertfail",
        ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);",
    ),
];

/// One module while it is written: its place in the scenario and what its text has used so far.
pub(crate) struct Module<'w> {
    pub(crate) scenario: &'w Scenario,
    pub(crate) index: usize,
    pub(crate) used_vars: BTreeSet<usize>,
    pub(crate) used_funcs: BTreeSet<usize>,
    pub(crate) used_textures: BTreeSet<usize>,
    /// Kernels whose address is taken.
    pub(crate) used_kernels: BTreeSet<usize>,
    pub(crate) used_system: BTreeSet<&'static str>,
}

/// Writes module `index` of `scenario`.
pub(crate) fn write(scenario: &Scenario, index: usize, rng: &mut Rng) -> Source {
    let mut module = Module {
        scenario,
        index,
        used_vars: BTreeSet::new(),
        used_funcs: BTreeSet::new(),
        used_textures: BTreeSet::new(),
        used_kernels: BTreeSet::new(),
        used_system: BTreeSet::new(),
    };
    let bodies = module.bodies(rng);
    let tables = module.tables(rng);
    module.mention_a_few(rng);
    let (arch, target) = module.targets(rng);
    let mode = if scenario.traits.textures && scenario.traits.independent {
        ", texmode_independent"
    } else {
        ""
    };
    let mut text = format!(".version 9.0\n.target {target}{mode}\n.address_size 64\n");
    if scenario.traits.lines {
        let _ = writeln!(text, ".file 1 \"part{}.cu\"\n.file 2 \"common.h\"", index % 3);
    }
    for (name, declaration) in SYSTEM {
        if module.used_system.contains(name) {
            text.push_str(declaration);
            text.push('\n');
        }
    }
    let mut data = module.data(rng);
    let mut funcs = module.prototypes();
    if rng.chance(50) {
        rng.shuffle(&mut data);
        rng.shuffle(&mut funcs);
    }
    let groups = if rng.chance(70) { [data, funcs] } else { [funcs, data] };
    for line in groups.into_iter().flatten().chain(tables).chain(bodies).chain(module.aliases()) {
        text.push_str(&line);
        text.push('\n');
    }
    let flags = random_flags(rng, scenario.traits.lines);
    // CUDA 12 does not support sm_88, nor the architectures with two views in this form
    let old = rng.chance(6) && arch != "sm_88" && number(&arch) <= 90;
    if old {
        text = text.replacen(".version 9.0", ".version 8.5", 1);
    }
    Source { text, arch, flags, old }
}

/// Options of ptxas that change what an object holds, beside those that [`random_flags`] names.
const RARE_FLAGS: [&[&str]; 16] = [
    &["-sanitize", "memcheck"],
    &["-sanitize", "threadsteer"],
    &["-device-stack-protector", "true"],
    &["-disable-optimizer-consts"],
    &["-func-maxrregcount", "40"],
    &["-maxntid", "128"],
    &["-minnctapersm", "2"],
    &["-no-bb-merge"],
    &["-ret-end"],
    &["-sp-bounds-check"],
    &["-Ofc", "max"],
    &["-Ofc", "mid"],
    &["-make-errors-visible-at-exit"],
    &["-g", "-suppress-debug-info"],
    &["-g", "-lineinfo"],
    &["-regUsageLevel", "2"],
];

fn random_flags(rng: &mut Rng, lines: bool) -> Vec<&'static str> {
    match rng.below(100) {
        0..25 if lines => vec!["-lineinfo"],
        25..50 if lines => vec!["-g"],
        50..55 => vec!["-O0"],
        55..58 => vec!["-O1"],
        58..62 => vec!["-maxrregcount", "32"],
        62..64 => vec!["-preserve-relocs"],
        64..70 => vec!["-pic", "true"],
        n => RARE_FLAGS.get(n.wrapping_sub(70)).map_or(Vec::new(), |flags| flags.to_vec()),
    }
}

/// `(.param .b32 rv) name (.param .b32 a0, ..)`: the head of a function, or with `_` for names a prototype.
pub(crate) fn signature(signature: usize, name: &str) -> String {
    let anonymous = name == "_";
    let one = |pass: Pass, label: String| {
        let label = if anonymous { "_".to_owned() } else { label };
        match pass {
            Pass::Word => format!(".param .b32 {label}"),
            Pass::Long => format!(".param .b64 {label}"),
            Pass::Struct => format!(".param .align 8 .b8 {label}[16]"),
        }
    };
    let s = &SIGNATURES[signature];
    let result = s.result.map_or(String::new(), |r| format!("({}) ", one(r, "rv".into())));
    let params: Vec<String> = s.params.iter().enumerate().map(|(i, p)| one(*p, format!("a{i}"))).collect();
    format!("{result}{name} ({})", params.join(", "))
}

impl Module<'_> {
    fn bodies(&mut self, rng: &mut Rng) -> Vec<String> {
        let scenario = self.scenario;
        let here = |homes: &[usize]| homes.contains(&self.index);
        let mut owners: Vec<Owner<'_>> = scenario.funcs.iter().filter(|f| here(&f.place.homes)).map(Owner::Func).collect();
        owners.extend(scenario.kernels.iter().filter(|k| here(&k.place.homes)).map(Owner::Kernel));
        if rng.chance(50) {
            rng.shuffle(&mut owners);
        }
        let mut out: Vec<String> = owners
            .into_iter()
            .map(|owner| {
                let head = match owner {
                    Owner::Func(f) => self.func_head(f),
                    Owner::Kernel(k) => self.kernel_head(k, rng),
                };
                format!("{head}\n{}", Body::write(self, owner, rng))
            })
            .collect();
        if scenario.fault == Some(Fault::EntryAndFunc)
            && let Some(k) = scenario.kernels.first()
            && k.place.linkage != Linkage::Static
            && !k.place.homes.contains(&self.index)
        {
            out.push(format!(".weak .func {} ()\n{{\nret;\n}}", k.name));
        }
        out
    }

    fn func_head(&self, f: &Func) -> String {
        format!(
            "{}.func {}",
            f.place.directive(self.index).unwrap_or(".extern "),
            signature(f.signature, &f.name)
        )
    }

    /// `.visible .entry name (..)`; of a kernel of another module `.extern`.
    fn kernel_signature(&self, k: &Kernel) -> String {
        let param = |(i, p): (usize, &&str)| match *p {
            "blob" => format!(".param .align 8 .b8 a{i}[40]"),
            "texref" => format!(".param .texref {}", texture_parameter(k, i)),
            p => format!(".param .{p} a{i}"),
        };
        let params: Vec<String> = k.params.iter().enumerate().map(param).collect();
        let directive = k.place.directive(self.index).unwrap_or(".extern ");
        format!("{directive}.entry {} ({})", k.name, params.join(", "))
    }

    fn kernel_head(&self, k: &Kernel, rng: &mut Rng) -> String {
        let mut head = self.kernel_signature(k);
        if self.scenario.traits.bounds {
            let threads = rng.pick([32, 128, 256]);
            head.push_str(&match rng.below(12) {
                0..3 => format!("\n.maxntid {threads}, 1, 1"),
                3 => format!("\n.reqntid {threads}, 1, 1"),
                4..6 => format!("\n.maxntid {threads}, 1, 1\n.minnctapersm {}", rng.pick([1, 2, 4])),
                6 => format!("\n.maxnreg {}", rng.pick([128, 168])),
                7 if self.has_clusters() => "\n.explicitcluster\n.reqnctapercluster 2, 1, 1".to_owned(),
                8 if self.has_clusters() => format!("\n.maxclusterrank {}", rng.pick([2, 4])),
                _ => String::new(),
            });
        }
        head
    }

    /// Arrays of addresses: of functions, of variables with and without offsets, and plain numbers between them.
    fn tables(&mut self, rng: &mut Rng) -> Vec<String> {
        if !self.scenario.traits.tables || rng.chance(30) {
            return Vec::new();
        }
        let weak = self.scenario.traits.weak && rng.chance(30);
        (0..rng.pick([1, 1, 2]))
            .map(|i| {
                let entries: Vec<String> = (0..rng.between(1, 6)).map(|_| self.table_entry(rng)).collect();
                let (linkage, name) = if weak {
                    (".weak .global", format!("vt{i}"))
                } else {
                    (
                        rng.pick([".visible .global", ".global", ".visible .const"]),
                        format!("tab{}_{i}", self.index),
                    )
                };
                // copies of a weak table have one size
                let count = if weak { 8 } else { entries.len() + rng.below(2) };
                format!("{linkage} .align 8 .u64 {name}[{count}] = {{ {} }};", entries.join(", "))
            })
            .collect()
    }

    fn table_entry(&mut self, rng: &mut Rng) -> String {
        let funcs = self.callable();
        let vars = self.vars_where(|v| v.space != Space::Shared && !v.managed);
        match rng.below(10) {
            0..5 => {
                if let Some(&f) = rng.choose(&funcs) {
                    self.used_funcs.insert(f);
                    return self.scenario.funcs[f].name.clone();
                }
            }
            5..9 => {
                if let Some(&v) = rng.choose(&vars) {
                    self.used_vars.insert(v);
                    let var = &self.scenario.vars[v];
                    let name = if rng.chance(40) {
                        format!("generic({})", var.name)
                    } else {
                        var.name.clone()
                    };
                    return match rng.pick([0, 0, 4, var.scalar.size]) {
                        0 => name,
                        offset => format!("{name}+{offset}"),
                    };
                }
            }
            _ => {
                if !self.scenario.textures.is_empty() {
                    let t = rng.below(self.scenario.textures.len());
                    self.used_textures.insert(t);
                    return self.scenario.textures[t].name.clone();
                }
            }
        }
        (rng.next() >> 24).to_string()
    }

    /// Declarations that nothing uses are symbols too.
    fn mention_a_few(&mut self, rng: &mut Rng) {
        self.used_vars
            .extend(self.vars_where(|_| true).into_iter().filter(|_| rng.chance(6)));
        self.used_funcs.extend(self.callable().into_iter().filter(|_| rng.chance(5)));
    }

    /// What it is compiled for, and the virtual architecture that it claims.
    fn targets(&self, rng: &mut Rng) -> (String, String) {
        let scenario = &self.scenario.arch;
        let mut arch = scenario.clone();
        if self.scenario.traits.mixed_arch {
            let accepted: &[&str] = match scenario.as_str() {
                "sm_52" => &["sm_50", "sm_52"],
                "sm_61" => &["sm_60", "sm_61"],
                "sm_86" => &["sm_80", "sm_86"],
                "sm_89" => &["sm_80", "sm_86", "sm_89"],
                "sm_90" | "sm_90a" => &["sm_90", "sm_90a"],
                "sm_100" | "sm_100a" | "sm_100f" => &["sm_100", "sm_100a", "sm_100f"],
                "sm_103" => &["sm_100", "sm_100f", "sm_103"],
                "sm_121" => &["sm_120", "sm_121"],
                _ => &[],
            };
            arch = rng.choose(accepted).map_or(arch, |a| (*a).to_owned());
        }
        let older: Vec<&str> = OLDER_TARGETS
            .into_iter()
            .filter(|t| number(t) <= number(&arch) && (number(&arch) < 75 || number(t) >= 75))
            .collect();
        let target = match rng.choose(&older) {
            Some(t) if self.scenario.traits.odd_target => (*t).to_owned(),
            _ => arch.clone(),
        };
        (arch, target)
    }

    fn data(&self, rng: &mut Rng) -> Vec<String> {
        let mut out = Vec::new();
        for (i, v) in self.scenario.vars.iter().enumerate() {
            if v.place.homes.contains(&self.index) || self.used_vars.contains(&i) {
                out.push(self.var_line(v, rng));
            }
        }
        for (i, t) in self.scenario.textures.iter().enumerate() {
            if t.place.homes.contains(&self.index) || self.used_textures.contains(&i) {
                let kind = if t.kind == TextureKind::Texture { "texref" } else { "surfref" };
                out.push(format!(
                    "{}.global .{kind} {};",
                    t.place.directive(self.index).unwrap_or(".extern "),
                    t.name
                ));
            }
        }
        if self.scenario.traits.textures && self.scenario.traits.independent {
            out.push(format!(".visible .global .samplerref {};", self.sampler()));
        }
        if self.used_system.contains("vprintf") || self.used_system.contains("__assertfail") {
            out.push(".global .align 1 .b8 $str[5] = {104, 105, 37, 100, 10};".to_owned());
        }
        out
    }

    /// The module's sampler.
    pub(crate) fn sampler(&self) -> String {
        format!("smp{}", self.index)
    }

    fn var_line(&self, v: &Var, rng: &mut Rng) -> String {
        let Var { name, scalar, align, .. } = v;
        if v.dynamic {
            return format!(".extern .shared .align {align} .{} {name}[];", scalar.name);
        }
        let array = if v.count == 0 { String::new() } else { format!("[{}]", v.count) };
        let managed = if v.managed { ".attribute(.managed) " } else { "" };
        let Some(linkage) = v.place.directive(self.index) else {
            return self.extern_line(v, managed, &array);
        };
        // later commons may be larger or less aligned than the first
        if v.place.linkage == Linkage::Common {
            let count = if v.count > 0 && rng.chance(30) {
                v.count + rng.below(5)
            } else {
                v.count
            };
            let array = if count == 0 { String::new() } else { format!("[{count}]") };
            return format!(
                ".common .global .align {} .{} {name}{array};",
                rng.pick([*align, *align, scalar.size]),
                scalar.name
            );
        }
        let init = if v.init { format!(" = {}", initial(v, rng)) } else { String::new() };
        format!(
            "{linkage}.{} {managed}.align {align} .{} {name}{array}{init};",
            v.space.word(),
            scalar.name
        )
    }

    fn extern_line(&self, v: &Var, managed: &str, array: &str) -> String {
        let wrong = |fault| self.scenario.fault == Some(fault) && v.place.linkage != Linkage::Static;
        let array = if wrong(Fault::ExternSize) && v.count > 0 {
            format!("[{}]", v.count + 1)
        } else {
            array.to_owned()
        };
        let space = match v.space {
            Space::Global if wrong(Fault::ExternSpace) => Space::Const,
            Space::Const if wrong(Fault::ExternSpace) => Space::Global,
            space => space,
        };
        format!(
            ".extern .{} {managed}.align {} .{} {}{array};",
            space.word(),
            v.align,
            v.scalar.name,
            v.name
        )
    }

    fn prototypes(&self) -> Vec<String> {
        let mut out = Vec::new();
        for (i, f) in self.scenario.funcs.iter().enumerate() {
            let defined = f.place.homes.contains(&self.index);
            if defined {
                out.push(format!("{};", self.func_head(f)));
            } else if self.used_funcs.contains(&i) {
                out.push(format!(".extern .func {};", signature(f.signature, &f.name)));
            }
        }
        let used = self.used_kernels.iter().filter_map(|&k| self.scenario.kernels.get(k));
        out.extend(used.map(|k| format!("{};", self.kernel_signature(k))));
        // one that nothing calls, so that the module itself stays correct
        if self.scenario.fault == Some(Fault::ExternSignature)
            && let Some((i, f)) = self
                .scenario
                .funcs
                .iter()
                .enumerate()
                .find(|(_, f)| f.place.linkage == Linkage::Visible)
            && !f.place.homes.contains(&self.index)
            && !self.used_funcs.contains(&i)
        {
            out.push(format!(
                ".extern .func {};",
                signature((f.signature + 1) % SIGNATURES.len(), &f.name)
            ));
            out.push(format!(".visible .global .u64 wrong{}[1] = {{ {} }};", self.index, f.name));
        }
        out
    }

    fn aliases(&self) -> Vec<String> {
        let here = self.scenario.funcs.iter().filter(|f| f.place.homes.contains(&self.index));
        here.filter_map(|f| {
            f.alias
                .as_ref()
                .map(|a| format!(".visible .func {};\n.alias {a}, {};", signature(f.signature, a), f.name))
        })
        .collect()
    }

    /// Whether cluster features may be used: the architecture has them, and no module claims an older one.
    pub(crate) fn has_clusters(&self) -> bool {
        number(&self.scenario.arch) >= 90 && !self.scenario.traits.odd_target
    }

    /// Functions that code of this module can name.
    pub(crate) fn callable(&self) -> Vec<usize> {
        let funcs = self.scenario.funcs.iter().enumerate();
        funcs.filter(|(_, f)| f.place.reachable(self.index)).map(|(i, _)| i).collect()
    }

    /// Variables that code of this module can name and that `wanted` accepts.
    pub(crate) fn vars_where(&self, wanted: impl Fn(&Var) -> bool) -> Vec<usize> {
        let vars = self.scenario.vars.iter().enumerate();
        vars.filter(|(_, v)| v.place.reachable(self.index) && wanted(v))
            .map(|(i, _)| i)
            .collect()
    }
}

/// Virtual architectures that a module may claim.
const OLDER_TARGETS: [&str; 9] = ["sm_50", "sm_52", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];

/// Name of a texture parameter: ptxas takes those of one name for one, even in two kernels.
pub(crate) fn texture_parameter(k: &Kernel, index: usize) -> String {
    format!("{}_t{index}", k.name)
}

/// The number in `sm_90a`.
pub(crate) fn number(arch: &str) -> u32 {
    arch.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

fn initial(v: &Var, rng: &mut Rng) -> String {
    let mut one = |s: Scalar| match (s.name.starts_with('f'), s.size) {
        (true, _) => format!("{}.{}", rng.below(100), rng.below(100)),
        (_, 1) => rng.below(100).to_string(),
        _ => rng.below(30000).to_string(),
    };
    if v.count == 0 {
        return one(v.scalar);
    }
    let values: Vec<String> = (0..v.count.min(6)).map(|_| one(v.scalar)).collect();
    format!("{{ {} }}", values.join(", "))
}
