//! `--verify` on files that nvlink wrote: it accepts them, and it notices damage.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]

mod faults;
mod links;

use faults::Expect;
use std::path::Path;

#[test]
fn files_of_nvlink_are_accepted() {
    let (links, others) = links::recorded();
    let mut refused = Vec::new();
    for link in &links {
        let problems = link.problems(&link.image);
        if !problems.is_empty() {
            refused.push(format!("{}\n    {:?}: {}", link.name, problems[0].check, problems[0].text));
        }
    }
    assert!(links.len() > 1000, "{} links", links.len());
    assert!(
        refused.is_empty(),
        "{} of {} refused ({others} others)\n{}",
        refused.len(),
        links.len(),
        refused.join("\n")
    );
}

/// Faults of one class that are tried in each file.
const SEEDS: u64 = 3;

#[test]
fn damage_is_noticed() {
    let (links, _) = links::recorded();
    let bases = faults::bases(&links);
    let mut table = String::from("| damage | faults | noticed |\n|---|--:|--:|\n");
    let (mut wrong, mut all, mut seen) = (Vec::new(), 0, 0);
    for class in faults::CLASSES {
        let (mut tried, mut noticed) = (0, 0);
        let mut missed = String::new();
        let mut images = std::collections::BTreeSet::new();
        for base in &bases {
            for seed in 0..SEEDS {
                let Some(image) = class.apply(&base.image, seed) else { continue };
                if !images.insert(image.clone()) {
                    continue;
                }
                tried += 1;
                match base.problems(&image).is_empty() {
                    false => noticed += 1,
                    true => missed = format!("{} seed {seed}", base.name),
                }
            }
        }
        let right = match class.expect {
            Expect::All => tried == noticed,
            Expect::Some => noticed > 0,
            Expect::None => noticed == 0,
        };
        if !right || tried == 0 {
            wrong.push(format!("{}: {noticed} of {tried} noticed, expected {:?}; missed: {missed}", class.name, class.expect));
        }
        table.push_str(&format!("| {} | {tried} | {noticed} |\n", class.name));
        (all, seen) = (all + tried, seen + noticed);
    }
    table.push_str(&format!("| all | {all} | {seen} |\n"));
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/safety.md");
    let text = std::fs::read_to_string(page).unwrap();
    assert!(all >= 200 && text.contains(&table), "docs/safety.md should have this table:\n{table}");
}
