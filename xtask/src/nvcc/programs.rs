//! The programs: which files, how they were compiled, and the nvcc command that links them.

use culd_tests::run::Outcome;

/// How a source was compiled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// SASS for sm_80 and sm_90 in one object.
    Fat,
    /// With full debug information.
    Debug,
    /// With line numbers.
    Lines,
    /// With few registers.
    Registers,
    /// PTX alone: the linker has it compiled.
    Ptx,
    /// A bare cubin instead of a host object.
    Cubin,
    /// For link-time optimization, for sm_80 and sm_90.
    Lto,
    /// The same with line numbers and few registers.
    LtoLines,
    /// LTO IR in a file of its own.
    LtoIr,
}

impl Variant {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Fat => "fat",
            Self::Debug => "debug",
            Self::Lines => "lines",
            Self::Registers => "registers",
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::Lto => "lto",
            Self::LtoLines => "lto-lines",
            Self::LtoIr => "lto-ir",
        }
    }

    pub(super) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Fat => &["-c", "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"],
            Self::Debug => &["-c", "-arch=sm_90", "-G"],
            Self::Lines => &["-c", "-arch=sm_80", "-lineinfo"],
            Self::Registers => &["-c", "-arch=sm_90", "-maxrregcount=24"],
            Self::Ptx => &["-c", "-gencode=arch=compute_80,code=compute_80"],
            Self::Cubin => &["-cubin", "-arch=sm_90"],
            Self::Lto => &["-c", "-gencode=arch=compute_80,code=lto_80", "-gencode=arch=compute_90,code=lto_90"],
            Self::LtoLines => &["-c", "-arch=lto_90", "-lineinfo", "-maxrregcount=24"],
            Self::LtoIr => &["-ltoir", "-gencode=arch=compute_90,code=lto_90"],
        }
    }

    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::LtoIr => "ltoir",
            _ => "o",
        }
    }
}

