//! Shows what a link is made of: `load [-nvlink] -arch=sm_90 [-l LIB] [-L DIR] [--dump DIR] INPUT...`
//!
//! Prints the messages, the objects in link order and the ids to register; `--dump DIR` also writes the objects as `DIR/000.cubin`, ...

use culd_input::ptx::PtxasSearch;
use culd_input::{Arch, Disk, Identity, LoadOptions, Loaded, Severity};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some((inputs, options, dump)) = arguments() else {
        eprintln!("usage: load [-nvlink] -arch=sm_90 [-Werror] [-lLIB] [-LDIR] [--dump=DIR] INPUT...");
        return ExitCode::from(2);
    };
    let outcome = culd_input::load(&inputs, &options, &Disk);
    for message in outcome.messages() {
        match message.severity {
            _ if message.code.is_verbatim() => eprintln!("{}", message.code),
            Severity::Info => eprintln!("nvlink info    : {}", message.code),
            Severity::Warning => eprintln!("nvlink warning : {}", message.code),
            Severity::Error => eprintln!("nvlink error   : {}", message.code),
            Severity::Fatal => eprintln!("nvlink fatal   : {}", message.code),
        }
    }
    let Some(loaded) = &outcome.loaded else {
        return ExitCode::from(if outcome.is_fatal() { 1 } else { 255 });
    };
    if let Some((_, deferred)) = &loaded.deferred_error {
        eprintln!("nvlink fatal   : {}", deferred.code);
        return ExitCode::from(1);
    }
    show(loaded);
    match dump.map(|directory| write(loaded, &directory)) {
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn arguments() -> Option<(Vec<PathBuf>, LoadOptions, Option<PathBuf>)> {
    let mut options = LoadOptions::new(Arch::parse("sm_90")?);
    options.ptxas = PtxasSearch::from_environment(None);
    options.library_path = std::env::var_os("LIBRARY_PATH");
    let mut inputs = Vec::new();
    let mut dump = None;
    for argument in std::env::args().skip(1) {
        if let Some(target) = argument.strip_prefix("-arch=") {
            options.target = Arch::parse(target)?;
        } else if let Some(library) = argument.strip_prefix("-l") {
            options.libraries.push(library.to_owned());
        } else if let Some(directory) = argument.strip_prefix("-L") {
            options.library_directories.push(directory.into());
        } else if let Some(directory) = argument.strip_prefix("--dump=") {
            dump = Some(directory.into());
        } else if let Some(extra) = argument.strip_prefix("-Xptxas=") {
            options.ptx.extra.extend(extra.split(',').map(str::to_owned));
        } else if let Some(count) = argument.strip_prefix("-maxrregcount=") {
            options.ptx.max_registers = count.parse().ok();
        } else {
            match argument.as_str() {
                "-nvlink" => options.identity = Identity::Nvlink,
                "-Werror" => options.warnings_as_errors = true,
                "-g" => options.ptx.debug = true,
                "-1" => options.threads = 1,
                "-disable-infos" => options.disable_infos = true,
                "-suppress-arch-warning" => options.suppress_arch_warning = true,
                "-ignore-host-info" => options.host_info = false,
                "--keep-system-libraries" => options.keep_system_libraries = true,
                _ => inputs.push(argument.into()),
            }
        }
    }
    Some((inputs, options, dump))
}

fn show(loaded: &Loaded) {
    for object in &loaded.objects {
        println!("object {} {} bytes", object.name, object.bytes.len());
    }
    if let Some(kernels) = &loaded.kernels {
        for (list, kind) in [(&kernels.external, "external"), (&kernels.internal, "internal")] {
            for pattern in list {
                println!("keep {kind} {}", String::from_utf8_lossy(pattern));
            }
        }
    }
    print!("{}", String::from_utf8_lossy(&loaded.register.text()));
}

fn write(loaded: &Loaded, directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for (i, object) in loaded.objects.iter().enumerate() {
        std::fs::write(directory.join(format!("{i:04}.cubin")), &object.bytes)?;
    }
    Ok(())
}
