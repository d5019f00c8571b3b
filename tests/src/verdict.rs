//! Judges one link against nvlink's.
//!
//! 1. Where nvlink crashed or hung: a right link (exit 0) or a clean refusal (exit 1, a message, no file) is good.
//! 2. Where nvlink reported an internal error: a clean refusal; if it is an internal error too, the same one. A link is good only where the error is one of
//!    [`DEFECTS`]; there ours may also go on to the next of them, and refuse with that one.
//! 3. Otherwise exit code, both texts and the bytes of every written file must be equal.

use crate::fixture::VERSION_VARIABLE;
use crate::run::Outcome;
use crate::tool_note::without_own_note;
use std::fmt;

/// Internal errors that nvlink reports on sound inputs, and why ours links them.
pub const DEFECTS: [(&str, &str); 4] = [
    (
        "reference to deleted symbol",
        "a relocation that is listed, or an alias, names a symbol that nvlink itself dropped",
    ),
    (
        "reference to deleted section",
        "a literal of a replaced copy names a bank that nvlink itself dropped",
    ),
    (
        "unexpected reloc",
        "Blackwell, kernels selected: relocations of a replaced copy are read again",
    ),
    (
        "entry data cannot be GLOBAL",
        "a visible shared variable of a kernel that was compiled with -ewp -g",
    ),
];

/// Refusals of inputs that nvlink links: the reasons are in docs/compatibility.md.
pub const REFUSALS: [&str; 6] = [
    "functions inside of a kernel (-ewp) with -r or -g on sm_100 and later",
    "Mercury code in the form of CUDA 12.8",
    "section .nv.metadata: module ids are not supported",
    "section .nv.merc.nv.constant.user: a section of this name does not have type 0x1",
    "no twin in the Mercury view",
    "Internal error: uuid not found",
];

/// Whether ours refused cleanly, for one of the [`REFUSALS`], and nvlink did something else.
pub fn is_listed_refusal(ours: &Outcome, nvlink: &Outcome) -> bool {
    let said = String::from_utf8_lossy(&ours.stderr);
    let differ = (ours.exit, &ours.stderr) != (nvlink.exit, &nvlink.stderr);
    ours.exit == 1 && differ && ours.files.is_empty() && REFUSALS.iter().any(|r| said.contains(r))
}

/// How two outcomes differ. The first difference in this order is the one that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Our linker panicked or crashed.
    Died {
        /// Its exit code.
        exit: i32,
    },
    /// nvlink crashed, and ours neither refused cleanly nor linked.
    NoCleanRefusal {
        /// Our exit code.
        exit: i32,
    },
    /// nvlink refused with an internal error, and ours linked.
    LinkedAnyway {
        /// nvlink's words.
        error: String,
    },
    /// Exit codes differ.
    Exit {
        /// Ours.
        got: i32,
        /// nvlink's.
        want: i32,
    },
    /// Texts differ.
    Text {
        /// `stdout` or `stderr`.
        stream: &'static str,
    },
    /// One side wrote a file that the other did not.
    FileSet {
        /// Its name.
        name: String,
        /// Whether nvlink wrote it.
        expected: bool,
    },
    /// A written file differs.
    Bytes {
        /// Its name.
        name: String,
        /// First differing offset.
        offset: usize,
        /// Our size.
        got: usize,
        /// nvlink's size.
        want: usize,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Died { exit } => write!(f, "our linker died (exit {exit})"),
            Self::NoCleanRefusal { exit } => write!(f, "exit {exit} where nvlink crashed: neither a link nor a clean refusal"),
            Self::LinkedAnyway { error } => write!(f, "linked where nvlink refuses: {error}"),
            Self::Exit { got, want } => write!(f, "exit {got}, nvlink has {want}"),
            Self::Text { stream } => write!(f, "other text on {stream}"),
            Self::FileSet { name, expected: true } => write!(f, "did not write {name}"),
            Self::FileSet { name, expected: false } => write!(f, "wrote {name}, nvlink did not"),
            Self::Bytes { name, offset, got, want } if got == want => write!(f, "{name}: differs from offset {offset:#x} ({want} bytes)"),
            Self::Bytes { name, offset, got, want } => write!(f, "{name}: differs from offset {offset:#x} ({got} bytes, nvlink {want})"),
        }
    }
}

/// The first difference between our outcome and nvlink's, or nothing when ours is right.
pub fn compare(ours: &Outcome, nvlink: &Outcome) -> Option<Difference> {
    compare_as(ours, nvlink, std::env::var(VERSION_VARIABLE).ok().as_deref())
}

