//! From device files to a description.
//!
//! 1. A file is taken apart into its cubins; each becomes a unit.
//! 2. Functions and their resources come from the reader of `culd dump`; code is searched for accesses to local memory.
//! 3. The call graph becomes pairs of positions. Paths that set registers and stack are found in `calls`.
//! 4. Variables are grouped by memory space.

use crate::model::{Function, Message, Report, Section, Space, Unit, Variable};
use crate::{calls, names, occupancy};
use cubin::consts::{ET_REL, STT_FUNC, STT_SECTION};
use cubin::read::is_nobits;
use culd_inspect::dump::{FunctionRow, Model, Selection};
use culd_inspect::file::DeviceFile;
use culd_inspect::view::{Home, View};
use std::collections::HashMap;

const UNKNOWN_STACK: u32 = u32::MAX;
/// From sm_90 on, sections of shared memory begin with what the system reserves.
const RESERVED_FROM: u32 = 90;
const RESERVED: u64 = 1024;
/// From here on an instruction has 16 bytes.
const WIDE_INSTRUCTIONS: u32 = 70;
/// Opcodes, the low 12 bits, of loads from local memory and stores to it.
const LOCAL_OPCODES: [u16; 2] = [0x983, 0x387];

impl Report {
    /// An empty description.
    pub fn new(title: &str) -> Self {
        Report {
            schema: "culd.report/1",
            culd: env!("CARGO_PKG_VERSION"),
            title: title.to_owned(),
            architectures: occupancy::TABLE.to_vec(),
            ..Report::default()
        }
    }

    /// Describes files of any kind that holds device code. What cannot be read becomes a message.
    pub fn of_files(files: &[(&str, &[u8])]) -> Self {
        let title: Vec<&str> = files.iter().map(|f| f.0).collect();
        let mut report = Report::new(&title.join(", "));
        for (path, bytes) in files {
            report.add_file(path, bytes);
        }
        report
    }

    fn add_file(&mut self, path: &str, bytes: &[u8]) {
        let file = DeviceFile::open(bytes);
        for problem in &file.problems {
            self.problem(format!("{path}: {}: {}", problem.place, problem.reason));
        }
        for part in file.parts.iter().filter(|p| p.is_cubin()) {
            let name = match part.row.name.as_str() {
                "" => path.to_owned(),
                p if p.starts_with(':') => format!("{path}{p}"),
                p => format!("{path}:{p}"),
            };
            let unit = part.bytes().and_then(|bytes| unit(&name, &bytes));
            match unit {
                Ok(mut unit) => {
                    unit.file = path.to_owned();
                    self.units.push(unit);
                }
                Err(reason) => self.problem(format!("{name}: {reason}")),
            }
        }
        let others = file.parts.iter().filter(|p| !p.is_cubin());
        let mut kinds: Vec<String> = others.map(|p| p.row.kind.to_string()).collect();
        kinds.sort();
        kinds.dedup();
        if !kinds.is_empty() {
            let text = format!("{path}: parts without machine code are not shown: {}", kinds.join(", "));
            self.message("info", "NotShown", text);
        }
    }

    fn problem(&mut self, text: String) {
        self.message("error", "Unreadable", text);
    }

    fn message(&mut self, severity: &str, code: &str, text: String) {
        self.messages.push(Message {
            severity: severity.into(),
            code: code.into(),
            text,
        });
    }
}

