//! The shapes: kinds of links that grow in one direction each.

use super::make::{ARCH, BLACKWELL, HostObject, Image, Maker, Template, hole, name};
use super::ptx::{Module, hash, load};
use culd_tests::rng::Rng;
use culd_tests::{Error, Result};
use std::process::Command;

/// A kind of link.
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// What grows with the size.
    pub(super) about: &'static str,
    /// Sizes that both linkers are timed on.
    pub(super) sizes: &'static [usize],
    /// Sizes that nvlink does not finish in minutes: only culd is timed.
    pub(super) endless: &'static [usize],
    /// The size of a quick run.
    pub(super) quick: usize,
    /// Makes the inputs.
    pub(super) make: fn(&mut Maker<'_>, usize) -> Result<()>,
}

/// All shapes.
#[rustfmt::skip]
pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "small", about: "objects of a kernel and five functions that call other objects'", sizes: &[10, 100, 1000, 5000, 10000], endless: &[], quick: 100, make: small },
    Shape { name: "deadcode", about: "objects of ten functions of which only the first object's are used", sizes: &[100, 1000, 5000], endless: &[], quick: 100, make: deadcode },
    Shape { name: "archive", about: "host objects in an archive of which ten are used", sizes: &[20, 500, 5000], endless: &[], quick: 20, make: archive },
    Shape { name: "host", about: "host objects with compressed fatbins of four images", sizes: &[10, 100, 1000, 3000], endless: &[], quick: 10, make: host },
    Shape { name: "weakdup", about: "objects that share 200 weak functions", sizes: &[10, 100, 300, 1000], endless: &[], quick: 10, make: weakdup },
    Shape { name: "manyk", about: "kernels that reach one chain of 200 functions", sizes: &[100, 500, 2000], endless: &[10000], quick: 100, make: many_kernels },
    Shape { name: "indirect", about: "functions reached through a table of pointers", sizes: &[100, 1000, 3000], endless: &[10000], quick: 100, make: indirect },
    Shape { name: "ladder", about: "layers of two functions that call both of the next layer", sizes: &[8, 16, 20, 24, 26], endless: &[64], quick: 16, make: ladder },
    Shape { name: "dense", about: "functions that call 100 later ones", sizes: &[10, 20, 24], endless: &[50], quick: 10, make: |m, n| graph(m, n, false) },
    Shape { name: "denserec", about: "functions that call 100 others, in cycles", sizes: &[100, 1000, 3000], endless: &[], quick: 100, make: |m, n| graph(m, n, true) },
    Shape { name: "chain", about: "functions of one chain of calls", sizes: &[100, 1000, 10000], endless: &[], quick: 1000, make: chain },
    Shape { name: "funcs", about: "functions of one object", sizes: &[100, 1000, 10000], endless: &[], quick: 100, make: functions },
    Shape { name: "kernels", about: "kernels of one object", sizes: &[100, 1000, 10000], endless: &[], quick: 100, make: kernels },
    Shape { name: "vars", about: "variables, 500 an object", sizes: &[5000, 50000, 200000], endless: &[], quick: 5000, make: variables },
    Shape { name: "data", about: "megabytes of initialised data", sizes: &[10, 100, 500], endless: &[], quick: 10, make: data },
    Shape { name: "reldata", about: "pointers in data", sizes: &[10000, 100000, 1000000], endless: &[], quick: 10000, make: data_relocations },
    Shape { name: "relcall", about: "call sites", sizes: &[1000, 10000, 100000], endless: &[], quick: 1000, make: call_relocations },
    Shape { name: "bulk", about: "megabytes of code", sizes: &[10, 100, 300], endless: &[], quick: 2, make: bulk },
    Shape { name: "debug", about: "objects with full debug information", sizes: &[10, 100, 1000], endless: &[], quick: 10, make: with_debug },
    Shape { name: "lineinfo", about: "objects with line numbers", sizes: &[10, 100, 1000], endless: &[], quick: 10, make: |m, n| compiled(m, n, &["-lineinfo"], &["-lineinfo"]) },
    Shape { name: "small100", about: "objects like small's, for sm_100", sizes: &[10, 100, 1000], endless: &[], quick: 10, make: |m, n| blackwell(m, n, small) },
    Shape { name: "kernels100", about: "kernels of one object, for sm_100", sizes: &[100, 1000, 4000], endless: &[], quick: 100, make: |m, n| blackwell(m, n, kernels) },
];

