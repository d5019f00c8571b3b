//! The viewer page: its size, and a link of the example by the module inside of it, with Node.js.

use super::table::Row;
use super::targets::in_path;
use super::{Place, check, output};
use crate::context::succeed;
use crate::report::Report;
use culd_tests::{Error, Result};
use std::path::Path;
use std::process::Command;

/// The goal for the page. The module in it is packed, and base64 makes it a third larger: that the page fits is more than the goal asks for.
const LIMIT: u64 = 3_000_000;

/// Makes the page; its row of the table.
pub(super) fn make(place: &Place<'_>, report: &Report) -> Result<Row> {
    let built = crate::viewer::run(place.context)?;
    let page = place.out.join(format!("culd-viewer-{}.html", place.version));
    check::copy(&built, &page)?;
    let size = std::fs::metadata(&page).map_err(Error::file(&page))?.len();
    let large = (size > LIMIT).then(|| format!("{size} bytes, more than {LIMIT}"));
    let Some(node) = in_path("node") else {
        report.named("viewer page: size", large.as_deref());
        return Ok(Row::new("wasm32-unknown-unknown", "viewer page", size, "not run: no node in PATH"));
    };
    let linked = links(place, &node, &page).err().map(|e| e.to_string());
    report.named("viewer page: size", large.as_deref());
    report.named("viewer page: link the example", linked.as_deref());
    let mut row = Row::new("wasm32-unknown-unknown", "viewer page", size, "node");
    row.tests = Some((usize::from(large.is_none()) + usize::from(linked.is_none()), 2));
    Ok(row)
}

/// Links the example with the module of the page: the bytes must be those of the program of this machine.
fn links(place: &Place<'_>, node: &Path, page: &Path) -> Result<()> {
    let dir = place.fresh("install/viewer")?;
    let example = place.context.root.join("examples/saxpy");
    let out = dir.join("linked.cubin");
    let mut command = Command::new(node);
    command.arg(place.context.root.join("packaging/wasm/viewer.mjs")).args([page, &out]);
    let told = output(command.args(["saxpy.cubin", "combine.cubin"].map(|n| example.join(n))))?;
    check::same("the link", told.trim(), "link of 2 files for sm_90: linked")?;
    let own = dir.join("own.cubin");
    succeed(place.context.cargo().args(["build", "--quiet", "-p", "culd", "--bin", "culd"]))?;
    let mut link = Command::new(place.context.target.join("debug/culd"));
    output(link.args(check::EXAMPLE).arg("-o").arg(&own).current_dir(&example))?;
    let read = |path: &Path| std::fs::read(path).map_err(Error::file(path));
    match read(&out)? == read(&own)? {
        true => Ok(()),
        false => Err(Error::Other("the bytes of the example are not those of the program".into())),
    }
}
