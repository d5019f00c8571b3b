//! `--why-live`: the chain that keeps a function or a variable in the output, in words, one line per step.
//!
//! 1. Names are separated by commas, but not inside parentheses or angle brackets.
//! 2. A name may be the one in the file, the demangled one, or the demangled one without parameters: then every symbol that fits is meant.

use crate::cli::causes::{base_name, symbol_names};
use crate::cli::suggest;
use crate::cli::{culd_text, map};
use culd_engine::explain::why::*;

/// Puts names together again that were split at commas inside parentheses or angle brackets.
pub fn rejoin(parts: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let is_open = |name: &String| {
        let count = |open: char, close: char| name.matches(open).count() > name.matches(close).count();
        count('(', ')') || (count('<', '>') && !name.contains("operator"))
    };
    for part in parts {
        match names.last_mut().filter(|name| is_open(name)) {
            Some(name) => *name = format!("{name},{part}"),
            None => names.push(part),
        }
    }
    names
}

fn without_spaces(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The symbols that are meant by names as they are printed; a name that fits none stays.
pub fn symbols<'d>(asked: &[String], objects: impl Iterator<Item = (&'d str, &'d [u8])>) -> Vec<String> {
    if asked.is_empty() {
        return Vec::new();
    }
    let all = symbol_names(objects);
    let mut found = Vec::new();
    for name in asked {
        let plain = without_spaces(name);
        let is_printed = |s: &&String| {
            let nvlinks = culd_demangle::demangle(s.as_bytes()).unwrap_or_default();
            without_spaces(&culd_text::variable(s)) == plain || without_spaces(&nvlinks) == plain
        };
        let mut fits: Vec<String> = all.iter().filter(|s| *s == name).cloned().collect();
        if fits.is_empty() {
            fits = all.iter().filter(is_printed).cloned().collect();
        }
        if fits.is_empty() {
            fits = all
                .iter()
                .filter(|s| base_name(s) == plain || family(s) == plain)
                .cloned()
                .collect();
        }
        if fits.is_empty() {
            fits.push(name.clone());
        }
        found.extend(fits);
    }
    found
}

/// The printed name without result and parameters: `ns::f<16>`.
fn family(symbol: &str) -> String {
    let text = culd_text::short_name(symbol);
    let name = text.split('(').next().unwrap_or_default();
    without_spaces(name.rsplit(' ').next().unwrap_or_default())
}

/// A line with names that are similar to one that no input mentions.
pub fn similar<'d>(asked: &str, objects: impl Iterator<Item = (&'d str, &'d [u8])>) -> String {
    let all = symbol_names(objects);
    let last = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
    let wanted = last(asked.split('(').next().unwrap_or_default());
    let mut near: Vec<String> = all
        .iter()
        .filter(|s| last(&base_name(s)) == wanted)
        .map(|s| culd_text::name(s))
        .collect();
    if near.is_empty() {
        let bases: Vec<(String, String)> = all.iter().map(|s| (last(&base_name(s)), culd_text::name(s))).collect();
        near.extend(suggest::nearest(
            &wanted,
            bases.iter().map(|(base, shown)| (base.as_str(), shown.clone())),
        ));
    }
    match near.len() {
        0 => String::new(),
        count => format!("  did you mean {}?\n", culd_text::enumerate(near.into_iter(), count)),
    }
}

/// The answer for one symbol.
pub fn text(why: &WhyLive) -> String {
    let name = culd_text::name(&why.symbol);
    match &why.answer {
        Answer::Unknown => format!("{name}: no input mentions it\n"),
        Answer::Dropped(reason) => format!("{name} is dropped: {}\n", map::reason(reason)),
        Answer::Live(chain) => {
            let steps = chain.iter().map(|step| format!("  {}\n", words(step)));
            format!("{name} is kept:\n{}", steps.collect::<String>())
        }
    }
}

fn words(step: &Step) -> String {
    let name = culd_text::short_name(&step.symbol);
    match step.how {
        How::Kernel => format!("kernel {name}"),
        How::Stub => format!("stub of a unified function {name}"),
        How::Variable => format!("variable {name}, which is always kept"),
        How::Everything => format!("{name}, like everything in this kind of link"),
        How::Called => format!("calls {name}"),
        How::CalledThroughPointer => format!("calls through a pointer that may lead to {name}"),
        How::AddressTaken => format!("takes the address of {name}"),
        How::Initial => format!("holds the address of {name}"),
        How::Used => format!("uses {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culd_engine::explain::map::DropReason;

    fn why(answer: Answer) -> String {
        text(&WhyLive {
            symbol: "_Z1gv".into(),
            answer,
        })
    }

    #[test]
    fn chains_read_from_the_kernel_down() {
        let step = |symbol: &str, how| Step {
            symbol: symbol.into(),
            how,
        };
        let chain = vec![
            step("_Z1kv", How::Kernel),
            step("_Z1fi", How::Called),
            step("_Z1gv", How::AddressTaken),
        ];
        assert_eq!(
            why(Answer::Live(chain)),
            "g() [_Z1gv] is kept:\n  kernel k()\n  calls f(int)\n  takes the address of g()\n"
        );
    }

    #[test]
    fn names_are_not_split_inside_parentheses() {
        let parts = ["app::scale(app::Vec<float>", " int)", "f", "g<1", " 2>"];
        let names = rejoin(parts.into_iter().map(str::to_owned));
        assert_eq!(names, ["app::scale(app::Vec<float>, int)", "f", "g<1, 2>"]);
    }

    #[test]
    fn what_is_not_there_has_a_reason() {
        assert_eq!(why(Answer::Unknown), "g() [_Z1gv]: no input mentions it\n");
        assert_eq!(
            why(Answer::Dropped(DropReason::NotUsed)),
            "g() [_Z1gv] is dropped: nothing launches it\n"
        );
    }
}