/// Objects with everything that a debugger uses.
fn with_debug(m: &mut Maker<'_>, n: usize) -> Result<()> {
    compiled(m, n, &["-G"], &["-g", "--dont-merge-basicblocks", "--return-at-end"])
}

/// A shape for an architecture with two views of the code.
fn blackwell(m: &mut Maker<'_>, n: usize, make: fn(&mut Maker<'_>, usize) -> Result<()>) -> Result<()> {
    m.arch = BLACKWELL;
    make(m, n)
}

fn function(object: usize, index: usize) -> String {
    name('f', object, index)
}

fn kernel(object: usize, index: usize) -> String {
    name('k', object, index)
}

fn variable(object: usize, index: usize) -> String {
    name('v', object, index)
}

/// Layers of functions in an object of `small`.
const LAYERS: usize = 5;

/// Placeholders: 0 the kernel; 1 to 5 the functions; from 6 on two callees of each function but the last; 14 and 15 callees of the kernel.
fn small_module(arch: &str, variant: usize) -> String {
    let mut m = Module::new(arch, &format!("small {variant}"));
    for i in 6..16 {
        m.import(&hole(i));
    }
    for layer in (0..LAYERS).rev() {
        let calls: Vec<String> = if layer + 1 < LAYERS {
            vec![hole(6 + 2 * layer), hole(7 + 2 * layer)]
        } else {
            Vec::new()
        };
        let length = m.rng.between(2, 23);
        m.function(".visible", &hole(1 + layer), length, &calls);
    }
    let length = m.rng.between(2, 23);
    m.kernel(&hole(0), length, &[hole(1), hole(14), hole(15)], "");
    m.text()
}

/// Names for the placeholders of object `i` of `n`.
fn small_names(rng: &mut Rng, i: usize, n: usize) -> Vec<String> {
    let mut other = || (i + 1 + rng.below(n.saturating_sub(1))) % n.max(1);
    let mut names = vec![kernel(i, 0)];
    names.extend((0..LAYERS).map(|layer| function(i, layer)));
    for layer in 1..LAYERS {
        names.extend([function(other(), layer), function(other(), layer)]);
    }
    names.extend([function(other(), 0), function(other(), 0)]);
    names
}

fn named(names: &[String]) -> impl Fn(usize) -> String {
    |i| names.get(i).cloned().unwrap_or_default()
}

fn small(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let templates: Vec<Template> = (0..16).map(|v| m.template(&small_module(m.arch, v))).collect::<Result<_>>()?;
    let mut rng = Rng::new(hash("small"));
    for i in 0..n {
        let template = rng.choose(&templates).ok_or_else(nothing)?;
        m.object(i, &template.with(named(&small_names(&mut rng, i, n))))?;
    }
    Ok(())
}

fn nothing() -> Error {
    Error::Other("a list is empty".into())
}

fn host(m: &mut Maker<'_>, n: usize) -> Result<()> {
    const VARIANTS: usize = 8;
    const ARCHS: [(&str, u32); 3] = [("sm_80", 80), ("sm_90", 90), ("sm_100", 100)];
    let mut variants = Vec::new();
    for v in 0..VARIANTS {
        let mut images = Vec::new();
        for (arch, sm) in ARCHS {
            images.push(("elf", sm, Template::new(m.ptxas(&small_module(arch, v), arch)?)));
        }
        images.push(("ptx", 100, Template::new(small_module("sm_100", v).into_bytes())));
        variants.push(images);
    }
    let mut rng = Rng::new(hash("host"));
    let mut objects = Vec::new();
    for i in 0..n {
        let images = rng.choose(&variants).ok_or_else(nothing)?;
        let names = small_names(&mut rng, i, n);
        let filled = |(kind, sm, template): &(&'static str, u32, Template)| Image {
            kind,
            sm: *sm,
            bytes: template.with(named(&names)),
        };
        objects.push(HostObject {
            name: format!("o{i:06}"),
            images: images.iter().map(filled).collect(),
            kernels: vec![kernel(i, 0)],
        });
    }
    m.host_objects(&objects)?;
    for object in objects {
        add_made(m, format!("{}.o", object.name))?;
    }
    Ok(())
}

/// Adds a file that another tool wrote.
fn add_made(m: &mut Maker<'_>, file: String) -> Result<()> {
    let path = m.dir.join(&file);
    m.bytes += std::fs::metadata(&path).map_err(Error::file(path))?.len();
    m.files.push(file);
    Ok(())
}

