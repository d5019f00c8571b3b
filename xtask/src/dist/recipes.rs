//! The recipes of other package systems, with version, address and checksums filled in.
//!
//! Files `packaging/*/*.in` have `@VERSION@`, `@URL@` (the directory of the release, from `CULD_RELEASE_URL`) and `@SHA256:<file>@`, the
//! checksum of a package in `target/dist/out`, or zeros where it has not been built.
//!
//! [`check`] tries them with the tools that are there: ruby reads the formula, nix evaluates the expression, rattler-build makes a conda package, and
//! buildah an image, in which the example is linked.

use super::table::Row;
use super::targets::in_path;
use super::{Place, hash, output, package};
use crate::report::Report;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The recipes: template and result.
const RECIPES: [(&str, &str); 3] = [
    ("packaging/homebrew/culd.rb.in", "culd.rb"),
    (CONDA, "recipe.yaml"),
    ("packaging/oci/Containerfile.in", "Containerfile"),
];

/// The template of the conda recipe.
const CONDA: &str = "packaging/conda/recipe.yaml.in";

/// Writes the recipes into `target/dist/recipes`.
pub(super) fn write(place: &Place<'_>) -> Result<()> {
    let url = std::env::var("CULD_RELEASE_URL").unwrap_or_else(|_| "https://example.invalid/culd".into());
    for (template, name) in RECIPES {
        let text = filled(place, template, url.trim_end_matches('/'))?;
        package::write(&place.work.join("recipes").join(name), &text)?;
    }
    Ok(())
}

/// The text of a recipe.
fn filled(place: &Place<'_>, template: &str, url: &str) -> Result<String> {
    let path = place.context.root.join(template);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let text = text.replace("@VERSION@", &place.version).replace("@URL@", url);
    Ok(with_sums(place, &text))
}

fn with_sums(place: &Place<'_>, text: &str) -> String {
    let mut parts = text.split("@SHA256:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (file, rest) = part.split_once('@').unwrap_or(("", part));
        let sum = std::fs::read(place.out.join(file)).map_or_else(|_| "0".repeat(64), |bytes| hash::hex(&bytes));
        out.push_str(&sum);
        out.push_str(rest);
    }
    out
}

/// Tries each recipe with the tools that this machine has; a row of the table for each.
pub(super) fn check(place: &Place<'_>, report: &Report) -> Result<Vec<Row>> {
    let recipes = place.work.join("recipes");
    let mut rows = Vec::new();
    let mut tried = |kind: &str, place: &str, result: Result<u64>| {
        let failure = result.as_ref().err().map(ToString::to_string);
        report.named(&format!("recipe {kind}"), failure.as_deref());
        let mut row = Row::new("recipe", kind, result.as_ref().copied().unwrap_or(0), place);
        row.tests = Some((usize::from(result.is_ok()), 1));
        rows.push(row);
    };
    match in_path("ruby") {
        Some(ruby) => {
            let formula = recipes.join("culd.rb");
            let result = output(Command::new(ruby).arg("-c").arg(&formula)).and_then(|_| size(&formula));
            tried("Homebrew formula", "syntax, by ruby", result);
        }
        None => println!("recipe Homebrew formula: not checked, no ruby"),
    }
    match in_path("nix-instantiate") {
        Some(nix) => {
            let file = place.context.root.join("packaging/nix/check.nix");
            let result = output(Command::new(nix).args(["--eval", "--strict"]).arg(file));
            let expression = place.context.root.join("packaging/nix/default.nix");
            tried(
                "nix expression",
                "evaluated by nix, without nixpkgs",
                result.and_then(|_| size(&expression)),
            );
        }
        None => println!("recipe nix expression: not checked, no nix-instantiate"),
    }
    match conda_python(place) {
        Ok(python) => tried("conda package", "built, installed and run by rattler-build", conda(place, &python)),
        Err(e) => println!("recipe conda package: not built: {e}"),
    }
    match in_path("buildah") {
        Some(buildah) => tried("OCI image", "built and run by buildah", image(place, &buildah)),
        None => println!("recipe OCI image: not built, no buildah"),
    }
    Ok(rows)
}

fn size(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(Error::file(path))?.len())
}

/// A Python with rattler-build.
fn conda_python(place: &Place<'_>) -> Result<PathBuf> {
    let venv = place.work.join("conda-venv");
    let python = venv.join("bin/python");
    if !python.exists() {
        output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        output(Command::new(&python).args(["-m", "pip", "install", "--quiet", "py-rattler-build"]))?;
    }
    output(Command::new(&python).args(["-c", "import rattler_build"])).map(|_| python)
}

/// The conda package of this machine from the archives in `target/dist/out`; its size.
fn conda(place: &Place<'_>, python: &Path) -> Result<u64> {
    let work = place.fresh("conda")?;
    let recipe = work.join("recipe.yaml");
    package::write(&recipe, &filled(place, CONDA, &format!("file://{}", place.out.display()))?)?;
    let mut build = Command::new(python);
    build.arg(place.context.root.join("packaging/conda/build.py"));
    let text = output(build.arg(&recipe).arg(work.join("out")))?;
    size(Path::new(text.lines().last().unwrap_or_default()))
}

/// Builds the image in a store of its own, links the example in a container; the size of the image.
fn image(place: &Place<'_>, buildah: &Path) -> Result<u64> {
    let work = place.fresh("oci")?;
    let command = |words: &[&str]| {
        let mut command = Command::new(buildah);
        command.args(["--storage-driver", "vfs", "--root"]).arg(work.join("store"));
        command.arg("--runroot").arg(work.join("run")).args(words);
        command
    };
    let context = work.join("context");
    std::fs::create_dir(&context).map_err(Error::file(&context))?;
    let archive = format!("culd-{}-x86_64-unknown-linux-musl.tar.gz", place.version);
    std::fs::copy(place.out.join(&archive), context.join(&archive)).map_err(Error::file(&archive))?;
    let recipe = place.work.join("recipes/Containerfile");
    let recipe = recipe.display().to_string();
    output(command(&["bud", "--isolation", "chroot", "-f", &recipe, "-t", "culd"]).arg(&context))?;
    let container = output(&mut command(&["from", "localhost/culd"]))?;
    let example = place.context.root.join("examples/saxpy");
    let files = work.join("files");
    std::fs::create_dir(&files).map_err(Error::file(&files))?;
    for input in ["saxpy.cubin", "combine.cubin"] {
        std::fs::copy(example.join(input), files.join(input)).map_err(Error::file(&example))?;
    }
    let mount = format!("{}:/work", files.display());
    let mut run = command(&["run", "--isolation", "chroot", "-v", &mount, container.trim(), "culd"]);
    output(run.args(["-arch=sm_90", "saxpy.cubin", "combine.cubin", "-o", "out.cubin"]))?;
    let made = size(&files.join("out.cubin"))?;
    output(&mut command(&["rm", container.trim()]))?;
    let bytes = output(&mut command(&[
        "inspect",
        "--type",
        "image",
        "--format",
        "{{.OCIv1.Config.Entrypoint}}",
        "culd",
    ]))?;
    let archive = work.join("image.tar");
    output(&mut command(&[
        "push",
        "--quiet",
        "localhost/culd",
        &format!("oci-archive:{}", archive.display()),
    ]))?;
    match made > 0 && bytes.trim() == "[culd]" {
        true => size(&archive),
        false => Err(Error::Other(format!("the entry point is {}", bytes.trim()))),
    }
}
