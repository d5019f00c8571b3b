//! Comparison of the instruction forms with nvdisasm.
//!
//! 1. Kernels: `crates/culd-sass/tests/kernels` for every architecture, and the PTX of the case `sass-instructions-100`. nvdisasm prints each
//!    instruction with its 128 bits and life-range columns: `^` is a register that is written, `v` one that is read, `x` both. Mnemonic, results
//!    and sources have to be those of the form.
//! 2. Probes: of each form one word, taken from a kernel or made of opcode and modifiers alone, whose register fields name registers that no other
//!    field names. If the columns show exactly these, position, width and access of every field are right. The words replace the code of a
//!    kernel without branches. A word that no architecture takes for an instruction proves nothing.
//! 3. A difference is a failure. Forms that neither step confirmed are listed.

use super::{Count, File, Form, Operand};
use crate::context::Context;
use crate::nvcc::good;
use crate::report::Report;
use crate::{oracle, sass};
use cubin::Cubin;
use culd_tests::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A set of registers.
type Registers = BTreeSet<(File, u8)>;

/// Architectures that words are probed on; together they have all forms.
const PROBED: [&str; 5] = ["sm_100a", "sm_120a", "sm_103a", "sm_110a", "sm_121a"];
/// Instructions of the kernel that probes replace, and how many of them one run replaces.
const CARRIER: usize = 160;
const BATCH: usize = 96;
/// Fields of a word that a probe has beside opcode and modifiers: no scoreboards.
const CONTROL: u128 = 0x000f_e200 << 96;
const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
const NOP: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7918;
/// Their columns show the registers of the functions they call or return to.
const CALLS: [&str; 4] = ["CALL", "RET", "BRX", "BRXU"];

/// They end a block, so that a kernel of probes cannot have them.
const BRANCHES: [&str; 14] = [
    "BRA", "BRX", "BRXU", "BSSY", "BSYNC", "BREAK", "CALL", "EXIT", "JMP", "KILL", "RET", "RTT", "WARPSYNC", "YIELD",
];

/// An instruction as nvdisasm shows it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Shown {
    raw: u128,
    mnemonic: String,
    text: String,
    results: Registers,
    sources: Registers,
}

/// What is known about a form.
#[derive(Debug, Default, Clone)]
struct Evidence {
    /// Instructions of kernels that confirm it.
    instructions: usize,
    /// A word of a kernel, and its architecture.
    sample: Option<(u128, String)>,
    /// A probe confirms it.
    probed: bool,
    /// The first difference.
    difference: Option<String>,
}

/// Parses the output of `nvdisasm -plr -hex -c`.
fn parse(text: &str) -> Vec<Shown> {
    let mut columns: Vec<(usize, (File, u8))> = Vec::new();
    let mut groups = "";
    let mut shown = Vec::new();
    let mut low: Option<(u64, Shown)> = None;
    for line in text.lines() {
        let Some((code, ranges)) = line.split_once("//") else { continue };
        if ranges.contains("GPR") {
            groups = ranges;
        }
        if ranges.trim_start().starts_with('|') && ranges.contains('#') {
            columns = header(groups, ranges);
        }
        let word = code
            .rsplit_once("/* 0x")
            .and_then(|(_, rest)| u64::from_str_radix(rest.get(..16)?, 16).ok());
        let Some(word) = word else { continue };
        if let Some((_, rest)) = code
            .split_once("*/")
            .filter(|(at, _)| at.trim_start().starts_with("/*") && at.trim().len() < 12)
        {
            let text = rest.split(';').next().unwrap_or_default().trim();
            let plain = text
                .split_once(' ')
                .filter(|(guard, _)| guard.starts_with('@'))
                .map_or(text, |(_, rest)| rest.trim());
            let mnemonic = plain.split([' ', '.']).next().unwrap_or_default().to_owned();
            let text = text.to_owned();
            low = Some((
                word,
                Shown {
                    mnemonic,
                    text,
                    ..Shown::default()
                },
            ));
        } else if let Some((first, mut instruction)) = low.take() {
            instruction.raw = u128::from(first) | u128::from(word) << 64;
            for &(at, register) in &columns {
                let mark = ranges.as_bytes().get(at).copied().unwrap_or(b' ');
                if matches!(mark, b'^' | b'x') {
                    instruction.results.insert(register);
                }
                if matches!(mark, b'v' | b'x') {
                    instruction.sources.insert(register);
                }
            }
            shown.push(instruction);
        }
    }
    shown
}

