//! `--verify` on files that nvlink wrote: it accepts them, and it notices damage.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failing test may panic")]

mod faults;
mod links;

use cubin::consts::{STO_CUDA_GLOBAL, STO_CUDA_SPACE};
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

/// Under its own name culd is strict about inputs, but it finds nothing wrong with its own files, and loses nothing. Relocatable links drop the
/// literals of copies that lost (`rlink-literals-twice`), which nvlink keeps beyond the end of their section.
#[test]
fn culd_accepts_its_own_files() {
    let (links, _) = links::recorded();
    let (mut made, mut refused) = (0, Vec::new());
    for link in &links {
        let mut options = link.options.clone();
        (options.identity, options.verify, options.threads) = (culd_engine::Identity::Culd, true, 1);
        let inputs: Vec<culd_engine::Input<'_>> = link.inputs.iter().map(|(name, data)| culd_engine::Input { name, data }).collect();
        let outcome = culd_engine::link(&inputs, &options);
        made += usize::from(outcome.image.is_some());
        for d in &outcome.messages {
            if matches!(
                d.code,
                culd_engine::Code::Lost { .. } | culd_engine::Code::BadImage { .. } | culd_engine::Code::Internal { .. }
            ) {
                refused.push(format!("{}\n    {}", link.name, d.code));
                break;
            }
        }
    }
    assert!(refused.is_empty(), "{} refused, {made} made\n{}", refused.len(), refused.join("\n"));
    assert!(made > 1000, "{made} files");
}

/// Takes an image in parts.
struct Parts(std::sync::Mutex<Option<Vec<u8>>>);

