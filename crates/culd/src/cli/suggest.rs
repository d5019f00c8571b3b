//! Suggestions for mistyped flags and values.

use crate::cli::called::Called;
use crate::cli::flags;
use crate::cli::os;
use culd_engine::Identity;

/// The message for an unknown flag; `name` is the argument without its first dash.
pub fn unknown_flag(name: &[u8]) -> String {
    let typed = format!("-{}", os::lossy(name));
    let bare = typed.trim_start_matches('-').to_string();
    // The right name with the wrong number of dashes is the most common slip.
    let dashes = flags::known_to(Identity::Culd.into()).find_map(|f| match f.short {
        Some(short) if short == bare => Some(format!("-{short}")),
        _ if f.long == bare => Some(format!("--{}", f.long)),
        _ => None,
    });
    let spellings = flags::known_to(Identity::Culd.into()).map(|f| (f.long, format!("--{}", f.long)));
    // `--output` is meant for `--output-file`.
    let first_words = flags::known_to(Identity::Culd.into()).filter_map(|f| Some((f.long.split_once('-')?.0, format!("--{}", f.long))));
    // `--print-map` is meant for `--map`.
    let last = bare.rsplit('-').next().unwrap_or_default();
    let last_word = flags::known_to(Identity::Culd.into()).find(|f| f.long == last && last != bare);
    let guess = dashes.or_else(|| nearest(&bare, spellings)).or_else(|| nearest(&bare, first_words));
    let guess = guess.or_else(|| last_word.map(|f| format!("--{}", f.long)));
    match guess {
        Some(guess) => format!("unknown flag {typed}; did you mean {guess}?"),
        None => format!("unknown flag {typed}; see culd --help"),
    }
}

/// The message for a value that a flag does not accept.
pub fn not_allowed(value: &[u8], flag: &str) -> String {
    let typed = os::lossy(value);
    let culd = Called::from(Identity::Culd);
    let allowed: Vec<&str> = flags::by_long(flag.as_bytes(), culd).map_or(Vec::new(), |f| f.values(culd).collect());
    // A target without its prefix.
    let prefixed = allowed.iter().find(|a| a.strip_prefix("sm_") == Some(typed.as_str()));
    if let Some(guess) = prefixed {
        return format!("--{flag} does not support '{typed}'; did you mean '{guess}'?");
    }
    match nearest(&typed, allowed.iter().map(|a| (*a, (*a).to_string()))) {
        Some(guess) => format!("--{flag} does not support '{typed}'; did you mean '{guess}'?"),
        None if allowed.len() <= 8 => format!("--{flag} does not support '{typed}'; use one of {}", allowed.join(", ")),
        None => format!("--{flag} does not support '{typed}'; see culd --help"),
    }
}

/// The candidate with the fewest edits, when these are few for the length of the word.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = (&'a str, String)>) -> Option<String> {
    let limit = match word.len() {
        0..=2 => 0,
        3..=5 => 1,
        6..=9 => 2,
        _ => 3,
    };
    candidates
        .map(|(name, shown)| (edits(word, name), shown))
        .filter(|(n, _)| *n <= limit)
        .min_by_key(|(n, _)| *n)
        .map(|(_, shown)| shown)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        assert!(unknown_flag(b"verbos").contains("--verbose?"));
        assert!(unknown_flag(b"output-file").contains("--output-file?"));
        assert!(unknown_flag(b"-g").contains("mean -g?"));
        assert!(unknown_flag(b"zzzzzzz").contains("see culd --help"));
        assert!(not_allowed(b"sm90", "arch").contains("'sm_90'?"));
        assert!(not_allowed(b"90", "arch").contains("'sm_90'?"));
        assert!(unknown_flag(b"-print-map").contains("--map?"));
        assert!(not_allowed(b"red", "color").contains("always, auto, never"));
    }
}
