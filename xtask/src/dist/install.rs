//! Each package in a clean place: install it, link the example with it, remove it, and look for what is left.

use super::table::Row;
use super::targets::in_path;
use super::{Place, Program, output};
use crate::report::Report;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries and the program in the order in which they can be published.
const CRATES: [&str; 11] = [
    "culd-zstd",
    "culd-demangle",
    "cubin",
    "culd-base",
    "culd-sass",
    "culd-lto",
    "culd-engine",
    "culd-input",
    "culd-inspect",
    "culd-report",
    "culd",
];

/// Tests a package; its row of the table.
pub(super) fn test(place: &Place<'_>, program: &Program, kind: &str, file: &Path, report: &Report) -> Result<Row> {
    let size = std::fs::metadata(file).map_err(Error::file(file))?.len();
    let target = program.target;
    let mut row = Row::new(target.triple, kind, size, &program.place());
    if program.runner.is_err() {
        return Ok(row);
    }
    let before = report.counts();
    let dir = place.fresh(&format!("install/{}-{kind}", target.triple))?;
    let step = |name: &str, result: Result<()>| {
        let failure = result.err().map(|e| e.to_string());
        report.named(&format!("{} {kind}: {name}", target.triple), failure.as_deref());
    };
    match kind {
        "tar" | "zip" => {
            step("unpack and link", unpacked(place, program, file, &dir));
            // What the recipe of the container does.
            if target.triple.ends_with("musl") && is_root() {
                step("link in an empty root", in_empty_root(place, program, &dir));
            }
        }
        "wheel" => {
            step("install, link, uninstall", wheel(place, program, file, &dir));
            let large = (size > 5_000_000).then(|| Error::Other(format!("{size} bytes, more than 5000000")));
            step("size", large.map_or(Ok(()), Err));
        }
        _ => {
            step("unpack and link", unpacked(place, program, file, &dir));
            match in_path("lintian") {
                Some(lintian) => step("lintian", clean(lintian, file)),
                None => println!("{} deb: no lintian", target.triple),
            }
            match place.work.join("root").join("usr/bin/dpkg").exists() && target.deb == Some("amd64") {
                true => step("install and remove in a fresh system", in_root(place, file)),
                false => println!(
                    "{} deb: target/dist/root has no system to install it in (debootstrap)",
                    target.triple
                ),
            }
        }
    }
    let after = report.counts();
    row.tests = Some((after.0 - before.0, after.0 + after.1 - before.0 - before.1));
    Ok(row)
}

/// Whether `chroot` is allowed.
fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// The unpacked archive as the only files of a system: the static program needs nothing else.
fn in_empty_root(place: &Place<'_>, program: &Program, dir: &Path) -> Result<()> {
    let root = dir.join("unpacked");
    let example = place.context.root.join("examples/saxpy");
    for input in ["saxpy.cubin", "combine.cubin"] {
        std::fs::copy(example.join(input), root.join(input)).map_err(Error::file(&root))?;
    }
    let mut words: Vec<String> = vec!["/bin/culd".into()];
    if let Some(emulator) = program.runner.iter().flatten().next() {
        std::fs::copy(emulator, root.join("emulator")).map_err(Error::file(&root))?;
        words.insert(0, "/emulator".into());
    }
    let mut chroot = Command::new("chroot");
    chroot
        .arg(&root)
        .args(words)
        .args(["-arch=sm_90", "saxpy.cubin", "combine.cubin", "-o", "own.cubin"]);
    output(chroot.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))?;
    let read = |path: PathBuf| std::fs::read(&path).map_err(Error::file(path));
    match read(root.join("own.cubin"))? == read(dir.join("own.cubin"))? {
        true => Ok(()),
        false => Err(Error::Other("the bytes are not those outside".into())),
    }
}

/// Links the example with the program at `path`, as culd and, under a link of that name, as nvlink.
fn links(place: &Place<'_>, program: &Program, path: &Path, dir: &Path) -> Result<()> {
    let example = place.context.root.join("examples/saxpy");
    let nvlink = dir.join(program.target.program().replace("culd", "nvlink"));
    std::fs::copy(path, &nvlink).map_err(Error::file(path))?;
    for (tool, name) in [(path, "own.cubin"), (nvlink.as_path(), "linked.cubin")] {
        let mut link = program.command_for(tool, dir);
        link.arg("-arch=sm_90");
        for input in ["saxpy.cubin", "combine.cubin"] {
            let here = dir.join(input);
            std::fs::copy(example.join(input), &here).map_err(Error::file(&here))?;
            link.arg(input);
        }
        output(link.args(["-o", name]))?;
    }
    let read = |path: PathBuf| std::fs::read(&path).map_err(Error::file(path));
    match read(dir.join("linked.cubin"))? == read(example.join("nvlink.cubin"))? {
        true => Ok(()),
        false => Err(Error::Other("the bytes of the example are not nvlink's".into())),
    }
}

