//! The object that crate `cubin`'s example builds from nothing links: with culd, and with nvlink to the same bytes when `CULD_ORACLE` names a
//! directory with the real tools.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "../../cubin/examples/build_object.rs"]
#[allow(dead_code, reason = "its main function is for the example alone")]
mod build_object;

use cubin::Cubin;
use cubin::build::{Binding, BuildError, Form, FunctionCode, ObjectBuilder, Resources, Target};
use cubin::write::WriterKind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Links `built.cubin` of `directory` and gives the result with what was printed.
fn link(linker: &Path, directory: &Path, arguments: &[&str]) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    let out = directory.join("linked.cubin");
    let _ = fs::remove_file(&out);
    let mut command = Command::new(linker);
    command
        .current_dir(directory)
        .args(arguments)
        .args(["built.cubin", "-o", "linked.cubin"]);
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), printed, fs::read(out).unwrap_or_default())
}

/// Makes the program known under another name. Not a copy where there are links: a program that is still open for writing cannot be started.
fn install(at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_culd"), at).unwrap();
    #[cfg(not(unix))]
    fs::copy(env!("CARGO_BIN_EXE_culd"), at).unwrap();
}

#[test]
fn culd_links_the_built_object() {
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("built.cubin"), build_object::build().unwrap()).unwrap();
    let (code, printed, linked) = link(Path::new(env!("CARGO_BIN_EXE_culd")), work.path(), &["-arch=sm_80"]);
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&printed));
    let file = Cubin::parse(&linked).unwrap();
    for name in [&b".text.scale"[..], b".text.count", b".text.triple", b".nv.global"] {
        assert!(file.section_by_name(name).is_some(), "{}", String::from_utf8_lossy(name));
    }
}

#[test]
fn nvlink_links_the_built_object_to_the_same_bytes() {
    let Some(tools) = std::env::var_os("CULD_ORACLE").map(PathBuf::from) else {
        return;
    };
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("built.cubin"), build_object::build().unwrap()).unwrap();
    let ours = work.path().join("nvlink");
    install(&ours);
    for arguments in [
        &["-arch=sm_80"][..],
        &["-arch=sm_80", "-v"],
        &["-arch=sm_80", "-r"],
        &["-arch=sm_80", "--preserve-relocs"],
        &["-arch=sm_86"],
    ] {
        let theirs = link(&tools.join("nvlink"), work.path(), arguments);
        assert_eq!(theirs.0, Some(0), "{}", String::from_utf8_lossy(&theirs.1));
        let mine = link(&ours, work.path(), arguments);
        assert!(theirs == mine, "{arguments:?}");
    }
}

/// An object with data of every kind, a call, and code that consists of NOP.
fn object_of(sm: u8, form: Form, writer: WriterKind) -> Result<Vec<u8>, BuildError> {
    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
    let code = || FunctionCode::new(std::iter::repeat_n(NOP.to_le_bytes(), 16).flatten().collect(), 24);
    let mut object = ObjectBuilder::with_writer(Target::sm(sm), form, writer)?;
    let helper = object.declare_function(b"helper", Binding::Weak)?;
    object.define(helper, code())?;
    let kernel = object.declare_kernel(b"kernel")?;
    let text = object.define(kernel, code().barriers(1))?;
    let zeros = object.add_global(b"zeros", Binding::Local, 16, 8)?;
    let filled = object.add_global_init(b"filled", Binding::Global, &[7; 12], 4)?;
    let constant = object.add_constant(3, b"constant", Binding::Global, &[1; 8], 8)?;
    let buffer = object.add_shared(kernel, b"buffer", 128, 16)?;
    object.relocate(text, 0x00, 0x38, zeros, None)?;
    object.relocate(text, 0x10, 0x39, zeros, Some(8))?;
    object.relocate(text, 0x20, 0x38, filled, None)?;
    object.relocate(text, 0x30, 0x38, constant, None)?;
    object.relocate(text, 0x40, 0x38, buffer, None)?;
    object.relocate(text, 0x50, 0x3a, object.function_symbol(helper)?, None)?;
    object.add_call(kernel, helper)?;
    object.add_parameters(kernel, 24)?;
    for function in [helper, kernel] {
        let registers = 24;
        object.set_resources(
            function,
            Resources {
                registers,
                ..Resources::default()
            },
        )?;
    }
    object.finish()
}

#[test]
fn every_form_links_as_with_nvlink() {
    let oracle = std::env::var_os("CULD_ORACLE").map(PathBuf::from);
    let work = tempfile::tempdir().unwrap();
    let ours = work.path().join("nvlink");
    install(&ours);
    for sm in [75, 80, 89, 90] {
        for form in [Form::Cuda12, Form::Cuda13] {
            for writer in [WriterKind::Linker, WriterKind::Finalizer] {
                let what = format!("sm_{sm} {form:?} {writer:?}");
                let bytes = object_of(sm, form, writer).unwrap();
                cubin::validate::validate(&Cubin::parse(&bytes).unwrap()).unwrap_or_else(|e| panic!("{what}: {e}"));
                fs::write(work.path().join("built.cubin"), bytes).unwrap();
                let arch = format!("-arch=sm_{sm}");
                let mine = link(&ours, work.path(), &[&arch]);
                assert_eq!(mine.0, Some(0), "{what}: {}", String::from_utf8_lossy(&mine.1));
                if let Some(tools) = &oracle {
                    let theirs = link(&tools.join("nvlink"), work.path(), &[&arch]);
                    assert!(theirs == mine, "{what}: {}", String::from_utf8_lossy(&theirs.1));
                }
            }
        }
    }
}

