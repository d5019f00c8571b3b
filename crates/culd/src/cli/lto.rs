//! Link-time optimization: its flags, its library, and the process that the library runs in.
//!
//! 1. [`LtoPlan`] is what the flags say.
//! 2. The library is looked for where libnvvm is, beside the program, and in the environment ([`culd_lto::Search`]). nvlink uses libnvvm itself;
//!    under its name that must be there too.
//! 3. The program starts itself with the subcommand [`COMMAND`] for each compilation. Users do not need that subcommand.

use crate::cli::called;
use crate::cli::flags::Id;
use crate::cli::messages::CliMessage;
use crate::cli::os;
use crate::cli::parse::LowArgs;
use culd_engine::{Identity, LinkOptions};
use culd_input::lto::{KeepRule, LtoOptions};
use culd_lto::{Child, Compiler, Failure, Job, Search};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// The subcommand of the process that the library runs in; the library follows.
pub const COMMAND: &str = "lto-compile";

/// What the flags say.
#[derive(Debug)]
pub struct LtoPlan {
    /// `-nvvmpath`.
    pub directory: Option<Vec<u8>>,
    /// `--nvjitlink`.
    pub library: Option<Vec<u8>>,
    /// `--emit-ptx`.
    pub emit_ptx: bool,
    /// `--force-partial-lto`.
    pub force_partial: bool,
    /// `--Ofast-compile`.
    pub fast_compile: Option<String>,
    /// `--split-compile` or, with true, `--split-compile-extended`.
    pub split_compile: Option<(i32, bool)>,
    /// Both of them were given.
    pub split_twice: bool,
    /// `-Xnvvm`.
    pub nvvm: Vec<Vec<u8>>,
    /// What must stay.
    pub uses: KeepRule,
}

/// Checks the flags; `None` without link-time optimization.
pub fn plan(low: &LowArgs, identity: Identity, arch: &str) -> Result<Option<LtoPlan>, CliMessage> {
    if arch.starts_with("lto_") {
        return Err(CliMessage::LtoTarget(arch.into()));
    }
    if !low.has(Id::Lto) && !low.has(Id::Dlto) {
        const NEED_LTO: [(Id, &str); 4] = [
            (Id::ForcePartialLto, "-force-partial-lto"),
            (Id::ForceWholeLto, "-force-whole-lto"),
            (Id::EmitPtx, "-emit-ptx"),
            (Id::FastCompile, "--Ofast-compile"),
        ];
        let alone = NEED_LTO.iter().find(|(id, _)| low.has(*id));
        return alone.map_or(Ok(None), |(_, name)| Err(CliMessage::Conflict(name, "no -dlto")));
    }
    let directory = low.text(Id::NvvmPath).map(<[u8]>::to_vec);
    if directory.is_none() && identity == Identity::Nvlink {
        return Err(CliMessage::NoNvvmPath);
    }
    if low.has(Id::ForcePartialLto) && low.has(Id::ForceWholeLto) {
        return Err(CliMessage::Conflict("-force-partial-lto", "-force-whole-lto"));
    }
    let fast_compile = match low.text(Id::FastCompile) {
        None | Some(b"0") => None,
        Some(level @ (b"min" | b"mid" | b"max")) => Some(os::lossy(level)),
        Some(_) => return Err(CliMessage::FastCompileLevel),
    };
    let extended = low.number(Id::SplitCompileExtended).map(|n| (n, true));
    Ok(Some(LtoPlan {
        directory,
        library: low.text(Id::NvJitLink).map(<[u8]>::to_vec),
        emit_ptx: low.has(Id::EmitPtx),
        force_partial: low.has(Id::ForcePartialLto),
        fast_compile,
        split_compile: extended.or_else(|| low.number(Id::SplitCompile).map(|n| (n, false))),
        split_twice: extended.is_some() && low.has(Id::SplitCompile),
        nvvm: low.list(Id::Xnvvm).to_vec(),
        uses: uses(low),
    }))
}

fn uses(low: &LowArgs) -> KeepRule {
    let (kernels, variables) = (low.list(Id::KernelsUsed), low.list(Id::VariablesUsed));
    let anywhere = |list: &[Vec<u8>]| list.iter().map(|k| format!("*{}*", os::lossy(k))).collect();
    if !kernels.is_empty() || !variables.is_empty() {
        return KeepRule::Named {
            kernels: anywhere(kernels),
            variables: anywhere(variables),
        };
    }
    match low.has(Id::IgnoreHostInfo) {
        true => KeepRule::Unknown,
        false => KeepRule::Host,
    }
}

/// Where libnvJitLink may be.
pub fn nvjitlink_search(named: Option<PathBuf>, nvvm: Option<PathBuf>) -> Search {
    let search = Search::from_environment(named, nvvm);
    Search {
        program_dir: called::view_bin().or(search.program_dir),
        ..search
    }
}

/// The library.
pub fn library(lto: &LtoPlan, identity: Identity) -> Result<PathBuf, CliMessage> {
    let directory = lto.directory.as_deref().map(os::path);
    if identity == Identity::Nvlink && !directory.as_ref().is_some_and(|f| f.join("lib64/libnvvm.so").exists()) {
        return Err(CliMessage::LibraryLoad);
    }
    if let Some(why) = culd_lto::CANNOT_LOAD {
        return Err(CliMessage::Own(why.into()));
    }
    nvjitlink_search(lto.library.as_deref().map(os::path), directory)
        .find()
        .map_err(CliMessage::NoNvJitLink)
}

/// The loader's options.
pub fn options(lto: &LtoPlan, options: &LinkOptions<'_>) -> LtoOptions {
    let compiler: Arc<dyn Compiler> = match (library(lto, options.identity), std::env::current_exe()) {
        (Ok(library), Ok(program)) => Arc::new(Child {
            program,
            // Whatever this process is called: nvlink has no subcommands.
            name: "culd".to_owned(),
            arguments: vec![COMMAND.to_owned()],
            library,
        }),
        // What is missing is said before the inputs are spoken of.
        _ => Arc::new(Missing),
    };
    LtoOptions {
        compiler,
        relocatable: options.relocatable,
        emit_ptx: lto.emit_ptx,
        force_partial: lto.force_partial,
        debug: options.debug,
        fast_compile: lto.fast_compile.clone(),
        split_compile: lto.split_compile,
        split_twice: lto.split_twice,
        nvvm: lto.nvvm.iter().map(|o| os::lossy(o)).collect(),
        uses: lto.uses.clone(),
    }
}

#[derive(Debug)]
struct Missing;

impl Compiler for Missing {
    fn compile(&self, _: &Job) -> Result<Vec<u8>, Failure> {
        Err(Failure::Library("nvJitLink was not found".into()))
    }
}

/// The process that the library runs in.
pub fn serve(arguments: &[Vec<u8>]) -> ExitCode {
    let [library] = arguments else {
        return ExitCode::from(1);
    };
    // A reader that is gone wants no answer.
    match culd_lto::serve(&os::path(library), std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}
