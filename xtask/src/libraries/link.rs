//! A shared library from a static one.
//!
//! rustc cannot do this: it passes a version script of its own, and a second one with a named node is refused or leaves the symbols without it.
//!
//! 1. A version script exports the names of the library and nothing else; that of `libnvJitLink.so.13` has a node with the library's name.
//! 2. An exported name that is not the function's own is a jump to it, written in assembly: zig takes neither linker scripts nor `--defsym`.
//! 3. Windows has a module definition file instead of both.
//! 4. A thin library has only the jumps. They go to libculd, which the loader finds in the directory of the library.

use super::{ARCHIVE, Code, Library, Platform};
use crate::context::{Context, succeed};
use crate::dist;
use culd_tests::{Error, Result};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a static library of Rust needs on Windows.
const WINDOWS_LIBRARIES: [&str; 8] = [
    "kernel32",
    "ntdll",
    "userenv",
    "ws2_32",
    "dbghelp",
    "advapi32",
    "bcrypt",
    "api-ms-win-core-synch-l1-2-0",
];

/// Links the library; its path.
pub(super) fn run(context: &Context, directory: &Path, library: &Library, platform: Platform<'_>) -> Result<PathBuf> {
    let is_thin = library.code == Code::Libculd;
    let place = if is_thin { directory.join("thin") } else { directory.to_owned() };
    std::fs::create_dir_all(&place).map_err(Error::file(&place))?;
    let output = place.join(&library.name);
    let write = |extension: &str, text: String| {
        let path = place.join(format!("{}.{extension}", library.name));
        std::fs::write(&path, text).map_err(Error::file(&path)).map(|()| path)
    };
    let mut cc = compiler(context, platform)?;
    cc.arg("-shared");
    if platform == Platform::Windows {
        cc.arg(write("def", definitions(library))?);
        match is_thin {
            true => cc.arg(write("s", jumps(library, platform)?)?).arg(directory.join("culd.dll.lib")),
            false => cc.arg(directory.join(ARCHIVE)),
        };
        cc.args(WINDOWS_LIBRARIES.map(|name| format!("-l{name}"))).args(["-lunwind", "-s"]);
        // Otherwise zig leaves an import library and debug information in the current directory.
        cc.arg(format!(
            "-Wl,--out-implib,{}",
            place.join(format!("{}.lib", library.name)).display()
        ));
    } else {
        let node = if library.node { library.name.as_str() } else { "" };
        let list: String = library.names.iter().map(|(name, _)| format!(" {name};")).collect();
        let versions = write("map", format!("{node} {{ global:{list} local: *; }};\n"))?;
        let jumps = write("s", jumps(library, platform)?)?;
        cc.args(["-Wl,--gc-sections", "-Wl,--as-needed", "-Wl,-z,relro,-z,now", "-Wl,--strip-all"])
            .arg(format!("-Wl,-soname,{}", library.name))
            .arg(format!("-Wl,--version-script={}", versions.display()))
            .arg(jumps);
        if is_thin {
            cc.arg(directory.join("libculd.so.0")).args(["-nostdlib", "-Wl,-rpath,$ORIGIN"]);
            succeed(cc.arg("-o").arg(&output))?;
            return Ok(output);
        }
        cc.args(library.names.iter().map(|(_, function)| format!("-Wl,-u,{function}")))
            .arg(directory.join(ARCHIVE));
        if platform == Platform::Host {
            cc.arg("-static-libgcc");
        }
        cc.args(["-lpthread", "-ldl", "-lm", "-lc"]);
        if platform != Platform::Host {
            // What Rust unwinds with; zig links its own statically.
            cc.arg("-lunwind");
        }
    }
    succeed(cc.arg("-o").arg(&output))?;
    Ok(output)
}

/// The C compiler of a platform.
pub(crate) fn compiler(context: &Context, platform: Platform<'_>) -> Result<Command> {
    let target = match platform {
        Platform::Host => return Ok(Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))),
        Platform::Glibc { version, .. } => format!("{}-linux-gnu.{version}", platform.processor()),
        Platform::Windows => format!("{}-windows-gnu", platform.processor()),
    };
    let mut zig = dist::zig_command(context)?;
    zig.args(["cc", "-target", &target]);
    Ok(zig)
}

/// Functions that jump to others, for the assembler.
fn jumps(library: &Library, platform: Platform<'_>) -> Result<String> {
    let instruction = match platform.processor() {
        "x86_64" => "jmp",
        "aarch64" => "b",
        other => return Err(Error::Other(format!("no jump instruction for {other}"))),
    };
    let mut text = String::from(".text\n");
    for (name, function) in library.names.iter().filter(|(name, function)| name != function) {
        let _ = writeln!(text, ".globl {name}\n.p2align 2\n{name}:\n\t{instruction} {function}");
        if platform != Platform::Windows {
            let _ = writeln!(text, ".type {name}, %function\n.size {name}, .-{name}");
        }
        if library.code == Code::Inside {
            let _ = writeln!(text, ".hidden {function}");
        }
    }
    if platform != Platform::Windows {
        text.push_str(".section .note.GNU-stack,\"\",%progbits\n");
    }
    Ok(text)
}

/// The module definition file.
fn definitions(library: &Library) -> String {
    let exports = library
        .names
        .iter()
        .map(|(name, function)| match name == function || library.code == Code::Libculd {
            true => format!("    {name}\n"),
            false => format!("    {name} = {function}\n"),
        });
    format!("LIBRARY \"{}\"\nEXPORTS\n{}", library.name, exports.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_jumps_or_definitions() {
        let library = super::super::nvjitlink(12, Platform::Windows, Code::Inside);
        let text = definitions(&library);
        assert!(
            text.starts_with("LIBRARY \"nvJitLink_120_0.dll\"\n") && text.contains("    __nvJitLinkCreate_12_3 = culd12_nvJitLinkCreate\n")
        );
        let on = |triple| Platform::Glibc { triple, version: "2.17" };
        let text = jumps(&library, on("aarch64-unknown-linux-gnu")).unwrap_or_default();
        assert!(text.contains("nvJitLinkVersion:\n\tb culd12_nvJitLinkVersion\n"), "{text}");
        assert!(text.contains(".hidden culd12_nvJitLinkVersion\n"));
        assert!(jumps(&library, on("sparc64-unknown-linux-gnu")).is_err());
        let thin = super::super::nvjitlink(13, Platform::Windows, Code::Libculd);
        assert!(definitions(&thin).contains("    __nvJitLinkCreate_13_3\n"));
        assert!(!jumps(&thin, Platform::Windows).unwrap_or_default().contains(".hidden"));
    }
}