fn unpacked(place: &Place<'_>, program: &Program, file: &Path, dir: &Path) -> Result<()> {
    let root = dir.join("unpacked");
    std::fs::create_dir(&root).map_err(Error::file(&root))?;
    match file.extension().and_then(|e| e.to_str()) {
        Some("zip") => output(Command::new("python3").args(["-m", "zipfile", "-e"]).args([file, &root]))?,
        Some("deb") => output(Command::new("dpkg-deb").arg("-x").args([file, &root]))?,
        _ => output(
            Command::new("tar")
                .arg("-xzf")
                .arg(file)
                .arg("-C")
                .arg(&root)
                .arg("--strip-components=1"),
        )?,
    };
    let name = program.target.program();
    let places = ["bin", "usr/bin"].map(|d| root.join(d).join(name));
    let found = places
        .into_iter()
        .chain(subdirectories(&root).map(|d| d.join("bin").join(name)))
        .find(|p| p.is_file());
    links(
        place,
        program,
        &found.ok_or_else(|| Error::Other(format!("no {name} in {}", file.display())))?,
        dir,
    )
}

fn subdirectories(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok().map(|e| e.path()))
}

/// A wheel of this machine in a virtual environment; one of another platform in a directory.
fn wheel(place: &Place<'_>, program: &Program, file: &Path, dir: &Path) -> Result<()> {
    let venv = dir.join("venv");
    output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let pip = || {
        let mut pip = Command::new(venv.join("bin/python"));
        pip.args(["-m", "pip", "--disable-pip-version-check"]);
        pip
    };
    let tag = program.target.wheel.and_then(|t| t.split('.').next()).unwrap_or("any");
    let is_here = tag.starts_with("manylinux") && program.runner.as_ref().is_ok_and(Vec::is_empty);
    let bin = match is_here {
        true => {
            let before = entries(&venv)?;
            output(pip().args(["install", "--no-index", "--quiet"]).arg(file))?;
            links(place, program, &venv.join("bin/culd"), dir)?;
            let libraries = "import culd; culd.activate(); culd.Linker('sm_90')";
            output(Command::new(venv.join("bin/python")).args(["-c", libraries]))?;
            found_by_cmake(&venv, dir)?;
            output(pip().args(["uninstall", "--yes", "--quiet", "culd"]))?;
            nothing_left("pip", &venv, &before)?;
            return match in_path("uv") {
                Some(uv) => with_uv(&uv, file, &venv, &before),
                None => Ok(()),
            };
        }
        false => {
            let target = dir.join("target");
            let mut install = pip();
            install.args([
                "install",
                "--no-index",
                "--quiet",
                "--no-deps",
                "--only-binary=:all:",
                "--platform",
                tag,
                "--target",
            ]);
            output(install.arg(&target).arg(file))?;
            imported(place, program, &target, dir)?;
            target.join("bin")
        }
    };
    links(place, program, &bin.join(program.target.program()), dir)
}

/// Prints the directory of the package.
const PACKAGE_DIRECTORY: &str = "import culd; print(culd.__path__[0])";

/// Links the example and looks at it, with a package that has the program alone; then calls what needs a library.
const WITHOUT_LIBRARIES: &str = "\
import culd, pathlib, sys
example, out = map(pathlib.Path, sys.argv[1:])
assert not culd.has_library() and culd.__version__ == culd.version()
linked = culd.link('sm_90', [example / 'saxpy.cubin', ('combine', (example / 'combine.cubin').read_bytes())])
assert [k.name for k in linked.kernels] == ['saxpy'] and culd.diff(linked.image, linked.image) == ''
assert 'saxpy' in str(culd.dump(linked.image))
try:
    culd.activate()
    sys.exit('activate() returned')
except (ImportError, NotImplementedError) as error:
    print(error)
out.write_bytes(linked.image)
";