/// The register of each column: where the last digit of its number is.
fn header(groups: &str, numbers: &str) -> Vec<(usize, (File, u8))> {
    let bars: Vec<usize> = numbers.match_indices('|').map(|(at, _)| at).collect();
    let mut columns = Vec::new();
    for (&from, &to) in bars.iter().zip(bars.iter().skip(1)) {
        let file = match groups.get(from + 1..to).unwrap_or_default().trim() {
            "GPR" => File::R,
            "UGPR" => File::Ur,
            "PRED" => File::P,
            "UPRED" => File::Up,
            _ => continue,
        };
        let mut at = from + 1;
        for word in numbers.get(from + 1..to).unwrap_or_default().split(' ') {
            at += word.len();
            if let Ok(number) = word.parse() {
                columns.push((at - 1, (file, number)));
            }
            at += 1;
        }
    }
    columns
}

/// Number of registers of an operand of an instruction: as the header of the text explains.
fn count(operand: &Operand, raw: u128) -> u8 {
    let shape = match raw >> 61 & 3 {
        0 => 1,
        1 => 2,
        _ => 3,
    };
    let components = (raw >> 72 & 15).count_ones() as u8;
    match operand.count {
        Count::Fixed(count) => count,
        Count::Named("COORDINATES") => shape + (raw >> 63 & 1) as u8,
        Count::Named("DERIVATIVES") => 2 * shape,
        Count::Named("LOW_RESULTS") => components.min(2),
        Count::Named(_) => components.saturating_sub(2).max(1),
    }
}

/// The bits of an operand's field, lowest first.
fn bits(operand: &Operand) -> Vec<u32> {
    match (operand.bit, operand.file) {
        (None, _) => (60..63).chain(73..78).collect(),
        (Some(bit), File::R | File::Ur) => (u32::from(bit)..u32::from(bit) + 8).collect(),
        (Some(bit), File::P | File::Up) => (u32::from(bit)..u32::from(bit) + 3).collect(),
    }
}

fn field(operand: &Operand, raw: u128) -> u8 {
    let bits = bits(operand);
    (0..).zip(bits).fold(0, |value, (n, bit)| value | ((raw >> bit & 1) as u8) << n)
}

fn with_field(operand: &Operand, raw: u128, value: u8) -> u128 {
    let bits = bits(operand);
    (0..).zip(bits).fold(raw, |raw, (n, bit): (u32, u32)| {
        raw & !(1 << bit) | u128::from(value >> n & 1) << bit
    })
}

/// The registers that some operands name in an instruction.
fn registers(operands: &[Operand], raw: u128) -> Registers {
    let mut all = Registers::new();
    for operand in operands {
        let first = field(operand, raw);
        let none = if matches!(operand.file, File::R | File::Ur) { 255 } else { 7 };
        if first != none {
            let range = (0..count(operand, raw)).filter_map(|n| first.checked_add(n)).filter(|&n| n != none);
            all.extend(range.map(|n| (operand.file, n)));
        }
    }
    all
}

