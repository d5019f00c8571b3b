//! Takes device files apart and puts them together again: `roundtrip FILE...`. Exit code 1 when a file does not come back byte for byte.

use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut same, mut other) = (0, 0);
    for path in std::env::args_os().skip(1) {
        let shown = path.to_string_lossy();
        let result = std::fs::read(&path).map_err(|e| e.to_string()).and_then(|bytes| compare(&bytes));
        match result {
            Ok(()) => same += 1,
            Err(reason) => {
                other += 1;
                eprintln!("{shown}: {reason}");
            }
        }
    }
    println!("{same} of {} files come back byte for byte", same + other);
    ExitCode::from(u8::from(other != 0))
}

fn compare(bytes: &[u8]) -> Result<(), String> {
    let again = cubin::roundtrip(bytes).map_err(|e| e.to_string())?;
    if again == bytes {
        return Ok(());
    }
    let at = again
        .iter()
        .zip(bytes)
        .position(|(a, b)| a != b)
        .unwrap_or(again.len().min(bytes.len()));
    Err(format!("differs at {at:#x}; {} bytes instead of {}", again.len(), bytes.len()))
}
