//! `cargo xtask isa`: the table of instruction forms.
//!
//! 1. `crates/culd-sass/isa/blackwell.txt` has one form per line; its header explains the columns.
//! 2. `crates/culd-sass/src/decode/table.rs` is made from it and formatted (`--write`); without an option the two are compared.
//! 3. `--oracle` compares every form with nvdisasm ([`oracle`]).

pub(crate) mod oracle;

use crate::context::Context;
use crate::report::Report;
use culd_tests::{Error, Result};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The forms.
const TEXT: &str = "crates/culd-sass/isa/blackwell.txt";
/// The table that the decoder reads.
const TABLE: &str = "crates/culd-sass/src/decode/table.rs";

/// A register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum File {
    /// General registers.
    R,
    /// Uniform registers.
    Ur,
    /// Predicates.
    P,
    /// Uniform predicates.
    Up,
}

/// A register field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) file: File,
    /// Lowest bit; `None` for the field in two places.
    pub(crate) bit: Option<u8>,
    pub(crate) count: Count,
}

/// Number of consecutive registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// This many.
    Fixed(u8),
    /// What the instruction says: the name of a constant of the decoder.
    Named(&'static str),
}

/// Numbers of registers that an instruction says itself, as the text and as the decoder call them.
const NAMED: [(&str, &str); 4] = [
    ("coordinates", "COORDINATES"),
    ("derivatives", "DERIVATIVES"),
    ("low_results", "LOW_RESULTS"),
    ("high_results", "HIGH_RESULTS"),
];

/// A form: one line of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) opcode: u16,
    pub(crate) mnemonic: String,
    pub(crate) mask: u64,
    pub(crate) value: u64,
    pub(crate) results: Vec<Operand>,
    pub(crate) sources: Vec<Operand>,
}

impl Form {
    /// Does it apply to an instruction?
    pub(crate) fn matches(&self, raw: u128) -> bool {
        (raw & 0xfff) as u16 == self.opcode && (raw >> 40) as u64 & self.mask == self.value
    }
}

fn operand(word: &str) -> Option<Operand> {
    let digits = word.find(|c: char| c.is_ascii_digit() || c.is_ascii_lowercase())?;
    let (file, rest) = word.split_at(digits);
    let file = match file {
        "R" => File::R,
        "UR" => File::Ur,
        "P" => File::P,
        "UP" => File::Up,
        _ => return None,
    };
    let (bit, count) = rest.split_once('x').unwrap_or((rest, "1"));
    let bit = match bit {
        "split" => None,
        bit => Some(bit.parse().ok().filter(|&bit: &u8| bit < 120)?),
    };
    let named = NAMED.iter().find(|(text, _)| *text == count);
    let count = match named {
        Some((_, name)) => Count::Named(name),
        None => Count::Fixed(count.parse().ok().filter(|&n: &u8| n > 0)?),
    };
    Some(Operand { file, bit, count })
}

fn form(line: &str) -> Option<Form> {
    let mut words = line.split_whitespace();
    let mut number = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let opcode = u16::try_from(number()?).ok()?;
    let mnemonic = words.next()?.to_owned();
    let mut number = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (mask, value) = (number()?, number()?);
    let rest: Vec<&str> = words.collect();
    let arrow = rest.iter().position(|word| *word == "<-")?;
    let list = |words: &[&str]| match words {
        [] => None,
        ["-"] => Some(Vec::new()),
        words => words.iter().map(|word| operand(word)).collect(),
    };
    Some(Form {
        opcode,
        mnemonic,
        mask,
        value,
        results: list(rest.get(..arrow)?)?,
        sources: list(rest.get(arrow + 1..)?)?,
    })
}

/// Reads the text; an error names the line.
pub(crate) fn parse(text: &str) -> Result<Vec<Form>> {
    let lines = (1..).zip(text.lines());
    let mut forms: Vec<Form> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let wrong = |what: &str| Error::Other(format!("{TEXT}:{number}: {what}"));
        let form = form(line).ok_or_else(|| wrong("is not OPCODE MNEMONIC MASK VALUE RESULTS <- SOURCES"))?;
        if form.value & !form.mask != 0 {
            return Err(wrong("VALUE has bits that MASK does not have"));
        }
        let key = |form: &Form| (form.opcode, form.mnemonic.clone());
        if forms.last().is_some_and(|last| key(last) > key(&form)) {
            return Err(wrong("is not in order of opcode and mnemonic"));
        }
        forms.push(form);
    }
    Ok(forms)
}

/// Reads the forms of the repository.
pub(crate) fn forms(context: &Context) -> Result<Vec<Form>> {
    let path = context.root.join(TEXT);
    parse(&std::fs::read_to_string(&path).map_err(Error::file(&path))?)
}

