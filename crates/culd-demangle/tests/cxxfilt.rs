//! Names in the style of c++filt. `cxxfilt.tsv` has the text of c++filt (GNU binutils) for each name.

const SAME: usize = 1466;
const DIFFERENT: usize = 40;

/// What comes out for a name is c++filt's text, or nothing.
#[test]
fn names_come_out_as_cxxfilt_writes_them() {
    let table = include_str!("cxxfilt.tsv");
    let (mut same, mut none, mut wrong) = (0, Vec::new(), Vec::new());
    for (name, text) in table.lines().filter_map(|line| line.split_once('\t')) {
        match culd_demangle::cxxfilt(name.as_bytes()) {
            Some(got) if got == text => same += 1,
            Some(got) => wrong.push(format!("{name}\n  want {text}\n  got  {got}")),
            None => none.push(name),
        }
    }
    println!("{same} the same, {} not covered, {} different", none.len(), wrong.len());
    if std::env::var_os("SHOW").is_some() {
        none.iter().for_each(|name| println!("none {name}"));
    }
    // Those that differ are made names: results that are qualified functions, addresses of constructors through substitutions.
    assert!(
        same >= SAME && wrong.len() <= DIFFERENT,
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
