//! Attributes of the image.
//!
//! 1. `.nv.info` has attributes of the module: none that describes parameters or places in one function's code.
//! 2. A kernel has `.nv.info.K`, with the parameters of an input's definition; its parameter bank holds them all; registers and
//!    frame are known.
//! 3. Places in code are instructions inside the function. Instructions that leave a kernel are EXITs; of the other kinds each is the
//!    same operation as in the input.

use super::file::File;
use super::{Check, Findings, Rules, text};
use crate::names::SeededState;
use cubin::consts::*;
use cubin::kind::SectionKind;
use cubin::nvinfo::{Payload, Record, records};
use cubin::read::Section;
use hashbrown::{HashMap, HashSet};

const PARAM_CBANK: u8 = 0x0a;
const FRAME_SIZE: u8 = 0x11;
const KPARAM_INFO: u8 = 0x17;
const CBANK_PARAM_SIZE: u8 = 0x19;
const EXIT_INSTR_OFFSETS: u8 = 0x1c;
const REGCOUNT: u8 = 0x2f;
const KPARAM_INFO_V2: u8 = 0x45;
/// Groups of four words, of which the first is a place in code.
const MBARRIER_INSTR_OFFSETS: u8 = 0x39;
/// Pairs of a place in code and a mask.
const UNUSED_LOAD_BYTE_OFFSET: u8 = 0x44;
/// Offset of a parameter that is not in the bank: a texture, sampler or surface.
const NO_OFFSET: u16 = 0xffff;
/// `EXIT`: the low 12 bits of an instruction.
const EXIT: u16 = 0x94d;
const WARPSYNC: [u16; 2] = [0x348, 0x948];
const NOP: u16 = 0x918;
/// The same up to sm_62.
const SHORT_EXIT: u16 = 0xe30;

/// Parameters as the attributes of a kernel have them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Parameters {
    list: Vec<Vec<u8>>,
    size: Option<u16>,
    /// Offset and size.
    bank: Option<(u16, u16)>,
}

/// Checks the attributes.
pub(super) fn check(image: &File<'_>, inputs: &[File<'_>], rules: &Rules<'_>, found: &mut Findings) {
    let module = image.named(b".nv.info").first().and_then(|&i| image.section(i));
    if let Some(reason) = module.and_then(module_only) {
        found.add(Check::Attributes, reason);
    }
    let facts = Facts::new(image, module);
    let known = Definitions::new(inputs, rules);
    for sym in image.symbols.iter().filter(|sym| sym.entry.kind() == STT_FUNC) {
        let Some(code) = sym.section.index().and_then(|i| image.section(i)) else {
            continue;
        };
        if image.kind(code.index) != SectionKind::Text || code.name.strip_prefix(b".text.") != Some(sym.name) {
            continue;
        }
        let info = facts.info_of.get(&code.index).and_then(|&i| image.section(i));
        let result = function(
            image,
            &known,
            &facts,
            (sym.index, code, info),
            sym.entry.st_other & STO_CUDA_ENTRY != 0,
        );
        if let Err(reason) = result {
            found.add(Check::Attributes, format!("function {}: {reason}", text(sym.name)));
        }
    }
}

fn module_only(module: &Section<'_>) -> Option<String> {
    for record in records(module.data) {
        let Ok(record) = record else {
            return Some(".nv.info: a record is cut off".into());
        };
        let info = record.info();
        let of_code = matches!(
            info.map(|i| i.payload),
            Some(Payload::Offsets | Payload::Param | Payload::ParamV2 | Payload::ParamBank | Payload::BranchTargets)
        );
        if of_code || record.attribute == CBANK_PARAM_SIZE {
            return Some(format!(
                ".nv.info has {}, an attribute of one function",
                info.map_or("?", |i| i.name)
            ));
        }
    }
    None
}

/// What is looked up for every function of the image.
struct Facts {
    /// `.nv.info.F` by text section.
    info_of: HashMap<u32, u32, SeededState>,
    /// Parameter banks by text section.
    bank_of: HashMap<u32, u32, SeededState>,
    /// Attributes of `.nv.info` by symbol.
    of_symbol: HashSet<(u8, u32), SeededState>,
    relocatable: bool,
}

