//! The culd program.
fn main() {}