/// How an instruction differs from its form.
fn difference(form: &Form, shown: &Shown) -> Option<String> {
    let (results, sources) = (registers(&form.results, shown.raw), registers(&form.sources, shown.raw));
    if (form.mnemonic.as_str(), &results, &sources) == (shown.mnemonic.as_str(), &shown.results, &shown.sources) {
        return None;
    }
    Some(format!(
        "{:032x} {}: {:?} <- {:?}, the form has {} {results:?} <- {sources:?}",
        shown.raw, shown.text, shown.results, shown.sources, form.mnemonic
    ))
}

/// The word of a form whose fields name different registers. `None` if there are not enough.
fn probe(form: &Form, sample: Option<u128>) -> Option<u128> {
    let textures = form.results.iter().any(|o| matches!(o.count, Count::Named(_)));
    let components = if textures { 15 << 72 } else { 0 };
    let mut raw = sample.unwrap_or(u128::from(form.opcode) | u128::from(form.value) << 40 | CONTROL | components);
    let mut free = BTreeMap::from([(File::R, 8u8), (File::Ur, 4), (File::P, 0), (File::Up, 0)]);
    for operand in form.results.iter().chain(&form.sources) {
        let next = free.get_mut(&operand.file)?;
        let count = count(operand, raw).max(1);
        let first = next.checked_next_multiple_of(count.checked_next_power_of_two()?)?;
        let last = match operand.file {
            File::R => 254,
            File::Ur => 62,
            File::P | File::Up => 6,
        };
        *next = first.checked_add(count).filter(|&end| end <= last + 1)?;
        raw = with_field(operand, raw, first);
    }
    // A field may overlap bits that select the form.
    form.matches(raw).then_some(raw)
}

struct Probes {
    tools: PathBuf,
    work: PathBuf,
}

impl Probes {
    fn disassemble(&self, file: &Path) -> Result<std::process::Output> {
        let mut nvdisasm = Command::new(self.tools.join("nvdisasm"));
        nvdisasm.args(["-plr", "-hex", "-c"]).arg(file);
        nvdisasm.output().map_err(|source| Error::Start {
            tool: format!("{nvdisasm:?}"),
            source,
        })
    }

    fn assemble(&self, source: &Path, arch: &str, object: &Path) -> Result<()> {
        let mut ptxas = Command::new(self.tools.join("ptxas"));
        good(ptxas.args(["-c", "-arch", arch]).arg(source).arg("-o").arg(object)).map(drop)
    }

    /// A kernel without branches, and where its code is.
    fn carrier(&self, arch: &str) -> Result<(Vec<u8>, std::ops::Range<usize>)> {
        let stores: String = (0..CARRIER)
            .map(|n| format!("st.volatile.global.u32 [%rd1+{}], {n};\n", 4 * n))
            .collect();
        let text = format!(
            ".version 9.0\n.target {arch}\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n{stores}ret;\n}}\n"
        );
        let (source, object) = (self.work.join("carrier.ptx"), self.work.join(format!("carrier.{arch}.cubin")));
        std::fs::write(&source, text).map_err(Error::file(&source))?;
        self.assemble(&source, arch, &object)?;
        let bytes = std::fs::read(&object).map_err(Error::file(&object))?;
        let failed = || Error::Other(format!("{}: no code", object.display()));
        let cubin = Cubin::parse(&bytes).map_err(|e| Error::Other(e.to_string()))?;
        let code = cubin
            .sections()
            .filter_map(|s| s.ok())
            .find(|s| s.name == b".text.k")
            .ok_or_else(failed)?;
        let start = code.header.sh_offset.get() as usize;
        let place = start..start + code.data.len();
        Ok((bytes, place))
    }

