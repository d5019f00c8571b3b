//! Writes the body of a function or kernel.
//!
//! 1. Two registers carry the state: `%a` (32 bit) and `%q` (64 bit, also an address). Parameters are folded into them.
//! 2. A random number of statements, each of a random kind, reads or writes something and folds the result in; some are after a branch.
//! 3. The state is returned or stored, so that ptxas cannot drop what led to it.

use super::module::{Module, signature, texture_parameter};
use super::scenario::{Func, Kernel, Pass, SIGNATURES, Space, TextureKind};
use culd_tests::rng::Rng;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Whose body it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner<'w> {
    Func(&'w Func),
    Kernel(&'w Kernel),
}

/// Kinds of statements with how often each is chosen. A kind that the scenario lacks is replaced by a plain one.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Global,
    Const,
    Shared,
    Call,
    Indirect,
    System,
    Local,
    OwnShared,
    Double,
    Switch,
    Texture,
    Plain,
}

const KINDS: [(usize, Kind); 12] = [
    (20, Kind::Global),
    (12, Kind::Const),
    (14, Kind::Shared),
    (22, Kind::Call),
    (8, Kind::Indirect),
    (7, Kind::System),
    (5, Kind::Local),
    (5, Kind::OwnShared),
    (6, Kind::Double),
    (4, Kind::Switch),
    (8, Kind::Texture),
    (8, Kind::Plain),
];

/// Numbers of registers and labels handed out.
#[derive(Default)]
struct Counts {
    word: usize,
    long: usize,
    double: usize,
    pred: usize,
    label: usize,
}

pub(crate) struct Body<'m, 'w> {
    module: &'m mut Module<'w>,
    owner: Owner<'w>,
    rng: &'m mut Rng,
    lines: String,
    declarations: String,
    prototypes: BTreeSet<usize>,
    counts: Counts,
    arrays: usize,
}

/// Adds one line of PTX.
macro_rules! ptx {
    ($body:expr, $($arg:tt)*) => {{
        $body.location();
        let _ = writeln!($body.lines, $($arg)*);
    }};
}

impl<'m, 'w> Body<'m, 'w> {
    /// The text between (and with) the braces.
    pub(crate) fn write(module: &'m mut Module<'w>, owner: Owner<'w>, rng: &'m mut Rng) -> String {
        let mut body = Self {
            module,
            owner,
            rng,
            lines: String::new(),
            declarations: String::new(),
            prototypes: BTreeSet::new(),
            counts: Counts::default(),
            arrays: 0,
        };
        body.prologue();
        for _ in 0..body.rng.pick([0, 1, 2, 3, 4, 6]) {
            let kind = body.random_kind();
            if body.rng.chance(35) {
                body.guarded(|b| b.statement(kind));
            } else {
                body.statement(kind);
            }
        }
        body.kernel_address();
        body.epilogue();
        let Counts {
            word, long, double, pred, ..
        } = body.counts;
        let mut text = format!(
            "{{\n.reg .pred %p<{}>;\n.reg .b32 %r<{}>;\n.reg .b64 %d<{}>;\n.reg .f64 %e<{}>;\n.reg .b32 %a;\n.reg .b64 %q;\n",
            pred + 1,
            word + 1,
            long + 1,
            double + 1
        );
        text.push_str(&body.declarations);
        for &p in &body.prototypes {
            let _ = writeln!(text, "proto{p}: .callprototype {};", signature(p, "_"));
        }
        text.push_str(&body.lines);
        text.push('}');
        text
    }

    fn word(&mut self) -> String {
        self.counts.word += 1;
        format!("%r{}", self.counts.word)
    }

    fn long(&mut self) -> String {
        self.counts.long += 1;
        format!("%d{}", self.counts.long)
    }

    fn double(&mut self) -> String {
        self.counts.double += 1;
        format!("%e{}", self.counts.double)
    }

    fn pred(&mut self) -> String {
        self.counts.pred += 1;
        format!("%p{}", self.counts.pred)
    }

    fn label(&mut self) -> String {
        self.counts.label += 1;
        format!("$L{}", self.counts.label)
    }

