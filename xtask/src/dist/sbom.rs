//! The bill of materials: SPDX 2.3 from `cargo metadata`.
//!
//! 1. Packages are those that the program `culd` is built from on the platform: normal dependencies, no build or test tools.
//! 2. Each has its version, license and address in the registry, and the checksum that Cargo.lock states.
//! 3. The time is that of the last commit.

use super::targets::Target;
use super::{Place, output};
use culd_tests::{Error, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The document.
pub(super) fn text(place: &Place<'_>, target: &Target) -> Result<String> {
    let mut cargo = place.context.cargo();
    cargo.args(["metadata", "--format-version=1", "--locked", "--filter-platform", target.triple]);
    let metadata: Value = serde_json::from_str(&output(&mut cargo)?).map_err(|e| Error::Other(e.to_string()))?;
    let lock = place.context.root.join("Cargo.lock");
    let sums = checksums(&std::fs::read_to_string(&lock).map_err(Error::file(&lock))?);
    let created = output(
        Command::new("date")
            .args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"])
            .arg(format!("@{}", place.epoch)),
    )?;
    let Graph { packages, edges } = Graph::of(&metadata).ok_or_else(|| Error::Other("cargo metadata has no package culd".into()))?;
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("culd-{}-{}", place.version, target.triple),
        "documentNamespace": format!("urn:culd:{}:{}", place.version, target.triple),
        "creationInfo": { "created": created.trim(), "creators": ["Tool: culd-xtask-dist"] },
        "packages": packages.iter().map(|p| package(p, &sums)).collect::<Vec<_>>(),
        "relationships": edges,
    });
    serde_json::to_string_pretty(&document)
        .map(|t| t + "\n")
        .map_err(|e| Error::Other(e.to_string()))
}

/// What the program depends on.
struct Graph<'a> {
    packages: Vec<&'a Value>,
    edges: Vec<Value>,
}

impl<'a> Graph<'a> {
    fn of(metadata: &'a Value) -> Option<Self> {
        let packages: BTreeMap<&str, &Value> = list(metadata, "packages").filter_map(|p| Some((p["id"].as_str()?, p))).collect();
        let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"], "nodes")
            .filter_map(|n| Some((n["id"].as_str()?, n)))
            .collect();
        let start = packages.iter().find(|(_, p)| p["name"] == "culd")?.0;
        let describes = json!({
            "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": reference(packages.get(start)?),
        });
        let (mut seen, mut work, mut edges) = (BTreeSet::from([*start]), vec![*start], vec![describes]);
        while let Some(id) = work.pop() {
            let normal = |d: &&Value| list(d, "dep_kinds").any(|k| k["kind"].is_null());
            for dependency in list(nodes.get(id)?, "deps").filter(normal).filter_map(|d| d["pkg"].as_str()) {
                let (from, to) = (packages.get(id)?, packages.get(dependency)?);
                edges.push(json!({
                    "spdxElementId": reference(from), "relationshipType": "DEPENDS_ON", "relatedSpdxElement": reference(to),
                }));
                if seen.insert(dependency) {
                    work.push(dependency);
                }
            }
        }
        let mut used: Vec<&Value> = seen.iter().filter_map(|id| packages.get(id).copied()).collect();
        used.sort_by_key(|p| reference(p));
        edges.sort_by_key(ToString::to_string);
        Some(Self { packages: used, edges })
    }
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn word<'v>(package: &'v Value, key: &str) -> &'v str {
    package[key].as_str().unwrap_or_default()
}

fn reference(package: &Value) -> String {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    format!("SPDXRef-{}-{}", plain(word(package, "name")), plain(word(package, "version")))
}

fn package(package: &Value, sums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (word(package, "name"), word(package, "version"));
    // Older manifests separate licenses by a slash.
    let license = word(package, "license").replace('/', " OR ");
    let mut out = json!({
        "SPDXID": reference(package),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": license,
        "licenseDeclared": license,
        "copyrightText": "NOASSERTION",
    });
    if !package["source"].is_null() {
        let locator = format!("pkg:cargo/{name}@{version}");
        out["externalRefs"] = json!([{ "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator }]);
    }
    if let Some(sum) = sums.get(&(name.to_owned(), version.to_owned())) {
        out["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": sum }]);
    }
    out
}

/// The checksums of Cargo.lock by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let entry = |block: &str| {
        let field = |key: &str| {
            block
                .lines()
                .find_map(|l| l.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned))
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    };
    lock.split("[[package]]").filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn checksums_are_those_of_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1\"\nchecksum = \"ff\"\n\n[[package]]\nname = \"b\"\nversion = \"2\"\n";
        let sums = super::checksums(lock);
        assert_eq!(sums.len(), 1);
        assert_eq!(sums.get(&("a".into(), "1".into())).map(String::as_str), Some("ff"));
    }
}
