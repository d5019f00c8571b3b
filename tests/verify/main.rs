//! `--verify` on files that nvlink wrote: it accepts them, and it notices damage.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]

mod links;

/// Links whose file nvlink itself broke: start of the name, why.
const BROKEN: &[(&str, &str)] = &[];

#[test]
fn files_of_nvlink_are_accepted() {
    let (links, others) = links::recorded();
    let mut refused = Vec::new();
    for link in &links {
        let problems = link.problems(&link.image);
        if !problems.is_empty() && !BROKEN.iter().any(|(name, _)| link.name.starts_with(name)) {
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