/// What the real nvlink must do with a program; otherwise the program does not show what it is here for.
#[derive(Clone, Copy)]
pub(super) enum Expect {
    /// Exit 0, nothing said.
    Silence,
    /// Exit 0 with this message.
    Prints(&'static str),
    /// Another exit code with this message.
    Refused(&'static str),
}

impl Expect {
    /// How an outcome fails the expectation.
    pub(super) fn unmet(self, outcome: &Outcome) -> Option<String> {
        let text = [outcome.stdout.as_slice(), &outcome.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let met = match self {
            Self::Silence => outcome.exit == 0 && text.is_empty(),
            Self::Prints(part) => outcome.exit == 0 && text.contains(part),
            Self::Refused(part) => outcome.exit != 0 && text.contains(part),
        };
        let linked = outcome.exit != 0 || outcome.files.keys().any(|f| f.ends_with(".cubin") || f.ends_with(".ptx"));
        (!met || !linked).then(|| format!("exit {}, files {:?}, said: {text}", outcome.exit, outcome.files.keys()))
    }
}

/// One program.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Files in link order, without `.cu`.
    sources: &'static [&'static str],
    /// How they were compiled; the last one holds for the rest.
    variants: &'static [Variant],
    /// Shell commands that run once, before both links.
    pub(super) prepare: &'static str,
    /// nvcc's arguments; `{objects}` is all of them.
    pub(super) link: &'static str,
    pub(super) expect: Expect,
}

impl Program {
    /// The objects in link order.
    pub(super) fn objects(&self) -> impl Iterator<Item = (Variant, &'static str)> {
        let variant = |i: usize| self.variants.get(i).or(self.variants.last()).copied().unwrap_or(Variant::Fat);
        self.sources.iter().enumerate().map(move |(i, &s)| (variant(i), s))
    }
}

const fn program(name: &'static str, sources: &'static [&'static str], link: &'static str) -> Program {
    Program {
        name,
        sources,
        variants: &[Variant::Fat],
        prepare: "",
        link,
        expect: Expect::Silence,
    }
}

impl Program {
    const fn compiled(mut self, variants: &'static [Variant]) -> Self {
        self.variants = variants;
        self
    }

    const fn after(mut self, prepare: &'static str) -> Self {
        self.prepare = prepare;
        self
    }

    const fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }
}

/// The usual device link.
const SM_80: &str = "-arch=sm_80 -dlink {objects} -o app.o";
const SM_90: &str = "-arch=sm_90 -dlink {objects} -o app.o";
/// One call of the linker for each architecture, one register file.
const BOTH: &str = "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90 -dlink {objects} -o app.o";

/// Link-time optimization.
const LTO_80: &str = "-arch=sm_80 -dlto -dlink {objects} -o app.o";
const LTO_90: &str = "-arch=sm_90 -dlto -dlink {objects} -o app.o";

const STACK: &str = "Stack size for entry function '_Z6parityPi' cannot be statically determined";

/// Every program but CMake's.
pub(super) const PROGRAMS: &[Program] = &[
    program("plain-80", &["main", "scale"], SM_80),
    program("plain-90", &["main", "scale"], SM_90),
    program("plain-both", &["main", "scale"], BOTH),
    program("order-90", &["scale", "main"], SM_90),
    program("templates-80", &["blend1", "blend2", "scale"], SM_80),
    program("templates-90", &["blend2", "scale", "blend1"], SM_90),
    program("virtuals-80", &["square", "shape"], SM_80),
    program("virtuals-90", &["shape", "square"], SM_90),
    program("table-80", &["indirect", "table", "scale"], SM_80),
    program("table-both", &["indirect", "table", "scale"], BOTH),
    program("shared-90", &["shared", "scale"], SM_90),
    program("print-80", &["print", "main", "scale"], SM_80),
    program("managed-90", &["managed", "unused", "scale"], SM_90),
    program("unused-80", &["main", "unused", "scale"], SM_80),
    program("six-files-90", &["main", "scale", "shared", "square", "shape", "print"], SM_90),
    program(
        "six-files-both",
        &["managed", "unused", "blend1", "table", "indirect", "scale"],
        BOTH,
    ),
    program("recursion-80", &["recursion", "main", "scale"], SM_80).expect(Expect::Prints(STACK)),
    program("recursion-both", &["recursion", "scale"], BOTH).expect(Expect::Prints(STACK)),
    // -w reaches the linker, but not every warning
    program(
        "no-warnings-90",
        &["recursion", "scale"],
        "-arch=sm_90 -w -dlink {objects} -o app.o",
    )
    .expect(Expect::Prints(STACK)),
    program(
        "warnings-are-errors",
        &["recursion", "scale"],
        "-arch=sm_90 -Werror all-warnings -dlink {objects} -o app.o",
    )
    .expect(Expect::Refused(STACK)),
    program(
        "verbose",
        &["shared", "print", "scale"],
        "-arch=sm_90 -Xnvlink -v -dlink {objects} -o app.o",
    )
    .expect(Expect::Prints("Function properties for '_Z6rotatePi'")),
    program(
        "debug-90",
        &["main", "scale", "square", "shape"],
        "-arch=sm_90 -G -dlink {objects} -o app.o",
    )
    .compiled(&[Variant::Debug]),
    program("debug-mixed", &["main", "scale"], "-arch=sm_90 -G -dlink {objects} -o app.o").compiled(&[Variant::Debug, Variant::Fat]),
    program(
        "lineinfo-80",
        &["main", "scale", "recursion"],
        "-arch=sm_80 -lineinfo -dlink {objects} -o app.o",
    )
    .compiled(&[Variant::Lines])
    .expect(Expect::Prints(STACK)),
    program(
        "maxrregcount-90",
        &["main", "scale"],
        "-arch=sm_90 -maxrregcount=24 -dlink {objects} -o app.o",
    )
    .compiled(&[Variant::Registers]),
    program("dynamic-80", &["parent", "child", "scale"], SM_80),
    program(
        "dynamic-90",
        &["parent", "child", "scale"],
        "-arch=sm_90 -dlink {objects} -o app.o -Ltk/lib -lcudadevrt",
    ),
    program("dynamic-both", &["scale", "child", "parent", "main"], BOTH),
    program(
        "dynamic-without-library",
        &["parent", "child", "scale"],
        "-arch=sm_90 -cudadevrt none -dlink {objects} -o app.o",
    )
    .expect(Expect::Refused("Undefined reference to '__cudaCDP2LaunchDeviceV2'")),
    program(
        "static-library",
        &["main", "indirect", "scale", "table"],
        "-arch=sm_90 -dlink main.o indirect.o -L. -lparts -o app.o",
    )
    .after("ar rcs libparts.a scale.o table.o && rm scale.o table.o"),
    program(
        "library-in-the-middle",
        &["main", "unused", "scale", "blend2"],
        "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90 -dlink main.o libmiddle.a unused.o -o app.o",
    )
    .after("tk/bin/nvcc -lib scale.o blend2.o -o libmiddle.a"),
    program(
        "dlink-cubin",
        &["main", "scale"],
        "-arch=sm_90 -dlink -cubin {objects} -o app.cubin",
    ),
    program(
        "dlink-fatbin",
        &["main", "scale"],
        "-arch=sm_80 -dlink -fatbin {objects} -o app.fatbin",
    ),
    program(
        "dlink-relocatable",
        &["main", "scale", "table"],
        "-arch=sm_90 -r -dlink {objects} -o app.o",
    ),
    program("dlink-shared", &["main", "scale"], "-arch=sm_90 -shared -dlink {objects} -o app.o"),
    program("executable", &["main", "scale", "recursion"], "-arch=sm_90 {objects} -o app").expect(Expect::Prints(STACK)),
    program(
        "combined-object",
        &["main", "scale", "print"],
        "-arch=sm_90 -dlink scale.o both.o -o app.o",
    )
    .after("ld -r main.o print.o -o both.o"),
    program("bare-cubins", &["main", "scale"], "-arch=sm_90 -dlink {objects} -o app.o").compiled(&[Variant::Cubin]),
    program("ptx-90", &["main", "scale"], SM_90).compiled(&[Variant::Ptx]),
    program("ptx-beside-code", &["main", "scale"], SM_80).compiled(&[Variant::Fat, Variant::Ptx]),
    program("newer-minor-86", &["main", "scale"], "-arch=sm_86 -dlink {objects} -o app.o"),
    program("missing-arch-75", &["main", "scale"], "-arch=sm_75 -dlink {objects} -o app.o")
        .expect(Expect::Prints("SM Arch ('sm_75') not found in 'main.o'")),
    program("fill-80", &["fill", "scale"], SM_80),
    program("fill-both", &["scale", "main", "fill"], BOTH),
    program(
        "fill-relocatable",
        &["fill", "scale"],
        "-arch=sm_90 -r -dlink {objects} -o app.o -Ltk/lib -lcudadevrt",
    ),
    program(
        "fill-debug",
        &["fill", "scale"],
        "-arch=sm_90 -Xnvlink -g -dlink {objects} -o app.o",
    ),
    program(
        "fill-kept-relocations",
        &["main", "fill", "unused", "scale"],
        "-arch=sm_90 -Xnvlink -preserve-relocs -dlink {objects} -o app.o",
    )
    .expect(Expect::Prints("'--preserve-relocs' is not fully implemented")),
    program(
        "fill-one-kernel",
        &["main", "fill", "scale"],
        "-arch=sm_90 -Xnvlink -kernels-used=fill -dlink {objects} -o app.o",
    ),
    program(
        "fill-two-kernels",
        &["main", "fill", "scale"],
        "-arch=sm_80 -Xnvlink -kernels-used=idle -Xnvlink -kernels-used=run -dlink {objects} -o app.o",
    ),
    program("lto-fill", &["main", "fill", "scale"], LTO_90).compiled(&[Variant::Lto]),
    program("lto-80", &["main", "scale"], LTO_80).compiled(&[Variant::Lto]),
    program("lto-90", &["main", "scale"], LTO_90).compiled(&[Variant::Lto]),
    program(
        "lto-both",
        &["blend1", "blend2", "scale", "unused"],
        "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90 -dlto -dlink {objects} -o app.o",
    )
    .compiled(&[Variant::Lto]),
    program(
        "lto-many",
        &[
            "main", "scale", "shared", "square", "shape", "print", "managed", "table", "indirect",
        ],
        LTO_90,
    )
    .compiled(&[Variant::Lto]),
    program("lto-recursion", &["recursion", "main", "scale"], LTO_90).compiled(&[Variant::Lto]),
    program("lto-partial", &["main", "unused", "scale", "shared"], LTO_90)
        .compiled(&[Variant::Lto, Variant::Lto, Variant::Fat, Variant::Lto])
        .expect(Expect::Prints("requested LTO but 'scale.o' not built for LTO so doing partial LTO")),
    program("lto-partial-first", &["main", "indirect", "table", "scale"], LTO_90)
        .compiled(&[Variant::Fat, Variant::Lto])
        .expect(Expect::Prints("requested LTO but 'main.o'")),
    program("lto-without-modules", &["main", "scale"], LTO_90).expect(Expect::Prints("Ignoring -dlto option because no LTO objects found")),
    program("lto-ptx", &["main", "scale"], LTO_90)
        .compiled(&[Variant::Lto, Variant::Ptx])
        .expect(Expect::Prints("requested LTO but 'scale.o'")),
    program("lto-lines", &["main", "scale"], LTO_90)
        .compiled(&[Variant::Lto, Variant::LtoLines])
        .expect(Expect::Prints("will build everything with '-maxrregcount=24'")),
    program(
        "lto-options",
        &["main", "scale", "shared"],
        "-arch=sm_90 -dlto -maxrregcount=32 -Xptxas -O1 -split-compile 2 -dlink {objects} -o app.o",
    )
    .compiled(&[Variant::Lto]),
    program("lto-ir", &["main", "scale"], LTO_90).compiled(&[Variant::Lto, Variant::LtoIr]),
    program(
        "lto-relocatable",
        &["main", "scale", "table"],
        "-arch=sm_90 -dlto -r -dlink {objects} -o app.o",
    )
    .compiled(&[Variant::Lto]),
    program(
        "lto-library",
        &["main", "indirect", "scale", "table"],
        "-arch=sm_90 -dlto -dlink main.o indirect.o -L. -lparts -o app.o",
    )
    .compiled(&[Variant::Lto])
    .after("ar rcs libparts.a scale.o table.o && rm scale.o table.o"),
    program(
        "lto-to-ptx",
        &["main", "scale"],
        "-arch=sm_90 -dlto -dlink -ptx {objects} -o app.ptx",
    )
    .compiled(&[Variant::Lto]),
    program("lto-missing", &["main", "indirect"], LTO_80)
        .compiled(&[Variant::Lto])
        .expect(Expect::Refused("Undefined reference to")),
    program("lto-defined-twice", &["main", "scale", "again"], LTO_90)
        .compiled(&[Variant::Lto])
        .expect(Expect::Refused("symbol multiply defined")),
    program("lto-dynamic", &["parent", "child", "scale"], LTO_90).compiled(&[Variant::Lto]),
    program("undefined-80", &["main", "indirect"], SM_80).expect(Expect::Refused("Undefined reference to '_Z5scalei' in 'main.o'")),
    program("defined-twice-90", &["main", "scale", "again"], SM_90).expect(Expect::Refused("Multiple definition of '_Z5scalei'")),
];
