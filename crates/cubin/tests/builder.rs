//! Objects of ptxas, built again from what they contain.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "builder_support/rebuild.rs"]
mod rebuild;

use rebuild::rebuild;

#[test]
#[ignore = "for files given in REBUILD"]
fn files() {
    for path in std::env::var("REBUILD").unwrap().split_whitespace() {
        let bytes = std::fs::read(path).unwrap();
        let result = std::panic::catch_unwind(|| rebuild(&bytes));
        let Ok(result) = result else {
            println!("PANIC {path}");
            continue;
        };
        match result {
            Ok(again) if again == bytes => println!("same {path}"),
            Ok(again) => {
                println!("DIFFERS {path}");
                std::fs::write(format!("{path}.again"), again).unwrap();
            }
            Err(e) => println!("FAILED {path}: {e}"),
        }
    }
}
