//! Demangles each line of the standard input, as `c++filt` does.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        out.write_all(&culd_demangle::display(&line?))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
