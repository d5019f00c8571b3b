//! Every name of `vectors.tsv` (name, tab, the text that nvlink prints) comes out as nvlink prints it.

use culd_demangle::display;

#[test]
fn all_vectors_match() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("vectors.tsv").lines() {
        let (name, text) = line.split_once('\t').unwrap_or((line, ""));
        let shown = display(name.as_bytes());
        count += 1;
        if shown != text.as_bytes() {
            wrong.push(format!("{name}\n  want {text}\n  got  {}", String::from_utf8_lossy(&shown)));
        }
    }
    assert!(count > 2000, "the file of vectors is there");
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
