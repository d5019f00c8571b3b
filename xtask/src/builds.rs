//! `cargo xtask builds [SYSTEM..]`: a program of 40 files with the usual host libraries, built by CMake, Meson, nvcc and clang with culd as linker.
//!
//! 1. The sources are made from `tests/builds`: a chain of device functions through all files, a kernel in each.
//! 2. `culd install-as-nvlink` makes a view in each mode, culd and nvlink. The build sees `tk`, a link to one of them.
//! 3. Each system compiles once and links twice: in the mode culd, then, after `tk` has changed, in the mode nvlink.
//! 4. The executable must have one linked part with all 40 kernels for each architecture. In the mode culd the report of the link must be there,
//!    with all kernels and without errors.
//! 5. CMake, Ninja and Meson come from PyPI, and so does the toolkit for clang, which does not support CUDA 13. A system whose tools are missing is
//!    left out with the reason.

mod tools;

use crate::context::{Context, Linker};
use crate::nvcc::{fresh, good, replace_link};
use crate::oracle;
use crate::report::Report;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files with device code, the main file included.
const FILES: usize = 40;

/// The systems by name.
type Build = fn(&Bench<'_>, &Dirs) -> Result<()>;
const SYSTEMS: &[(&str, &[&str], Build)] = &[
    ("cmake", &["sm_80", "sm_90"], cmake),
    ("meson", &["sm_90"], meson),
    ("nvcc", &["sm_90"], nvcc),
    ("clang", &["sm_90"], clang),
];

/// What a build needs.
struct Bench<'a> {
    context: &'a Context,
    linker: &'a Linker,
    jobs: usize,
    work: PathBuf,
}

/// Directories of one system.
struct Dirs {
    /// Sources.
    sources: PathBuf,
    /// What the system makes; `app` is the program.
    build: PathBuf,
    /// The view of the mode.
    toolkit: PathBuf,
    /// Reports of the mode culd.
    reports: PathBuf,
}

impl Dirs {
    /// A command that sees the view and writes a report of each link.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let [scripts, packages] = tools::programs(&self.sources);
        let own = [self.toolkit.join("bin"), scripts, packages];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap_or(path);
        command.env("PATH", path).env("CUDA_PATH", &self.toolkit);
        let reports = self.reports.join("{target}.json");
        command.env("CULD_FLAGS", format!("--json-report={}", reports.display()));
        command.env_remove("CULD_NVLINK_VERSION");
        command
    }
}

/// Builds with the systems that are named, or all.
pub(crate) fn run(context: &Context, linker: &Linker, names: &[String], jobs: usize, report: &Report) -> Result<()> {
    let bench = Bench {
        context,
        linker,
        jobs,
        work: context.target.join("builds"),
    };
    let sources = make_sources(&context.root.join("tests/builds"), &bench.work.join("src"))?;
    for (name, archs, build) in SYSTEMS.iter().filter(|s| names.is_empty() || names.iter().any(|n| n == s.0)) {
        let toolkit = match tools::prepare(&bench, name) {
            Ok(toolkit) => toolkit,
            Err(reason) => {
                println!("left out {name}: {reason}");
                continue;
            }
        };
        let directory = fresh(&bench.work.join(name))?;
        let dirs = Dirs {
            sources: sources.clone(),
            build: directory.join("build"),
            toolkit: directory.join("tk"),
            reports: directory.join("reports"),
        };
        std::fs::create_dir_all(&dirs.reports).map_err(Error::file(&dirs.reports))?;
        for mode in ["culd", "nvlink"] {
            let done = bench
                .view(&toolkit, &directory, mode)
                .and_then(|()| build(&bench, &dirs))
                .and_then(|()| bench.check(&dirs, mode, archs));
            report.named(&format!("{name}, mode {mode}"), done.err().map(|e| e.to_string()).as_deref());
        }
    }
    Ok(())
}

