//! The examples for build systems, built with the program of this machine and the toolkit of the oracle.
//!
//! 1. CMake finds the program through its module, in the layout of the archive, and the project is configured and built.
//! 2. Meson gets the native file of the example, with the path of a view made for it.
//! 3. Bazel needs its rules from the network: its files are only read, as the Python-like text that they are.

use super::table::Row;
use super::targets::in_path;
use super::{Place, output};
use crate::report::Report;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Reads files as Python does.
const PARSE: &str = "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name).read(), name)";

/// Builds the examples; their rows. `prefix`: the unpacked archive of the program.
pub(super) fn run(place: &Place<'_>, prefix: &Path, report: &Report) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut tried = |name: &str, place: &str, result: Result<u64>| {
        let failure = result.as_ref().err().map(ToString::to_string);
        report.named(&format!("example {name}"), failure.as_deref());
        let mut row = Row::new("example", name, result.as_ref().copied().unwrap_or(0), place);
        row.tests = Some((usize::from(result.is_ok()), 1));
        rows.push(row);
    };
    let examples = place.context.root.join("examples");
    let bazel = ["BUILD.bazel", "MODULE.bazel"].map(|f| examples.join("bazel").join(f));
    let parsed = output(Command::new("python3").args(["-c", PARSE]).args(&bazel));
    tried("Bazel", "syntax only", parsed.map(|_| 0));
    let Some(toolkit) = std::env::var_os("CULD_ORACLE").and_then(|bin| PathBuf::from(bin).parent().map(Path::to_path_buf)) else {
        println!("examples CMake and Meson: not built, no CULD_ORACLE");
        return Ok(rows);
    };
    match in_path("cmake") {
        Some(cmake) => tried("CMake", "native", with_cmake(place, &cmake, prefix, &toolkit)),
        None => println!("example CMake: not built, no cmake"),
    }
    match (in_path("meson"), in_path("ninja")) {
        (Some(meson), Some(ninja)) => tried("Meson", "native", with_meson(place, [&meson, &ninja], prefix, &toolkit)),
        _ => println!("example Meson: not built, no meson or ninja"),
    }
    Ok(rows)
}

fn size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(Error::file(path))?.len())
}

fn with_cmake(place: &Place<'_>, cmake: &Path, prefix: &Path, toolkit: &Path) -> Result<u64> {
    let build = place.fresh("examples/cmake")?;
    let mut configure = Command::new(cmake);
    configure
        .arg("-S")
        .arg(place.context.root.join("examples/cmake"))
        .arg("-B")
        .arg(&build);
    configure.arg(format!("-Dculd_DIR={}", prefix.join("share/cmake/culd").display()));
    output(configure.env("CUDA_HOME", toolkit))?;
    output(Command::new(cmake).arg("--build").arg(&build).env("CUDA_HOME", toolkit))?;
    let nvlink = build.join("culd-cuda/bin/nvlink");
    let said = output(Command::new(&nvlink).arg("--version"))?;
    match said.contains("culd") || nvlink.canonicalize().is_ok_and(|p| p.ends_with("bin/culd")) {
        true => size(&build.join("libsaxpy.a")),
        false => Err(Error::Other(format!("{} is not culd: {said}", nvlink.display()))),
    }
}

fn with_meson(place: &Place<'_>, [meson, ninja]: [&Path; 2], prefix: &Path, toolkit: &Path) -> Result<u64> {
    let work = place.fresh("examples/meson")?;
    let (view, build) = (work.join("view"), work.join("build"));
    let mut install = Command::new(prefix.join("bin/culd"));
    output(install.arg("install-as-nvlink").arg(&view).arg("--toolkit").arg(toolkit))?;
    let example = place.context.root.join("examples/meson");
    let text = std::fs::read_to_string(example.join("culd.ini")).map_err(Error::file(&example))?;
    let native = work.join("culd.ini");
    super::package::write(&native, &text.replace("/opt/cuda-culd", &view.display().to_string()))?;
    let mut setup = Command::new(meson);
    setup.arg("setup").arg(&build).arg(&example).arg("--native-file").arg(&native);
    output(setup.env("CUDA_ROOT", &view))?;
    output(Command::new(ninja).arg("-C").arg(&build))?;
    let linked = build.join("saxpy.cubin");
    output(Command::new(prefix.join("bin/culd")).arg("dump").arg(&linked))?;
    size(&linked)
}
