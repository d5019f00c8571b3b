//! Compares two device files: `cargo run --example diff -- A B [--all] [--json]`.

use culd_inspect::Style;
use culd_inspect::diff::{Options, compare, write_json, write_text};
use culd_inspect::view::View;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let all = args.iter().any(|a| a == "--all");
    let json = args.iter().any(|a| a == "--json");
    let paths: Vec<&String> = args.iter().filter(|a| !a.starts_with("--")).collect();
    let [a, b] = paths.as_slice() else {
        return Err("two files, please".into());
    };
    let (data_a, data_b) = (std::fs::read(a)?, std::fs::read(b)?);
    let (view_a, view_b) = (View::parse(&data_a)?, View::parse(&data_b)?);
    let options = Options { demangle: false, all };
    let report = compare(&view_a, &view_b, options);
    let mut out = std::io::stdout().lock();
    if json {
        write_json(&mut out, &report, [a, b])?;
    } else {
        write_text(&mut out, &report, [a, b], options, Style::Plain)?;
    }
    Ok(())
}