impl Bench<'_> {
    /// Points `tk` at the view of a mode, and removes the program of the mode before.
    fn view(&self, toolkit: &Path, directory: &Path, mode: &str) -> Result<()> {
        let view = directory.join(format!("view-{mode}"));
        let mut install = Command::new(&self.linker.culd);
        install
            .args(["install-as-nvlink", "--mode", mode, "--toolkit"])
            .arg(toolkit)
            .arg(&view);
        good(&mut install)?;
        replace_link(&view, &directory.join("tk"))?;
        for made in ["app", "CMakeFiles/app.dir/cmake_device_link.o"] {
            let made = directory.join("build").join(made);
            if made.exists() {
                std::fs::remove_file(&made).map_err(Error::file(&made))?;
            }
        }
        Ok(())
    }

    /// The program has every kernel, linked, for each architecture.
    fn check(&self, dirs: &Dirs, mode: &str, archs: &[&str]) -> Result<()> {
        let app = dirs.build.join("app");
        let table = good(Command::new(&self.linker.culd).args(["dump", "--kernels"]).arg(&app))?;
        let is_linked = |part: &&str| part.lines().filter(|row| row.starts_with("part_")).count() == FILES;
        let linked: Vec<&str> = table.split("\n\n").filter(is_linked).collect();
        let has = |arch: &&&str| linked.iter().any(|part| part.lines().next().is_some_and(|l| l.contains(**arch)));
        let missing: Vec<&&str> = archs.iter().filter(|arch| !has(arch)).collect();
        if !missing.is_empty() {
            return Err(Error::Other(format!(
                "{}: no part with {FILES} kernels for {missing:?}",
                app.display()
            )));
        }
        for arch in archs.iter().filter(|_| mode == "culd") {
            let file = dirs.reports.join(format!("{arch}.json"));
            let text = std::fs::read_to_string(&file).map_err(Error::file(&file))?;
            let report: serde_json::Value = serde_json::from_str(&text).map_err(|e| Error::Other(format!("{}: {e}", file.display())))?;
            let kernels = report["kernels"].as_array().map_or(0, Vec::len);
            let messages = report["messages"].as_array().map_or(0, Vec::len);
            if report["status"] != "linked" || kernels != FILES || messages != 0 {
                return Err(Error::Other(format!(
                    "{}: {}, {kernels} kernels, {messages} messages",
                    file.display(),
                    report["status"]
                )));
            }
            std::fs::remove_file(&file).map_err(Error::file(&file))?;
        }
        Ok(())
    }
}

fn make_sources(from: &Path, to: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(to).map_err(Error::file(to))?;
    let read = |name: &str| std::fs::read_to_string(from.join(name)).map_err(Error::file(from.join(name)));
    let write = |name: &str, text: String| match std::fs::read_to_string(to.join(name)).is_ok_and(|old| old == text) {
        true => Ok(()),
        false => std::fs::write(to.join(name), text).map_err(Error::file(to.join(name))),
    };
    for name in ["main.cu", "CMakeLists.txt", "meson.build", "meson_options.txt"] {
        write(name, read(name)?)?;
    }
    write("common.h", format!("#define LAST {}\n{}", FILES - 1, read("common.h")?))?;
    let part = read("part.cu.in")?;
    for n in 1..FILES {
        let text = part.replace("@N@", &n.to_string()).replace("@NEXT@", &(n + 1).to_string());
        write(&format!("part_{n}.cu"), text)?;
    }
    Ok(to.to_owned())
}

fn cmake(bench: &Bench<'_>, dirs: &Dirs) -> Result<()> {
    let mut configure = dirs.command(tools::program(bench, "cmake"));
    configure.args(["-G", "Ninja", "-S"]).arg(&dirs.sources).arg("-B").arg(&dirs.build);
    configure.arg(format!("-DPARTS_DIR={}", dirs.sources.display()));
    configure.arg(format!("-DCMAKE_CUDA_COMPILER={}", dirs.toolkit.join("bin/nvcc").display()));
    configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tools::program(bench, "ninja").display()));
    configure.args(["-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real", "-DCMAKE_CUDA_COMPILER_WORKS=1"]);
    good(&mut configure)?;
    let mut build = dirs.command(tools::program(bench, "cmake"));
    good(build.arg("--build").arg(&dirs.build).arg(format!("-j{}", bench.jobs))).map(drop)
}

