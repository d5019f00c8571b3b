//! The call graph, condensed, so that every reachability query takes one pass over its edges.
//!
//! 1. Nodes are the functions and the prototypes. An indirect call is an edge to its prototype, a prototype has edges to the functions
//!    whose address is taken with it: many callers times many targets cost their sum, not their product.
//! 2. Strongly connected components are numbered callees first (Tarjan, without recursion).
//! 3. [`CallGraph::fold`] computes a value for every component from its members and the components it calls.
//! 4. [`CallGraph::reach`] answers "which of these functions does each of those reach": by walks in sparse graphs, by bit sets in slices
//!    of 512 functions in dense ones, so memory stays proportional to the graph.

use crate::ids::{FunctionId, Id, PART, ProtoId, Table};
use crate::par::Threads;
use crate::resolve::Resolved;
use std::sync::atomic::{AtomicBool, Ordering};

/// The edges of the graph: enough to find what is reachable.
#[derive(Debug)]
pub struct CallEdges {
    functions: usize,
    /// For each prototype the functions taken with it, ascending.
    targets: Vec<Vec<FunctionId>>,
}

/// The condensed graph.
#[derive(Debug)]
pub struct CallGraph {
    edges: CallEdges,
    component: Vec<u32>,
    /// Members of component `c`: `order[start[c]..start[c + 1]]`.
    order: Vec<u32>,
    start: Vec<u32>,
    cyclic: Vec<bool>,
}

/// Number of marks that [`CallGraph::reach`] handles at once.
const SLICE: usize = 512;
const WORDS: usize = SLICE / 64;
/// From so many functions on, several threads mark those that are reachable.
const MANY: usize = if cfg!(test) { 4 } else { 4096 };

impl CallEdges {
    /// The edges of a link's call graph.
    pub fn new(resolved: &Resolved<'_>) -> Self {
        let mut targets = vec![Vec::new(); resolved.prototypes.len()];
        for (f, function) in resolved.functions.enumerate() {
            if let Some(p) = function.taken {
                targets[p.index()].push(f);
            }
        }
        CallEdges {
            functions: resolved.functions.len(),
            targets,
        }
    }

    fn of<'a>(&'a self, resolved: &'a Resolved<'_>, node: u32) -> Edges<'a> {
        match (node as usize).checked_sub(self.functions) {
            None => Edges {
                functions: resolved.direct.of(FunctionId::new(node)),
                sites: resolved.sites.of(FunctionId::new(node)),
                base: self.functions as u32,
            },
            Some(p) => Edges {
                functions: &self.targets[p],
                sites: &[],
                base: self.functions as u32,
            },
        }
    }

    /// Number of functions and prototypes.
    fn nodes(&self) -> usize {
        self.functions + self.targets.len()
    }

    /// [`mark`](Self::mark) by several threads, if there are many functions: each takes a part of those that were found last, and what it finds first is
    /// its part of the next ones. Which thread finds a function makes no difference to the result.
    pub fn mark_all(
        &self,
        resolved: &Resolved<'_>,
        roots: impl IntoIterator<Item = FunctionId>,
        threads: Threads,
    ) -> Table<FunctionId, bool> {
        if !threads.are_many() || self.functions < MANY {
            return self.mark(resolved, roots);
        }
        let seen: Vec<AtomicBool> = threads.map_numbered(&vec![(); self.nodes()], |_, ()| AtomicBool::new(false));
        let is_new = |node: u32| {
            let flag = &seen[node as usize];
            // Most functions are called by many: reading first leaves their flags with all threads.
            !flag.load(Ordering::Relaxed) && !flag.swap(true, Ordering::Relaxed)
        };
        let mut found: Vec<u32> = roots.into_iter().map(FunctionId::number).filter(|&root| is_new(root)).collect();
        while !found.is_empty() {
            let next = |nodes: &[u32]| {
                let targets = nodes.iter().flat_map(|&node| self.of(resolved, node).iter());
                targets.filter(|&target| is_new(target)).collect()
            };
            found = threads.join_parts(&found, PART, next);
        }
        let mut seen = threads.map_numbered(&seen, |_, flag| flag.load(Ordering::Relaxed));
        seen.truncate(self.functions);
        seen.into()
    }

    /// Marks every function reachable from the roots, the roots included.
    pub fn mark(&self, resolved: &Resolved<'_>, roots: impl IntoIterator<Item = FunctionId>) -> Table<FunctionId, bool> {
        let mut seen = vec![false; self.nodes()];
        let mut todo: Vec<u32> = Vec::new();
        for root in roots {
            if !std::mem::replace(&mut seen[root.index()], true) {
                todo.push(root.number());
            }
        }
        while let Some(node) = todo.pop() {
            for target in self.of(resolved, node).iter() {
                if !std::mem::replace(&mut seen[target as usize], true) {
                    todo.push(target);
                }
            }
        }
        seen.truncate(self.functions);
        seen.into()
    }
}