/// Describes one cubin.
pub fn unit(name: &str, bytes: &[u8]) -> Result<Unit, String> {
    let view = View::parse(bytes).map_err(|e| e.to_string())?;
    let selection = Selection::default();
    let model = Model::new(&view, &selection);
    let header = model.header();
    let mut unit = Unit {
        name: name.to_owned(),
        file: name.to_owned(),
        arch: header.arch,
        sm: view.arch(),
        size: bytes.len() as u64,
        relocatable: view.header.e_type.get() == ET_REL,
        ..Unit::default()
    };
    let code: HashMap<&[u8], &[u8]> = view
        .sections
        .iter()
        .filter_map(|s| Some((s.name.strip_prefix(b".text.")?, s.data)))
        .collect();
    let shared: Vec<&[u8]> = view.sections.iter().filter_map(|s| s.name.strip_prefix(b".nv.shared.")).collect();
    unit.functions = model.functions().iter().map(|row| function(row, &code, unit.sm)).collect();
    for f in unit.functions.iter_mut().filter(|f| f.kernel && f.shared == 0) {
        f.dynamic_shared = shared.contains(&f.name.as_bytes());
    }
    share_sections(&view, &mut unit.functions);
    graph(&model, &mut unit);
    unit.sections = sections(&view);
    unit.spaces = spaces(&view);
    calls::find_paths(&mut unit);
    Ok(unit)
}

fn threads(xyz: Option<[u32; 3]>) -> Option<u32> {
    let [x, y, z] = xyz?;
    Some(x.max(1).saturating_mul(y.max(1)).saturating_mul(z.max(1)))
}

fn function(row: &FunctionRow<'_>, code: &HashMap<&[u8], &[u8]>, sm: u32) -> Function {
    let demangled = names::demangled(&row.name);
    let bytes = code.get(row.name.as_bytes()).copied().unwrap_or_default();
    let reserved = if sm >= RESERVED_FROM { RESERVED } else { 0 };
    Function {
        family: names::family(&demangled),
        demangled,
        name: row.name.to_string(),
        kernel: row.kernel,
        code: row.code_size,
        registers: row.registers,
        max_registers: row.max_registers.filter(|n| *n < 255),
        frame: row.frame,
        stack: row.stack.filter(|n| *n != UNKNOWN_STACK),
        stack_unknown: row.stack == Some(UNKNOWN_STACK),
        local_access: (sm >= WIDE_INSTRUCTIONS && !bytes.is_empty()).then(|| local_access(bytes)),
        barriers: row.barriers,
        shared: row.shared.saturating_sub(reserved),
        local: row.local,
        constants: row.constant_banks.iter().map(|b| [b.bank.into(), b.size]).collect(),
        parameters: row.parameters_size,
        max_threads: threads(row.max_threads),
        required_threads: threads(row.required_threads),
        ..Function::default()
    }
}

/// Divides sections that hold several functions: the code of each ends where the next one starts. Whole-program compilation makes such sections.
fn share_sections(view: &View<'_>, functions: &mut [Function]) {
    let Some(table) = view.tables.first() else { return };
    let mut places: Vec<(u32, u64, &[u8])> = Vec::new();
    for (index, entry) in table.entries.iter().enumerate() {
        let index = index as u32;
        if let (STT_FUNC, Home::Section(section)) = (entry.kind(), table.home(index)) {
            places.push((section, entry.st_value.get(), table.name(index)));
        }
    }
    places.sort_unstable();
    let mut sizes: HashMap<&[u8], u64> = HashMap::new();
    for group in places.chunk_by(|a, b| a.0 == b.0).filter(|g| g.len() > 1) {
        let end = group.first().and_then(|g| view.section(g.0)).map_or(0, |s| s.header.sh_size.get());
        let starts = group.iter().skip(1).map(|g| g.1).chain([end]);
        // What is before the first function belongs to it.
        let mut from = 0;
        for (&(_, _, name), next) in group.iter().zip(starts) {
            sizes.insert(name, next.saturating_sub(from));
            from = next;
        }
    }
    for f in functions {
        if let Some(&size) = sizes.get(f.name.as_bytes()) {
            f.code = size;
        }
    }
}

/// Loads from local memory and stores to it.
fn local_access(code: &[u8]) -> [u32; 2] {
    let mut found = [0u32; 2];
    for instruction in code.chunks_exact(16) {
        let [a, b, ..] = *instruction else { continue };
        let opcode = u16::from_le_bytes([a, b]) & 0xfff;
        for (count, wanted) in found.iter_mut().zip(LOCAL_OPCODES) {
            *count += u32::from(opcode == wanted);
        }
    }
    found
}