    /// Now and then a source line, in scenarios that have them.
    fn location(&mut self) {
        if self.module.scenario.traits.lines && self.rng.chance(30) {
            let (file, line, column) = (self.rng.between(1, 2), self.rng.between(1, 90), self.rng.below(20));
            let _ = writeln!(self.lines, ".loc {file} {line} {column}");
        }
    }

    fn fold_word(&mut self, r: &str) {
        ptx!(self, "xor.b32 %a, %a, {r};");
    }

    fn fold_long(&mut self, d: &str) {
        ptx!(self, "xor.b64 %q, %q, {d};");
    }

    fn prologue(&mut self) {
        let params: Vec<&str> = match self.owner {
            Owner::Func(f) => {
                ptx!(self, "mov.u32 %a, 1;");
                ptx!(self, "mov.u64 %q, 0;");
                let words = SIGNATURES[f.signature].params.iter();
                words
                    .map(|p| match p {
                        Pass::Word => "u32",
                        Pass::Long => "u64",
                        Pass::Struct => "blob",
                    })
                    .collect()
            }
            Owner::Kernel(k) => {
                ptx!(self, "mov.u32 %a, %tid.x;");
                ptx!(self, "mov.u64 %q, 4096;");
                k.params.clone()
            }
        };
        for (i, param) in params.into_iter().enumerate() {
            match param {
                "u64" | "blob" => {
                    let d = self.long();
                    let offset = if param == "blob" { "+8" } else { "" };
                    ptx!(self, "ld.param.u64 {d}, [a{i}{offset}];");
                    ptx!(self, "add.u64 %q, %q, {d};");
                }
                "u32" => {
                    let r = self.word();
                    ptx!(self, "ld.param.u32 {r}, [a{i}];");
                    self.fold_word(&r);
                }
                "texref" => {
                    if let Owner::Kernel(k) = self.owner {
                        let r = self.word();
                        ptx!(self, "txq.width.b32 {r}, [{}];", texture_parameter(k, i));
                        self.fold_word(&r);
                    }
                }
                _ => {}
            }
        }
    }

    fn epilogue(&mut self) {
        match self.owner {
            Owner::Kernel(_) => ptx!(self, "st.global.u32 [%q], %a;"),
            Owner::Func(f) => match SIGNATURES[f.signature].result {
                Some(Pass::Word) => {
                    let r = self.word();
                    ptx!(self, "cvt.u32.u64 {r}, %q;");
                    self.fold_word(&r);
                    ptx!(self, "st.param.b32 [rv], %a;");
                }
                Some(_) => {
                    let d = self.long();
                    ptx!(self, "cvt.u64.u32 {d}, %a;");
                    self.fold_long(&d);
                    ptx!(self, "st.param.b64 [rv], %q;");
                }
                None => ptx!(self, "st.u32 [%q], %a;"),
            },
        }
        ptx!(self, "ret;");
    }

    fn random_kind(&mut self) -> Kind {
        let total = KINDS.iter().map(|(w, _)| w).sum();
        let mut x = self.rng.below(total);
        for (weight, kind) in KINDS {
            if x < weight {
                return kind;
            }
            x -= weight;
        }
        Kind::Plain
    }

    fn guarded(&mut self, inner: impl FnOnce(&mut Self)) {
        let (p, label) = (self.pred(), self.label());
        let bound = self.rng.between(1, 1000);
        ptx!(self, "setp.lt.u32 {p}, %a, {bound};");
        ptx!(self, "@{p} bra {label};");
        inner(self);
        let _ = writeln!(self.lines, "{label}:");
    }

    fn statement(&mut self, kind: Kind) {
        let traits = &self.module.scenario.traits;
        let done = match kind {
            Kind::Global => self.variable(Space::Global),
            Kind::Const => self.variable(Space::Const),
            Kind::Shared => self.variable(Space::Shared),
            Kind::Call => self.direct_call(),
            Kind::Indirect if traits.indirect => self.indirect_call(),
            Kind::System if traits.system => self.system_call(),
            Kind::Local if traits.locals => self.array("local"),
            Kind::OwnShared if traits.own_shared => self.array("shared"),
            Kind::Double if traits.doubles => self.doubles(),
            Kind::Switch if traits.switches => self.switch(),
            Kind::Texture => self.texture(),
            _ => false,
        };
        if !done {
            self.plain();
        }
    }

