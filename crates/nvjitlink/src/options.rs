//! The options of `nvJitLinkCreate`.
//!
//! 1. Options are looked at in order; the first bad one decides.
//! 2. Options with a value match up to their `=`; flags match as prefixes, except `-g` and `-O<n>`.
//! 3. CUDA 12 has other architectures and no `-r`.
//! 4. What concerns several options is checked after all of them: no target, a virtual target without `-ptx`, `-ptx` without `-lto`, a missing
//!    index file.

use crate::code::{Code, Flavour};
use cubin::arch::{Arch, Suffix};

/// What the options mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the options")]
#[non_exhaustive]
pub struct Options {
    pub target: Option<Arch>,
    pub is_virtual: bool,
    pub max_registers: Option<u32>,
    pub time: bool,
    pub verbose: bool,
    pub lto: bool,
    pub ptx: bool,
    /// Compiled PTX is neither taken from the cache nor kept in it.
    pub no_cache: bool,
    /// `-O0`.
    pub unoptimized: bool,
    pub debug: bool,
    pub line_info: bool,
    pub kernels_used: Vec<String>,
    pub variables_used: Vec<String>,
    pub ptxas: Vec<String>,
    pub relocatable: bool,
    /// Path of `-uidx`.
    pub index_file: Option<String>,
    /// Contents of that file.
    pub index: Option<Vec<u8>>,
    /// Info log.
    pub notes: String,
}

/// Why the options were refused: the code and the text of the error log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Code.
    pub code: Code,
    /// Error log.
    pub log: String,
    /// Info log.
    pub notes: String,
}

impl Refusal {
    fn new(code: Code, log: String) -> Self {
        Refusal {
            code,
            log,
            notes: String::new(),
        }
    }

    fn unrecognized(text: String) -> Self {
        Refusal::new(Code::UnrecognizedOption, text)
    }
}

/// Architectures that can be linked for, with the suffixes that each has.
const ARCHS: [(u32, &str); 12] = [
    (75, ""),
    (80, ""),
    (86, ""),
    (87, ""),
    (88, ""),
    (89, ""),
    (90, "a"),
    (100, "af"),
    (103, "af"),
    (110, "af"),
    (120, "af"),
    (121, "af"),
];
/// Those of CUDA 12.9.
const ARCHS_12: [(u32, &str); 19] = [
    (50, ""),
    (52, ""),
    (53, ""),
    (60, ""),
    (61, ""),
    (62, ""),
    (70, ""),
    (72, ""),
    (75, ""),
    (80, ""),
    (86, ""),
    (87, ""),
    (89, ""),
    (90, "a"),
    (100, "af"),
    (101, "af"),
    (103, "af"),
    (120, "af"),
    (121, "af"),
];
/// Architectures that CUDA 13 no longer supports.
const OLD_ARCHS: [u32; 18] = [10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 69, 70];

/// What a flag does.
type Set = fn(&mut Options);
/// What an option does with its value.
type SetTo = fn(&mut Options, &str);

/// Flags without a value.
const FLAGS: [(&str, Set); 10] = [
    ("-time", |o| o.time = true),
    ("-verbose", |o| o.verbose = true),
    ("-lto", |o| o.lto = true),
    ("-dlto", |o| o.lto = true),
    ("-ptx", |o| o.ptx = true),
    ("-lineinfo", |o| o.line_info = true),
    ("-optimize-unused-variables", |_| {}),
    ("-no-cache", |o| o.no_cache = true),
    // Not documented; cuSPARSE passes it.
    ("-fast-compile", |o| o.ptxas.push("--fast-compile".into())),
    ("-r", |o| o.relocatable = true),
];

/// Options that must have a value.
const WITH_VALUE: [(&str, SetTo); 6] = [
    ("-maxrregcount=", |o, v| o.max_registers = leading_number(v)),
    ("-kernels-used=", |o, v| o.kernels_used.push(v.to_owned())),
    ("-variables-used=", |o, v| o.variables_used.push(v.to_owned())),
    ("-Xptxas=", |o, v| o.ptxas.push(v.to_owned())),
    ("-Xnvvm=", |_, _| {}),
    ("--device-stack-protector=", |o, v| {
        o.ptxas.extend(["-device-stack-protector".into(), v.to_owned()]);
    }),
];

/// Options for link-time optimization whose values are not looked at.
const IGNORED: [&str; 5] = ["-ftz=", "-prec-div=", "-prec-sqrt=", "-fma=", "-jump-table-density="];