fn archive(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let mut templates = Vec::new();
    for v in 0..8 {
        let mut module = Module::new(ARCH, &format!("archive {v}"));
        stack_of_functions(&mut module, 5, 23);
        templates.push(m.template(&module.text())?);
    }
    let mut rng = Rng::new(hash("archive"));
    let mut objects = Vec::new();
    for i in 0..n {
        let bytes = rng.choose(&templates).ok_or_else(nothing)?.with(|l| function(i, l));
        objects.push(HostObject {
            name: format!("m{i:06}"),
            images: vec![Image {
                kind: "elf",
                sm: 90,
                bytes,
            }],
            kernels: Vec::new(),
        });
    }
    m.host_objects(&objects)?;
    let mut main = Module::new(ARCH, "archive main");
    let used: Vec<String> = rng.sample(n, 10).into_iter().map(|i| function(i, 0)).collect();
    used.iter().for_each(|f| main.import(f));
    main.kernel(&kernel(0, 0), 4, &used, "");
    let main = m.ptxas(&main.text(), ARCH)?;
    m.put("main.cubin".into(), &main)?;
    let members: Vec<String> = objects.iter().map(|o| format!("{}.o", o.name)).collect();
    crate::nvcc::good(Command::new("ar").args(["rcsD", "lib.a"]).args(&members).current_dir(&m.dir))?;
    for member in members {
        let path = m.dir.join(member);
        std::fs::remove_file(&path).map_err(Error::file(path))?;
    }
    add_made(m, "lib.a".into())
}

/// Functions 0 to `n` - 1, each calling the next.
fn stack_of_functions(module: &mut Module, n: usize, longest: usize) {
    for l in (0..n).rev() {
        let calls: Vec<String> = if l + 1 < n { vec![hole(l + 1)] } else { Vec::new() };
        let length = module.rng.between(2, longest);
        module.function(".visible", &hole(l), length, &calls);
    }
}

fn deadcode(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let mut module = Module::new(ARCH, "deadcode");
    stack_of_functions(&mut module, 10, 7);
    let template = m.template(&module.text())?;
    for i in 0..n {
        m.object(i, &template.with(|l| function(i, l)))?;
    }
    let main = m.ptxas(&caller("deadcode main", &[function(0, 0)]), ARCH)?;
    m.put("main.cubin".into(), &main)
}

/// A module of a kernel that calls functions of others.
fn caller(label: &str, calls: &[String]) -> String {
    let mut module = Module::new(ARCH, label);
    calls.iter().for_each(|f| module.import(f));
    module.kernel(&kernel(0, 0), 4, calls, "");
    module.text()
}

fn weakdup(m: &mut Maker<'_>, n: usize) -> Result<()> {
    const SHARED: usize = 200;
    let weak = |j: usize| name('w', 0, j);
    let mut module = Module::new(ARCH, "weakdup");
    for j in 0..SHARED {
        // chains of four
        let calls: Vec<String> = if j % 4 > 0 { vec![weak(j - 1)] } else { Vec::new() };
        let length = module.rng.between(2, 23);
        module.function(".weak", &weak(j), length, &calls);
    }
    let heads: Vec<String> = (3..SHARED).step_by(4).map(weak).collect();
    module.function(".visible", &hole(1), 4, &heads);
    module.kernel(&hole(0), 4, &[hole(1)], "");
    let template = m.template(&module.text())?;
    for i in 0..n {
        m.object(i, &template.with(named(&[kernel(i, 0), function(i, 0)])))?;
    }
    Ok(())
}

fn many_kernels(m: &mut Maker<'_>, n: usize) -> Result<()> {
    const CHAIN: usize = 200;
    let mut module = Module::new(ARCH, "manyk");
    module.import(&hole(10));
    for l in 0..10 {
        module.kernel(&hole(l), 2, &[hole(10)], "");
    }
    let template = m.template(&module.text())?;
    for i in 0..(n / 10).max(1) {
        m.object(i, &template.with(|l| if l < 10 { kernel(i, l) } else { function(0, 0) }))?;
    }
    let mut library = Module::new(ARCH, "manyk library");
    (0..CHAIN).for_each(|i| library.forward(&function(i, 0)));
    for i in 0..CHAIN {
        let calls: Vec<String> = if i + 1 < CHAIN { vec![function(i + 1, 0)] } else { Vec::new() };
        library.function(".visible", &function(i, 0), 3, &calls);
    }
    let library = m.ptxas(&library.text(), ARCH)?;
    m.put("library.cubin".into(), &library)
}