/// OS ABI and ABI version of a file: its form.
fn form_of(file: &[u8]) -> Option<&[u8]> {
    file.get(7..9)
}

const FORM_12: Option<&[u8]> = Some(&[0x33, 7]);
const FORM_13: Option<&[u8]> = Some(&[0x41, 8]);

#[test]
fn the_form_is_that_of_cuda_13_unless_the_target_or_a_flag_says_otherwise() {
    let culd = Path::new(env!("CARGO_BIN_EXE_culd"));
    let work = tempfile::tempdir().unwrap();
    for (sm, form, arguments, expected) in [
        (75, Form::Cuda12, &["-arch=sm_75"][..], FORM_13),
        (90, Form::Cuda12, &["-arch=sm_90"], FORM_13),
        (75, Form::Cuda12, &["-arch=sm_75", "--form=12"], FORM_12),
        (80, Form::Cuda13, &["-arch=sm_86", "--form=12"], FORM_12),
        (75, Form::Cuda12, &["-arch=sm_75", "--form=13"], FORM_13),
        (70, Form::Cuda12, &["-arch=sm_70"], FORM_12),
        (70, Form::Cuda12, &["-arch=sm_70", "--form=12"], FORM_12),
        (70, Form::Cuda12, &["-arch=sm_70", "--form=13"], None),
        (90, Form::Cuda12, &["-arch=sm_100", "--form=12"], None),
        (70, Form::Cuda12, &["-arch=sm_75"], None),
    ] {
        fs::write(work.path().join("built.cubin"), object_of(sm, form, WriterKind::Linker).unwrap()).unwrap();
        let (code, printed, linked) = link(culd, work.path(), arguments);
        let said = String::from_utf8_lossy(&printed);
        assert_eq!(code == Some(0), expected.is_some(), "{arguments:?}: {said}");
        assert_eq!(form_of(&linked), expected, "{arguments:?}: {said}");
    }
}

/// An object of CUDA 12.0, which every release links: `e_version` is the toolkit.
fn object_of_12_0(sm: u8) -> Vec<u8> {
    let mut object = object_of(sm, Form::Cuda12, WriterKind::Linker).unwrap();
    object[20..24].copy_from_slice(&120u32.to_le_bytes());
    object
}

#[test]
fn as_nvlink_the_release_decides_about_form_and_targets() {
    let work = tempfile::tempdir().unwrap();
    let nvlink = work.path().join("nvlink");
    install(&nvlink);
    for (version, sm, target, expected) in [
        ("12.4", 70, "sm_70", FORM_12),
        ("12.9.86", 70, "sm_75", FORM_12),
        ("12.8", 75, "sm_75", FORM_12),
        ("13.0", 75, "sm_75", FORM_13),
        ("13.0", 70, "sm_70", None),
        ("13.4", 70, "sm_75", None),
        ("12.6", 90, "sm_100", None),
        ("12.9", 90, "sm_100", None),
        ("12.3", 75, "sm_75", FORM_12),
        ("12.0.140", 75, "sm_75", FORM_12),
        ("11.8", 75, "sm_75", None),
    ] {
        fs::write(work.path().join("built.cubin"), object_of_12_0(sm)).unwrap();
        let out = work.path().join("linked.cubin");
        let _ = fs::remove_file(&out);
        let mut command = Command::new(&nvlink);
        command.current_dir(work.path()).env("CULD_NVLINK_VERSION", version);
        let output = command
            .args(["-arch", target, "built.cubin", "-o", "linked.cubin"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), expected.is_some(), "{version} {target}: {said}");
        assert_eq!(form_of(&fs::read(&out).unwrap_or_default()), expected, "{version} {target}: {said}");
    }
}

#[test]
fn the_library_refuses_targets_that_a_release_does_not_have() {
    let links = |target: &str, release: &str| {
        let mut linker = culd::Linker::for_arch(target).unwrap();
        linker.release(release).map_err(|e| e.to_string())?;
        let sm = if target == "sm_70" { 70 } else { 90 };
        linker.input("built.cubin", object_of_12_0(sm));
        linker.link().map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(links("sm_70", "12.4"), Ok(()));
    assert_eq!(links("sm_90", "13.0"), Ok(()));
    assert!(links("sm_70", "13.0").is_err_and(|e| e.contains("sm_70 cannot be linked for by the rules of CUDA 13.0")));
    assert!(links("sm_100", "12.6").is_err_and(|e| e.contains("sm_100 cannot be linked for")));
    assert!(links("sm_90", "11.8").is_err_and(|e| e.contains("11.8")));
}
