//! The Debian package.
//!
//! `nvlink` is an alternative in `/usr/bin`, with a priority below that of any other: a toolkit's own nvlink is never replaced, and
//! `update-alternatives --config nvlink` selects culd.

use super::check::copy;
use super::package::write;
use super::{Place, Program, output};
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the package from the staged files.
pub(super) fn make(place: &Place<'_>, program: &Program, stage: &Path) -> Result<PathBuf> {
    let arch = program
        .target
        .deb
        .ok_or_else(|| Error::Other("this platform has no Debian package".into()))?;
    let version = format!("{}-1", place.version);
    let root = place.fresh(&format!("deb-{arch}"))?;
    let usr = root.join("usr");
    let documents = usr.join("share/doc/culd");
    copy_tree(stage, &usr)?;
    // The copyright file has both licenses; Debian's zsh directory is another.
    for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let path = documents.join(file);
        std::fs::remove_file(&path).map_err(Error::file(&path))?;
    }
    let zsh = usr.join("share/zsh/site-functions");
    if zsh.exists() {
        let to = usr.join("share/zsh/vendor-completions");
        std::fs::rename(&zsh, &to).map_err(Error::file(&to))?;
    }
    let packaging = place.context.root.join("packaging/debian");
    let read = |name: &str| std::fs::read_to_string(packaging.join(name)).map_err(Error::file(packaging.join(name)));
    write(&documents.join("copyright"), &read("copyright")?)?;
    let date = output(Command::new("date").args(["-u", "-R", "-d"]).arg(format!("@{}", place.epoch)))?;
    let changelog = read("changelog.in")?.replace("@VERSION@", &version).replace("@DATE@", date.trim());
    write(&documents.join("changelog.Debian"), &changelog)?;
    std::fs::rename(documents.join("CHANGELOG.md"), documents.join("changelog")).map_err(Error::file(&documents))?;
    let overrides = usr.join("share/lintian/overrides/culd");
    write(&overrides, &read("lintian-overrides")?)?;
    for file in [
        documents.join("changelog.Debian"),
        documents.join("changelog"),
        usr.join("share/man/man1/culd.1"),
    ] {
        output(Command::new("gzip").args(["-9", "-n", "-f"]).arg(&file))?;
    }
    let size = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(&usr))?;
    let control = read("control.in")?
        .replace("@VERSION@", &version)
        .replace("@ARCH@", arch)
        .replace("@SIZE@", size.split_whitespace().next().unwrap_or("0"));
    write(&root.join("DEBIAN/control"), &control)?;
    for script in ["postinst", "prerm"] {
        write(&root.join("DEBIAN").join(script), &read(script)?)?;
    }
    sums(&root)?;
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&root))?;
    let programs = [usr.join("bin/culd"), root.join("DEBIAN/postinst"), root.join("DEBIAN/prerm")];
    output(Command::new("chmod").arg("755").args(programs))?;
    let file = place.out.join(format!("culd_{version}_{arch}.deb"));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&file);
    output(dpkg.env("SOURCE_DATE_EPOCH", place.epoch.to_string()))?;
    Ok(file)
}

/// The list of MD5 sums that dpkg checks.
fn sums(root: &Path) -> Result<()> {
    let list = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums";
    output(Command::new("sh").args(["-c", list]).current_dir(root)).map(drop)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).map_err(Error::file(to))?;
    for entry in std::fs::read_dir(from).map_err(Error::file(from))? {
        let path = entry.map_err(Error::file(from))?.path();
        let at = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => copy_tree(&path, &at)?,
            false => copy(&path, &at)?,
        }
    }
    Ok(())
}
