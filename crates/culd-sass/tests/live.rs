//! The model against real tools. Set `CULD_ORACLE` to the folder that holds `nvcc` and `nvlink`; without it the test does nothing.
//! `CULD_ORACLE_ARCHS` chooses architectures (default `100 103 110 120 121 100a`).

use std::path::Path;
use std::process::Command;

mod support;

/// Sources named `*_100a.cu` need the architecture-specific targets.
fn fits(source: &Path, arch: &str) -> bool {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    !stem.ends_with("_100a") || ["100a", "103a", "110a"].contains(&arch)
}

fn tool(oracle: &Path, name: &str, arguments: &[&str]) -> bool {
    Command::new(oracle.join(name))
        .args(arguments)
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn fresh_kernels_are_identical_or_kept() {
    let Some(oracle) = std::env::var_os("CULD_ORACLE") else { return };
    let oracle = Path::new(&oracle);
    let archs = std::env::var("CULD_ORACLE_ARCHS").unwrap_or("100 103 110 120 121 100a".to_owned());
    let folder = std::env::temp_dir().join(format!("culd-sass-live-{}", std::process::id()));
    assert!(std::fs::create_dir_all(&folder).is_ok());
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut sources: Vec<_> = std::fs::read_dir(kernels)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
    sources.sort();
    let mut pairs = Vec::new();
    for arch in archs.split_whitespace() {
        for source in sources.iter().filter(|source| fits(source, arch)) {
            let base = folder.join(source.file_stem().unwrap_or_default());
            let input = format!("{}.{arch}.r.cubin", base.display());
            let linked = format!("{}.{arch}.l.cubin", base.display());
            let target = format!("-arch=sm_{arch}");
            let name = source.to_string_lossy();
            assert!(
                tool(oracle, "nvcc", &[&target, "-rdc=true", "-w", "-cubin", &name, "-o", &input]),
                "{name}: nvcc"
            );
            assert!(tool(oracle, "nvlink", &[&target, &input, "-o", &linked]), "{name}: nvlink");
            pairs.extend(support::cubin::read_pair(&input).unwrap_or_default());
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    let table = support::tally(&pairs, |pair, what| println!("sm_{} {}: {what}", pair.arch, pair.name));
    print!("{}", support::render(&table));
    for (arch, row) in &table {
        assert_eq!((row.wrong, row.alarms), (0, 0), "sm_{arch}");
        assert!(
            row.identical * 10 >= row.call_free * 9,
            "sm_{arch}: {} of {} identical",
            row.identical,
            row.call_free
        );
    }
}