    /// Reads, writes or takes the address of a variable.
    fn variable(&mut self, space: Space) -> bool {
        let candidates = self.module.vars_where(|v| v.space == space);
        let Some(&index) = self.rng.choose(&candidates) else { return false };
        self.module.used_vars.insert(index);
        let scenario = self.module.scenario;
        let v = &scenario.vars[index];
        let (name, word, size) = (&v.name, space.word(), v.scalar.size);
        let offset = size * self.rng.below(if v.dynamic { 4 } else { v.count.max(1) });
        let mut address = if offset == 0 {
            format!("[{name}]")
        } else {
            format!("[{name}+{offset}]")
        };
        match self.rng.below(10) {
            0..2 if v.count > 0 || v.dynamic => {
                let (d, index) = (self.long(), self.long());
                ptx!(self, "mov.u64 {d}, {name};");
                ptx!(self, "cvt.u64.u32 {index}, %a;");
                ptx!(self, "mad.lo.u64 {d}, {index}, {size}, {d};");
                address = format!("[{d}]");
            }
            2 if space == Space::Shared => {
                let r = self.word();
                ptx!(self, "mov.u32 {r}, {name};");
                self.fold_word(&r);
                return true;
            }
            2 => {
                let d = self.long();
                ptx!(self, "mov.u64 {d}, {name};");
                ptx!(self, "cvta.{word}.u64 {d}, {d};");
                self.fold_long(&d);
                return true;
            }
            _ => {}
        }
        let width = size * 8;
        let store = space != Space::Const && self.rng.chance(45);
        let atomic = space != Space::Const && size >= 4 && self.rng.chance(12);
        match (size, store) {
            (8, true) => ptx!(self, "st.{word}.u64 {address}, %q;"),
            (_, true) => ptx!(self, "st.{word}.u{width} {address}, %a;"),
            (8, _) => {
                let d = self.long();
                let op = if atomic { "atom" } else { "ld" };
                let tail = if atomic { ", %q" } else { "" };
                let verb = if atomic { "add." } else { "" };
                ptx!(self, "{op}.{word}.{verb}u64 {d}, {address}{tail};");
                self.fold_long(&d);
            }
            _ => {
                let r = self.word();
                if atomic && size == 4 {
                    ptx!(self, "atom.{word}.add.u32 {r}, {address}, %a;");
                } else {
                    ptx!(self, "ld.{word}.u{width} {r}, {address};");
                }
                self.fold_word(&r);
            }
        }
        true
    }

    /// The call sequence to `callee`, a name or a register.
    fn call(&mut self, signature: usize, callee: &str, prototype: bool) {
        let s = &SIGNATURES[signature];
        ptx!(self, "{{");
        for (i, p) in s.params.iter().enumerate() {
            match p {
                Pass::Word => ptx!(self, ".param .b32 x{i}; st.param.b32 [x{i}], %a;"),
                Pass::Long => ptx!(self, ".param .b64 x{i}; st.param.b64 [x{i}], %q;"),
                Pass::Struct => ptx!(
                    self,
                    ".param .align 8 .b8 x{i}[16]; st.param.b64 [x{i}], %q; st.param.b64 [x{i}+8], %q;"
                ),
            }
        }
        let args: Vec<String> = (0..s.params.len()).map(|i| format!("x{i}")).collect();
        let args = args.join(", ");
        let tail = if prototype { format!(", proto{signature}") } else { String::new() };
        match s.result {
            None => ptx!(self, "call {callee}, ({args}){tail};"),
            Some(Pass::Word) => {
                let r = self.word();
                ptx!(self, ".param .b32 y; call (y), {callee}, ({args}){tail}; ld.param.b32 {r}, [y];");
                self.fold_word(&r);
            }
            Some(_) => {
                let d = self.long();
                ptx!(self, ".param .b64 y; call (y), {callee}, ({args}){tail}; ld.param.b64 {d}, [y];");
                self.fold_long(&d);
            }
        }
        let _ = writeln!(self.lines, "}}");
    }

    fn direct_call(&mut self) -> bool {
        let scenario = self.module.scenario;
        let mut candidates = self.module.callable();
        if let Owner::Func(f) = self.owner {
            candidates.retain(|&c| f.recursive || scenario.funcs[c].rank > f.rank);
        }
        let Some(&index) = self.rng.choose(&candidates) else { return false };
        self.module.used_funcs.insert(index);
        let callee = &scenario.funcs[index];
        self.call(callee.signature, &callee.name, false);
        true
    }

