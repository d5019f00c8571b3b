//! Checks of the source text that the compiler does not make: which file imports which, how long files and lines are, how many types share a name.
//!
//! 1. Every `.rs` file below `crates/*/src` becomes a node, named by its module path.
//! 2. An edge is a `use` declaration or an inline path that starts with `crate::` or `super::`. A path belongs to the file of its longest prefix that is
//!    a module. Unit tests are not read: modules called `tests` and `testing`. A module and the modules that it declares itself are one unit: what `x.rs` or `x/mod.rs` calls in
//!    its own children is not an edge, what the children use of it is.
//! 3. A circle is a strongly connected component of more than one file.
//! 4. An import is upward if it is from a module to one that comes later in the order of its crate ([`CRATES`]).
//!
//! Not counted, because of step 2: calls between a parent and its children inside one module directory when the parent calls the child. A circle
//! between `x/mod.rs` and `x/y.rs` is therefore reported only if a third file is part of it.
//!
//! A failure lists the imports, one per line. The counts of each crate are printed: `cargo test -p culd-tests --test tidy -- --nocapture`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test of the repository's own files"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What is checked about the imports of a crate.
enum Order {
    /// Modules from the bottom to the top; a module imports only itself and modules before it. An entry contains the modules below it. If entries such
    /// as `cli::parse` exist, the entry `cli` is only the file that declares them. `lib` and `main` come last without an entry.
    Modules(&'static [&'static str]),
    /// No circles; the order of modules is not fixed.
    NoCircles,
}

/// One entry per crate below `crates/`.
const CRATES: &[(&str, Order)] = &[
    ("cubin", Order::NoCircles),
    (
        "culd",
        Order::Modules(&[
            "cli::os",
            "cli::output",
            "cli::called",
            "cli::flags",
            "cli::tokens",
            "cli::parse",
            "cli::note",
            "cli::culd_text",
            "cli::suggest",
            "cli::messages",
            "cli::causes",
            "cli::codes",
            "cli::lto",
            "cli::map",
            "cli::why",
            "cli::hiargs",
            "cli::subprocess",
            "cli::side_outputs",
            "cli::aux_inputs",
            "cli::install",
            "cli::explain",
            "linker::diagnostic",
            "cli::progress",
            "cli::load",
            "cli::doctor",
            "cli::script",
            "cli::repro",
            "cli::report",
            "cli::optimized",
            "cli::environment",
            "cli::see",
            "cli::inspect",
            "cli::help",
            "cli::shell",
            "cli::driver",
            "cli",
            "linker",
            "linker::memory",
            "linker::linked",
            "linker::run",
        ]),
    ),
    ("culd-base", Order::NoCircles),
    ("culd-demangle", Order::NoCircles),
    (
        "culd-engine",
        Order::Modules(&[
            "ids",
            "names",
            "csr",
            "parts",
            "align",
            "options",
            "diagnostics",
            "usage",
            "par",
            "object",
            "inputs",
            "resolve",
            "graph",
            "liveness",
            "mode",
            "session",
            "records",
            "merge",
            "layout",
            "check",
            "relocate",
            "arrange",
            "size_limit",
            "metadata",
            "sections",
            "emit",
            "finalize",
            "ledger",
            "report",
            "explain",
            "verify",
            "outcome",
            "pipeline",
        ]),
    ),
    (
        "culd-input",
        Order::Modules(&[
            "archive",
            "buffer",
            "mapped",
            "bytes",
            "message",
            "progress",
            "check",
            "detect",
            "device_runtime",
            "host",
            "files",
            "library",
            "ptx",
            "ptx_cache",
            "lto",
            "options",
            "plan",
            "registration",
            "select",
            "host_info",
            "extracted",
            "extract",
            "unpack",
            "fold",
            "optimize",
            "settle",
            "load",
        ]),
    ),
    ("culd-inspect", Order::NoCircles),
    ("culd-lto", Order::NoCircles),
    ("culd-report", Order::NoCircles),
    ("culd-sass", Order::NoCircles),
    ("culd-viewer", Order::NoCircles),
    ("culd-zstd", Order::NoCircles),
    ("libculd", Order::NoCircles),
    ("nvjitlink", Order::NoCircles),
];

/// How many types of `crates/*` may be called the same. Two are a type and its counterpart in another crate; a third meaning needs a longer name.
const MAX_SAME_NAME: usize = 2;
/// Files whose types take the place of others on some platforms: they are not further meanings of the name.
const SUBSTITUTES: &[&str] = &["crates/culd-lto/src/jitlink/no_session.rs"];

const MAX_LINES: usize = 650;
const MAX_WIDTH: usize = 180;