fn indirect(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let table = variable(0, 0);
    let mut module = Module::new(ARCH, "indirect");
    module.line(&format!(".extern .global .align 8 .u64 {table}[];"));
    for l in 1..=10 {
        let length = module.rng.between(2, 7);
        module.function(".visible", &hole(l), length, &[]);
    }
    let call = format!(
        " mov.u64 %d2, {table};\n mad.wide.u32 %d2, %r1, 8, %d2;\n ld.global.b64 %d3, [%d2];\n {{ .param .b32 p;\n .param .b32 q;\n \
         st.param.b32 [p], %r1;\n kind: .callprototype (.param .b32 _) _ (.param .b32 _);\n call (q), %d3, (p), kind;\n \
         ld.param.b32 %r3, [q];\n add.s32 %r1, %r1, %r3; }}\n"
    );
    module.kernel(&hole(0), 4, &[], &call);
    let template = m.template(&module.text())?;
    let objects = (n / 10).max(1);
    for i in 0..objects {
        m.object(i, &template.with(|l| if l == 0 { kernel(i, 0) } else { function(i, l) }))?;
    }
    let all: Vec<String> = (0..objects).flat_map(|i| (1..=10).map(move |l| function(i, l))).collect();
    let mut module = Module::new(ARCH, "indirect table");
    all.iter().for_each(|f| module.import(f));
    module.line(&format!(
        ".visible .global .align 8 .u64 {table}[{}] = {{{}}};",
        all.len(),
        all.join(",")
    ));
    let module = m.ptxas(&module.text(), ARCH)?;
    m.put("table.cubin".into(), &module)
}

fn ladder(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let mut module = Module::new(ARCH, "ladder");
    let both = |layer: usize| vec![function(layer, 0), function(layer, 1)];
    (0..n).flat_map(both).for_each(|f| module.forward(&f));
    for layer in 0..n {
        let calls = if layer + 1 < n { both(layer + 1) } else { Vec::new() };
        for f in both(layer) {
            module.function(".visible", &f, 2, &calls);
        }
    }
    module.kernel(&kernel(0, 0), 4, &both(0), "");
    let module = m.ptxas(&module.text(), ARCH)?;
    m.object(0, &module)
}

/// Functions that call 100 others each: later ones, or any.
fn graph(m: &mut Maker<'_>, n: usize, cyclic: bool) -> Result<()> {
    const CALLS: usize = 100;
    let mut module = Module::new(ARCH, "graph");
    let calls: Vec<String> = (1..=CALLS).map(hole).collect();
    calls.iter().for_each(|f| module.import(f));
    module.function(".visible", &hole(0), 4, &calls);
    let template = m.template(&module.text())?;
    let mut rng = Rng::new(hash("graph"));
    // after the n functions come as many leaves as a function has calls
    let last = n + CALLS;
    for i in 0..n {
        let targets: Vec<usize> = if cyclic {
            rng.sample(last - 1, CALLS)
                .into_iter()
                .map(|t| if t < i { t } else { t + 1 })
                .collect()
        } else {
            rng.sample(last - i - 1, CALLS).into_iter().map(|t| i + 1 + t).collect()
        };
        let target = |j: usize| j.checked_sub(1).and_then(|j| targets.get(j)).copied().unwrap_or(i);
        m.object(i, &template.with(|j| function(target(j), 0)))?;
    }
    let mut ends = Module::new(ARCH, "graph ends");
    ends.import(&function(0, 0));
    (n..last).for_each(|i| ends.function(".visible", &function(i, 0), 4, &[]));
    ends.kernel(&kernel(0, 0), 4, &[function(0, 0)], "");
    let ends = m.ptxas(&ends.text(), ARCH)?;
    m.put("ends.cubin".into(), &ends)
}

fn chain(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let mut module = Module::new(ARCH, "chain");
    module.import(&hole(10));
    for l in (0..10).rev() {
        let length = module.rng.between(2, 7);
        module.function(".visible", &hole(l), length, &[hole(l + 1)]);
    }
    let template = m.template(&module.text())?;
    let objects = (n / 10).max(1);
    for i in 0..objects {
        m.object(i, &template.with(|l| if l < 10 { function(i, l) } else { function(i + 1, 0) }))?;
    }
    let mut ends = Module::new(ARCH, "chain ends");
    ends.import(&function(0, 0));
    ends.function(".visible", &function(objects, 0), 4, &[]);
    ends.kernel(&kernel(0, 0), 4, &[function(0, 0)], "");
    let ends = m.ptxas(&ends.text(), ARCH)?;
    m.put("ends.cubin".into(), &ends)
}

