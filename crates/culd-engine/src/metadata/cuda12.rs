//! Attributes that objects of CUDA 12 need: barriers from section flags; functions without a sparse mask get one where others have it.

use super::attributes::{Attributes, Payload};
use super::attributes::{byte, first_of, half};
use super::kernel::KernelAttributes;
use crate::ids::{FunctionId, Table};
use crate::object::{NO_OWNER, ObjSection, Object, Role};
use crate::session::Link;
use cubin::nvinfo::attr;

/// Marks functions without a sparse mask where others have one.
const NO_SPARSE_MASK: u16 = 0x8000;

/// Version of the Mercury instructions of objects that do not state it: those of CUDA 12.8 and 12.9.
const FIRST_MERCURY: u16 = 0x100;

/// Functions with Mercury code that do not state its version get the first one, before their other records.
pub(super) fn mercury_versions<'d>(link: Link<'_, 'd>, attributes: &Attributes<'d>, last: &mut KernelAttributes<'d>) {
    if !link.options.target.capabilities().has_mercury || !link.mode.rules.adds_mercury_version {
        return;
    }
    for f in link.resolved.functions.ids() {
        let mut own = last.functions[f].iter(&attributes.records).peekable();
        let lacks = own.peek().is_some() && !own.any(|r| r.code == attr::MERCURY_ISA_VERSION);
        drop(own);
        if lacks {
            last.list(&attributes.records, f)
                .insert(0, half(attr::MERCURY_ISA_VERSION, FIRST_MERCURY));
        }
    }
}

/// `has`: functions that have a mask.
pub(super) fn sparse_masks<'d>(
    link: Link<'_, 'd>,
    attributes: &Attributes<'d>,
    has: &Table<FunctionId, bool>,
    last: &mut KernelAttributes<'d>,
) {
    let functions = &link.resolved.functions;
    if !has.iter().any(|&h| h) {
        return;
    }
    last.stubs.push(half(attr::SPARSE_MMA_MASK, 0));
    let lacks = |f: FunctionId| link.live.alive[f] && functions[f].winner.is_some() && !functions[f].stub && !has[f] && !is_inner(link, f);
    let mut marked = Table::filled(functions.len(), false);
    for f in functions.ids().filter(|&f| lacks(f)) {
        marked[f] = true;
        marked[alias_of(link, f).unwrap_or(f)] = true;
    }
    if !marked.iter().any(|&m| m) {
        return;
    }
    let reaches = link
        .graph
        .fold(link.resolved, |f, any: &mut bool| *any |= marked[f], |any, callee| *any |= callee);
    for f in functions.ids() {
        if lacks(f) {
            let owner = alias_of(link, f).unwrap_or(f);
            last.list(&attributes.records, owner)
                .push(half(attr::SPARSE_MMA_MASK, NO_SPARSE_MASK));
        } else if link.live.is_kernel[f] && (link.live.only.is_some() || reaches[link.graph.component(f)]) {
            for record in last
                .list(&attributes.records, f)
                .iter_mut()
                .filter(|r| r.code == attr::SPARSE_MMA_MASK)
            {
                record.payload = Payload::Half(record.half() | NO_SPARSE_MASK);
            }
        }
    }
}

/// Barriers of CUDA 12 objects, from the flags of their text sections.
pub(super) fn barriers<'d>(link: Link<'_, 'd>, attributes: &Attributes<'d>, last: &mut KernelAttributes<'d>) {
    let older_form = link.mode.is_older_form() && !link.mode.relocatable;
    if !link.inputs.objects.iter().any(|o| o.has_barrier_flags) && !older_form {
        return;
    }
    let own = |f: FunctionId| own_barriers(link, f);
    let highest = link.graph.fold(
        link.resolved,
        |f, n: &mut u16| *n = (*n).max(own(f)),
        |n, callee| *n = (*n).max(*callee),
    );
    for f in link.resolved.functions.ids() {
        if !link.live.alive[f] || link.resolved.functions[f].winner.is_none() {
            continue;
        }
        let kernel = link.live.is_kernel[f];
        let value = if kernel { highest[link.graph.component(f)] } else { own(f) };
        if older_form {
            to_flags(attributes, f, value, last);
            continue;
        }
        if value == 0 {
            continue;
        }
        let callees = if kernel { callee_barriers(link, f, &highest) } else { 0 };
        let list = last.list(&attributes.records, f);
        match first_of(list, attr::NUM_BARRIERS) {
            Some(record) => {
                record.payload = Payload::Half(record.half().max(callees));
                if own(f) > 0 {
                    last.flagged.push((f, own(f).into()));
                }
            }
            None => list.push(byte(attr::NUM_BARRIERS, value)),
        }
    }
}

/// The form of CUDA 12 has the number of barriers in the flags alone.
fn to_flags<'d>(attributes: &Attributes<'d>, f: FunctionId, value: u16, last: &mut KernelAttributes<'d>) {
    let mut recorded = 0;
    if last.functions[f].iter(&attributes.records).any(|r| r.code == attr::NUM_BARRIERS) {
        let list = last.list(&attributes.records, f);
        recorded = first_of(list, attr::NUM_BARRIERS).map_or(0, |r| r.half());
        list.retain(|r| r.code != attr::NUM_BARRIERS);
    }
    let value = value.max(recorded & 0x7f);
    if value != 0 {
        last.flagged.push((f, value.into()));
    }
}

/// The text section of a function's prevailing definition, and the symbol of the definition.
fn text<'a, 'd>(link: Link<'a, 'd>, f: FunctionId) -> Option<(&'a Object<'d>, &'a ObjSection<'d>, u32)> {
    let winner = link.resolved.functions[f].winner.filter(|_| link.live.alive[f])?;
    let object = &link.inputs.objects[winner.object];
    let section = object.section(winner.section).filter(|s| s.role == Role::Text)?;
    Some((object, section, winner.symbol))
}

/// It is inside another function's text, whose attributes describe it.
fn is_inner(link: Link<'_, '_>, f: FunctionId) -> bool {
    let winner = link.resolved.functions[f].winner;
    winner.is_some_and(|w| link.inputs.objects[w.object].outer(w.symbol).is_some())
}

/// The function that another one is a second name of.
fn alias_of(link: Link<'_, '_>, f: FunctionId) -> Option<FunctionId> {
    let (object, section, symbol) = text(link, f)?;
    let owner = Some(section.owner).filter(|&o| o != symbol && o != NO_OWNER)?;
    link.resolved.function(object.symbol_ref(owner))
}

fn own_barriers(link: Link<'_, '_>, f: FunctionId) -> u16 {
    match text(link, f) {
        Some((_, section, symbol)) if section.owner == symbol || section.owner == NO_OWNER => section.barriers() as u16,
        _ => 0,
    }
}

fn callee_barriers(link: Link<'_, '_>, f: FunctionId, highest: &[u16]) -> u16 {
    let callees = link.graph.callees(link.resolved, f);
    callees.iter().map(|&c| highest[link.graph.component(c)]).max().unwrap_or(0)
}