const HEADER: &str = "//! Which registers every instruction form reads and writes (facts only, no logic).
//!
//! Made from `isa/blackwell.txt` by `cargo xtask isa --write`. The header of that file explains the fields and says how the facts were found.

use super::operand::{
    COORDINATES, DERIVATIVES, Form, HIGH_RESULTS, LOW_RESULTS, SPLIT, d_p, d_r, d_up, d_ur, form, u_p, u_r, u_up, u_ur,
};

/// All known forms, ascending by opcode and mnemonic.
pub(crate) const FORMS: &[Form] = &[
";

/// The table before formatting.
fn table(forms: &[Form]) -> String {
    let mut out = HEADER.to_owned();
    for form in forms {
        let results = form.results.iter().map(|operand| constructor('d', operand));
        let sources = form.sources.iter().map(|operand| constructor('u', operand));
        let operands: Vec<String> = results.chain(sources).collect();
        let Form {
            opcode,
            mnemonic,
            mask,
            value,
            ..
        } = form;
        _ = writeln!(
            out,
            "form({opcode:#05x}, {mnemonic:?}, {mask:#x}, {value:#x}, &[{}]),",
            operands.join(", ")
        );
    }
    out + "];\n"
}

fn constructor(access: char, operand: &Operand) -> String {
    let bit = operand.bit.map_or("SPLIT".to_owned(), |bit| bit.to_string());
    let count = match operand.count {
        Count::Fixed(count) => count.to_string(),
        Count::Named(name) => name.to_owned(),
    };
    match operand.file {
        File::R => format!("{access}_r({bit}, {count})"),
        File::Ur => format!("{access}_ur({bit}, {count})"),
        File::P => format!("{access}_p({bit})"),
        File::Up => format!("{access}_up({bit})"),
    }
}

fn formatted(context: &Context, source: &str) -> Result<String> {
    let failed = |e: std::io::Error| Error::Other(format!("rustfmt: {e}"));
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .current_dir(&context.root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(source.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(Error::Other("rustfmt refuses the table".into()));
    }
    String::from_utf8(output.stdout).map_err(|e| Error::Other(e.to_string()))
}

/// Compares the table with the text, or writes it.
pub(crate) fn run(context: &Context, write: bool, report: &Report) -> Result<()> {
    let table = formatted(context, &table(&forms(context)?))?;
    let path = context.root.join(TABLE);
    if write {
        std::fs::write(&path, &table).map_err(Error::file(&path))?;
    }
    let current = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let failure = (current != table).then_some("differs from isa/blackwell.txt: run `cargo xtask isa --write`");
    report.named("table of instruction forms", failure);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]
mod tests {
    use super::*;

    const LINES: &str = "# comment\n\n0x202 MOV 0x8010 0x10 R16x2 <- R32x2 P12\n0xf60 TEX 0x0 0x0 R16xlow_results <- URsplit UP12\n0x918 NOP 0x0 0x0 - <- P12\n";

    #[test]
    fn a_line_is_a_form() {
        let lines: Vec<&str> = LINES.lines().collect();
        let mov = form(lines[2]).unwrap();
        assert_eq!(
            (mov.opcode, mov.mnemonic.as_str(), mov.mask, mov.value),
            (0x202, "MOV", 0x8010, 0x10)
        );
        assert_eq!(
            table(&[mov]).lines().nth_back(1),
            Some("form(0x202, \"MOV\", 0x8010, 0x10, &[d_r(16, 2), u_r(32, 2), u_p(12)]),")
        );
        let tex = table(&[form(lines[3]).unwrap()]);
        assert!(tex.contains("&[d_r(16, LOW_RESULTS), u_ur(SPLIT, 1), u_up(12)]"));
        assert!(table(&[form(lines[4]).unwrap()]).contains("&[u_p(12)]"));
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, problem) in [
            (LINES, ":5: is not in order of opcode and mnemonic"),
            ("0x202 MOV 0x1 0x2 - <- -\n", ":1: VALUE has bits that MASK does not have"),
            ("0x202 MOV 0x1 0x1 X16 <- -\n", ":1: is not OPCODE"),
            ("0x202 MOV 0x1 0x1 R16x0 <- -\n", ":1: is not OPCODE"),
            ("0x202 MOV 0x1 0x1 R16\n", ":1: is not OPCODE"),
            ("0x202 MOV 0x1 0x1 R16 <-\n", ":1: is not OPCODE"),
        ] {
            assert!(parse(text).unwrap_err().to_string().contains(problem), "{text}");
        }
    }

    #[test]
    fn a_form_applies_to_words_with_its_modifiers() {
        let mov = form("0x202 MOV 0x80 0x80 - <- P12").unwrap();
        assert!(mov.matches(0x202 | 0x80 << 40) && mov.matches(0x202 | 0x81 << 40));
        assert!(!mov.matches(0x202) && !mov.matches(0x203 | 0x80 << 40));
    }
}
