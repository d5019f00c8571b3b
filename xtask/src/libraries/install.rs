//! What a program needs to be built with libculd, beside the library, and a program that is built with it.
//!
//! 1. `libculd.so`, `include/culd.h`, `culd.pc`, and the CMake package in `lib/cmake/culd`, all below the directory of the library. Paths in them
//!    are relative to where they are, so that the directory can be moved.
//! 2. The C example is compiled with the flags of pkg-config, and by a project with `find_package(culd)`; each links the bundled objects.

use crate::context::{Context, succeed};
use crate::dist::in_path;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A project that uses the library.
const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.16)
project(example LANGUAGES C)
find_package(culd REQUIRED COMPONENTS library)
add_executable(cmake-link @SOURCE@)
target_link_libraries(cmake-link PRIVATE culd::culd)
";

/// Writes the files.
pub(super) fn run(context: &Context, directory: &Path, library: &Path) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let plain = directory.join("libculd.so");
    // cargo makes no file of this name: its own is libculd_c.so
    match std::fs::remove_file(&plain) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(&plain)(e)),
        _ => {}
    }
    let name = library.file_name().unwrap_or_default();
    symlink(Path::new(name), &plain)?;
    let copy = |from: &str, to: &str| {
        let (from, to) = (context.root.join(from), directory.join(to));
        let text = std::fs::read_to_string(&from).map_err(Error::file(&from))?;
        write(&to, &text.replace("@VERSION@", version))
    };
    copy("crates/libculd/include/culd.h", "include/culd.h")?;
    copy("packaging/culd.pc.in", "culd.pc")?;
    copy("packaging/cmake/culdConfig.cmake", "lib/cmake/culd/culdConfig.cmake")?;
    copy(
        "packaging/cmake/culdConfigVersion.cmake.in",
        "lib/cmake/culd/culdConfigVersion.cmake",
    )
}

fn symlink(to: &Path, at: &Path) -> Result<()> {
    crate::system::symlink(to, at).map_err(Error::file(at))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
    std::fs::write(path, text).map_err(Error::file(path))
}

/// Builds the example in both ways and runs it.
pub(super) fn try_out(context: &Context, directory: &Path) -> Result<()> {
    let work = context.target.join("libculd-example");
    if work.exists() {
        std::fs::remove_dir_all(&work).map_err(Error::file(&work))?;
    }
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    let source = context.root.join("crates/libculd/examples/link.c");
    match in_path("pkg-config") {
        None => println!("pkg-config: skipped, it is not installed"),
        Some(_) => {
            let program = with_pkg_config(directory, &source, &work)?;
            links(context, &program, directory, &work)?;
            println!("pkg-config: the C example was built and links");
        }
    }
    match in_path("cmake") {
        None => println!("CMake: skipped, it is not installed"),
        Some(_) => {
            let program = with_cmake(directory, &source, &work)?;
            links(context, &program, directory, &work)?;
            println!("CMake: the C example was built and links");
        }
    }
    Ok(())
}

fn with_pkg_config(directory: &Path, source: &Path, work: &Path) -> Result<PathBuf> {
    let mut ask = Command::new("pkg-config");
    ask.args(["--cflags", "--libs", "culd"]).env("PKG_CONFIG_PATH", directory);
    let flags = crate::dist::output(&mut ask)?;
    let program = work.join("pkg-config-link");
    let mut cc = Command::new("cc");
    cc.arg(source).args(flags.split_whitespace()).arg("-o").arg(&program);
    succeed(&mut cc)?;
    Ok(program)
}

fn with_cmake(directory: &Path, source: &Path, work: &Path) -> Result<PathBuf> {
    write(
        &work.join("CMakeLists.txt"),
        &PROJECT.replace("@SOURCE@", &source.display().to_string()),
    )?;
    let build = work.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(work).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", directory.display()));
    crate::dist::output(&mut configure)?;
    crate::dist::output(Command::new("cmake").arg("--build").arg(&build))?;
    Ok(build.join("cmake-link"))
}

/// Links the bundled objects with the example; they need each other, so that one alone must fail.
fn links(context: &Context, program: &Path, directory: &Path, work: &Path) -> Result<()> {
    let data = context.root.join("crates/culd/examples/data");
    let command = |inputs: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(["sm_90", "out.cubin"])
            .current_dir(work)
            .env("LD_LIBRARY_PATH", directory);
        command.args(inputs.iter().map(|name| data.join(name)));
        command
    };
    let told = crate::dist::output(&mut command(&["saxpy.cubin", "combine.cubin"]))?;
    let image = std::fs::read(work.join("out.cubin")).map_err(Error::file(work))?;
    let is_refused = crate::dist::output(&mut command(&["saxpy.cubin"])).is_err();
    match told.starts_with("saxpy: ") && image.starts_with(b"\x7fELF") && is_refused {
        true => Ok(()),
        false => Err(Error::Other(format!("{}: printed {told:?}", program.display()))),
    }
}
