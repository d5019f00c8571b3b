//! culd's own text for the messages of the engine and of the loader.
//!
//! 1. C++ names are demangled; the name in the file follows in brackets.
//! 2. Limits list what adds up to them, register limits the calls that lead there.

use culd_engine::Code;

/// Contributors and files listed before "and N more".
const SHOWN: usize = 10;

/// The first of some names, and how many more there are.
pub fn enumerate(names: impl Iterator<Item = String>, total: usize) -> String {
    let shown: Vec<String> = names.take(SHOWN).collect();
    match total - shown.len().min(total) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A demangled name, followed by the name in the file.
pub fn name(symbol: &str) -> String {
    let shown = variable(symbol);
    match shown == symbol {
        true => shown,
        false => format!("{shown} [{symbol}]"),
    }
}

/// A demangled name alone.
pub fn short_name(symbol: &str) -> String {
    culd_demangle::readable(symbol.as_bytes()).unwrap_or_else(|| symbol.to_string())
}

/// A variable as the source has it: a local shared variable is `function(int)::variable`, without the compiler's marks around it.
pub fn variable(symbol: &str) -> String {
    culd_report::names::demangled(symbol)
}

/// Variables that add up to a limit.
fn contributors(list: &[(String, u64)]) -> String {
    rows(&list.iter().map(|(symbol, size)| (variable(symbol), *size)).collect::<Vec<_>>())
}

/// Sizes and what has them, one line each.
pub fn rows(list: &[(String, u64)]) -> String {
    let mut text = String::new();
    for (what, size) in list.iter().take(SHOWN) {
        text += &format!("\n  {size:>8} bytes  {what}");
    }
    if list.len() > SHOWN {
        let rest: u64 = list.iter().skip(SHOWN).map(|(_, size)| size).sum();
        text += &format!("\n  {rest:>8} bytes  in {} more", list.len() - SHOWN);
    }
    text
}

/// The text of a message under the name culd; nvlink's text where no other is given here.
pub fn culd_text(code: &Code) -> String {
    match code {
        Code::MultipleDefinition { symbol, file, first } => format!(
            "multiple definitions of {}: {file} defines it again, first seen in {first}",
            name(symbol)
        ),
        Code::SizeMismatch { symbol, file, first } => format!("{} has different sizes in {first} and {file}", name(symbol)),
        Code::CommonLarger { symbol, file } => format!(
            "the common variable {} is larger in {file} than in the file that initializes it",
            name(symbol)
        ),
        Code::SpaceMismatch { symbol, file, first } => {
            format!("{} is declared in different memory spaces in {first} and {file}", name(symbol))
        }
        Code::ManagedMismatch { symbol, file, first } => {
            format!("{} is declared __managed__ in only one of {first} and {file}", name(symbol))
        }
        Code::PrototypeMismatch { symbol, file, first } => {
            format!("{} has different prototypes in {first} and {file}", name(symbol))
        }
        Code::EntryMismatch { symbol } => format!("{} is a kernel in one file and a device function in another", name(symbol)),
        Code::AddressTakenUncalled { function } => {
            format!(
                "the address of {} is taken, but nothing calls a function of its type",
                name(function)
            )
        }
        Code::RemovedFunction {
            function,
            user,
            is_code: true,
            file,
        } => format!(
            "{} in {file} calls or takes the address of {}, which the call graph of {file} does not list: the function was removed, \
             and its registers and stack are unknown",
            name(user),
            name(function)
        ),
        Code::RemovedFunction { function, user, file, .. } => format!(
            "section {user} of {file} has the address of {}, which the call graph of {file} does not list: the function was removed",
            name(function)
        ),
        Code::TooMuchShared {
            entry,
            size,
            limit,
            contributors: list,
        } => format!(
            "kernel {} uses {size} bytes of shared memory, {} more than the {limit} allowed{}",
            name(entry),
            size.saturating_sub(*limit),
            contributors(list)
        ),
        Code::TooMuchLiteral {
            entry,
            size,
            limit,
            contributors: list,
        } => format!(
            "{} and the functions that it calls use {size} bytes of compiler-generated constants, {} more than the {limit} allowed; \
             compile them with -Xptxas --disable-optimizer-constants{}",
            name(entry),
            size.saturating_sub(*limit),
            contributors(list)
        ),
        Code::TooMuchParameter { entry, size, limit } => format!(
            "the parameter bank of kernel {} has {size} bytes, {} more than the {limit} allowed; the banks of all its definitions add up",
            name(entry),
            size.saturating_sub(*limit)
        ),
        Code::TooMuchConstant {
            size,
            limit,
            contributors: list,
        } => format!(
            "the program uses {size} bytes of constant memory, {} more than the {limit} allowed{}",
            size.saturating_sub(*limit),
            contributors(list)
        ),
        Code::TooManyRegisters {
            entry,
            limit,
            function,
            registers,
            path,
        } => {
            let calls: Vec<String> = path.iter().map(|f| short_name(f)).collect();
            let mut text = format!(
                "kernel {} may use {limit} registers but calls {}, which needs {registers}",
                name(entry),
                name(function)
            );
            if calls.len() > 1 {
                text += &format!("\n  call path: {}", calls.join(" -> "));
            }
            text
        }
        Code::Admission(problem) => problem.culd_text(&problem.target.to_string()),
        Code::Lost { file, what } => format!("{file}: {what} would be missing from the output, and no rule of culd allows that"),
        Code::BadImage { reason } => format!("internal error: the output failed verification (please report): {reason}"),
        Code::Damaged { file, reason } | Code::Unsupported { file, reason } | Code::NewerMercury { file, reason } => {
            format!("{file} cannot be linked: {reason}")
        }
        Code::OutputTooLarge { size, limit, section } => format!(
            "the output would have {size} bytes, more than the {limit} allowed for inputs of this size; section '{section}' contributes most"
        ),
        Code::PreserveRelocsIncomplete { target } => format!("--preserve-relocs does not keep every relocation on {target}"),
        Code::UnifiedWithoutIndex => "the inputs have unified functions or variables; name their index file with --uidx-file".into(),
        Code::Internal { what } => format!("the inputs are inconsistent: {what}"),
        other => other.to_string(),
    }
}

/// The text of a message of the loader under the name culd; `target` as it was typed.
pub fn loader_text(code: &culd_input::LoadCode, target: &str) -> String {
    match code {
        culd_input::LoadCode::Admission(problem) => problem.culd_text(target),
        culd_input::LoadCode::NoPtxas { file, tried } => {
            let mut places: Vec<&str> = Vec::new();
            for place in tried {
                if !places.contains(&place.as_str()) {
                    places.push(place);
                }
            }
            let tried = places.into_iter().map(str::to_owned).collect();
            culd_input::LoadCode::NoPtxas { file: file.clone(), tried }.to_string()
        }
        culd_input::LoadCode::LtoObjects => "the inputs have code for link-time optimization only; link with -lto".into(),
        other => other.to_string(),
    }
}

/// The architecture of a file that is nearest to the target: the newest before it, else the oldest after it.
fn nearest<'a>(have: &'a [String], target: &str) -> Option<&'a str> {
    let number = |arch: &str| arch.trim_end_matches(['a', 'f']).parse::<u32>().ok();
    let target = number(target)?;
    let of = |arch: &'a String| Some((number(arch.strip_prefix("sm_")?)?, arch.as_str()));
    let before = have.iter().filter_map(of).filter(|(n, _)| *n <= target).max();
    let after = || have.iter().filter_map(of).min();
    before.or_else(after).map(|(_, arch)| arch)
}

