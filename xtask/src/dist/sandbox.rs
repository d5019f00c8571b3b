//! A link as a build service makes it: the outputs depend on the inputs alone.
//!
//! 1. The inputs are copied to two directories, with other times of change, and linked twice: once as they are, once in a sandbox.
//! 2. The sandbox is a new mount and network namespace with the inputs mounted read-only, one directory for outputs, another user, another
//!    locale and time zone, and no further variables: neither HOME nor PATH.
//! 3. Both outputs must have the same hash, and both dependency files must name exactly the inputs.
//!
//! Namespaces need root and `unshare`; without them, and for programs that wine or Node.js runs, only the variables are removed.

use super::check::{Bench, EXAMPLE, same};
use super::hash;
use super::targets::in_path;
use culd_tests::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// The user of the sandbox: nobody.
const USER: &str = "65534";

/// Runs both links; the hash of the output.
pub(super) fn links(b: &Bench<'_>) -> Result<String> {
    let plain = b.inputs("sandbox/plain")?;
    let closed = b.inputs("sandbox/closed/inputs")?;
    let out = b.dir.join("sandbox/closed/out");
    std::fs::create_dir_all(&out).map_err(Error::file(&out))?;
    for file in ["saxpy.cubin", "combine.cubin"] {
        let path = closed.join(file);
        let opened = std::fs::File::options().append(true).open(&path).map_err(Error::file(&path))?;
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
        opened.set_modified(time).map_err(Error::file(&path))?;
    }
    let arguments = |place: &str| {
        let files = ["-o", "--dependency-file"].map(|o| o.to_owned()).into_iter();
        let names = [format!("{place}out.cubin"), format!("{place}out.d")];
        EXAMPLE
            .map(str::to_owned)
            .into_iter()
            .chain(files.zip(names).flat_map(|(o, n)| [o, n]))
    };
    let mut first = b.program.command_for(&b.culd, &plain);
    run(first.args(arguments("")))?;
    // The root of a program under WASI is its current directory.
    let place = match b.program.target.is_wasm() {
        true => format!("{}/", out.display()),
        false => "../out/".into(),
    };
    let relative = place.as_str();
    let mut second = b.program.command_for(&b.culd, &closed);
    second.args(arguments(relative));
    run(&mut match is_closed_by_namespaces(b) {
        true => in_namespaces(&second, &closed, &out)?,
        false => without_variables(second, b),
    })?;
    let read = |path: &Path| std::fs::read(path).map_err(Error::file(path));
    let hashes = [&plain, &out].map(|dir| read(&dir.join("out.cubin")).map(|bytes| hash::hex(&bytes)));
    let [one, two] = hashes;
    let (one, two) = (one?, two?);
    same("hash in the sandbox", &two, &one)?;
    for (dir, place) in [(&plain, ""), (&out, relative)] {
        let rule = String::from_utf8_lossy(&read(&dir.join("out.d"))?).into_owned();
        let words: Vec<&str> = rule.split_whitespace().filter(|w| *w != "\\").collect();
        let wanted = [&format!("{place}out.cubin:"), "saxpy.cubin", "combine.cubin"];
        let starts = words.get(..3).is_some_and(|w| w == wanted);
        same("dependency file", if starts { "the inputs" } else { &rule }, "the inputs")?;
    }
    Ok(one)
}

fn run(command: &mut Command) -> Result<()> {
    super::output(command.stdin(Stdio::null())).map(drop)
}

fn is_closed_by_namespaces(b: &Bench<'_>) -> bool {
    let is_root = || Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"));
    let runs_here = !b.program.target.is_windows() && !b.program.target.is_wasm();
    cfg!(target_os = "linux") && runs_here && in_path("unshare").is_some() && in_path("setpriv").is_some() && is_root()
}

/// wine needs its prefix, and Node.js its PATH.
fn without_variables(mut command: Command, b: &Bench<'_>) -> Command {
    if !b.program.target.is_windows() {
        for name in ["HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "tr_TR.UTF-8").env("TZ", "Asia/Kolkata");
    command
}

/// The same program and arguments in namespaces of their own.
fn in_namespaces(inner: &Command, inputs: &Path, out: &Path) -> Result<Command> {
    super::output(Command::new("chown").args([USER]).arg(out))?;
    let script = "set -e; mount --bind \"$1\" \"$1\"; mount -o remount,ro,bind \"$1\"; cd \"$1\"; \
         if touch \"$1/new\" 2>/dev/null; then echo 'the inputs can be written'; exit 1; fi; \
         shift; exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs env -i LC_ALL=tr_TR.UTF-8 TZ=Asia/Kolkata \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--propagation", "private", "sh", "-c", script, "sandbox"]);
    command.arg(inputs).arg(inner.get_program()).args(inner.get_args());
    Ok(command)
}