fn functions(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let mut module = Module::new(ARCH, "funcs");
    (0..n).for_each(|i| module.forward(&function(i, 0)));
    for i in 0..n {
        // a binary tree
        let calls: Vec<String> = [2 * i + 1, 2 * i + 2]
            .into_iter()
            .filter(|&c| c < n)
            .map(|c| function(c, 0))
            .collect();
        let length = module.rng.between(1, 5);
        module.function(".visible", &function(i, 0), length, &calls);
    }
    module.kernel(&kernel(0, 0), 4, &[function(0, 0)], "");
    let module = m.ptxas(&module.text(), ARCH)?;
    m.object(0, &module)
}

fn kernels(m: &mut Maker<'_>, n: usize) -> Result<()> {
    const CALLEES: usize = 16;
    let mut module = Module::new(m.arch, "kernels");
    (0..CALLEES).for_each(|i| module.import(&function(i, 0)));
    for i in 0..n {
        let length = module.rng.between(1, 5);
        module.kernel(&kernel(i, 0), length, &[function(i % CALLEES, 0)], "");
    }
    let mut callees = Module::new(m.arch, "kernels' functions");
    (0..CALLEES).for_each(|i| callees.function(".visible", &function(i, 0), 4, &[]));
    for (i, text) in [module.text(), callees.text()].into_iter().enumerate() {
        let object = m.ptxas(&text, m.arch)?;
        m.object(i, &object)?;
    }
    Ok(())
}

fn variables(m: &mut Maker<'_>, n: usize) -> Result<()> {
    const PER_OBJECT: usize = 500;
    let mut module = Module::new(ARCH, "vars");
    for j in 1..=PER_OBJECT {
        let align = module.rng.pick([1, 2, 4, 8, 16]);
        let size = align * module.rng.between(1, 8);
        let value = module.rng.between(1, 255);
        let initial = if j % 2 == 1 { format!(" = {{{value}}}") } else { String::new() };
        module.line(&format!(".visible .global .align {align} .b8 {}[{size}]{initial};", hole(j)));
    }
    let read: String = module
        .rng
        .sample(PER_OBJECT, 100)
        .into_iter()
        .map(|j| load(&hole(j + 1), "b8"))
        .collect();
    module.kernel(&hole(0), 4, &[], &read);
    let template = m.template(&module.text())?;
    for i in 0..n.div_ceil(PER_OBJECT) {
        m.object(i, &template.with(|j| if j == 0 { kernel(i, 0) } else { variable(i, j) }))?;
    }
    Ok(())
}

fn data(m: &mut Maker<'_>, n: usize) -> Result<()> {
    const PER_OBJECT: usize = 10;
    const MARK: [u8; 8] = [0xc0, 0x1d, 0xda, 0x7a, 0x0b, 0x0e, 0x9c, 0x55];
    let mut rng = Rng::new(hash("data"));
    let full = std::iter::repeat_n(PER_OBJECT, n / PER_OBJECT);
    for (i, megabytes) in full.chain([n % PER_OBJECT]).filter(|&s| s > 0).enumerate() {
        let size = megabytes << 20;
        let mut module = Module::new(ARCH, "data");
        let mark: Vec<String> = MARK.iter().map(u8::to_string).collect();
        module.line(&format!(
            ".visible .global .align 16 .b8 {}[{size}] = {{{}}};",
            hole(1),
            mark.join(",")
        ));
        module.kernel(&hole(0), 4, &[], &load(&hole(1), "b32"));
        let mut object = m.template(&module.text())?.with(named(&[kernel(i, 0), variable(i, 0)]));
        let at = object.windows(MARK.len()).position(|w| w == MARK).ok_or_else(nothing)?;
        let place = object.get_mut(at..at + size).ok_or_else(nothing)?;
        for eight in place.chunks_exact_mut(8) {
            eight.copy_from_slice(&rng.next().to_le_bytes());
        }
        m.object(i, &object)?;
    }
    Ok(())
}