impl Facts {
    fn new(image: &File<'_>, module: Option<&Section<'_>>) -> Self {
        let mut facts = Facts {
            info_of: HashMap::default(),
            bank_of: HashMap::default(),
            of_symbol: HashSet::default(),
            relocatable: image.cubin.header().e_type.get() == ET_REL,
        };
        for s in image.sections.iter().skip(1).filter(|s| !image.is_mercury(s)) {
            match image.kind(s.index) {
                SectionKind::FunctionInfo => facts.info_of.insert(s.header.sh_info.get(), s.index),
                SectionKind::Constant(0) => facts.bank_of.insert(s.header.sh_info.get(), s.index),
                _ => continue,
            };
        }
        for record in module.into_iter().flat_map(|m| records(m.data)).flatten() {
            if let Some(symbol) = record.word(0) {
                facts.of_symbol.insert((record.attribute, symbol));
            }
        }
        facts
    }
}

/// Definitions of the inputs by the name of their code section.
struct Definitions<'a, 'd> {
    by_code: HashMap<&'d [u8], Vec<(&'a File<'d>, u32)>, SeededState>,
    info_of: HashMap<(*const File<'d>, u32), u32, SeededState>,
    /// Some input has attributes of its module.
    has_module_info: bool,
    /// Target architecture.
    sm: u32,
    /// nvlink quirk: places in functions with namesakes may be those of another one.
    mixes_namesakes: bool,
}

impl<'a, 'd> Definitions<'a, 'd> {
    fn new(inputs: &'a [File<'d>], rules: &Rules<'_>) -> Self {
        let mut known = Definitions {
            by_code: HashMap::default(),
            info_of: HashMap::default(),
            has_module_info: false,
            sm: rules.options.target.number,
            mixes_namesakes: rules.nvlink && inputs.iter().any(File::has_mercury),
        };
        for input in inputs {
            for s in input.sections.iter().skip(1).filter(|s| !input.is_mercury(s)) {
                match input.kind(s.index) {
                    SectionKind::Info if s.header.sh_info.get() == 0 => known.has_module_info = true,
                    SectionKind::Text => known.by_code.entry(s.name).or_default().push((input, s.index)),
                    SectionKind::FunctionInfo => {
                        known.info_of.insert((std::ptr::from_ref(input), s.header.sh_info.get()), s.index);
                    }
                    _ => {}
                }
            }
        }
        known
    }

    /// Does some input have a parameter bank of this kernel?
    fn has_bank(&self, name: &[u8]) -> bool {
        let function = name.strip_prefix(b".text.").unwrap_or_default();
        let bank = [b".nv.constant0.", function].concat();
        self.by_code
            .get(name)
            .is_some_and(|all| all.iter().any(|(file, _)| !file.named(&bank).is_empty()))
    }

    /// Does one file have several functions of this name?
    fn has_namesakes(&self, name: &[u8]) -> bool {
        let all = self.by_code.get(name).map_or(&[][..], Vec::as_slice);
        all.windows(2).any(|pair| matches!(pair, [a, b] if std::ptr::eq(a.0, b.0)))
    }

    /// Code and attributes of every definition.
    fn of(&self, name: &[u8]) -> impl Iterator<Item = (&Section<'d>, Option<&Section<'d>>)> {
        let all = self.by_code.get(name).into_iter().flatten();
        all.filter_map(|&(file, code)| {
            // CUDA 12.0 to 12.3 do not set the function of these attributes; the section name has it.
            let by_name = || {
                let function = file.section(code)?.name.strip_prefix(b".text.")?;
                file.named(&[b".nv.info.", function].concat()).first().copied()
            };
            let info = self.info_of.get(&(std::ptr::from_ref(file), code)).copied().or_else(by_name);
            Some((file.section(code)?, info.and_then(|i| file.section(i))))
        })
    }
}

type Of<'a, 'd> = (u32, &'a Section<'d>, Option<&'a Section<'d>>);