    /// The words that are instructions of an architecture, as shown.
    fn run(&self, carrier: &(Vec<u8>, std::ops::Range<usize>), mut words: Vec<(usize, u128)>) -> Result<Vec<(usize, Shown)>> {
        let file = self.work.join("probe.cubin");
        while !words.is_empty() {
            let mut bytes = carrier.0.clone();
            let code = words.iter().map(|w| w.1).chain([EXIT]).chain(std::iter::repeat(NOP));
            let target = bytes.get_mut(carrier.1.clone()).unwrap_or_default();
            for (slot, word) in target.chunks_exact_mut(16).zip(code) {
                slot.copy_from_slice(&word.to_le_bytes());
            }
            std::fs::write(&file, &bytes).map_err(Error::file(&file))?;
            let output = self.disassemble(&file)?;
            if output.status.success() {
                let shown = parse(&String::from_utf8_lossy(&output.stdout));
                return Ok(words.iter().map(|w| w.0).zip(shown).collect());
            }
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let address = text
                .split("address 0x")
                .nth(1)
                .and_then(|rest| usize::from_str_radix(rest.split_whitespace().next()?, 16).ok());
            match address.map(|address| address / 16).filter(|&at| at < words.len()) {
                Some(at) => _ = words.remove(at),
                // Which word is refused is not said: a branch out of the function, for example.
                None if words.len() == 1 => return Ok(Vec::new()),
                None => {
                    let second = words.split_off(words.len() / 2);
                    let mut shown = self.run(carrier, words)?;
                    shown.extend(self.run(carrier, second)?);
                    return Ok(shown);
                }
            }
        }
        Ok(Vec::new())
    }
}

/// Compares all forms into `report`; kernels for `archs` are step 1.
pub(crate) fn run(context: &Context, archs: &[String], report: &Report) -> Result<()> {
    let forms = super::forms(context)?;
    let mut evidence = vec![Evidence::default(); forms.len()];
    let tools = oracle::bin_dir(context)?;
    let work = context.root.join("target/isa");
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    let probes = Probes { tools, work };
    let mut unknown = 0;
    for (object, arch) in kernels(context, &probes, archs)? {
        let output = probes.disassemble(&object)?;
        for shown in parse(&String::from_utf8_lossy(&output.stdout)) {
            let Some(at) = forms.iter().position(|form| form.matches(shown.raw)) else {
                unknown += 1;
                continue;
            };
            let (Some(form), Some(known)) = (forms.get(at), evidence.get_mut(at)) else {
                continue;
            };
            match difference(form, &shown) {
                Some(text) if !CALLS.contains(&form.mnemonic.as_str()) => _ = known.difference.get_or_insert(format!("{arch}: {text}")),
                _ => known.instructions += 1,
            }
            known.sample.get_or_insert((shown.raw, arch.clone()));
        }
    }
    let all: usize = evidence.iter().map(|known| known.instructions).sum();
    let seen = evidence.iter().filter(|known| known.instructions > 0).count();
    println!(
        "kernels: {all} instructions agree with {seen} of {} forms, {unknown} have no form",
        forms.len()
    );
    probe_all(&probes, &forms, &mut evidence)?;
    print(&forms, &evidence, report);
    Ok(())
}

/// The objects of step 1, compiled.
fn kernels(context: &Context, probes: &Probes, archs: &[String]) -> Result<Vec<(PathBuf, String)>> {
    let mut objects = sass::compile_all(context, &probes.tools, archs)?;
    let source = context.root.join("tests/cases/sass-instructions-100/a.ptx");
    let object = probes.work.join("instructions.cubin");
    probes.assemble(&source, "sm_100", &object)?;
    objects.push((object, "sm_100".into()));
    Ok(objects)
}

/// Probes every form on the architecture of its sample, then on the others.
fn probe_all(probes: &Probes, forms: &[Form], evidence: &mut [Evidence]) -> Result<()> {
    for arch in PROBED {
        let carrier = probes.carrier(arch)?;
        let mut words = Vec::new();
        for (n, (form, known)) in forms.iter().zip(evidence.iter()).enumerate() {
            if !known.probed && !BRANCHES.contains(&form.mnemonic.as_str()) {
                let sample = known.sample.as_ref().map(|s| s.0);
                words.extend(probe(form, sample).map(|word| (n, word)));
            }
        }
        for batch in words.chunks(BATCH) {
            for (n, shown) in probes.run(&carrier, batch.to_vec())? {
                let (Some(form), Some(known)) = (forms.get(n), evidence.get_mut(n)) else {
                    continue;
                };
                match difference(form, &shown) {
                    None => known.probed = true,
                    // The same bits can be another instruction on another architecture.
                    Some(text) if shown.mnemonic == form.mnemonic && known.instructions == 0 => {
                        _ = known.difference.get_or_insert(format!("{arch}: {text}"))
                    }
                    Some(_) => {}
                }
            }
        }
    }
    Ok(())
}

