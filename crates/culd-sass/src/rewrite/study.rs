//! The allocator without the checks, for the study of its errors.

use super::stalls::{hurry, relieve};
use super::{aim_at_kept, dead_setter, dead_stack_pointer, function, settle, split};
use crate::alloc::{allocate, free, learn};
use crate::cfg::{Cfg, IndirectTargets};
use crate::context::KernelContext;
use crate::decode::{Control, Insn, decode_all, opcode};
use crate::fence::deletable_prefixes;
use crate::order::visit_order;
use crate::policy::Policy;
use crate::setter::{Kind, SetterId, Setters};

/// What the model thinks of a function, for the study of its errors.
#[derive(Debug)]
pub struct Study {
    /// The instructions, without deleted ones and padding.
    pub insns: Vec<Insn>,
    /// First instruction of every block and the blocks that follow.
    pub blocks: Vec<(usize, Vec<usize>)>,
    /// Blocks in the order of their visits.
    pub order: Vec<usize>,
    /// Fields with the stack pointer: should be the input's.
    pub alive: Vec<Control>,
    /// Fields without it: should be the linker's.
    pub new: Vec<Control>,
    /// The same without a look at the compiler's numbers.
    pub fresh: Vec<Control>,
    /// As an older compiler.
    pub old: Vec<Control>,
}

/// The instructions without padding and fence prefixes, the indirect branches, and the offset of the load of a dead stack pointer.
fn without_prefixes(code: &[u8], context: &KernelContext) -> Option<(Vec<Insn>, IndirectTargets, Option<u32>)> {
    let mut insns = decode_all(code)?;
    let used = insns.iter().rposition(|insn| insn.op != opcode::NOP).map_or(0, |k| k + 1);
    insns.truncate(used);
    let dead = dead_stack_pointer(&insns);
    let deletable = deletable_prefixes(&insns);
    let (kept, _) = split(insns, &deletable).ok()?;
    let (insns, indirect) = aim_at_kept(kept, &context.indirect);
    Some((insns, indirect, dead))
}

/// Runs the allocator on a function without any of the checks.
#[must_use]
pub fn study(code: &[u8], context: &KernelContext) -> Option<Study> {
    let (insns, indirect, dead) = without_prefixes(code, context)?;
    let cfg = Cfg::new(&insns, &indirect, context.looks_ahead);
    let setters = Setters::new(&insns, &cfg);
    let order = visit_order(&cfg);
    let mut policy = Policy::new(&insns, &cfg, &setters, &order, context.older);
    if context.looks_ahead {
        policy.look_ahead(&cfg, &setters, &order);
    }
    let mut before = function(&insns, &cfg, &setters, &policy);
    before.older = context.older;
    let old = free(&before, &order).fields;
    let lesson = learn(&before, &order);
    if context.older {
        policy.repeat_in_collectives(&insns, &cfg);
    }
    let function = function(&insns, &cfg, &setters, &policy);
    let dead = dead.and_then(|dead| dead_setter(&insns, &setters, dead));
    let alive = free(&function, &order).fields;
    let new = allocate(&function, &order, dead, Some(&lesson.seen)).fields;
    let fresh = allocate(&function, &order, dead, None).fields;
    let new = settle(&insns, &cfg, &setters, &mut policy, dead, Some(&lesson.seen), &|_| false).map_or(new, |new| new.fields);
    let mut policy = Policy::new(&insns, &cfg, &setters, &order, context.older);
    if context.older {
        policy.repeat_in_collectives(&insns, &cfg);
    }
    let fresh = settle(&insns, &cfg, &setters, &mut policy, dead, None, &|_| false).map_or(fresh, |new| new.fields);
    let finish = |mut fields: Vec<Control>, dead: Option<SetterId>| {
        let dead = dead.map(|id| setters.get(id).insn);
        let _ = relieve(&insns, &cfg, &mut fields, dead);
        hurry(&insns, &mut fields, dead);
        fields
    };
    let (alive, new, fresh) = (finish(alive, None), finish(new, dead), finish(fresh, dead));
    let follow = |b: &crate::cfg::Block| (b.start, b.succ.iter().map(|s| s.index()).collect());
    Some(Study {
        blocks: cfg.blocks.iter().map(follow).collect(),
        order: order.iter().map(|b| b.index()).collect(),
        alive,
        new,
        fresh,
        old,
        insns,
    })
}

/// A choice of a number by the model, with the compiler's numbers everywhere before it.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The instruction.
    pub insn: usize,
    /// Its operands, not its result.
    pub read: bool,
    /// How the number was chosen.
    pub how: &'static str,
    /// The compiler chose the same.
    pub right: bool,
    /// The model's number.
    pub number: u8,
}

/// All choices of a function, and the instructions whose waits are not the compiler's.
#[must_use]
pub fn choices(code: &[u8], context: &KernelContext) -> Option<(Vec<Insn>, Vec<Choice>, Vec<usize>)> {
    let (insns, indirect, _) = without_prefixes(code, context)?;
    if insns.iter().any(|i| i.unknown.is_some()) {
        return None;
    }
    let cfg = Cfg::new(&insns, &indirect, context.looks_ahead);
    let setters = Setters::new(&insns, &cfg);
    let order = visit_order(&cfg);
    let mut policy = Policy::new(&insns, &cfg, &setters, &order, context.older);
    if context.looks_ahead {
        policy.look_ahead(&cfg, &setters, &order);
    }
    let lesson = learn(&function(&insns, &cfg, &setters, &policy), &order);
    let (list, waits) = lesson.seen.judged();
    let list = setters
        .ids()
        .zip(list)
        .map(|(id, (how, right, number))| {
            let s = setters.get(id);
            Choice {
                insn: s.insn,
                read: s.kind == Kind::Read,
                how,
                right,
                number,
            }
        })
        .collect();
    Some((insns.clone(), list, waits))
}
