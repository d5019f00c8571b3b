//! The links of a scenario: its modules are compiled once and then linked in several ways.
//!
//! 1. All files in order, with random options.
//! 2. More links, each with a random selection (all, another order, one left out, one twice), a random mode and random options.
//! 3. Sometimes two steps: `-r` over some files, then a link of its result with the rest.

use super::scenario::Scenario;
use culd_tests::rng::Rng;

/// One command line.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// Arguments as shell words.
    pub(crate) args: String,
    /// The output that later links of this scenario take as input.
    pub(crate) keeps: Option<String>,
}

/// What kind of output, with weights.
const MODES: [(usize, &[&str]); 9] = [
    (55, &[]),
    (9, &["-g"]),
    (3, &["-g", "--suppress-debug-info"]),
    (9, &["--preserve-relocs"]),
    (3, &["--preserve-relocs", "-g"]),
    (10, &["-r"]),
    (3, &["-r", "-g"]),
    (2, &["-r", "--preserve-relocs"]),
    (1, &["--preserve-relocs", "-g", "--suppress-debug-info"]),
];

/// Options that combine with any mode, with how often in 100 links.
const EXTRAS: [(usize, &[&str]); 24] = [
    (35, &["-v"]),
    (7, &["-dump-callgraph"]),
    (7, &["--dump-callgraph-no-demangle"]),
    (10, &["-suppress-stack-size-warning"]),
    (4, &["-suppress-arch-warning"]),
    (5, &["-disable-infos"]),
    (5, &["-w"]),
    (4, &["-extrawarn"]),
    (4, &["-m", "64"]),
    (2, &["-m64"]),
    (3, &["-cpu-arch=X86_64"]),
    (3, &["-maxrregcount=0x20"]),
    (3, &["-ignore-host-info"]),
    (2, &["-use-host-info"]),
    (4, &["-report-arch"]),
    (4, &["-Werror"]),
    (4, &["--force-rela"]),
    (2, &["--reserve-null-pointer"]),
    (2, &["--disable-smem-reservation", "true"]),
    (4, &["--allow-undefined-globals"]),
    (1, &["--tool-name", "other"]),
    (2, &["-L", "./nowhere", "-lmissing"]),
    (2, &["--register-link-binaries", "reg.c"]),
    (1, &["-keep-system-libraries"]),
];

/// Options that change the output and that nvJitLink lacks, the number of words of each.
const NOT_IN_LIBRARY: [(&str, usize); 18] = [
    ("-r", 1),
    ("--preserve-relocs", 1),
    ("--suppress-debug-info", 1),
    ("-dump-callgraph", 1),
    ("--dump-callgraph-no-demangle", 1),
    ("-disable-infos", 1),
    ("-Werror", 1),
    ("--force-rela", 1),
    ("--reserve-null-pointer", 1),
    ("--disable-smem-reservation", 2),
    ("--allow-undefined-globals", 1),
    ("--tool-name", 2),
    ("-L", 2),
    ("-lmissing", 1),
    ("--register-link-binaries", 2),
    ("-keep-system-libraries", 1),
    // Given together they are an error.
    ("-use-host-info", 1),
    ("-ignore-host-info", 1),
];

/// Reduces links to what nvJitLink can do: no relocatable output, and none as input.
pub(crate) fn for_library(links: &mut Vec<Link>) {
    links.retain(|l| l.keeps.is_none() && !l.args.contains("partial"));
    for link in links {
        let mut words = link.args.split(' ');
        let mut kept = Vec::new();
        while let Some(word) = words.next() {
            match NOT_IN_LIBRARY.iter().find(|(option, _)| *option == word) {
                Some((_, count)) => (1..*count).for_each(|_| {
                    words.next();
                }),
                None => kept.push(word),
            }
        }
        link.args = kept.join(" ");
    }
}