fn meson(bench: &Bench<'_>, dirs: &Dirs) -> Result<()> {
    if !dirs.build.exists() {
        let native = dirs.reports.with_file_name("native.ini");
        let text = format!("[binaries]\ncuda = '{}'\n", dirs.toolkit.join("bin/nvcc").display());
        std::fs::write(&native, text).map_err(Error::file(&native))?;
        let parts: Vec<String> = (1..FILES).map(|n| format!("part_{n}.cu")).collect();
        let mut setup = dirs.command(tools::program(bench, "meson"));
        setup
            .arg("setup")
            .arg(&dirs.build)
            .arg(&dirs.sources)
            .arg("--native-file")
            .arg(&native);
        good(setup.arg(format!("-Dparts={}", parts.join(","))))?;
    }
    let mut build = dirs.command(tools::program(bench, "ninja"));
    good(build.arg("-C").arg(&dirs.build).arg(format!("-j{}", bench.jobs))).map(drop)
}

/// Compiles every source that has no object yet; the objects.
fn objects(bench: &Bench<'_>, dirs: &Dirs, compile: impl Fn() -> Command + Sync) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(&dirs.build).map_err(Error::file(&dirs.build))?;
    let names: Vec<String> = std::iter::once("main".to_owned())
        .chain((1..FILES).map(|n| format!("part_{n}")))
        .collect();
    let failures = std::sync::Mutex::new(Vec::new());
    crate::report::parallel(&names, bench.jobs, |name| {
        let object = dirs.build.join(format!("{name}.o"));
        if object.exists() {
            return;
        }
        let mut command = compile();
        command
            .arg("-c")
            .arg(dirs.sources.join(format!("{name}.cu")))
            .arg("-o")
            .arg(&object);
        if let (Err(e), Ok(mut list)) = (good(&mut command), failures.lock()) {
            list.push(e);
        }
    });
    match failures.into_inner().ok().and_then(|mut list| list.pop()) {
        Some(failure) => Err(failure),
        None => Ok(names.iter().map(|name| dirs.build.join(format!("{name}.o"))).collect()),
    }
}

fn nvcc(bench: &Bench<'_>, dirs: &Dirs) -> Result<()> {
    let program = dirs.toolkit.join("bin/nvcc");
    let compile = || {
        let mut command = dirs.command(&program);
        command.args(["-arch=sm_90", "-rdc=true"]);
        command
    };
    let objects = objects(bench, dirs, compile)?;
    let mut link = dirs.command(&program);
    link.arg("-arch=sm_90").args(objects).arg("-o").arg(dirs.build.join("app"));
    good(link.args(["-lpthread", "-ldl", "-lm", "-lrt"])).map(drop)
}

fn clang(bench: &Bench<'_>, dirs: &Dirs) -> Result<()> {
    let flags = [
        "-fgpu-rdc".to_owned(),
        "--offload-new-driver".to_owned(),
        "--offload-arch=sm_90".to_owned(),
        format!("--cuda-path={}", dirs.toolkit.display()),
        "-Wno-unknown-cuda-version".to_owned(),
    ];
    let program = tools::clang().unwrap_or_default();
    let start = || {
        let mut command = dirs.command(&program);
        command.args(&flags);
        command
    };
    let objects = objects(bench, dirs, start)?;
    let mut link = start();
    link.args(objects).arg("-o").arg(dirs.build.join("app"));
    link.arg(format!("-L{}", dirs.toolkit.join("lib64").display()));
    good(link.args(["-lcudart", "-lpthread", "-ldl", "-lm", "-lrt"])).map(drop)
}

/// The toolkit of the oracle.
fn oracle_toolkit(context: &Context) -> Result<PathBuf> {
    let tools = oracle::bin_dir(context)?;
    let parent = tools.parent().map(Path::to_path_buf);
    parent.ok_or_else(|| Error::Other(format!("{} has no parent", tools.display())))
}
