//! C++ programs: the sources of `tests/cxx`, compiled by nvcc in several ways and linked in drawn subsets.
//!
//! 1. Every source is compiled once per variant (architecture and nvcc flags); objects are kept in `target/cxx`.
//! 2. Each link draws an architecture, a subset (nearly always with `core.cu`, which the others refer to), a variant per file and options.

use super::links;
use super::{Plan, Session};
use crate::context::{Context, Linker};
use crate::oracle;
use crate::report::{Report, parallel};
use culd_tests::rng::Rng;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How sources are compiled: name of the variant, architecture, flags.
const VARIANTS: [(&str, &str, &[&str]); 6] = [
    ("plain80", "sm_80", &[]),
    ("lines80", "sm_80", &["-lineinfo"]),
    ("debug80", "sm_80", &["-G"]),
    ("plain90", "sm_90", &[]),
    ("lines90", "sm_90", &["-lineinfo"]),
    ("debug90", "sm_90", &["-G"]),
];

/// Runs `plan.count` links of drawn subsets into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let tools = oracle::bin_dir(context)?;
    let sources = context.root.join("tests/cxx");
    let objects = context.root.join("target/cxx");
    std::fs::create_dir_all(&objects).map_err(Error::file(&objects))?;
    let names = source_names(&sources)?;
    let wanted: Vec<(String, usize)> = names
        .iter()
        .flat_map(|n| (0..VARIANTS.len()).map(move |v| (n.clone(), v)))
        .collect();
    parallel(&wanted, plan.jobs, |(name, variant)| {
        if let Err(e) = compile(&tools, &sources, &objects, name, *variant) {
            report.named(&format!("compile {name}.cu"), Some(&e.to_string()));
        }
    });
    let session = Session::new(tools, linker, plan, report, context.root.join("target/random"));
    let seeds: Vec<u64> = (0..plan.count as u64).map(|i| plan.seed + i).collect();
    parallel(&seeds, plan.jobs, |&seed| {
        if let Err(e) = one(&session, seed, &names, &objects) {
            report.named(&format!("program {seed}"), Some(&e.to_string()));
        }
    });
    session.summary(&format!(
        "{} C++ programs from {} sources in {} variants",
        seeds.len(),
        names.len(),
        VARIANTS.len()
    ));
    Ok(())
}

fn source_names(dir: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(dir).map_err(Error::file(dir))?;
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter_map(|n| n.strip_suffix(".cu").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

/// Compiles one source, unless an object newer than it and its header is there.
fn compile(tools: &Path, sources: &Path, objects: &Path, name: &str, variant: usize) -> Result<()> {
    let (label, arch, flags) = VARIANTS[variant];
    let source = sources.join(format!("{name}.cu"));
    let object = objects.join(format!("{name}-{label}.cubin"));
    let time = |p: &Path| std::fs::metadata(p).and_then(|m| m.modified()).ok();
    let newest = time(&source).max(time(&sources.join("shapes.h")));
    if time(&object) > newest {
        return Ok(());
    }
    // from the folder of the sources, with a relative name: nvcc writes the name into the object
    let out = Command::new(tools.join("nvcc"))
        .args(["-rdc=true", "-cubin", "--extended-lambda", &format!("-arch={arch}")])
        .args(flags)
        .arg(format!("{name}.cu"))
        .arg("-o")
        .arg(&object)
        .current_dir(sources)
        .output()
        .map_err(|source| Error::Start {
            tool: "nvcc".into(),
            source,
        })?;
    if out.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    Err(Error::Tool {
        tool: format!("nvcc {name}.cu"),
        status: out.status.to_string(),
        text,
    })
}

fn one(session: &Session<'_>, seed: u64, names: &[String], objects: &Path) -> Result<()> {
    let mut rng = Rng::new(seed);
    let arch = rng.pick(["sm_80", "sm_90"]);
    let variants: Vec<&str> = VARIANTS.iter().filter(|v| v.1 == arch).map(|v| v.0).collect();
    // one variant for all, or one for each file
    let common = if rng.chance(60) { rng.choose(&variants).copied() } else { None };
    let k = rng.between(1, names.len());
    let mut chosen: Vec<&String> = rng.sample(names.len(), k).into_iter().map(|i| &names[i]).collect();
    if rng.chance(90) {
        chosen.retain(|n| *n != "core");
        chosen.extend(names.iter().filter(|n| *n == "core"));
    }
    rng.shuffle(&mut chosen);
    let dir: PathBuf = session.folder(arch, seed);
    std::fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
    let mut files = Vec::new();
    for name in chosen {
        let label = common.or_else(|| rng.choose(&variants).copied()).unwrap_or("plain90");
        let from = objects.join(format!("{name}-{label}.cubin"));
        let to = dir.join(format!("{name}.cubin"));
        std::fs::copy(&from, &to).map_err(Error::file(&from))?;
        files.push(format!("{name}.cubin"));
    }
    let link = links::any(&mut rng, arch, &files);
    let name = format!("program {seed} {arch}");
    let repeat = format!("cargo xtask cxx --seed {seed} --count 1");
    let same = session.link(&name, &repeat, &format!("cxx-{seed}"), &link, &dir)?;
    session.leave(&dir, same)
}
