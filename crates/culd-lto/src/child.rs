//! The library in a process of its own.
//!
//! 1. The program starts itself once more, with a subcommand that calls [`serve`]; the job is sent through the child's standard input.
//! 2. The child answers through its standard output. What the library itself prints there would garble the answer, so the answer comes last and
//!    has a mark first.
//! 3. A child that ends without an answer has crashed: that is a failure like any other.

use crate::{Compiler, Failure, Job, jitlink, wire};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Prefix of an answer.
const MARK: &[u8] = b"\0culd-lto answer\0";

/// Compiles in another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// The program, and the arguments that make it call [`serve`] with the library as last argument.
    pub program: PathBuf,
    /// The name it is called by.
    pub name: String,
    /// See `program`.
    pub arguments: Vec<String>,
    /// nvJitLink.
    pub library: PathBuf,
}

impl Compiler for Child {
    fn compile(&self, job: &Job) -> Result<Vec<u8>, Failure> {
        let output = self.run(&wire::encode_job(job));
        let (status, output) = output.map_err(|e| Failure::Died(format!("cannot run '{}': {e}", self.program.display())))?;
        let start = output.windows(MARK.len()).rposition(|w| w == MARK);
        let answer = start.and_then(|start| wire::decode_answer(output.get(start + MARK.len()..)?));
        answer.unwrap_or_else(|| Err(Failure::Died(how(status))))
    }
}

impl Child {
    fn run(&self, job: &[u8]) -> io::Result<(ExitStatus, Vec<u8>)> {
        let mut command = Command::new(&self.program);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, &self.name);
        let mut child = command
            .args(&self.arguments)
            .arg(&self.library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        // It reads the whole job before it says anything, so the two cannot wait for each other.
        if let Some(mut input) = child.stdin.take() {
            // One that is gone already will be missed below.
            let _ = input.write_all(job);
        }
        let output = child.wait_with_output()?;
        Ok((output.status, output.stdout))
    }
}

/// How a process ended.
fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("nvJitLink crashed (signal {signal})");
    }
    format!("nvJitLink ended the process ({status})")
}

/// The child's side: reads a job, compiles it, writes the answer.
pub fn serve(library: &Path, mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut job = Vec::new();
    input.read_to_end(&mut job)?;
    let answer = match wire::decode_job(&job) {
        Some(job) => jitlink::compile(library, &job),
        None => Err(Failure::Died("the job is not whole".into())),
    };
    output.write_all(MARK)?;
    output.write_all(&wire::encode_answer(&answer))?;
    output.flush()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        Child {
            program: "/bin/sh".into(),
            name: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            library: "library".into(),
        }
    }

    #[test]
    fn a_crash_is_a_failure() {
        let died = |script| match shell(script).compile(&Job::default()) {
            Err(Failure::Died(text)) => text,
            other => format!("{other:?}"),
        };
        assert_eq!(died("kill -SEGV $$"), "nvJitLink crashed (signal 11)");
        assert!(died("cat > /dev/null; echo noise; exit 3").contains("exit status: 3"));
    }

    #[test]
    fn a_library_that_is_none_is_said_so() {
        let mut output = Vec::new();
        let job = wire::encode_job(&Job::default());
        assert!(serve(Path::new("/no/such/library.so"), job.as_slice(), &mut output).is_ok());
        let answer = wire::decode_answer(&output[MARK.len()..]);
        assert!(matches!(answer, Some(Err(Failure::Library(_)))), "{answer:?}");
    }
}
