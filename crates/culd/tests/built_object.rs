//! The object that crate `cubin`'s example builds from nothing links: with culd, and with nvlink to the same bytes when `CULD_ORACLE` names a
//! directory with the real tools.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "../../cubin/examples/build_object.rs"]
#[allow(dead_code, reason = "its main function is for the example alone")]
mod build_object;

use cubin::Cubin;
use cubin::build::{Binding, BuildError, Code, Form, ObjectBuilder, Resources, Target};
use cubin::write::Style;
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
    fs::copy(env!("CARGO_BIN_EXE_culd"), &ours).unwrap();
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
fn object_of(sm: u8, form: Form, style: Style) -> Result<Vec<u8>, BuildError> {
    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
    let code = || Code::new(std::iter::repeat_n(NOP.to_le_bytes(), 16).flatten().collect(), 24);
    let mut object = ObjectBuilder::with_style(Target::sm(sm), form, style)?;
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
    fs::copy(env!("CARGO_BIN_EXE_culd"), &ours).unwrap();
    for sm in [75, 80, 89, 90] {
        for form in [Form::Cuda12, Form::Cuda13] {
            for style in [Style::Linker, Style::Finalizer] {
                let what = format!("sm_{sm} {form:?} {style:?}");
                let bytes = object_of(sm, form, style).unwrap();
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