impl culd_engine::Sink for Parts {
    fn begin(&self, size: u64) -> std::io::Result<bool> {
        *self.0.lock().unwrap() = Some(vec![0; size as usize]);
        Ok(true)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        let mut image = self.0.lock().unwrap();
        let start = offset as usize;
        image.as_mut().unwrap()[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// A sink gets the image that is returned without one, with Mercury too.
#[test]
fn a_sink_gets_the_same_file_in_parts() {
    let (links, _) = links::recorded();
    let mut streamed = [0; 2];
    for (n, link) in links.iter().enumerate() {
        let mut options = link.options.clone();
        (options.verify, options.map) = (false, false);
        let inputs: Vec<culd_engine::Input<'_>> = link.inputs.iter().map(|(name, data)| culd_engine::Input { name, data }).collect();
        let Some(image) = culd_engine::link(&inputs, &options).image else {
            continue;
        };
        options.threads = 1 + n % 3;
        let sink = Parts(std::sync::Mutex::new(None));
        let outcome = culd_engine::link_into(&inputs, &options, &sink);
        assert!(outcome.image.is_none(), "{}: returned in memory", link.name);
        assert_eq!(outcome.written.unwrap().unwrap(), image.len() as u64, "{}", link.name);
        assert!(sink.0.into_inner().unwrap().unwrap() == image, "{}: another file", link.name);
        streamed[usize::from(options.target.capabilities().has_mercury)] += 1;
    }
    assert!(streamed.iter().all(|&count| count > 200), "{streamed:?}");
}

/// Links one input of every link for sm_75 to sm_90 after a change to one of its sections: it either refuses and names what would be
/// lost, or every such `symbol` is in the output. Returns how many links were refused.
fn loses_nothing(change: impl Fn(&mut [u8], &cubin::Section<'_>, usize) -> bool, symbol: impl Fn(&cubin::Symbol<'_>) -> bool) -> usize {
    let (links, _) = links::recorded();
    let alone = links
        .iter()
        .filter(|l| l.inputs.len() == 1 && !l.options.relocatable && l.options.target.number <= 90);
    let mut refused = 0;
    for link in alone.filter(|l| l.options.kernels.is_none() && !l.options.debug && !l.options.preserve_relocs) {
        let (name, good) = &link.inputs[0];
        let cubin = cubin::Cubin::parse(good).unwrap();
        let mut data = good.clone();
        let table = cubin.header().e_shoff.get() as usize;
        let sections = cubin.sections().map(|s| s.unwrap());
        if sections.filter(|s| change(&mut data, s, table + 64 * s.index as usize)).count() == 0 {
            continue;
        }
        let mut options = link.options.clone();
        (options.identity, options.verify) = (culd_engine::Identity::Culd, false);
        // Only files that are linked as they are.
        if culd_engine::link(&[culd_engine::Input { name, data: good }], &options)
            .image
            .is_none()
        {
            continue;
        }
        let outcome = culd_engine::link(&[culd_engine::Input { name, data: &data }], &options);
        use culd_engine::Code::{Damaged, Lost, RemovedFunction};
        let is_named = |c: &culd_engine::Code| match c {
            Lost { .. } | RemovedFunction { .. } => true,
            Damaged { reason, .. } => reason.contains("does not have type"),
            _ => false,
        };
        let is_lost = |d: &culd_engine::Diagnostic| is_named(&d.code);
        if let Some(image) = &outcome.image {
            let image = cubin::Cubin::parse(image).unwrap();
            for y in cubin.symbols().map(|y| y.unwrap()).filter(|y| symbol(y)) {
                let kept = image
                    .symbols()
                    .map(|z| z.unwrap())
                    .any(|z| z.name == y.name && z.section.index().is_some());
                assert!(kept, "{}: {} is lost", link.name, String::from_utf8_lossy(y.name));
            }
        } else {
            assert!(outcome.messages.iter().any(is_lost), "{}: {:?}", link.name, outcome.messages);
            refused += 1;
        }
    }
    refused
}

#[test]
fn a_section_of_unknown_type_is_not_lost() {
    let change = |data: &mut [u8], s: &cubin::Section<'_>, header: usize| {
        let is_it = s.name == b".nv.global.init";
        if is_it {
            data[header + 4..header + 8].copy_from_slice(&0x7000_0099u32.to_le_bytes());
        }
        is_it
    };
    let global = |y: &cubin::Symbol<'_>| y.section.index().is_some() && y.entry.st_other & STO_CUDA_SPACE == STO_CUDA_GLOBAL;
    assert!(loses_nothing(change, global) > 5);
}

#[test]
fn a_call_that_the_call_graph_does_not_list_is_not_lost() {
    let change = |data: &mut [u8], s: &cubin::Section<'_>, _: usize| {
        let graph = (s.name == b".nv.callgraph").then(|| cubin::callgraph::CallGraph::read(s.data).unwrap());
        let Some(graph) = graph.filter(|g| g.calls.iter().any(|c| c.first != c.second)) else {
            return false;
        };
        // Every function calls itself instead: the list comes first, after a pair of words that begins it.
        let start = s.header.sh_offset.get() as usize + 8;
        for i in 0..graph.calls.len() {
            data.copy_within(start + 8 * i..start + 8 * i + 4, start + 8 * i + 4);
        }
        true
    };
    assert!(loses_nothing(change, |_| false) > 5);
}

/// Faults of one class that are tried in each file.
const SEEDS: u64 = 3;

#[test]
fn damage_is_noticed() {
    let (links, _) = links::recorded();
    let bases = faults::bases(&links);
    let mut table = String::from("| damage | faults | detected |\n|---|--:|--:|\n");
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
            wrong.push(format!(
                "{}: {noticed} of {tried} noticed, expected {:?}; missed: {missed}",
                class.name, class.expect
            ));
        }
        table.push_str(&format!("| {} | {tried} | {noticed} |\n", class.name));
        (all, seen) = (all + tried, seen + noticed);
    }
    table.push_str(&format!("| all | {all} | {seen} |\n"));
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/safety.md");
    let text = std::fs::read_to_string(page).unwrap();
    assert!(
        all >= 200 && text.contains(&table),
        "docs/safety.md should have this table:\n{table}"
    );
}