impl CallGraph {
    /// Condenses the call graph of a link.
    pub fn new(edges: CallEdges, resolved: &Resolved<'_>) -> Self {
        let mut graph = CallGraph {
            edges,
            component: Vec::new(),
            order: Vec::new(),
            start: vec![0],
            cyclic: Vec::new(),
        };
        graph.condense(resolved);
        graph
    }

    /// Functions taken with a prototype, ascending.
    pub fn targets(&self, p: ProtoId) -> &[FunctionId] {
        &self.edges.targets[p.index()]
    }

    fn edges<'a>(&'a self, resolved: &'a Resolved<'_>, node: u32) -> Edges<'a> {
        self.edges.of(resolved, node)
    }

    /// Marks every function reachable from the roots, the roots included.
    pub fn mark(&self, resolved: &Resolved<'_>, roots: impl IntoIterator<Item = FunctionId>) -> Table<FunctionId, bool> {
        self.edges.mark(resolved, roots)
    }

    /// Tarjan's algorithm with an explicit stack.
    fn condense(&mut self, resolved: &Resolved<'_>) {
        let nodes = self.edges.nodes();
        const NEW: u32 = u32::MAX;
        let mut number = vec![NEW; nodes];
        let mut low = vec![0u32; nodes];
        let mut component = vec![NEW; nodes];
        let (mut open, mut path): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        let mut next = 0;
        for root in 0..nodes as u32 {
            if number[root as usize] != NEW {
                continue;
            }
            path.push((root, 0));
            while let Some(&mut (node, ref mut edge)) = path.last_mut() {
                let v = node as usize;
                if *edge == 0 {
                    (number[v], low[v]) = (next, next);
                    next += 1;
                    open.push(node);
                }
                let target = self.edges(resolved, node).get(*edge as usize);
                *edge += 1;
                if let Some(target) = target {
                    let t = target as usize;
                    if number[t] == NEW {
                        path.push((target, 0));
                    } else if component[t] == NEW {
                        low[v] = low[v].min(number[t]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent as usize] = low[parent as usize].min(low[v]);
                }
                if low[v] == number[v] {
                    self.close(resolved, node, &mut open, &mut component);
                }
            }
        }
        self.component = component;
    }

    fn close(&mut self, resolved: &Resolved<'_>, root: u32, open: &mut Vec<u32>, component: &mut [u32]) {
        let id = self.cyclic.len() as u32;
        let first = self.order.len();
        while let Some(node) = open.pop() {
            component[node as usize] = id;
            self.order.push(node);
            if node == root {
                break;
            }
        }
        self.start.push(self.order.len() as u32);
        let alone = self.order.len() - first == 1;
        let loops = alone && self.edges(resolved, root).iter().any(|t| t == root);
        self.cyclic.push(!alone || loops);
    }

    /// Component of a function.
    pub fn component(&self, f: FunctionId) -> usize {
        self.component[f.index()] as usize
    }

    /// Whether a function calls itself, directly or through others.
    pub fn is_recursive(&self, f: FunctionId) -> bool {
        self.cyclic.get(self.component(f)).copied().unwrap_or(false)
    }

    fn members(&self, c: usize) -> &[u32] {
        &self.order[self.start[c] as usize..self.start[c + 1] as usize]
    }

    /// A value per component: `node` adds each member function, `join` each called component's value.
    pub fn fold<T: Default>(&self, resolved: &Resolved<'_>, mut node: impl FnMut(FunctionId, &mut T), join: impl Fn(&mut T, &T)) -> Vec<T> {
        let mut values: Vec<T> = Vec::with_capacity(self.cyclic.len());
        for c in 0..self.cyclic.len() {
            let mut value = T::default();
            for &member in self.members(c) {
                if (member as usize) < self.edges.functions {
                    node(FunctionId::new(member), &mut value);
                }
                for target in self.edges(resolved, member).iter() {
                    let t = self.component[target as usize] as usize;
                    if t != c {
                        join(&mut value, &values[t]);
                    }
                }
            }
            values.push(value);
        }
        values
    }

    /// Per component, whether a cycle can be reached from it.
    #[cfg(test)]
    pub(crate) fn reaches_cycle(&self, resolved: &Resolved<'_>) -> Vec<bool> {
        self.deepest(resolved, |_| 0).iter().map(Option::is_none).collect()
    }

    /// Per component the largest sum of `own` along a call path; `None` where a cycle can be reached.
    pub fn deepest(&self, resolved: &Resolved<'_>, own: impl Fn(FunctionId) -> i64) -> Vec<Option<i64>> {
        let mut values: Vec<Option<i64>> = Vec::with_capacity(self.cyclic.len());
        for c in 0..self.cyclic.len() {
            let mut value = (!self.cyclic[c]).then_some(0i64);
            for &member in self.members(c) {
                for target in self.edges(resolved, member).iter() {
                    let t = self.component[target as usize] as usize;
                    if t != c {
                        value = value.zip(values[t]).map(|(a, b)| a.max(b));
                    }
                }
                if (member as usize) < self.edges.functions {
                    value = value.map(|v| v.wrapping_add(own(FunctionId::new(member))));
                }
            }
            values.push(value);
        }
        values
    }

    /// For every `(mark, source)` pair where `source` reaches `mark` (a function reaches itself), calls `hit(mark number, source number)`;
    /// each mark sees its sources ascending.
    ///
    /// 1. Walk from one source after the other, over components that lead to a mark. In a sparse graph this costs what it finds.
    /// 2. When the walks have cost as much as the bit sets would, the remaining sources get those: one row of 512 marks per component
    ///    and slice of the marks.
    pub fn reach(&self, resolved: &Resolved<'_>, marks: &[FunctionId], sources: &[FunctionId], mut hit: impl FnMut(usize, usize)) {
        if marks.is_empty() || sources.is_empty() {
            return;
        }
        let walked = self.walk(resolved, marks, sources, &mut hit);
        let rest = sources.get(walked..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        let mut rows: Vec<[u64; WORDS]> = Vec::with_capacity(self.cyclic.len());
        let mut place = vec![u32::MAX; self.edges.functions];
        for (slice, part) in marks.chunks(SLICE).enumerate() {
            for (i, f) in part.iter().enumerate() {
                place[f.index()] = i as u32;
            }
            self.slice(resolved, &place, &mut rows);
            for (s, source) in rest.iter().enumerate() {
                for (w, &word) in rows[self.component(*source)].iter().enumerate() {
                    let mut left = word;
                    while left != 0 {
                        hit(slice * SLICE + w * 64 + left.trailing_zeros() as usize, walked + s);
                        left &= left - 1;
                    }
                }
            }
            for f in part {
                place[f.index()] = u32::MAX;
            }
        }
    }

    /// Walks from the sources until that has cost too much; returns how many are done.
    fn walk(&self, resolved: &Resolved<'_>, marks: &[FunctionId], sources: &[FunctionId], hit: &mut impl FnMut(usize, usize)) -> usize {
        let mut number = vec![u32::MAX; self.edges.functions];
        for (i, f) in marks.iter().enumerate() {
            number[f.index()] = i as u32;
        }
        let leads = self.fold(
            resolved,
            |f, leads: &mut bool| *leads |= number[f.index()] != u32::MAX,
            |leads, callee| *leads |= callee,
        );
        let mut left = marks.len().div_ceil(SLICE) * 2 * (self.order.len() + resolved.direct.len() + resolved.sites.len());
        let mut seen = vec![u32::MAX; self.cyclic.len()];
        let (mut todo, mut found): (Vec<usize>, Vec<u32>) = (Vec::new(), Vec::new());
        for (s, source) in sources.iter().enumerate() {
            let mut enter = |c: usize, todo: &mut Vec<usize>| {
                if leads[c] && seen[c] != s as u32 {
                    seen[c] = s as u32;
                    todo.push(c);
                }
            };
            enter(self.component(*source), &mut todo);
            while let Some(c) = todo.pop() {
                for &member in self.members(c) {
                    found.extend(number.get(member as usize).filter(|&&n| n != u32::MAX));
                    let edges = self.edges(resolved, member);
                    let Some(rest) = left.checked_sub(1 + edges.len()) else { return s };
                    left = rest;
                    for target in edges.iter() {
                        enter(self.component[target as usize] as usize, &mut todo);
                    }
                }
            }
            found.sort_unstable();
            found.drain(..).for_each(|n| hit(n as usize, s));
        }
        sources.len()
    }

    /// One row of marks per component.
    fn slice(&self, resolved: &Resolved<'_>, place: &[u32], rows: &mut Vec<[u64; WORDS]>) {
        rows.clear();
        for c in 0..self.cyclic.len() {
            let mut row = [0u64; WORDS];
            for &member in self.members(c) {
                if let Some(&i) = place.get(member as usize)
                    && i != u32::MAX
                {
                    row[i as usize / 64] |= 1 << (i % 64);
                }
                for target in self.edges(resolved, member).iter() {
                    let t = self.component[target as usize] as usize;
                    if t != c {
                        row.iter_mut().zip(rows[t]).for_each(|(a, b)| *a |= b);
                    }
                }
            }
            rows.push(row);
        }
    }

    /// A shortest call path from one function to another, both included.
    pub fn path(&self, resolved: &Resolved<'_>, from: FunctionId, to: FunctionId) -> Vec<FunctionId> {
        let mut parent = vec![u32::MAX; self.edges.nodes()];
        let mut queue = std::collections::VecDeque::from([from.number()]);
        parent[from.index()] = from.number();
        while let Some(node) = queue.pop_front() {
            if node == to.number() {
                break;
            }
            for target in self.edges(resolved, node).iter() {
                if parent[target as usize] == u32::MAX {
                    parent[target as usize] = node;
                    queue.push_back(target);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to.number();
        while parent[node as usize] != u32::MAX {
            if (node as usize) < self.edges.functions {
                path.push(FunctionId::new(node));
            }
            if node == from.number() {
                break;
            }
            node = parent[node as usize];
        }
        path.reverse();
        path
    }

    /// The callees of a function as nvlink lists them: for each indirect site the taken functions put first one by one, then the direct ones.
    pub fn callees(&self, resolved: &Resolved<'_>, f: FunctionId) -> Vec<FunctionId> {
        let mut list: Vec<FunctionId> = Vec::new();
        for &p in resolved.sites.of(f) {
            list.extend(self.targets(p));
        }
        list.reverse();
        list.extend(resolved.direct.of(f));
        list
    }
}

/// Out-edges of a node.
struct Edges<'a> {
    functions: &'a [FunctionId],
    sites: &'a [ProtoId],
    base: u32,
}

impl<'a> Edges<'a> {
    fn get(&self, i: usize) -> Option<u32> {
        match self.functions.get(i) {
            Some(f) => Some(f.number()),
            None => self.sites.get(i - self.functions.len()).map(|p| self.base + p.number()),
        }
    }
    fn len(&self) -> usize {
        self.functions.len() + self.sites.len()
    }
    fn iter(self) -> impl Iterator<Item = u32> + 'a {
        let base = self.base;
        self.functions
            .iter()
            .map(|f| f.number())
            .chain(self.sites.iter().map(move |p| base + p.number()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod tests;