    /// Through a register: the address of a known function, or one that was read from memory. Or only the address is taken.
    fn indirect_call(&mut self) -> bool {
        let candidates = self.module.callable();
        let Some(&index) = self.rng.choose(&candidates) else { return false };
        let callee = &self.module.scenario.funcs[index];
        let d = self.long();
        if self.rng.chance(60) {
            self.module.used_funcs.insert(index);
            ptx!(self, "mov.u64 {d}, {};", callee.name);
            if self.rng.chance(30) {
                self.fold_long(&d);
                return true;
            }
        } else {
            ptx!(self, "ld.u64 {d}, [%q];");
        }
        self.prototypes.insert(callee.signature);
        self.call(callee.signature, &d, true);
        true
    }

    /// Takes the address of a kernel, as device code does to start it. Chosen from the text so far: scenarios stay what they were without it.
    fn kernel_address(&mut self) {
        let hash = self
            .lines
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut rng = Rng::new(hash.wrapping_add(self.module.index as u64));
        let (scenario, here) = (self.module.scenario, self.module.index);
        let reachable = |i: &usize| scenario.kernels[*i].place.reachable(here);
        let candidates: Vec<usize> = (0..scenario.kernels.len()).filter(reachable).collect();
        let Some(&index) = rng.choose(&candidates).filter(|_| rng.chance(5)) else {
            return;
        };
        self.module.used_kernels.insert(index);
        let d = self.long();
        let _ = writeln!(self.lines, "mov.u64 {d}, {};\nxor.b64 %q, %q, {d};", scenario.kernels[index].name);
    }

    fn system_call(&mut self) -> bool {
        let name = self.rng.pick(["vprintf", "vprintf", "malloc", "free", "__assertfail"]);
        self.module.used_system.insert(name);
        let (d, r) = (self.long(), self.word());
        if name == "vprintf" || name == "__assertfail" {
            ptx!(self, "mov.u64 {d}, $str;");
            ptx!(self, "cvta.global.u64 {d}, {d};");
        }
        let long = |i: usize, value: &str| format!(".param .b64 x{i}; st.param.b64 [x{i}], {value};");
        match name {
            "vprintf" => {
                ptx!(
                    self,
                    "{{ {} {} .param .b32 y; call (y), vprintf, (x0, x1); ld.param.b32 {r}, [y]; }}",
                    long(0, &d),
                    long(1, "%q")
                );
                self.fold_word(&r);
            }
            "malloc" => {
                ptx!(
                    self,
                    "{{ {} .param .b64 y; call (y), malloc, (x0); ld.param.b64 {d}, [y]; }}",
                    long(0, "%q")
                );
                self.fold_long(&d);
            }
            "free" => ptx!(self, "{{ {} call free, (x0); }}", long(0, "%q")),
            _ => ptx!(
                self,
                "{{ {} {} .param .b32 x2; st.param.b32 [x2], 7; {} {} call __assertfail, (x0, x1, x2, x3, x4); }}",
                long(0, &d),
                long(1, &d),
                long(3, &d),
                long(4, "%q")
            ),
        }
        true
    }

    /// An array of the function itself, indexed by a value that is not a compile-time constant.
    fn array(&mut self, space: &str) -> bool {
        self.arrays += 1;
        let name = format!("{}{}", self.rng.pick(["buf", "loc$s", "tile"]), self.arrays);
        let (bytes, align) = (self.rng.pick([8, 16, 32, 64, 100, 256]), self.rng.pick([4, 8, 16]));
        let _ = writeln!(self.declarations, ".{space} .align {align} .b8 {name}[{bytes}];");
        let (base, index, value) = (self.long(), self.long(), self.word());
        ptx!(self, "mov.u64 {base}, {name};");
        ptx!(self, "cvt.u64.u32 {index}, %a;");
        ptx!(self, "and.b64 {index}, {index}, 7;");
        ptx!(self, "add.u64 {index}, {base}, {index};");
        ptx!(self, "st.{space}.u8 [{index}], %a;");
        if space == "shared" {
            ptx!(self, "bar.sync 0;");
        }
        ptx!(self, "add.u64 {base}, {base}, %q;");
        ptx!(self, "ld.{space}.u8 {value}, [{base}];");
        self.fold_word(&value);
        true
    }