/// Reads the options.
///
/// # Errors
///
/// The first option that is not accepted, or a combination that is not.
pub fn parse(options: &[String], flavour: Flavour) -> Result<Options, Refusal> {
    let mut out = Options::default();
    match read(options, flavour, &mut out) {
        Ok(()) => Ok(out),
        Err(refusal) => Err(Refusal {
            notes: out.notes,
            ..refusal
        }),
    }
}

fn read(options: &[String], flavour: Flavour, out: &mut Options) -> Result<(), Refusal> {
    for option in options {
        one(option, flavour, out)?;
    }
    if out.target.is_none() {
        return Err(Refusal::new(Code::MissingArch, String::new()));
    }
    if out.is_virtual && !out.ptx {
        return Err(Refusal::new(
            Code::IncompatibleOptions,
            "ERROR: virtual arch requires -ptx\n".into(),
        ));
    }
    if out.ptx && !out.lto {
        return Err(Refusal::new(Code::IncompatibleOptions, "ERROR: -ptx requires -lto\n".into()));
    }
    if let Some(file) = &out.index_file {
        let text = || format!("ERROR: File '{file}' does not exist\n");
        let bytes = std::fs::read(file).map_err(|_| Refusal::new(Code::InvalidInput, text()))?;
        out.index = Some(bytes);
    }
    Ok(())
}

fn one(option: &str, flavour: Flavour, out: &mut Options) -> Result<(), Refusal> {
    let missing = || {
        let text = format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value ({option})\n");
        Refusal::unrecognized(text)
    };
    if let Some(value) = option.strip_prefix("-arch=") {
        let (target, is_virtual) = arch(value, flavour).ok_or_else(missing)??;
        if target.number < 75 {
            out.notes += "Architectures prior to '<compute/sm>_75' are deprecated and may be removed in a future release\n";
        }
        out.target = Some(target);
        out.is_virtual = is_virtual;
        return Ok(());
    }
    for (name, set) in WITH_VALUE {
        if let Some(value) = option.strip_prefix(name) {
            if value.is_empty() {
                return Err(missing());
            }
            set(out, value);
            return Ok(());
        }
    }
    if let Some(value) = option.strip_prefix("-Ofc=").or_else(|| option.strip_prefix("--Ofast-compile=")) {
        return match value {
            "" => Err(missing()),
            "0" | "min" | "mid" | "max" => {
                out.ptxas.extend(["-Ofc".into(), value.to_owned()]);
                Ok(())
            }
            _ => Err(Refusal::unrecognized(format!(
                "unsupported value of --Ofast-compile (-Ofc): {value}. Only 0, min, mid, and max are supported.\n"
            ))),
        };
    }
    for name in ["-split-compile=", "-split-compile-extended="] {
        if let Some(value) = option.strip_prefix(name) {
            if value.is_empty() && name == "-split-compile-extended=" {
                return Err(missing());
            }
            return match value.trim_start().strip_prefix('-').and_then(leading_number) {
                Some(1..) => {
                    let name = name.trim_end_matches('=');
                    Err(Refusal::unrecognized(format!("argument for {name} must be non-negative.\n")))
                }
                _ => Ok(()),
            };
        }
    }
    if let Some(file) = option.strip_prefix("-uidx=") {
        out.index_file = Some(file.to_owned());
        return Ok(());
    }
    if flavour == Flavour::Cuda12 && option.starts_with("-r") {
        return Err(Refusal::unrecognized(format!("unrecognized option: {option}\n")));
    }
    level_or_flag(option, out)
}

/// `-g`, `-O<n>` and flags.
fn level_or_flag(option: &str, out: &mut Options) -> Result<(), Refusal> {
    match option {
        "-g" => out.debug = true,
        "-O3" => out.unoptimized = false,
        "-O0" => out.unoptimized = true,
        _ if IGNORED.iter().any(|name| option.starts_with(name)) => {}
        _ => match (FLAGS.iter().find(|(name, _)| option.starts_with(name)), option.strip_prefix("-O")) {
            (Some((_, set)), _) => set(out),
            (None, Some(level)) if level.len() == 1 && level.bytes().all(|b| b.is_ascii_digit()) => {
                let text = format!("unsupported value of -O: {level}. Only 0 and 3 are supported.\n");
                return Err(Refusal::unrecognized(text));
            }
            (None, _) => return Err(Refusal::unrecognized(format!("unrecognized option: {option}\n"))),
        },
    }
    Ok(())
}