/// Imports the modules of a wheel for another platform. Where the wheel has no libraries and the program runs here, its functions are used too.
fn imported(place: &Place<'_>, program: &Program, packages: &Path, dir: &Path) -> Result<()> {
    let python = |code: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", code]).env("PYTHONPATH", packages).env_remove("CULD_LIBRARY");
        python
    };
    output(&mut python("import culd; culd.Linker, culd.link, culd.activate"))?;
    let Ok(words) = &program.runner else { return Ok(()) };
    if packages.join("culd/lib").is_dir() {
        return Ok(());
    }
    let culd = packages.join("bin").join(program.target.program());
    let script = dir.join("program");
    super::package::write(
        &script,
        &format!("#!/bin/sh\nexec {} '{}' \"$@\"\n", words.join(" "), culd.display()),
    )?;
    output(Command::new("chmod").arg("+x").args([&script, &culd]))?;
    let out = dir.join("python.cubin");
    let mut uses = python(WITHOUT_LIBRARIES);
    uses.arg(place.context.root.join("examples/saxpy")).arg(&out);
    output(uses.env("CULD_PROGRAM", &script)).map(drop)
}

/// CMake finds the program of an environment through the files in the package.
fn found_by_cmake(venv: &Path, dir: &Path) -> Result<()> {
    let Some(cmake) = in_path("cmake") else {
        return Ok(());
    };
    let package = output(Command::new(venv.join("bin/python")).args(["-c", PACKAGE_DIRECTORY]))?;
    let script = dir.join("find.cmake");
    super::package::write(
        &script,
        "cmake_minimum_required(VERSION 3.24)\nfind_package(culd REQUIRED)\nmessage(NOTICE \"${culd_EXECUTABLE}\")\n",
    )?;
    let mut find = Command::new(cmake);
    find.arg(format!("-Dculd_ROOT={}", package.trim())).arg("-P").arg(&script);
    let out = find.output().map_err(Error::file(&script))?;
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    match Path::new(told.trim()) == venv.join("bin/culd") {
        true => Ok(()),
        false => Err(Error::Other(format!("CMake finds {told}"))),
    }
}

/// The same with uv.
fn with_uv(uv: &Path, file: &Path, venv: &Path, before: &[String]) -> Result<()> {
    let command = |word: &str| {
        let mut command = Command::new(uv);
        command.args(["pip", word, "--quiet", "--python"]).arg(venv.join("bin/python"));
        command
    };
    output(command("install").args(["--no-index", "--no-cache"]).arg(file))?;
    output(Command::new(venv.join("bin/culd")).arg("--version"))?;
    output(command("uninstall").arg("culd"))?;
    nothing_left("uv", venv, before)
}

/// Compares with the list of [`entries`] before an installation. Empty directories of manual pages, which other packages share, stay: pip keeps two, uv, which
/// removes none outside of `site-packages`, three. The lock is uv's own.
fn nothing_left(tool: &str, venv: &Path, before: &[String]) -> Result<()> {
    let allowed = ["share", "share/man", "share/man/man1", ".lock"];
    let allowed: Vec<String> = allowed.iter().map(|d| venv.join(d).display().to_string()).collect();
    let mut left = entries(venv)?;
    left.retain(|f| !before.contains(f) && !f.ends_with(".pyc") && !f.ends_with("/__pycache__") && !allowed.contains(f));
    match left.is_empty() {
        true => Ok(()),
        false => Err(Error::Other(format!("left after uninstall by {tool}: {left:?}"))),
    }
}

/// All files and directories below a directory.
fn entries(dir: &Path) -> Result<Vec<String>> {
    Ok(output(Command::new("find").arg(dir))?.lines().map(str::to_owned).collect())
}

/// All files below a directory.
fn files(dir: &Path) -> Result<Vec<String>> {
    let list = output(Command::new("find").arg(dir).args(["-type", "f"]))?;
    Ok(list.lines().map(str::to_owned).collect())
}

fn clean(lintian: PathBuf, file: &Path) -> Result<()> {
    let mut command = Command::new(lintian);
    command.args(["--fail-on", "error,warning", "--allow-root"]).arg(file);
    let text = output(&mut command)?;
    print!("{text}");
    Ok(())
}