fn graph(model: &Model<'_, '_>, unit: &mut Unit) {
    let Some(graph) = model.everything().callgraph else { return };
    let mut position: HashMap<String, u32> = HashMap::new();
    for (at, f) in unit.functions.iter().enumerate() {
        position.entry(f.name.clone()).or_insert(at as u32);
    }
    for call in &graph.calls {
        if let (Some(&from), Some(&to)) = (position.get(&*call.from.name), position.get(&*call.to.name)) {
            unit.calls.push([from, to]);
        }
    }
    unit.calls.sort_unstable();
    unit.calls.dedup();
    for call in &graph.indirect_calls {
        let f = position
            .get(&*call.function.name)
            .and_then(|&at| unit.functions.get_mut(at as usize));
        if let Some(f) = f {
            f.indirect = true;
        }
    }
}

fn sections(view: &View<'_>) -> Vec<Section> {
    let sections = view.sections.iter().skip(1);
    sections
        .map(|s| Section {
            name: String::from_utf8_lossy(s.name).into_owned(),
            size: s.header.sh_size.get(),
            in_file: !is_nobits(s.header.sh_type.get()),
        })
        .collect()
}

/// What a section is, when it is memory of the program.
pub(crate) fn space_name(section: &str) -> Option<String> {
    let plain = section.strip_prefix(".nv.").filter(|p| !p.starts_with("merc."))?;
    if plain == "global" {
        return Some("global, zeroed".into());
    }
    if plain == "global.init" {
        return Some("global, initialized".into());
    }
    if let Some(bank) = plain.strip_prefix("constant") {
        let number = bank.split('.').next().unwrap_or(bank);
        let of = bank
            .split_once('.')
            .map(|(_, function)| format!(" of {}", names::demangled(function)));
        return Some(format!("constant bank {number}{}", of.unwrap_or_default()));
    }
    let kernel = plain.strip_prefix("shared.")?;
    (!kernel.starts_with("reserved.")).then(|| format!("shared of {}", names::demangled(kernel)))
}

fn spaces(view: &View<'_>) -> Vec<Space> {
    let mut spaces: Vec<(u32, Space)> = Vec::new();
    for s in view.sections.iter().skip(1) {
        let section = String::from_utf8_lossy(s.name).into_owned();
        let Some(name) = space_name(&section) else { continue };
        let is_reserved = section.starts_with(".nv.shared.") && view.arch() >= RESERVED_FROM;
        let space = Space {
            name,
            section,
            size: s.header.sh_size.get().saturating_sub(if is_reserved { RESERVED } else { 0 }),
            variables: Vec::new(),
        };
        spaces.push((s.index, space));
    }
    let Some(table) = view.tables.first() else { return Vec::new() };
    let place: HashMap<u32, usize> = spaces.iter().enumerate().map(|(at, s)| (s.0, at)).collect();
    for (index, entry) in table.entries.iter().enumerate() {
        let index = index as u32;
        let Home::Section(section) = table.home(index) else { continue };
        let is_variable = !matches!(entry.kind(), STT_FUNC | STT_SECTION) && entry.st_size.get() > 0;
        let space = place.get(&section).and_then(|&at| spaces.get_mut(at));
        if let (Some((_, space)), true) = (space, is_variable) {
            let name = String::from_utf8_lossy(table.name(index)).into_owned();
            space.variables.push(Variable {
                demangled: names::demangled(&name),
                name,
                offset: entry.st_value.get(),
                size: entry.st_size.get(),
                ..Variable::default()
            });
        }
    }
    let mut spaces: Vec<Space> = spaces.into_iter().map(|s| s.1).collect();
    spaces.iter_mut().for_each(|s| s.variables.sort_by_key(|v| v.offset));
    spaces
}