/// The target and whether it is virtual; `None` when there is none in the text.
fn arch(value: &str, flavour: Flavour) -> Option<Result<(Arch, bool), Refusal>> {
    let (rest, is_virtual) = match value.strip_prefix("sm_") {
        Some(rest) => (rest, false),
        None => (value.strip_prefix("compute_").or_else(|| value.strip_prefix("lto_"))?, true),
    };
    let number = leading_number(rest).filter(|n| *n > 0)?;
    let archs: &[(u32, &str)] = match flavour {
        Flavour::Cuda12 => &ARCHS_12,
        Flavour::Cuda13 => &ARCHS,
    };
    let Some((_, suffixes)) = archs.iter().find(|(n, _)| *n == number) else {
        let (code, name, word) = match OLD_ARCHS.contains(&number) {
            true => (Code::UnsupportedArch, "UNSUPPORTED_ARCH", "unsupported"),
            false => (Code::UnrecognizedArch, "UNRECOGNIZED_ARCH", "unrecognized"),
        };
        let text = format!("ERROR NVJITLINK_ERROR_{name}: {word} architecture (compute_{number})\n");
        return Some(Err(Refusal::new(code, text)));
    };
    let letter = rest.chars().find(|c| !c.is_ascii_digit()).filter(|c| suffixes.contains(*c));
    let suffix = match letter {
        Some('a') => Suffix::Arch,
        Some(_) => Suffix::Family,
        None => Suffix::None,
    };
    Some(Ok((Arch { number, suffix }, is_virtual)))
}

/// The number at the start of a text.
fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits)?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn refused(options: &[&str]) -> (i32, String) {
        let options: Vec<String> = options.iter().map(|o| (*o).to_owned()).collect();
        parse(&options, Flavour::Cuda13).map_or_else(|r| (r.code as i32, r.log), |_| (0, String::new()))
    }

    #[test]
    fn the_first_bad_option_decides() {
        assert_eq!(refused(&[]), (2, String::new()));
        assert_eq!(refused(&["-arch=sm_90"]).0, 0);
        assert_eq!(refused(&["-bogus", "-arch=sm_99"]), (1, "unrecognized option: -bogus\n".into()));
        assert_eq!(
            refused(&["-O2", "-arch=sm_90"]).1,
            "unsupported value of -O: 2. Only 0 and 3 are supported.\n"
        );
        for unknown in [
            "",
            "-",
            "--arch=sm_90",
            "-arch",
            "-v",
            "-G",
            "-O",
            "-O=3",
            "-O3x",
            "-O33",
            "a.cubin",
        ] {
            assert_eq!(refused(&[unknown]), (1, format!("unrecognized option: {unknown}\n")));
        }
        for flag in [
            "-fast-compile",
            "-fast-compilex",
            "--Ofast-compile=max",
            "--device-stack-protector=true",
        ] {
            assert_eq!(refused(&[flag, "-arch=sm_90"]).0, 0, "{flag}");
        }
        for empty in ["--Ofast-compile=", "--device-stack-protector=", "-split-compile-extended="] {
            let text = format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value ({empty})\n");
            assert_eq!(refused(&[empty, "-arch=sm_90"]), (1, text));
        }
        for flag in ["-timex", "-verbose=1", "-ltoir", "-report-arch", "-lineinfo=1", "-maxrregcount=x"] {
            assert_eq!(refused(&[flag, "-arch=sm_90"]).0, 0, "{flag}");
        }
    }

    #[test]
    fn cuda_12_has_other_targets() {
        let parsed = |option: &str| parse(&[option.to_owned()], Flavour::Cuda12);
        assert!(parsed("-arch=sm_70").unwrap().notes.contains("deprecated"));
        assert!(parsed("-arch=sm_101a").unwrap().notes.is_empty());
        assert_eq!(parsed("-arch=sm_110").unwrap_err().code.number(Flavour::Cuda12), 3);
        assert_eq!(parsed("-r").unwrap_err().log, "unrecognized option: -r\n");
    }

    #[test]
    fn targets() {
        for (arch, code) in [
            ("sm_99", 16),
            ("sm_9", 16),
            ("sm_70", 17),
            ("foo", 1),
            ("90", 1),
            ("sm_", 1),
            ("compute_90", 11),
            ("sm_90a", 0),
            ("sm_80z", 0),
        ] {
            assert_eq!(refused(&[&format!("-arch={arch}")]).0, code, "{arch}");
        }
    }
}
