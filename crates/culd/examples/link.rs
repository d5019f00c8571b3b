//! Links files for an architecture: `cargo run --example link -- sm_90 a.cubin b.o -o out.cubin`. Without arguments it links two objects from
//! memory.

use culd::{LinkError, Linked, Linker};
use std::process::ExitCode;

fn run(arguments: &[String]) -> Result<Linked, LinkError> {
    let [arch, files @ ..] = arguments else {
        return Linker::for_arch("sm_90")?
            .input("saxpy.cubin", include_bytes!("data/saxpy.cubin"))
            .input("combine.cubin", include_bytes!("data/combine.cubin"))
            .link();
    };
    culd::link_files(arch, files)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (inputs, output) = match arguments.as_slice() {
        [inputs @ .., option, output] if option == "-o" => (inputs, Some(output)),
        inputs => (inputs, None),
    };
    let linked = match run(inputs) {
        Ok(linked) => linked,
        Err(error) => {
            for diagnostic in error.diagnostics() {
                eprintln!("{diagnostic}");
            }
            return ExitCode::FAILURE;
        }
    };
    for diagnostic in linked.diagnostics() {
        eprintln!("{diagnostic}");
    }
    for kernel in linked.kernels() {
        println!(
            "{}: {} registers, {} of stack",
            kernel.demangled,
            kernel.registers,
            kernel.stack.map_or_else(|| "an unknown amount".into(), |n| format!("{n} bytes"))
        );
    }
    match output.map(|file| std::fs::write(file, linked.image())) {
        Some(Err(error)) => {
            eprintln!("cannot write the output: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
