//! What systems do differently: limits, processors and costs of processes, links and rights of files.
//!
//! Tasks that measure need Linux; the steps of continuous integration and the packages run everywhere.

use std::io::Result;
use std::path::Path;

/// What the ended children of this process cost together.
pub(crate) struct Costs {
    /// Microseconds of processor time.
    pub(crate) cpu: i64,
    /// Memory of the largest one, in KiB.
    pub(crate) memory: i64,
    /// Pages that were handed out on first use.
    pub(crate) faults: i64,
}

/// Costs of the ended children.
#[cfg(unix)]
pub(crate) fn costs() -> Result<Costs> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(Costs {
        cpu: (used.user_time() + used.system_time()).num_microseconds(),
        memory: used.max_rss(),
        faults: used.minor_page_faults(),
    })
}

#[cfg(not(unix))]
pub(crate) fn costs() -> Result<Costs> {
    Err(only("costs of processes are measured"))
}

/// Ends this process, and what it starts, after so many seconds of processor time.
#[cfg(unix)]
pub(crate) fn limit_time(seconds: u64) -> Result<()> {
    use nix::sys::resource::{Resource, setrlimit};
    Ok(setrlimit(Resource::RLIMIT_CPU, seconds, seconds)?)
}

#[cfg(not(unix))]
pub(crate) fn limit_time(_: u64) -> Result<()> {
    Err(only("processor time is limited"))
}

/// Restricts this process, and what it starts, to the first cores that it may use.
#[cfg(target_os = "linux")]
pub(crate) fn stay_on(cores: usize) -> Result<()> {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    let this = nix::unistd::Pid::from_raw(0);
    let all = sched_getaffinity(this)?;
    let mut some = CpuSet::new();
    let usable = (0..CpuSet::count()).filter(|&core| all.is_set(core).unwrap_or(false));
    for core in usable.take(cores) {
        some.set(core)?;
    }
    Ok(sched_setaffinity(this, &some)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stay_on(_: usize) -> Result<()> {
    Err(only("processors are chosen"))
}

/// Makes this process the parent of processes that outlive its children.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() -> Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt_orphans() -> Result<()> {
    Ok(())
}

/// Waits until no child is left.
#[cfg(unix)]
pub(crate) fn wait_for_orphans() -> Result<()> {
    loop {
        match nix::sys::wait::wait() {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(nix::errno::Errno::ECHILD) => return Ok(()),
            Err(other) => return Err(other.into()),
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn wait_for_orphans() -> Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn only(what: &str) -> std::io::Error {
    std::io::Error::other(format!("{what} on Linux only"))
}

/// Lets everybody run a file.
#[cfg(unix)]
pub(crate) fn make_program(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
pub(crate) fn make_program(_: &Path) -> Result<()> {
    Ok(())
}

/// A symbolic link at `at`.
#[cfg(unix)]
pub(crate) fn symlink(target: &Path, at: &Path) -> Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
pub(crate) fn symlink(target: &Path, at: &Path) -> Result<()> {
    match target.is_dir() {
        true => std::os::windows::fs::symlink_dir(target, at),
        false => std::os::windows::fs::symlink_file(target, at),
    }
}