/// Chooses the links of `scenario`.
pub(crate) fn generate(scenario: &Scenario, rng: &mut Rng) -> Vec<Link> {
    let names = Names::of(scenario);
    let all: Vec<String> = (0..scenario.modules).map(|m| format!("m{m}.cubin")).collect();
    let mut out = vec![link(&names, rng, &all, &[], "out.cubin")];
    for _ in 0..rng.between(3, 6) {
        let files = select(rng, &all);
        if scenario.modules > 1 && rng.chance(12) {
            let partial = format!("partial{}.cubin", out.len());
            out.extend(two_steps(&names, rng, &files, partial));
        } else {
            let mode = random_mode(rng);
            out.push(link(&names, rng, &files, mode, "out.cubin"));
        }
    }
    out
}

/// One link of given files in a random mode.
pub(crate) fn any(rng: &mut Rng, arch: &str, files: &[String]) -> Link {
    let mode = random_mode(rng);
    let names = Names {
        arch,
        kernels: Vec::new(),
        vars: Vec::new(),
    };
    link(&names, rng, files, mode, "out.cubin")
}

/// What options may name.
struct Names<'w> {
    arch: &'w str,
    kernels: Vec<&'w str>,
    vars: Vec<&'w str>,
}

impl<'w> Names<'w> {
    fn of(scenario: &'w Scenario) -> Self {
        Self {
            arch: &scenario.arch,
            kernels: scenario.kernels.iter().map(|k| k.name.as_str()).collect(),
            vars: scenario.vars.iter().map(|v| v.name.as_str()).collect(),
        }
    }
}

/// `-r` over the first files, then its result before or after the rest.
fn two_steps(names: &Names<'_>, rng: &mut Rng, files: &[String], partial: String) -> [Link; 2] {
    let (first, rest) = files.split_at(rng.between(1, files.len()));
    let mut step = link(names, rng, first, &["-r"], &partial);
    step.keeps = Some(partial.clone());
    let mut second = rest.to_vec();
    second.insert(if rng.chance(50) { 0 } else { rest.len() }, partial);
    let mode = random_mode(rng);
    let last = link(names, rng, &second, mode, "out.cubin");
    [step, last]
}

fn select(rng: &mut Rng, all: &[String]) -> Vec<String> {
    let mut files = all.to_vec();
    match rng.below(10) {
        0..4 => {}
        4..7 => rng.shuffle(&mut files),
        7..9 if files.len() > 1 => {
            files.remove(rng.below(files.len()));
        }
        9 if rng.chance(30) => {
            let again = files[rng.below(files.len())].clone();
            files.push(again);
        }
        _ => files.reverse(),
    }
    files
}

fn random_mode(rng: &mut Rng) -> &'static [&'static str] {
    let mut x = rng.below(MODES.iter().map(|(w, _)| w).sum());
    for (weight, mode) in MODES {
        if x < weight {
            return mode;
        }
        x -= weight;
    }
    &[]
}

fn link(names: &Names<'_>, rng: &mut Rng, files: &[String], mode: &[&str], output: &str) -> Link {
    let mut options: Vec<Vec<String>> = vec![vec![format!("-arch={}", names.arch)], vec!["-o".into(), output.into()]];
    options.extend(mode.iter().map(|m| vec![(*m).to_owned()]));
    for (percent, words) in EXTRAS {
        if rng.chance(percent) {
            options.push(words.iter().map(|w| (*w).to_owned()).collect());
        }
    }
    if rng.chance(10) && !names.kernels.is_empty() {
        let k = rng.between(1, names.kernels.len());
        let mut used: Vec<&str> = rng.sample(names.kernels.len(), k).into_iter().map(|i| names.kernels[i]).collect();
        if rng.chance(10) {
            used.push("no_such_kernel");
        }
        options.push(vec![format!("--kernels-used={}", used.join(","))]);
    }
    if rng.chance(3) && !names.vars.is_empty() {
        options.push(vec![format!("--variables-used={}", names.vars[rng.below(names.vars.len())])]);
    }
    rng.shuffle(&mut options);
    let split = rng.below(options.len() + 1);
    let (before, after) = options.split_at(split);
    let words = before.iter().flatten().chain(files).chain(after.iter().flatten());
    let args: Vec<String> = words.map(|w| quote(w)).collect();
    Link {
        args: args.join(" "),
        keeps: None,
    }
}

/// Names may hold `$`.
fn quote(word: &str) -> String {
    if word.contains('$') { format!("'{word}'") } else { word.to_owned() }
}
