//! What stubs of unified functions inherit from what they call, in links that do not have exactly one kernel: there they count as kernels.
//!
//! 1. Numbers of barriers and counts of initialised resources of the functions that a stub reaches: the largest.
//! 2. The records are added to the table's attributes in the order of the records that cause them.
//! 3. nvlink quirk: only the first stub has its own record of the second kind; the others get one more.
//! 4. nvlink quirk, 13.2 on: the languages of what a stub reaches, but for the first one, are appended to the last record of the module, the stack
//!    size of a kernel ([`languages`]).

use super::attributes::byte;
use super::attributes::{Attributes, Payload};
use super::inheritable::InheritableRecords;
use super::kernel::KernelAttributes;
use crate::ids::FunctionId;
use crate::options::Identity;
use crate::session::Link;
use cubin::nvinfo::attr;

/// Codes that stubs inherit.
const CODES: [u8; 2] = [attr::NUM_BARRIERS, attr::VRC_CTA_INIT_COUNT];

/// Number of the first record that acts and the largest value, by code.
type Inherited = [Option<(u32, u16)>; CODES.len()];

fn join(into: &mut Inherited, other: &Inherited) {
    for (a, b) in into.iter_mut().zip(other) {
        *a = match (*a, *b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
}

/// Adds the records.
pub(super) fn inherit<'d>(link: Link<'_, 'd>, attributes: &Attributes<'d>, acting: &InheritableRecords, last: &mut KernelAttributes<'d>) {
    let functions = &link.resolved.functions;
    let stubs: Vec<FunctionId> = functions.ids().filter(|&f| functions[f].stub && link.live.alive[f]).collect();
    if stubs.is_empty() {
        return;
    }
    if link.mode.rules.joins_languages && link.options.identity == Identity::Nvlink {
        last.stub_languages = languages(link, attributes, &stubs);
    }
    let mut own: Vec<(FunctionId, Inherited)> = Vec::new();
    for (owner, number, record) in acting.records(attributes) {
        let code = CODES.iter().position(|&c| c == record.code);
        if let (Some(code), Some(f)) = (code, owner.function().filter(|&f| !functions[f].entry)) {
            let mut one = Inherited::default();
            one[code] = Some((number, record.half()));
            own.push((f, one));
        }
    }
    own.sort_by_key(|e| e.0);
    let reached = link.graph.fold(
        link.resolved,
        |f, all: &mut Inherited| {
            let first = own.partition_point(|e| e.0 < f);
            own.iter().skip(first).take_while(|e| e.0 == f).for_each(|e| join(all, &e.1));
        },
        join,
    );
    let mut added: Vec<(u32, usize, usize, u16)> = Vec::new();
    for (i, &stub) in stubs.iter().enumerate() {
        for (code, inherited) in reached[link.graph.component(stub)].iter().enumerate() {
            if let &Some((number, value)) = inherited {
                added.push((number, code, i, value));
            }
        }
    }
    // Observed: of stubs with the same cause the last comes first.
    added.sort_unstable_by_key(|&(number, code, stub, _)| (number, code, std::cmp::Reverse(stub)));
    let own = last.stubs.len();
    for (_, code, stub, value) in added {
        let code = CODES[code];
        // The attributes are in reverse order.
        let known = last.stubs.iter_mut().take(own).rev().find(|r| stub == 0 && r.code == code);
        match known {
            Some(record) => record.payload = Payload::Half(record.half().max(value)),
            None => last.stubs.push(byte(code, value)),
        }
    }
}

/// The languages that nvlink adds for stubs: in order of the records, those that are not the first one that a stub reaches.
fn languages(link: Link<'_, '_>, attributes: &Attributes<'_>, stubs: &[FunctionId]) -> Vec<u32> {
    let mut functions = Vec::new();
    let mut values: Vec<&[u32]> = Vec::new();
    for (owner, range) in attributes.sections() {
        let Some(f) = owner.function().filter(|&f| !link.resolved.functions[f].entry) else {
            continue;
        };
        for record in attributes.records.of_part(range) {
            if let (attr::LANGUAGE, Payload::Words(words)) = (record.code, &record.payload) {
                functions.push(f);
                values.push(words);
            }
        }
    }
    let mut reached = vec![Vec::new(); stubs.len()];
    link.graph.reach(link.resolved, &functions, stubs, |record, stub| {
        if let Some(list) = reached.get_mut(stub) {
            list.push(record);
        }
    });
    let mut added: Vec<usize> = Vec::new();
    for list in &mut reached {
        list.sort_unstable();
        added.extend(list.iter().skip(1));
    }
    added.sort_unstable();
    added.dedup();
    added
        .iter()
        .filter_map(|&record| values.get(record))
        .flat_map(|words| words.iter().copied())
        .collect()
}