/// The way out for a message of the loader, in one line.
pub fn loader_hint(code: &culd_input::LoadCode, target: &str) -> Option<String> {
    let number = target.trim_start_matches("sm_");
    match code {
        culd_input::LoadCode::NoCodeFor { have, .. } if !have.is_empty() => {
            let or = nearest(have, number).map_or_else(String::new, |arch| format!(", or link with -arch={arch}"));
            let without = "--suppress-arch-warning links without it, as nvlink does";
            Some(format!(
                "compile it with -gencode arch=compute_{number},code={target}{or}; {without}"
            ))
        }
        culd_input::LoadCode::Unusable { file, .. } if file.ends_with(".cu") || file.ends_with(".cpp") || file.ends_with(".c") => {
            Some(format!("sources have to be compiled first: nvcc -dc {file}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_architecture_is_the_newest_before_the_target() {
        let have = ["sm_50", "sm_70", "sm_80", "compute_90 (PTX)", "sm_90a"].map(String::from);
        assert_eq!(nearest(&have, "75"), Some("sm_70"));
        assert_eq!(nearest(&have, "120a"), Some("sm_90a"));
        assert_eq!(nearest(&have, "35"), Some("sm_50"));
        assert_eq!(nearest(&have[3..4], "90"), None);
    }

    #[test]
    fn limits_show_what_adds_up() {
        let list: Vec<(String, u64)> = (0..12).map(|i| (format!("v{i}"), 100 - i)).collect();
        let text = contributors(&list);
        assert!(text.contains("     100 bytes  v0"));
        assert!(text.ends_with("179 bytes  in 2 more"));
    }

    #[test]
    fn literals_above_the_limit_name_kernel_size_and_functions() {
        let text = culd_text(&Code::TooMuchLiteral {
            entry: "_Z1kv".into(),
            size: 65540,
            limit: 65536,
            contributors: vec![("f0".into(), 65412)],
        });
        assert!(text.starts_with("k() [_Z1kv] and the functions that it calls use 65540 bytes of compiler-generated constants, 4 more"));
        assert!(text.ends_with("   65412 bytes  f0"));
    }

    #[test]
    fn names_are_demangled_beside_the_original() {
        assert_eq!(name("_Z1fi"), "f(int) [_Z1fi]");
        assert_eq!(name("plain"), "plain");
        assert_eq!(variable("$___ZZ5use_aiE1a__22"), "use_a(int)::a");
        assert_eq!(
            short_name("_ZN3geo3dotIdEET_RKNS_1VIS1_EES5_"),
            "double geo::dot<double>(geo::V<double> const&, geo::V<double> const&)"
        );
    }
}
