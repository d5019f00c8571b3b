//! `--gen-host-linker-script`: a script for the host linker that keeps the sections with device code together.
//!
//! `lcs-aug` is the part for those sections alone. `lcs-abs` puts the host linker's default script in front:
//!
//! 1. Ask the host compiler how it would call the linker (`-###`) and pick the options that choose a script; options that were given
//!    for the linker replace them.
//! 2. Ask the linker for that script (`--verbose`) and cut its frame off.
//! 3. Write both parts, and let the linker read the result once.

use crate::cli::hiargs::ScriptPlan;
use crate::cli::messages::{CliMessage, Console};
use crate::cli::{os, output};
use culd_engine::{Identity, Severity};
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

/// The part for device sections.
const DEVICE_SECTIONS: &str = "SECTIONS\n{\n\t.nvFatBinSegment : { *(.nvFatBinSegment) }\n\t__nv_relfatbin : { *(__nv_relfatbin) } \n\t.nv_fatbin : { *(.nv_fatbin) }\n}\n";

/// Makes the script.
pub fn run(plan: &ScriptPlan, console: &mut Console) -> ExitCode {
    match make(plan, console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(said) => {
            console.say(Severity::Fatal, &said);
            ExitCode::from(1)
        }
    }
}

fn make(plan: &ScriptPlan, console: &Console) -> Result<(), CliMessage> {
    let mut text = Vec::new();
    if plan.absolute {
        let given = given_options(plan, console.identity());
        if plan.verbose {
            console.raw(&shown_command(plan, &given));
        }
        text = default_script(plan, &given, console).map_err(|_| CliMessage::HostScript)?;
    }
    text.extend(DEVICE_SECTIONS.bytes());
    let Some(file) = &plan.output else {
        return std::io::stdout().write_all(&text).map_err(|_| CliMessage::HostScript);
    };
    output::write(&os::path(file), &text).map_err(|e| match plan.absolute {
        true => CliMessage::HostScript,
        false => CliMessage::OutputFile(file.clone(), e.to_string()),
    })?;
    if plan.absolute {
        verify(plan, file, console)?;
    }
    Ok(())
}

/// Options for the host linker that were given outright. With them the compiler is not asked.
fn given_options(plan: &ScriptPlan, identity: Identity) -> String {
    // nvlink quirk: nothing separates the items.
    let between = if identity == Identity::Nvlink { "" } else { " " };
    let items: Vec<String> = plan.linker_options.iter().map(|o| os::lossy(o)).collect();
    items.join(between)
}

/// The question to the host linker, as nvlink shows it.
fn shown_command(plan: &ScriptPlan, given: &str) -> String {
    let mode = format!(
        "{}{}",
        if plan.shared { " -shared " } else { "" },
        if plan.relocatable { " -r " } else { "" }
    );
    let options = match given {
        "" => format!(
            "$({} -### /dev/null {mode} -m64  2>&1 | grep collect2  | grep -wo -e -pie -e \"-z [^[:space:]]*\" -e \"-m [^[:space:]]*\" -e -r -e -shared  | tr \"\\n\" \" \" )",
            os::lossy(&plan.compiler)
        ),
        given => given.to_string(),
    };
    let file = plan.output.as_deref().map_or("/dev/stdout".into(), os::lossy);
    format!("#$ ld --verbose {options} | grep -Fvx -e \"$(ld -V)\" | sed '1,2d;$d' > {file}\n")
}

/// The host linker's default script for what the compiler would link.
fn default_script(plan: &ScriptPlan, given: &str, console: &Console) -> std::io::Result<Vec<u8>> {
    let options = match given {
        "" => asked_options(plan),
        given => given.split_ascii_whitespace().map(str::to_string).collect(),
    };
    let ld = Command::new("ld").arg("--verbose").args(options).stdin(Stdio::null()).output()?;
    console.raw(&os::lossy(&ld.stderr));
    let versions = Command::new("ld").arg("-V").output()?.stdout;
    let versions: Vec<&[u8]> = versions.split(|&b| b == b'\n').filter(|l| !l.is_empty()).collect();
    let lines = ld.stdout.split_inclusive(|&b| b == b'\n');
    let kept: Vec<&[u8]> = lines.filter(|l| !versions.contains(&l.strip_suffix(b"\n").unwrap_or(l))).collect();
    // Two lines of frame in front, one after.
    Ok(kept.get(2..kept.len().saturating_sub(1)).unwrap_or_default().concat())
}

/// The options with which the host compiler would call the linker.
fn asked_options(plan: &ScriptPlan) -> Vec<String> {
    let mut compiler = Command::new(os::string(&plan.compiler));
    compiler.args(["-###", "/dev/null"]).stdin(Stdio::null());
    if plan.shared {
        compiler.arg("-shared");
    }
    if plan.relocatable {
        compiler.arg("-r");
    }
    // nvlink quirk: a compiler that cannot be run counts as one without special options.
    let said = compiler
        .arg("-m64")
        .output()
        .map(|o| [o.stdout, o.stderr].concat())
        .unwrap_or_default();
    script_options(&os::lossy(&said))
}

/// Picks the options that choose a script from the compiler's linker call.
fn script_options(compiler_said: &str) -> Vec<String> {
    let mut options = Vec::new();
    for line in compiler_said.lines().filter(|l| l.contains("collect2")) {
        let mut words = line.split_ascii_whitespace().map(|w| w.trim_matches('"')).peekable();
        while let Some(word) = words.next() {
            match word {
                "-pie" | "-r" | "-shared" => options.push(word.to_string()),
                "-z" | "-m" => {
                    options.push(word.to_string());
                    options.extend(words.next().map(str::to_string));
                }
                _ => {}
            }
        }
    }
    options
}

/// Lets the linker read the script; it must only miss inputs.
fn verify(plan: &ScriptPlan, file: &[u8], console: &Console) -> Result<(), CliMessage> {
    if plan.verbose {
        console.raw(&format!("#$ ld -T {} 2>&1 | grep 'no input files' > /dev/null\n", os::lossy(file)));
    }
    let ld = Command::new("ld").arg("-T").arg(os::string(file)).stdin(Stdio::null()).output();
    match ld {
        Ok(out) if [&out.stdout, &out.stderr].iter().any(|t| os::lossy(t).contains("no input files")) => Ok(()),
        _ => Err(CliMessage::HostScript),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_part_has_the_known_size() {
        assert_eq!(DEVICE_SECTIONS.len(), 130);
    }

    #[test]
    fn script_options_come_from_the_linker_call() {
        let said = "Using built-in specs.\n /usr/lib/collect2 -plugin x --build-id -m elf_x86_64 -dynamic-linker /lib/ld.so -pie -z now -z relro -o a.out\n";
        assert_eq!(script_options(said), ["-m", "elf_x86_64", "-pie", "-z", "now", "-z", "relro"]);
    }
}
