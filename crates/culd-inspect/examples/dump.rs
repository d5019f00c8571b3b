//! Dumps a device file: `cargo run --example dump -- FILE [--json]`.

use culd_inspect::Style;
use culd_inspect::dump::{Selection, write_json, write_text};
use culd_inspect::view::View;
use std::io::{BufWriter, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.iter().any(|a| a == "--json");
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    for path in args.iter().filter(|a| !a.starts_with("--")) {
        let data = std::fs::read(path)?;
        let view = View::parse(&data)?;
        if json {
            write_json(&mut out, &view, &Selection::default(), path)?;
        } else {
            write_text(&mut out, &view, &Selection::default(), path, Style::Plain)?;
        }
    }
    out.flush()?;
    Ok(())
}