fn function(
    image: &File<'_>,
    known: &Definitions<'_, '_>,
    facts: &Facts,
    (symbol, code, info): Of<'_, '_>,
    entry: bool,
) -> Result<(), String> {
    let records = list(info)?;
    // A module's attributes that name a function in `sh_info` are taken for that function's.
    if entry && known.has_module_info {
        for (code, name) in [(REGCOUNT, "REGCOUNT"), (FRAME_SIZE, "FRAME_SIZE")] {
            if !facts.of_symbol.contains(&(code, symbol)) {
                return Err(format!(".nv.info has no EIATTR_{name} of this kernel"));
            }
        }
        let info = info.ok_or("the kernel has no .nv.info section")?;
        let parameters = parameters(&records);
        let mut of_inputs = known.of(code.name).filter_map(|(_, i)| Some(self::parameters(&list(i).ok()?)));
        if known.by_code.contains_key(code.name) && !of_inputs.any(|p| same(&p, &parameters)) {
            return Err(format!(
                "section {} does not have the parameters of the input's kernel",
                text(info.name)
            ));
        }
        bank(image, facts, code, &parameters, known.has_bank(code.name))?;
    }
    places(known, code, &records)
}

/// Same parameters. Places in the bank are the linker's.
fn same(input: &Parameters, image: &Parameters) -> bool {
    let sizes = input.size.is_none() || input.size == image.size;
    input.list == image.list && sizes && input.bank.map(|b| b.1) == image.bank.map(|b| b.1)
}

fn list<'d>(info: Option<&Section<'d>>) -> Result<Vec<Record<'d>>, String> {
    let Some(info) = info else { return Ok(Vec::new()) };
    records(info.data)
        .collect::<Result<_, _>>()
        .map_err(|_| format!("section {}: a record is cut off", text(info.name)))
}

fn parameters(records: &[Record<'_>]) -> Parameters {
    let mut found = Parameters::default();
    for r in records {
        match r.attribute {
            // The first word of the payload is a symbol of the file.
            KPARAM_INFO | KPARAM_INFO_V2 => found.list.push(r.payload.get(4..).unwrap_or_default().to_vec()),
            CBANK_PARAM_SIZE => found.size = Some(r.half),
            PARAM_CBANK => found.bank = r.word(1).map(|w| (w as u16, (w >> 16) as u16)),
            _ => {}
        }
    }
    found.list.sort_unstable();
    found
}

fn bank(image: &File<'_>, facts: &Facts, code: &Section<'_>, p: &Parameters, needed: bool) -> Result<(), String> {
    // nvlink quirk: static kernels of one name share the first one's bank.
    let by_name = || {
        let function = code.name.strip_prefix(b".text.")?;
        image.named(&[b".nv.constant0.", function].concat()).first().copied()
    };
    let bank = facts
        .bank_of
        .get(&code.index)
        .copied()
        .or_else(by_name)
        .and_then(|i| image.section(i));
    if needed && bank.is_none() {
        return Err("the kernel has no parameter bank".into());
    }
    if let Some((offset, size)) = p.bank {
        let bank = bank.ok_or("the kernel has no parameter bank")?;
        let need = u64::from(offset) + u64::from(size);
        let have = bank.header.sh_size.get();
        // The bank of a kernel without parameters may have slots of textures.
        let stated = p.size == Some(size) || (p.size.is_none() && size == 0);
        if have < need || (have > need && !facts.relocatable && !stated) {
            return Err(format!(
                "section {} has {have} bytes, the parameters end at {need}",
                text(bank.name)
            ));
        }
        if p.size.is_some_and(|s| s != size) {
            return Err(format!(
                "EIATTR_CBANK_PARAM_SIZE is {}, EIATTR_PARAM_CBANK {size}",
                p.size.unwrap_or(0)
            ));
        }
    }
    let end = |of: &Vec<u8>| {
        let payload = [&[0; 4], of.as_slice()].concat();
        let param = cubin::nvinfo::Param::read(&payload).filter(|p| p.offset != NO_OFFSET);
        param.map_or(0, |p| u32::from(p.offset) + u32::from(p.size))
    };
    let last = p.list.iter().map(end).max().unwrap_or(0);
    match p.size {
        Some(size) if last > u32::from(size) => Err(format!("a parameter ends at {last}, all of them have {size} bytes")),
        _ => Ok(()),
    }
}

/// Places in code that a record names.
fn places_of(r: &Record<'_>) -> impl Iterator<Item = u32> {
    let stride = match r.attribute {
        MBARRIER_INSTR_OFFSETS => 4,
        UNUSED_LOAD_BYTE_OFFSET => 2,
        _ if r.info().is_some_and(|i| i.payload == Payload::Offsets) => 1,
        _ => usize::MAX,
    };
    let words = if stride == usize::MAX { &[] } else { r.words() };
    words.iter().step_by(stride).map(|w| w.get())
}

/// Whether instructions have 8 bytes, as up to sm_62, and the operation in the highest bits.
fn is_short(known: &Definitions<'_, '_>) -> bool {
    known.sm < 70
}

fn opcode(code: &Section<'_>, offset: u32, short: bool) -> Option<u16> {
    let rest = code.data.get(offset as usize..)?;
    if short {
        let bytes = rest.first_chunk::<8>().filter(|_| offset.is_multiple_of(8))?;
        return Some(u16::from_le_bytes([bytes[6], bytes[7]]) >> 4);
    }
    let bytes = rest.first_chunk::<16>().filter(|_| offset.is_multiple_of(16))?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]) & 0xfff)
}