/// Files that are tables and may be longer than [`MAX_LINES`].
const LONG_FILES: &[&str] = &["crates/culd-sass/src/decode/table.rs", "crates/culd/src/cli/flags/shared.rs"];
/// Files that are tables and may have lines wider than [`MAX_WIDTH`].
const WIDE_FILES: &[&str] = &[
    "crates/culd/src/cli/flags/own.rs",
    "crates/culd/src/cli/flags/shared.rs",
    "crates/culd/src/cli/help.rs",
];

#[test]
fn imports_follow_the_order() {
    let mut failures = String::new();
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        found.push(entry.unwrap().file_name().into_string().unwrap());
    }
    found.sort();
    let listed: Vec<_> = CRATES.iter().map(|c| c.0.to_owned()).collect();
    assert_eq!(found, listed, "CRATES lists the directories below crates/");
    for (name, order) in CRATES {
        let graph = Graph::read(&root().join("crates").join(name).join("src"));
        let circles = graph.circles();
        let upward = match order {
            Order::Modules(modules) => graph.upward(modules, &mut failures),
            Order::NoCircles => Vec::new(),
        };
        let edges: usize = graph.imports.values().map(BTreeSet::len).sum();
        let (files, ups, rings) = (graph.imports.len(), upward.len(), circles.len());
        println!("{name}: {files} files, {edges} imports, {ups} upward, {rings} circles");
        for (from, to) in &upward {
            writeln!(failures, "{name}: {from} imports {to}, which comes later").unwrap();
        }
        for circle in circles {
            let text = format!("{name}: circle of {} files: {}", circle.len(), circle.join(", "));
            println!("  {text}");
            writeln!(failures, "{text}").unwrap();
            for from in &circle {
                let inside = graph.imports[from].iter().filter(|to| circle.contains(to));
                inside.for_each(|to| writeln!(failures, "    {from} imports {to}").unwrap());
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn files_and_lines_are_short() {
    let mut failures = String::new();
    for part in ["crates", "tests", "xtask", "fuzz"] {
        for path in rust_files(&root().join(part)) {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            if name.split('/').any(|p| p == "target") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().count();
            if lines > MAX_LINES && !LONG_FILES.contains(&name.as_str()) {
                writeln!(failures, "{name}: {lines} lines, at most {MAX_LINES}").unwrap();
            }
            for (n, line) in text.lines().enumerate() {
                let width = line.chars().count();
                if width > MAX_WIDTH && !WIDE_FILES.contains(&name.as_str()) {
                    writeln!(failures, "{name}:{}: {width} characters, at most {MAX_WIDTH}", n + 1).unwrap();
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn public_type_names_have_at_most_two_meanings() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in rust_files(&root().join("crates")) {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        let in_src = file.split('/').nth(2) == Some("src");
        if !in_src || SUBSTITUTES.contains(&file.as_str()) {
            continue;
        }
        let text = without_comments(&fs::read_to_string(&path).unwrap());
        for name in public_types(&text) {
            homes.entry(name.to_owned()).or_default().push(file.clone());
        }
    }
    assert!(homes.len() > 100, "only {} public types were found", homes.len());
    let mut failures = String::new();
    for (name, files) in homes.iter().filter(|(_, files)| files.len() > MAX_SAME_NAME) {
        writeln!(failures, "{} public types are called {name}: {}", files.len(), files.join(", ")).unwrap();
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The names of the `pub` structs, enums, unions and traits in the text; those with a narrower visibility are not listed.
fn public_types(text: &str) -> Vec<&str> {
    let tokens = tokens(text);
    let is_type = |w: &&[&str]| w[0] == "pub" && ["struct", "enum", "union", "trait"].contains(&w[1]) && is_word(w[2]);
    tokens.windows(3).filter(is_type).map(|w| w[2]).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The files of a crate, by module path (`lib`, `merge`, `merge::shared`), and what each imports.
struct Graph {
    imports: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn read(src: &Path) -> Self {
        let files: Vec<_> = rust_files(src).into_iter().map(|path| (module_of(src, &path), path)).collect();
        let files: Vec<_> = files.into_iter().filter(|(module, _)| !is_test_module(module)).collect();
        let modules: BTreeSet<String> = files.iter().map(|(m, _)| m.clone()).collect();
        let mut imports = BTreeMap::new();
        for (module, path) in &files {
            let text = without_comments(&fs::read_to_string(path).unwrap());
            let is_import = |to: &String| to != module && !is_child(to, module);
            let targets = paths(&text, module)
                .iter()
                .filter_map(|p| file_of(p, &modules))
                .filter(is_import)
                .collect();
            imports.insert(module.clone(), targets);
        }
        Self { imports }
    }

    /// The imports against the order. Modules that the order does not list, and listed ones that do not exist, are failures.
    fn upward(&self, order: &[&str], failures: &mut String) -> Vec<(String, String)> {
        let rank = |module: &str| match module {
            "lib" | "main" => Some(order.len()),
            _ => order.iter().position(|entry| contains(entry, module, order)),
        };
        for module in self.imports.keys() {
            if rank(module).is_none() {
                writeln!(failures, "module {module} is missing in the order of its crate").unwrap();
            }
        }
        for name in order {
            if !self.imports.keys().any(|m| contains(name, m, order)) {
                writeln!(failures, "the order names {name}, which is not a module").unwrap();
            }
        }
        let mut upward = Vec::new();
        for (from, targets) in &self.imports {
            upward.extend(
                targets
                    .iter()
                    .filter(|to| rank(to) > rank(from))
                    .map(|to| (from.clone(), to.clone())),
            );
        }
        upward
    }

    /// Strongly connected components of more than one file: the files that reach each other.
    fn circles(&self) -> Vec<Vec<String>> {
        let reach: BTreeMap<&String, BTreeSet<&String>> = self.imports.keys().map(|m| (m, self.reachable(m))).collect();
        let mut circles = BTreeSet::new();
        for (module, reached) in &reach {
            let circle: Vec<String> = reached
                .iter()
                .filter(|other| reach[**other].contains(*module))
                .map(|m| (*m).clone())
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reachable(&self, from: &str) -> BTreeSet<&String> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> = self.imports[from].iter().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(&self.imports[next]);
            }
        }
        seen
    }
}

/// Modules of unit tests, and what they share.
fn is_test_module(module: &str) -> bool {
    module.split("::").any(|part| part == "tests" || part == "testing")
}

/// Does `module` declare `to`, or a module around it?
fn is_child(to: &str, module: &str) -> bool {
    module == "lib" || module == "main" || to.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"))
}

/// Does the entry of an order name `module` or, unless the order lists them one by one, a module around it?
fn contains(entry: &str, module: &str, order: &[&str]) -> bool {
    let is_split = order.iter().any(|other| is_child(other, entry));
    module == entry || (!is_split && is_child(module, entry))
}

/// `src/merge/shared.rs` is `merge::shared`; `src/merge/mod.rs` and `src/merge.rs` are `merge`.
fn module_of(src: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(src).unwrap().with_extension("");
    let mut parts: Vec<_> = relative.iter().map(|p| p.to_str().unwrap()).collect();
    if parts.len() > 1 && parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts.join("::")
}

/// The file that a path from the root of the crate belongs to: that of its longest prefix. An item of the root is in `lib`.
fn file_of(path: &[String], modules: &BTreeSet<String>) -> Option<String> {
    let prefixes = (1..=path.len()).rev().map(|n| path[..n].join("::"));
    let found = prefixes.into_iter().find(|p| modules.contains(p));
    found.or_else(|| modules.contains("lib").then(|| "lib".to_owned()))
}

/// The text without comments and without the unit tests at its end. Inside a module that is written in the file itself, `super` is the file.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    let lines: Vec<&str> = text.lines().collect();
    for (n, line) in lines.iter().enumerate() {
        let next = lines.iter().skip(n + 1).find(|next| !next.starts_with("#["));
        let is_test = *line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test, ");
        if is_test && next.is_some_and(|next| next.starts_with("mod ") && next.ends_with('{')) {
            break;
        }
        inside = (inside && *line != "}") || (line.contains("mod ") && line.ends_with('{') && !line.starts_with(' '));
        let code = line.split("//").next().unwrap();
        out.push_str(&if inside {
            code.replace("super::", "self::")
        } else {
            code.to_owned()
        });
        out.push('\n');
    }
    out
}

/// All paths in the text that lead to other modules of the crate, from its root.
fn paths(text: &str, module: &str) -> Vec<Vec<String>> {
    let here: Vec<String> = match module {
        "lib" | "main" => Vec::new(),
        _ => module.split("::").map(str::to_owned).collect(),
    };
    let tokens = tokens(text);
    let children = children(&tokens);
    let mut all = Vec::new();
    let mut n = 0;
    while n < tokens.len() {
        let previous = n.checked_sub(1).map_or("", |p| tokens[p]);
        let starts = matches!(previous, "" | ";" | "{" | "}" | "]" | ")" | "pub");
        if tokens[n] == "use" && starts {
            let end = n + tokens[n..].iter().position(|t| *t == ";").expect("a use declaration ends");
            expand(&tokens[n + 1..end], &[], &mut all);
            n = end;
        } else if tokens[n] == "::" || previous == "::" || previous == "in" || tokens.get(n + 1) != Some(&"::") {
            n += 1;
        } else {
            let mut path = vec![tokens[n].to_owned()];
            while tokens.get(n + 1) == Some(&"::") && tokens.get(n + 2).is_some_and(|t| is_word(t)) {
                path.push(tokens[n + 2].to_owned());
                n += 2;
            }
            all.push(path);
            n += 1;
        }
    }
    all.iter().filter_map(|path| absolute(path, &here, &children)).collect()
}

/// The path from the root of the crate; `None` for other crates, types and imported modules.
fn absolute(path: &[String], here: &[String], children: &BTreeSet<&str>) -> Option<Vec<String>> {
    let (start, rest) = match path.first()?.as_str() {
        "crate" => (0, &path[1..]),
        "self" => (here.len(), &path[1..]),
        "super" => {
            let ups = path.iter().take_while(|p| *p == "super").count();
            (here.len().checked_sub(ups)?, &path[ups..])
        }
        child if children.contains(child) => (here.len(), path),
        _ => return None,
    };
    Some([&here[..start], rest].concat())
}

/// The modules that the file declares with `mod name;`.
fn children<'t>(tokens: &[&'t str]) -> BTreeSet<&'t str> {
    let declared = tokens.windows(3).filter(|w| w[0] == "mod" && w[2] == ";");
    declared.map(|w| w[1]).collect()
}

/// Expands a `use` tree into its paths.
fn expand(tree: &[&str], prefix: &[String], all: &mut Vec<Vec<String>>) {
    let mut path = prefix.to_vec();
    let mut n = 0;
    while n < tree.len() {
        match tree[n] {
            "::" | "*" => {}
            "self" if n > 0 || !prefix.is_empty() => {}
            "as" => break,
            "{" => {
                let mut depth = 0;
                let mut start = n + 1;
                for (k, token) in tree.iter().enumerate().skip(n) {
                    match *token {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 || (depth == 1 && *token == ",") {
                        if k > start {
                            expand(&tree[start..k], &path, all);
                        }
                        start = k + 1;
                    }
                    if depth == 0 {
                        return;
                    }
                }
            }
            word => path.push(word.to_owned()),
        }
        n += 1;
    }
    all.push(path);
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::`, and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        out.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    out
}

#[test]
fn reads_use_trees_and_inline_paths() {
    let text = "mod c;\nuse crate::a::{B, d::{self, E as F}};\nuse super::g;\nuse std::fmt;\nfn f() { c::h(); crate::i::J; k::l(); }\npub(in crate::z) x: u8;";
    let found: Vec<_> = paths(text, "m::n").iter().map(|p| p.join("::")).collect();
    assert_eq!(found, ["a::B", "a::d", "a::d::E", "m::g", "m::n::c::h", "i::J"]);
}

#[test]
fn super_in_an_inline_module_is_the_file_itself() {
    let text =
        "use super::a;\nmod inline {\n    use super::b;\n}\nuse super::c;\n#[cfg(all(test, unix))]\nmod tests {\n    use super::d;\n}\n";
    let found: Vec<_> = paths(&without_comments(text), "m").iter().map(|p| p.join("::")).collect();
    assert_eq!(found, ["a", "m::b", "c"]);
}

#[test]
fn lists_public_types_only() {
    let text = "pub struct A<'d> { pub kind: u8 }\npub(crate) struct B;\nenum C {}\npub enum D {}\npub trait E {}\npub fn f() {}";
    assert_eq!(public_types(text), ["A", "D", "E"]);
}

#[test]
fn an_order_may_split_a_directory() {
    let order = ["cli::parse", "cli", "linker"];
    let rank = |module| order.iter().position(|entry| contains(entry, module, &order));
    assert_eq!(["cli::parse::flag", "cli", "linker::run"].map(rank), [Some(0), Some(1), Some(2)]);
    assert_eq!(rank("cli::unlisted"), None);
}

#[test]
fn finds_circles_and_upward_imports() {
    let edges = [("a", &["b"][..]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])];
    let imports = edges
        .iter()
        .map(|(m, to)| ((*m).to_owned(), to.iter().map(|t| (*t).to_owned()).collect()))
        .collect();
    let graph = Graph { imports };
    assert_eq!(graph.circles(), [["a", "b", "c"]]);
    let mut failures = String::new();
    let upward = graph.upward(&["c", "b", "a", "d"], &mut failures);
    assert_eq!(upward, [("c".to_owned(), "a".to_owned())]);
    assert!(failures.is_empty());
    graph.upward(&["c", "b", "a"], &mut failures);
    assert_eq!(failures, "module d is missing in the order of its crate\n");
}
