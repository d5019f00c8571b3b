//! The culd program; see the library beside it.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    culd::cli::driver::main(std::env::args_os())
}