fn print(forms: &[Form], evidence: &[Evidence], report: &Report) {
    let (mut seen, mut probed, mut neither) = (0, 0, 0);
    for (form, known) in forms.iter().zip(evidence) {
        let name = format!("{:#05x} {} {:#x}", form.opcode, form.mnemonic, form.value);
        let probe = if known.probed { "confirmed by a probe" } else { "no probe" };
        println!("{name}: {} instructions, {probe}", known.instructions);
        seen += usize::from(known.instructions > 0);
        probed += usize::from(known.probed);
        neither += usize::from(known.instructions == 0 && !known.probed);
        // A later architecture may confirm what an earlier one has as another instruction.
        let failure = known.difference.as_deref().filter(|_| known.instructions > 0 || !known.probed);
        report.quiet(&name, failure);
    }
    println!(
        "{} forms: {seen} confirmed by kernels, {probed} by probes, {neither} by neither",
        forms.len()
    );
    for (form, _) in forms
        .iter()
        .zip(evidence)
        .filter(|(_, known)| known.instructions == 0 && !known.probed)
    {
        println!(
            "not confirmed: {:#05x} {} mask {:#x} value {:#x}",
            form.opcode, form.mnemonic, form.mask, form.value
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]
mod tests {
    use super::*;

    const SHOWN: &str = "\
   // |     GPR       | PRED |
   // |  # 0 8 9 10   | # 0  |
        /*0000*/     @P0 MOV.X R8, R10 ;   /* 0x0000000a00080202 */   // |               |      |
                                           /* 0x000fe20000010000 */   // |  4 : ^ x  v   | 1 v  |
";

    #[test]
    fn columns_are_registers() {
        // The marks are below the last digits; both parts of a line start at the same place.
        let shown = parse(SHOWN);
        assert_eq!(shown.len(), 1);
        assert_eq!(
            (shown[0].mnemonic.as_str(), shown[0].raw),
            ("MOV", 0x000f_e200_0001_0000_0000_000a_0008_0202)
        );
        assert_eq!(shown[0].results, Registers::from([(File::R, 8), (File::R, 9)]));
        assert_eq!(shown[0].sources, Registers::from([(File::R, 9), (File::R, 10), (File::P, 0)]));
    }

    #[test]
    fn a_probe_names_every_register_once() {
        let forms = super::super::parse("0x202 MOV 0x8010000000000 0x10000000000 R16x2 P81 <- R32x2 P12\n").unwrap();
        let word = probe(&forms[0], None).unwrap();
        assert!(forms[0].matches(word));
        assert_eq!(
            registers(&forms[0].results, word),
            Registers::from([(File::R, 8), (File::R, 9), (File::P, 0)])
        );
        assert_eq!(
            registers(&forms[0].sources, word),
            Registers::from([(File::R, 10), (File::R, 11), (File::P, 1)])
        );
        let shown = Shown {
            raw: word,
            mnemonic: "MOV".into(),
            text: String::new(),
            results: registers(&forms[0].results, word),
            sources: registers(&forms[0].sources, word),
        };
        assert_eq!(difference(&forms[0], &shown), None);
        let narrow = Shown {
            results: Registers::from([(File::R, 8), (File::P, 0)]),
            ..shown
        };
        assert!(difference(&forms[0], &narrow).is_some());
    }
}
