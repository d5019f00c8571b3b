//! Unified functions and variables: two more modules and index files for them.
//!
//! 1. Functions and variables with unified ids are chosen, each defined in one of the modules `u0` and `u1` and used from both.
//! 2. The modules are written as PTX: calls, addresses in code and in tables, reads and writes.
//! 3. Index files place the entries: as defined, in another order, with one entry less or more, with a larger window.

use culd_tests::rng::Rng;
use culd_tests::{Error, Result};
use std::fmt::Write as _;
use std::path::Path;

/// Modules of the unified scenario.
const MODULES: usize = 2;
/// Index files that links name.
pub(crate) const INDICES: [&str; 6] = ["right.uidx", "other.uidx", "short.uidx", "long.uidx", "wide.uidx", "second.uidx"];
const MAGIC: u64 = 0x5844_4e49_5446_557f;
/// Bytes of a stub in the table of functions.
const STUB: u64 = 0x80;

/// A unified symbol.
#[derive(Debug, Clone)]
struct Symbol {
    id: (u64, u64),
    home: usize,
    /// Of a variable: bytes. Of a function: 1 if it has a parameter and a result.
    size: u64,
    init: bool,
}

/// The unified symbols of a scenario.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
    kernels: usize,
    rng: Rng,
}

impl Tables {
    pub(crate) fn generate(rng: &mut Rng) -> Self {
        let mut next = 16;
        let mut symbols = |count: usize, sizes: [u64; 4]| -> Vec<Symbol> {
            (0..count)
                .map(|_| {
                    next += 1 + rng.below(9) as u64;
                    Symbol {
                        id: (next, rng.next() >> rng.pick([1, 40, 56])),
                        home: rng.below(MODULES),
                        size: rng.pick(sizes),
                        init: rng.chance(40),
                    }
                })
                .collect()
        };
        let mut functions = symbols(3, [0, 0, 1, 1]);
        let mut variables = symbols(3, [4, 4, 8, 24]);
        match rng.below(4) {
            0 => functions.clear(),
            1 => variables.clear(),
            _ => {}
        }
        functions.truncate(rng.between(1, 3));
        variables.truncate(rng.between(1, 3));
        Self {
            functions,
            variables,
            kernels: rng.between(1, 2),
            rng: rng.fork(),
        }
    }

    /// Names of the objects.
    pub(crate) fn files() -> Vec<String> {
        (0..MODULES).map(|m| format!("u{m}.cubin")).collect()
    }

    /// The PTX of each module.
    pub(crate) fn sources(&self, arch: &str) -> Vec<String> {
        let mut rng = self.rng.clone();
        (0..MODULES).map(|m| self.module(m, arch, &mut rng)).collect()
    }

    fn module(&self, module: usize, arch: &str, rng: &mut Rng) -> String {
        let mut text = format!(".version 9.0\n.target {arch}\n.address_size 64\n");
        for (i, v) in self.variables.iter().enumerate() {
            let attribute = format!(".attribute(.unified({}, {})) ", v.id.0, v.id.1);
            let (scalar, array) = if v.size == 4 {
                ("u32", String::new())
            } else {
                ("u64", format!("[{}]", v.size / 8))
            };
            let line = if v.home == module {
                let value = if v.size == 4 { "7" } else { "{ 1 }" };
                let init = if v.init { format!(" = {value}") } else { String::new() };
                format!(".visible .global {attribute}.align 8 .{scalar} ug{i}{array}{init};")
            } else {
                let attribute = if rng.chance(50) { &attribute } else { "" };
                format!(".extern .global {attribute}.align 8 .{scalar} ug{i}{array};")
            };
            let _ = writeln!(text, "{line}");
        }
        for (i, f) in self.functions.iter().enumerate() {
            let linkage = if f.home == module {
                definition(f)
            } else {
                ".extern .func".to_owned()
            };
            let _ = writeln!(text, "{linkage} {};", head(i, f));
        }
        if rng.chance(50) {
            let entries: Vec<String> = (0..rng.between(1, 4)).filter_map(|_| self.any_name(rng)).collect();
            let _ = writeln!(
                text,
                ".visible .global .align 8 .u64 utab{module}[5] = {{ {} }};",
                entries.join(", ")
            );
        }
        for (i, f) in self.functions.iter().enumerate().filter(|(_, f)| f.home == module) {
            let _ = writeln!(text, "{} {}", definition(f), head(i, f));
            self.body(&mut text, Some(i), rng);
        }
        for k in 0..self.kernels {
            let _ = writeln!(text, ".visible .entry uk{module}_{k} (.param .u64 p)");
            self.body(&mut text, None, rng);
        }
        text
    }