/// Like [`compare`], where nvlink's place was taken by its library, whose texts, exit codes and entry in the note about the tools are others.
pub fn compare_files(ours: &Outcome, library: &Outcome) -> Option<Difference> {
    let silent = |outcome: &Outcome| Outcome {
        exit: if outcome.exit == 255 { 1 } else { outcome.exit },
        stdout: Vec::new(),
        stderr: outcome.internal_error().map_or_else(Vec::new, <[u8]>::to_vec),
        files: outcome
            .files
            .iter()
            .map(|(name, file)| (name.clone(), without_own_note(file).unwrap_or_else(|| file.clone())))
            .collect(),
    };
    let (mut ours, library) = (silent(ours), silent(library));
    if library.crashed() && ours.exit == 1 {
        ours.stderr = b"refused".to_vec();
    }
    compare(&ours, &library)
}

/// Like [`compare`], for nvlink of this version; the default is 13.0.88.
pub fn compare_as(ours: &Outcome, nvlink: &Outcome, version: Option<&str>) -> Option<Difference> {
    let left_over = version.is_some_and(|v| !v.is_empty() && !v.starts_with("13.0"));
    let panicked = ours.stderr.windows(8).any(|w| w == b"panicked");
    if panicked || matches!(ours.exit, 101 | 124) || (128..255).contains(&ours.exit) {
        return Some(Difference::Died { exit: ours.exit });
    }
    if nvlink.crashed() {
        // 1: a fatal problem; 255: errors, which nvlink had before it crashed or would have had next. The list of modules (`--register-link-binaries`) is
        // written before.
        let linked = ours.files.keys().any(|name| !name.ends_with(".c"));
        let refused = matches!(ours.exit, 1 | 255) && ours.stderr.iter().any(|b| !b.is_ascii_whitespace()) && !linked;
        return match (ours.exit, nvlink.internal_error()) {
            (0, Some(error)) => linked_anyway(error),
            (0, None) => None,
            _ if !refused => Some(Difference::NoCleanRefusal { exit: ours.exit }),
            (_, Some(want))
                if ours
                    .internal_error()
                    .is_some_and(|got| got != want && !(is_defect(got) && is_defect(want))) =>
            {
                Some(Difference::Text { stream: "stderr" })
            }
            _ => None,
        };
    }
    if is_listed_refusal(ours, nvlink) {
        return None;
    }
    if ours.exit != nvlink.exit {
        return Some(Difference::Exit {
            got: ours.exit,
            want: nvlink.exit,
        });
    }
    for (stream, got, want) in [("stderr", &ours.stderr, &nvlink.stderr), ("stdout", &ours.stdout, &nvlink.stdout)] {
        let (got, want) = (without_barriers(got, left_over), without_barriers(want, left_over));
        if got != want && without_constant_size(&got) != without_constant_size(&want) {
            return Some(Difference::Text { stream });
        }
    }
    for name in nvlink.files.keys().chain(ours.files.keys()) {
        match (ours.files.get(name), nvlink.files.get(name)) {
            (Some(got), Some(want)) if got != want => {
                let offset = got.iter().zip(want).position(|(a, b)| a != b).unwrap_or(got.len().min(want.len()));
                return Some(Difference::Bytes {
                    name: name.clone(),
                    offset,
                    got: got.len(),
                    want: want.len(),
                });
            }
            (None, _) => {
                return Some(Difference::FileSet {
                    name: name.clone(),
                    expected: true,
                });
            }
            (_, None) => {
                return Some(Difference::FileSet {
                    name: name.clone(),
                    expected: false,
                });
            }
            _ => {}
        }
    }
    None
}

/// The text without the numbers in `used 6912 barriers`: nvlink from 13.1 on prints what an earlier kernel or the memory left there.
fn without_barriers(text: &[u8], left_over: bool) -> Vec<u8> {
    if !left_over {
        return text.to_vec();
    }
    let mut out = String::new();
    for line in String::from_utf8_lossy(text).split_inclusive('\n') {
        let parts = line.split_once(", used ").and_then(|(head, tail)| {
            let (number, tail) = tail.split_once(" barriers")?;
            number.parse::<i64>().is_ok().then_some((head, tail))
        });
        match parts {
            Some((head, tail)) => out.extend([head, ", used N barriers", tail]),
            None => out.push_str(line),
        }
    }
    out.into_bytes()
}

fn linked_anyway(error: &[u8]) -> Option<Difference> {
    (!is_defect(error)).then(|| Difference::LinkedAnyway {
        error: String::from_utf8_lossy(error).into_owned(),
    })
}

/// Whether an internal error is one of [`DEFECTS`].
fn is_defect(error: &[u8]) -> bool {
    let error = String::from_utf8_lossy(error);
    DEFECTS.iter().any(|d| error.contains(d.0))
}