fn places(known: &Definitions<'_, '_>, code: &Section<'_>, records: &[Record<'_>]) -> Result<(), String> {
    let name = |r: &Record<'_>| r.info().map_or("?", |i| i.name);
    let short = is_short(known);
    if known.mixes_namesakes && known.has_namesakes(code.name) {
        return Ok(());
    }
    for r in records {
        for offset in places_of(r) {
            let Some(at) = opcode(code, offset, short) else {
                return Err(format!("{} names {offset:#x}, which is not an instruction of it", name(r)));
            };
            if r.attribute == EXIT_INSTR_OFFSETS && at != if short { SHORT_EXIT } else { EXIT } {
                return Err(format!("{} names {offset:#x}, which is not an EXIT", name(r)));
            }
        }
    }
    let image = operations(code, records, short);
    // nvlink quirk: static functions of one name in one file take each other's contents on sm_100 and later.
    if known.of(code.name).next().is_none() || known.has_namesakes(code.name) {
        return Ok(());
    }
    let mut definitions = known.of(code.name);
    let agrees = |(of, info): (&Section<'_>, Option<&Section<'_>>)| {
        let Ok(list) = list(info) else { return true };
        // Kernels take over attributes of what they call: only what both have is compared.
        operations(of, &list, short)
            .iter()
            .all(|(attribute, there)| image.get(attribute).is_none_or(|here| here == there))
    };
    match definitions.any(agrees) {
        true => Ok(()),
        false => Err("an attribute names another kind of instruction than in the input".into()),
    }
}

/// Operations that the attributes name, by attribute, sorted.
fn operations(code: &Section<'_>, records: &[Record<'_>], short: bool) -> HashMap<u8, Vec<Option<u16>>, SeededState> {
    let mut found: HashMap<u8, Vec<Option<u16>>, SeededState> = HashMap::default();
    for r in records {
        let mut places = places_of(r).peekable();
        if places.peek().is_some() {
            let list = found.entry(r.attribute).or_default();
            // The linker drops a `NOP` that an older compiler put after a `WARPSYNC`, and names that.
            let before = |offset: u32| offset.checked_sub(16).and_then(|at| opcode(code, at, short));
            let named = |offset| match (before(offset), opcode(code, offset, short)) {
                (Some(sync), Some(NOP)) if WARPSYNC.contains(&sync) => Some(sync),
                (_, found) => found,
            };
            list.extend(places.map(named));
            list.sort_unstable();
        }
    }
    found
}
