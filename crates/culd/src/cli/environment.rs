//! What the environment adds to every link, for builds whose command lines are made by other programs.
//!
//! 1. `CULD_FLAGS`, under the name culd: white space separates flags; there are no quotes. They follow those of the command line.
//! 2. `CULD_REPORT`, under the name nvlink, which has no flag for it: the file of `--json-report`.
//! 3. In both, `{output}` and `{target}` are replaced by the values of `-o` and `-arch`.

use crate::cli::flags::Id;
use crate::cli::parse::LowArgs;

/// The variable with flags.
pub const VARIABLE: &str = "CULD_FLAGS";
/// The variable with the file of a report.
pub const REPORT: &str = "CULD_REPORT";

/// The flags that the value `text` of the variable adds to a command line.
pub fn flags(text: &[u8], low: &LowArgs) -> Vec<Vec<u8>> {
    let words = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    words.map(|word| with_places(word, low)).collect()
}

/// The name `text` of a file with `{output}` and `{target}` replaced.
pub fn with_places(text: &[u8], low: &LowArgs) -> Vec<u8> {
    let places: [(&[u8], Id); 2] = [(b"{output}", Id::Output), (b"{target}", Id::Arch)];
    let values = places.map(|(place, id)| (place, low.text(id).unwrap_or_default()));
    filled(text, &values)
}

/// A word with the places in it replaced by their values, in one pass: a value is not searched for places.
fn filled(mut word: &[u8], values: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    while let Some((&first, rest)) = word.split_first() {
        let place = values.iter().find_map(|(place, value)| Some((word.strip_prefix(*place)?, value)));
        match place {
            Some((after, value)) => {
                out.extend_from_slice(value);
                word = after;
            }
            None => {
                out.push(first);
                word = rest;
            }
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::cli::parse;
    use culd_engine::Identity;

    #[test]
    fn output_and_target_are_filled_in() {
        let args = [&b"-arch=sm_90"[..], b"-o", b"a {target} b", b"x.o"].map(<[u8]>::to_vec);
        let low = parse::parse(args.to_vec(), Identity::Culd, &mut Vec::new()).unwrap();
        let flags = flags(b" --map={output}.{target}.map\t--verify {other} ", &low);
        assert_eq!(flags, [&b"--map=a {target} b.sm_90.map"[..], b"--verify", b"{other}"]);
    }
}