/// Objects of the shapes that count relocations.
const REFERRING: usize = 10;
/// What they refer to: this many things of one object.
const TARGETS: usize = 64;
const TARGET_OBJECT: usize = 0xfff;

fn data_relocations(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let each = n / REFERRING;
    let mut module = Module::new(ARCH, "reldata");
    for j in 0..TARGETS {
        module.line(&format!(".extern .global .align 4 .b32 {};", hole(2 + j)));
    }
    let pointers: Vec<String> = (0..each)
        .map(|_| format!("generic({})", hole(2 + module.rng.below(TARGETS))))
        .collect();
    module.line(&format!(
        ".visible .global .align 8 .u64 {}[{each}] = {{{}}};",
        hole(1),
        pointers.join(",")
    ));
    module.kernel(&hole(0), 4, &[], &load(&hole(1), "b32"));
    referring(m, &module.text(), variable)?;
    let mut targets = Module::new(ARCH, "reldata targets");
    for j in 0..TARGETS {
        targets.line(&format!(
            ".visible .global .align 4 .b32 {} = {};",
            variable(TARGET_OBJECT, j),
            j + 1
        ));
    }
    let targets = m.ptxas(&targets.text(), ARCH)?;
    m.put("targets.cubin".into(), &targets)
}

fn call_relocations(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let mut module = Module::new(ARCH, "relcall");
    (0..TARGETS).for_each(|j| module.import(&hole(2 + j)));
    let calls: Vec<String> = (0..n / REFERRING).map(|_| hole(2 + module.rng.below(TARGETS))).collect();
    module.function(".visible", &hole(1), 4, &calls);
    module.kernel(&hole(0), 4, &[hole(1)], "");
    referring(m, &module.text(), function)?;
    let mut targets = Module::new(ARCH, "relcall targets");
    (0..TARGETS).for_each(|j| targets.function(".visible", &function(TARGET_OBJECT, j), 4, &[]));
    let targets = m.ptxas(&targets.text(), ARCH)?;
    m.put("targets.cubin".into(), &targets)
}

/// Copies of a module whose placeholder 0 is a kernel, 1 its own thing, and the rest are targets.
fn referring(m: &mut Maker<'_>, text: &str, thing: fn(usize, usize) -> String) -> Result<()> {
    let template = m.template(text)?;
    for i in 0..REFERRING {
        let name_of = |j: usize| match j {
            0 => kernel(i, 0),
            1 => thing(i, 0),
            _ => thing(TARGET_OBJECT, j - 2),
        };
        m.object(i, &template.with(name_of))?;
    }
    Ok(())
}

fn bulk(m: &mut Maker<'_>, n: usize) -> Result<()> {
    let mut templates = Vec::new();
    for v in 0..2 {
        let mut module = Module::new(ARCH, &format!("bulk {v}"));
        (0..10).for_each(|l| module.kernel(&hole(l), 3300, &[], ""));
        templates.push(m.template(&module.text())?);
    }
    for i in 0..n {
        let template = templates.get(i % 2).ok_or_else(nothing)?;
        m.object(i, &template.with(|l| kernel(i, l)))?;
    }
    Ok(())
}

/// Objects that nvcc compiles from C++, for the shapes with debug information.
fn compiled(m: &mut Maker<'_>, n: usize, flags: &[&str], ptxas_flags: &[&str]) -> Result<()> {
    let mut templates = Vec::new();
    for v in 0..4 {
        let mut rng = Rng::new(hash(&format!("compiled {v}")));
        let mut statements = String::new();
        for _ in 0..60 + 20 * v {
            let [a, b, c] = std::array::from_fn(|_| rng.between(1, 9999));
            statements += &format!("  s.count += (s.count ^ {a}) * {b};\n  if (s.count > {c}) s.mean += s.count;\n");
        }
        let source = include_str!("compiled.cu.in")
            .replace("@V", &v.to_string())
            .replace("@STATEMENTS", &statements);
        let source = (0..3).fold(source, |s, i| s.replace(&format!("@{i}"), &hole(i)));
        templates.push(Template::new(m.nvcc(&source, flags, ptxas_flags)?));
    }
    let mut rng = Rng::new(hash("compiled"));
    for i in 0..n {
        let names = [kernel(i, 0), function(i, 0), function((i + 1) % n, 0)];
        let template = rng.choose(&templates).ok_or_else(nothing)?;
        m.object(i, &template.with(named(&names)))?;
    }
    Ok(())
}