    /// Constants that do not fit an instruction.
    fn doubles(&mut self) -> bool {
        let (e, d) = (self.double(), self.long());
        ptx!(self, "cvt.rn.f64.u32 {e}, %a;");
        for _ in 0..self.rng.between(1, 3) {
            let mut constant = || (self.rng.next() >> 2) | 0x3000_0000_0000_0001;
            let (x, y) = (constant(), constant());
            ptx!(self, "fma.rn.f64 {e}, {e}, 0d{x:016X}, 0d{y:016X};");
        }
        ptx!(self, "mov.b64 {d}, {e};");
        self.fold_long(&d);
        true
    }

    fn switch(&mut self) -> bool {
        let n = self.rng.between(5, 12);
        let labels: Vec<String> = (0..n).map(|_| self.label()).collect();
        let (end, p, r) = (self.label(), self.pred(), self.word());
        ptx!(self, "and.b32 {r}, %a, 15;");
        ptx!(self, "setp.ge.u32 {p}, {r}, {n};");
        ptx!(self, "@{p} bra {end};");
        ptx!(self, "{{ targets: .branchtargets {}; brx.idx {r}, targets; }}", labels.join(", "));
        for (i, label) in labels.iter().enumerate() {
            let _ = writeln!(self.lines, "{label}:");
            let factor = self.rng.between(3, 99_999);
            ptx!(self, "mul.lo.u32 %a, %a, {factor};");
            ptx!(self, "st.u32 [%q+{}], %a;", 4 * i);
            ptx!(self, "bra {end};");
        }
        let _ = writeln!(self.lines, "{end}:");
        true
    }

    fn texture(&mut self) -> bool {
        let scenario = self.module.scenario;
        let index = self.rng.below(scenario.textures.len());
        let Some(t) = scenario.textures.get(index) else { return false };
        self.module.used_textures.insert(index);
        let r = self.word();
        if t.kind == TextureKind::Surface {
            ptx!(self, "suld.b.1d.b32.trap {r}, [{}, {{%a}}];", t.name);
        } else {
            let sampler = if scenario.traits.independent {
                format!(", {}", self.module.sampler())
            } else {
                String::new()
            };
            ptx!(
                self,
                "{{ .reg .f32 c; .reg .b32 z<4>; cvt.rn.f32.u32 c, %a; tex.1d.v4.u32.f32 {{z0, z1, z2, z3}}, [{}{sampler}, {{c}}]; mov.u32 {r}, z1; }}",
                t.name
            );
        }
        self.fold_word(&r);
        true
    }

    /// Code without symbols.
    fn plain(&mut self) {
        let r = self.word();
        match self.rng.below(8) {
            0 => {
                let barrier = self.rng.between(0, 5);
                ptx!(self, "bar.sync {barrier};");
            }
            1 if self.module.scenario.traits.pressure => {
                let regs: Vec<String> = (0..self.rng.pick([10, 20, 40, 60, 90])).map(|_| self.word()).collect();
                for (i, x) in regs.iter().enumerate() {
                    ptx!(self, "ld.volatile.u32 {x}, [%q+{}];", 4 * i);
                }
                for x in regs.iter().rev() {
                    ptx!(self, "mad.lo.u32 %a, %a, {x}, {};", regs[0]);
                }
            }
            2 => {
                ptx!(self, "atom.add.u32 {r}, [%q], %a;");
                self.fold_word(&r);
            }
            3 => {
                ptx!(self, "shfl.sync.bfly.b32 {r}, %a, 1, 31, -1;");
                self.fold_word(&r);
            }
            4 => {
                ptx!(self, "mov.u32 {r}, %clock;");
                self.fold_word(&r);
            }
            5 if self.module.has_clusters() => {
                ptx!(self, "mov.u32 {r}, %cluster_ctarank;");
                self.fold_word(&r);
            }
            _ => {
                ptx!(self, "mov.u32 {r}, %ctaid.z;");
                self.fold_word(&r);
            }
        }
    }
}