    fn any_name(&self, rng: &mut Rng) -> Option<String> {
        let functions = (0..self.functions.len()).map(|i| format!("uf{i}"));
        let names: Vec<String> = functions.chain((0..self.variables.len()).map(|i| format!("ug{i}"))).collect();
        rng.choose(&names).cloned()
    }

    /// A body that uses some of the symbols; a function calls only those after it.
    fn body(&self, text: &mut String, function: Option<usize>, rng: &mut Rng) {
        text.push_str("{\n.reg .b32 %a, %r;\n.reg .b64 %d, %q;\nmov.u32 %a, %tid.x;\nmov.u64 %q, 4096;\n");
        for _ in 0..rng.between(1, 5) {
            let (v, f) = (rng.below(self.variables.len()), rng.below(self.functions.len()));
            let first = function.map_or(0, |i| i + 1);
            let line = match rng.below(5) {
                0 if v < self.variables.len() => format!("st.global.u32 [ug{v}], %a;"),
                1 if v < self.variables.len() => format!("ld.global.u32 %r, [ug{v}];\nxor.b32 %a, %a, %r;"),
                2 if v < self.variables.len() => format!("mov.u64 %d, ug{v};\nadd.u64 %q, %q, %d;"),
                3 if f < self.functions.len() => format!("mov.u64 %d, uf{f};\nadd.u64 %q, %q, %d;"),
                _ => match self.functions.get(f) {
                    Some(s) if f >= first && s.size == 1 => {
                        format!(
                            "{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %a; call (y), uf{f}, (x); ld.param.b32 %r, [y]; }}\nxor.b32 %a, %a, %r;"
                        )
                    }
                    Some(_) if f >= first => format!("call uf{f};"),
                    _ => "add.u32 %a, %a, 3;".to_owned(),
                },
            };
            let _ = writeln!(text, "{line}");
        }
        let result = function.and_then(|i| self.functions.get(i)).is_some_and(|f| f.size == 1);
        text.push_str(if result { "st.param.b32 [rv], %a;\n" } else { "" });
        text.push_str("st.global.u32 [%q], %a;\nret;\n}\n");
    }

    /// Writes the files of [`INDICES`] into `dir`.
    pub(crate) fn write_indices(&self, dir: &Path) -> Result<()> {
        let mut rng = self.rng.clone();
        for name in INDICES {
            let (mut functions, mut variables) = (self.functions.clone(), self.variables.clone());
            match name {
                "other.uidx" => {
                    rng.shuffle(&mut functions);
                    rng.shuffle(&mut variables);
                }
                "short.uidx" => {
                    let list = if rng.chance(50) { &mut functions } else { &mut variables };
                    list.pop();
                }
                "long.uidx" => {
                    let list = if rng.chance(50) { &mut functions } else { &mut variables };
                    list.push(Symbol {
                        id: (7, 8),
                        home: 0,
                        size: 8,
                        init: false,
                    });
                }
                _ => {}
            }
            let (version, wider) = (1 + u32::from(name == "second.uidx"), if name == "wide.uidx" { STUB } else { 0 });
            let path = dir.join(name);
            std::fs::write(&path, index(version, &functions, &variables, wider)).map_err(Error::file(path))?;
        }
        Ok(())
    }
}

/// The directives of a function's definition.
fn definition(f: &Symbol) -> String {
    format!(".visible .func .attribute(.unified({}, {}))", f.id.0, f.id.1)
}

/// `(.param .b32 rv) uf0 (.param .b32 a)`.
fn head(i: usize, f: &Symbol) -> String {
    if f.size == 1 {
        format!("(.param .b32 rv) uf{i} (.param .b32 a)")
    } else {
        format!("uf{i} ()")
    }
}

/// An index file: header, then an entry (id, offset) for each function and variable.
fn index(version: u32, functions: &[Symbol], variables: &[Symbol], wider: u64) -> Vec<u8> {
    let mut places = Vec::new();
    for (i, f) in (0..).zip(functions) {
        places.push((f.id, STUB * i));
    }
    let mut data = 0u64;
    for v in variables {
        data = data.next_multiple_of(8);
        places.push((v.id, data));
        data += v.size;
    }
    let mut out = MAGIC.to_le_bytes().to_vec();
    out.extend(version.to_le_bytes());
    out.extend(0u32.to_le_bytes());
    let counts = [functions.len() as u64, variables.len() as u64];
    for word in [
        STUB * counts[0] + wider,
        counts[0],
        data + if functions.is_empty() { wider } else { 0 },
        counts[1],
    ] {
        out.extend(word.to_le_bytes());
    }
    if version > 1 {
        out.extend(functions.iter().flat_map(|_| [0; 16]));
    }
    for ((low, high), offset) in places {
        for word in [low, high, offset] {
            out.extend(word.to_le_bytes());
        }
    }
    out
}