/// The text without the size in `File uses too much global constant data (0x11a80 bytes, ...`: above the limit nvlink drops some losing
/// copies before it stops, so its number is smaller (docs/compatibility.md). Both refuse the link.
fn without_constant_size(text: &[u8]) -> Vec<u8> {
    const BEFORE: &str = "File uses too much global constant data (";
    let mut out = String::new();
    for line in String::from_utf8_lossy(text).split_inclusive('\n') {
        match line
            .split_once(BEFORE)
            .and_then(|(head, tail)| Some((head, tail.split_once(" bytes,")?.1)))
        {
            Some((head, tail)) => out.extend([head, BEFORE, tail]),
            None => out.push_str(line),
        }
    }
    out.into_bytes()
}

/// The first lines in which two texts differ, for people.
pub fn text_difference(ours: &[u8], nvlink: &[u8]) -> String {
    let (a, b) = (String::from_utf8_lossy(ours), String::from_utf8_lossy(nvlink));
    let (mut a, mut b) = (a.lines(), b.lines());
    for line in 1.. {
        match (a.next(), b.next()) {
            (None, None) => break,
            (x, y) if x == y => {}
            (x, y) => {
                let show = |t: Option<&str>| t.map_or("(end)".to_owned(), |t| t.chars().take(300).collect());
                return format!("line {line}\n  nvlink: {}\n  ours:   {}", show(y), show(x));
            }
        }
    }
    "only line ends differ".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(exit: i32, stderr: &str, files: &[(&str, &[u8])]) -> Outcome {
        Outcome {
            exit,
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
            files: files.iter().map(|(n, b)| ((*n).to_owned(), b.to_vec())).collect(),
        }
    }

    #[test]
    fn equal_outcomes_pass() {
        let a = outcome(0, "", &[("o", b"abc")]);
        assert_eq!(compare(&a, &a.clone()), None);
    }

    #[test]
    fn every_kind_of_difference_is_seen() {
        let want = outcome(0, "w\n", &[("o", b"abc")]);
        assert_eq!(compare(&outcome(1, "w\n", &[]), &want), Some(Difference::Exit { got: 1, want: 0 }));
        assert_eq!(
            compare(&outcome(0, "x\n", &[("o", b"abc")]), &want),
            Some(Difference::Text { stream: "stderr" })
        );
        assert_eq!(
            compare(&outcome(0, "w\n", &[]), &want),
            Some(Difference::FileSet {
                name: "o".into(),
                expected: true
            })
        );
        assert_eq!(
            compare(&outcome(0, "w\n", &[("o", b"abc"), ("p", b"")]), &want),
            Some(Difference::FileSet {
                name: "p".into(),
                expected: false
            })
        );
        assert_eq!(
            compare(&outcome(0, "w\n", &[("o", b"abX")]), &want),
            Some(Difference::Bytes {
                name: "o".into(),
                offset: 2,
                got: 3,
                want: 3
            })
        );
    }

    #[test]
    fn a_crash_of_nvlink_asks_for_a_clean_refusal() {
        let crash = outcome(139, "", &[]);
        assert_eq!(compare(&outcome(1, "error\n", &[]), &crash), None);
        assert_eq!(compare(&outcome(0, "", &[("o", b"x")]), &crash), None);
        assert!(compare(&outcome(1, "", &[]), &crash).is_some());
        assert!(compare(&outcome(1, "error\n", &[("o", b"x")]), &crash).is_some());
        assert!(compare(&outcome(101, "thread panicked\n", &[]), &crash).is_some());
    }

    #[test]
    fn an_internal_error_of_nvlink_asks_for_a_refusal() {
        let window = outcome(1, "nvlink fatal   : Internal error: size of uidx window != nv.udt\n", &[]);
        assert_eq!(compare(&window, &window), None);
        assert_eq!(
            compare(&outcome(1, "nvlink fatal   : Input file 'a' is damaged\n", &[]), &window),
            None
        );
        let other = outcome(1, "nvlink fatal   : Internal error: uuid not found\n", &[]);
        assert_eq!(compare(&other, &window), Some(Difference::Text { stream: "stderr" }));
        let defect = |what: &str| outcome(1, &format!("nvlink fatal   : Internal error: {what}\n"), &[]);
        assert_eq!(compare(&defect("reference to deleted symbol"), &defect("unexpected reloc")), None);
        assert!(compare(&defect("reference to deleted symbol"), &window).is_some());
        assert!(compare(&window, &defect("unexpected reloc")).is_some());
        assert!(matches!(
            compare(&outcome(0, "", &[("o", b"x")]), &window),
            Some(Difference::LinkedAnyway { .. })
        ));
    }
}
