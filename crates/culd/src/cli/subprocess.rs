//! A large link runs in a child process, so that the caller does not wait until the system has freed the memory of the link.
//!
//! Freeing the pages of a process takes up to a tenth of the time of a large link, and one thread of the system does it. mold and wild hide it in
//! the same way.
//!
//! 1. Before the first thread starts, the program forks if the link is large ([`is_large`]). A system that refuses this, and every system but Linux,
//!    links in the program itself.
//! 2. The child links, writes all files and messages, closes its standard streams, sends its exit code through a pipe, and ends.
//! 3. The parent waits for the exit code and ends with it at once. If the child ends without one, the parent ends as the child did.
//! 4. If the parent is killed, the system kills the child: no output appears after the end of a link that was killed.

#![cfg_attr(
    target_os = "linux",
    allow(unsafe_code, reason = "fork is unsafe; everything else of the program is safe")
)]

use crate::cli::hiargs::LinkPlan;
use crate::cli::os;

/// Links with so many inputs or more are large.
const MANY: usize = 512;
/// Links with so many bytes of inputs or more are large.
const LARGE: u64 = 8 << 20;

/// The variable that keeps the link in the program's own process, as `--no-fork` does; `nvlink` has no flag for it.
pub const VARIABLE: &str = "CULD_NO_FORK";

/// Inputs whose size is looked at.
const SAMPLE: usize = 64;

/// The process that this is.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is only one"))]
pub enum Role {
    /// The only one.
    Alone,
    /// The one that links.
    Child(Reporter),
    /// The one that waited; the link ended with this exit code.
    Parent(u8),
}

/// True when the memory of a link takes long to free, as far as that is known: of many inputs a few are looked at, and libraries are not found yet.
fn is_large(plan: &LinkPlan) -> bool {
    let count = plan.inputs.len();
    let step = count.div_ceil(SAMPLE).max(1);
    let size = |input: &Vec<u8>| std::fs::metadata(os::as_path(input)).map_or(0, |meta| meta.len());
    let sampled = plan.inputs.iter().step_by(step).map(size).fold(0, u64::saturating_add);
    count >= MANY || sampled.saturating_mul(step as u64) >= LARGE
}

/// Forks if it is worth it.
pub fn enter(plan: &LinkPlan) -> Role {
    let is_forbidden = plan.no_fork || std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty());
    match is_forbidden || !is_large(plan) {
        true => Role::Alone,
        false => split(),
    }
}

#[cfg(not(target_os = "linux"))]
fn split() -> Role {
    Role::Alone
}

/// Sends the result of the link to the parent; there is none on this system.
#[cfg(not(target_os = "linux"))]
pub enum Reporter {}

#[cfg(not(target_os = "linux"))]
impl Reporter {
    /// Ends the parent.
    pub fn report(self, _: u8) {
        match self {}
    }
}

#[cfg(target_os = "linux")]
pub use linux::Reporter;
#[cfg(target_os = "linux")]
use linux::split;

#[cfg(target_os = "linux")]
mod linux {
    use super::Role;
    use rustix::pipe::{PipeFlags, pipe_with};
    use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
    use rustix::process::{getpid, getppid, kill_process, set_parent_process_death_signal, waitpid};
    use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
    use std::fs::File;
    use std::io::{Read, Write, stdout};

    /// Exit code where the child's own is not known.
    const FAILED: u8 = 255;

    /// The end of the pipe that the parent reads from.
    pub struct Reporter(File);

    impl Reporter {
        /// Ends the parent. Nothing may be printed or written afterwards.
        pub fn report(mut self, code: u8) {
            // Who reads the messages through a pipe waits until every process has closed it.
            let _flushed = stdout().flush();
            if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
                let _closed = (dup2_stdin(&null), dup2_stdout(&null), dup2_stderr(&null));
            }
            let _parent_may_end = set_parent_process_death_signal(None);
            // Without a parent nobody waits.
            let _sent = self.0.write_all(&[code]);
        }
    }

    /// True when this thread is the only one. A child has only the thread that forked, and locks of others would stay locked.
    fn is_single_threaded() -> bool {
        std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
    }

    pub(super) fn split() -> Role {
        if !is_single_threaded() {
            return Role::Alone;
        }
        let Ok((from, to)) = pipe_with(PipeFlags::CLOEXEC) else {
            return Role::Alone;
        };
        // What is in the buffer would be printed twice.
        let _flushed = stdout().flush();
        let parent = getpid();
        // SAFETY: this is the only thread of the process, so that no lock, of the allocator for example, is held by a thread that the child lacks.
        match unsafe { libc::fork() } {
            0 => {
                drop(from);
                let _kill = set_parent_process_death_signal(Some(Signal::KILL));
                // It may have ended before the signal was requested.
                if getppid() != Some(parent) {
                    std::process::exit(FAILED.into());
                }
                Role::Child(Reporter(to.into()))
            }
            child => {
                drop(to);
                match Pid::from_raw(child).filter(|_| child > 0) {
                    Some(child) => Role::Parent(wait(from.into(), child)),
                    None => Role::Alone,
                }
            }
        }
    }

    /// Waits for the exit code; if there is none, the child has ended.
    fn wait(mut from: File, child: Pid) -> u8 {
        let mut code = [FAILED];
        if from.read_exact(&mut code).is_ok() {
            return code[0];
        }
        let ended = loop {
            match waitpid(Some(child), WaitOptions::empty()) {
                Err(rustix::io::Errno::INTR) => {}
                ended => break ended.ok().flatten(),
            }
        };
        ended.map_or(FAILED, |(_, status)| end_as(status))
    }

    /// Ends the way the child did: by the same signal, or with its exit code.
    fn end_as(status: WaitStatus) -> u8 {
        if let Some(signal) = status.terminating_signal() {
            if let Some(signal) = Signal::from_named_raw(signal) {
                let _killed = kill_process(getpid(), signal);
            }
            return u8::try_from(128 + signal).unwrap_or(FAILED);
        }
        status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
    }
}