/// Installs the package in a system of its own, uses the alternative, removes the package and compares the lists of files.
fn in_root(place: &Place<'_>, file: &Path) -> Result<()> {
    let root = place.work.join("root");
    let tmp = root.join("tmp/culd");
    let _ = std::fs::remove_dir_all(&tmp);
    std::fs::create_dir_all(&tmp).map_err(Error::file(&tmp))?;
    std::fs::copy(file, tmp.join("culd.deb")).map_err(Error::file(file))?;
    let example = place.context.root.join("examples/saxpy");
    for input in ["saxpy.cubin", "combine.cubin", "nvlink.cubin"] {
        std::fs::copy(example.join(input), tmp.join(input)).map_err(Error::file(&example))?;
    }
    let script = "set -e; cd /tmp/culd
        list() { find /usr /etc /var/lib/dpkg/alternatives -xdev | LC_ALL=C sort; }
        list > before
        dpkg -i culd.deb
        test \"$(readlink -f /usr/bin/nvlink)\" = /usr/bin/culd
        nvlink -arch=sm_90 saxpy.cubin combine.cubin -o out.cubin
        cmp out.cubin nvlink.cubin
        culd -arch=sm_90 saxpy.cubin combine.cubin -o own.cubin
        printf '#!/bin/sh\\necho other\\n' > /tmp/culd/other; chmod +x /tmp/culd/other
        update-alternatives --install /usr/bin/nvlink nvlink /tmp/culd/other 50
        test \"$(nvlink)\" = other
        update-alternatives --remove nvlink /tmp/culd/other
        dpkg --purge culd
        test ! -e /usr/bin/nvlink
        list > after
        diff before after";
    output(
        Command::new("chroot")
            .arg(&root)
            .args(["/bin/sh", "-c", script])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
    )
    .map(drop)
}

/// Packs all crates, and installs the program from the packed ones alone, with an empty cargo home. `quick`: in the dev profile.
pub(super) fn crates(place: &Place<'_>, quick: bool, report: &Report) -> Result<Row> {
    let target = place.fresh("crates")?;
    // Outside of the repository, which is a workspace that the unpacked crates are not part of.
    let away = std::env::temp_dir().join(format!("culd-crates-{}", std::process::id()));
    std::fs::create_dir_all(&away).map_err(Error::file(&away))?;
    let mut cargo = place.context.cargo();
    cargo
        .args(["package", "--quiet", "--no-verify", "--allow-dirty", "--target-dir"])
        .arg(&target);
    for name in CRATES {
        cargo.args(["-p", name]);
    }
    output(&mut cargo)?;
    let packed = target.join("package");
    let (mut size, mut patches) = (0, String::from("[patch.crates-io]\n"));
    for name in CRATES {
        let full = format!("{name}-{}", place.version);
        let file = packed.join(format!("{full}.crate"));
        size += std::fs::metadata(&file).map_err(Error::file(&file))?.len();
        std::fs::copy(&file, place.out.join(format!("{full}.crate"))).map_err(Error::file(&file))?;
        output(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(&away))?;
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let missing = (!away.join(&full).join(license).is_file()).then_some("not in the package");
            report.quiet(&format!("crate {name}: {license}"), missing);
        }
        if name != "culd" {
            patches.push_str(&format!("{name} = {{ path = \"{}\" }}\n", away.join(&full).display()));
        }
    }
    let config = away.join("config.toml");
    std::fs::write(&config, patches).map_err(Error::file(&config))?;
    let root = away.join("root");
    let source = away.join(format!("culd-{}", place.version));
    let home = away.join("home");
    let mut install = Command::new("cargo");
    install
        .args(["install", "--quiet"])
        .args(quick.then_some("--debug"))
        .arg("--config")
        .arg(&config)
        .arg("--root")
        .arg(&root);
    install
        .arg("--path")
        .arg(&source)
        .env("CARGO_HOME", &home)
        .env("CARGO_TARGET_DIR", away.join("build"))
        .current_dir(&away);
    let host = super::targets::Target::find("x86_64-unknown-linux-musl").ok_or_else(|| Error::Other("no target".into()))?;
    let installed = Program {
        target: host,
        path: root.join("bin/culd"),
        runner: Ok(Vec::new()),
    };
    let result = output(&mut install).and_then(|_| links(place, &installed, &installed.path, &target));
    let result = result.and_then(|()| {
        output(
            Command::new("cargo")
                .args(["uninstall", "--quiet", "--root"])
                .arg(&root)
                .arg("culd")
                .env("CARGO_HOME", &home),
        )?;
        // cargo keeps its own two lists of what is installed.
        let left: Vec<String> = files(&root)?.into_iter().filter(|f| !f.contains("/.crates")).collect();
        match left.is_empty() {
            false => Err(Error::Other(format!("left after cargo uninstall: {left:?}"))),
            true => Ok(()),
        }
    });
    std::fs::remove_dir_all(&away).map_err(Error::file(&away))?;
    let failure = result.err().map(|e| e.to_string());
    report.named("crates: cargo install from the packages, link, uninstall", failure.as_deref());
    let mut row = Row::new(
        "any",
        "crates",
        size,
        if quick {
            "native, dev profile, empty cargo home"
        } else {
            "native, empty cargo home"
        },
    );
    row.tests = Some((usize::from(failure.is_none()), 1));
    Ok(row)
}
