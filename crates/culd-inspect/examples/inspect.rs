//! Dumps one file or compares two, with the library alone: `cargo run --example inspect -- FILE [FILE]`.

use culd_inspect::TextStyle;
use culd_inspect::dump::{Selection, write_file};
use culd_inspect::file::DeviceFile;
use culd_inspect::{diff, dump};
use std::io::{BufWriter, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let mut out = BufWriter::with_capacity(1 << 17, std::io::stdout().lock());
    match paths.as_slice() {
        [path] => {
            let data = std::fs::read(path)?;
            let outcome: dump::DumpOutcome = write_file(
                &mut out,
                &DeviceFile::open(&data),
                &Selection::default(),
                path,
                TextStyle::Plain,
                false,
            )?;
            if outcome.damaged {
                writeln!(out, "\n{path} is damaged")?;
            }
        }
        [a, b] => {
            let options = diff::Options::default();
            let found = diff::compare_files(&std::fs::read(a)?, &std::fs::read(b)?, [a, b], options)?;
            diff::write_text(&mut out, &found, [a, b], options, TextStyle::Plain)?;
        }
        _ => return Err("one file or two, please".into()),
    }
    out.flush()?;
    Ok(())
}
