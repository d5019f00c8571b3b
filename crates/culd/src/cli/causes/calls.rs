//! The call graph of all objects by name: which kernel reaches a function, and where it recurses.
//!
//! 1. A node is a function; local functions of different objects are different nodes. Each prototype of an indirect call is a node, too: its
//!    callers lead to it, and it leads to the functions of that prototype whose address is taken.
//!    An edge has the source line of the call where the object has a line table.
//! 2. One search from all kernels gives every function its nearest kernel.
//! 3. Strongly connected components (Tarjan, without recursion) give the nodes on cycles; one search backwards from them gives every node its path
//!    to the nearest cycle.

use super::facts::Object;
use super::lines::Line;
use std::collections::{HashMap, VecDeque};

/// No node.
const NONE: usize = usize::MAX;

/// A node of the graph.
#[derive(Debug)]
struct Node {
    /// `None` for a prototype.
    name: Option<String>,
    is_kernel: bool,
    to: Vec<usize>,
}

/// The call graph.
#[derive(Debug, Default)]
pub struct Calls {
    nodes: Vec<Node>,
    /// By object for local functions, and name.
    by_name: HashMap<(usize, String), usize>,
    /// Object and source line of the call of an edge.
    places: HashMap<(usize, usize), (usize, Line)>,
    /// The node before it on the path from the nearest kernel.
    parent: Vec<usize>,
    /// The next node on the path to the nearest cycle; itself on one.
    towards_cycle: Vec<usize>,
}

/// A path through the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPath {
    /// Functions in order.
    pub steps: Vec<PathStep>,
}

/// A function on a call path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStep {
    /// The function.
    pub name: String,
    /// It is called through a pointer.
    pub is_pointer: bool,
    /// Where it is called: object and line.
    place: Option<(usize, Line)>,
}

impl CallPath {
    /// The functions with arrows between them; after an arrow whether the call is through a pointer, and its line.
    pub fn text(&self, objects: &[Object], name: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        for (index, step) in self.steps.iter().enumerate() {
            let place = step.place.and_then(|(object, line)| Some(objects.get(object)?.place(line)));
            let line = place.map(|(file, line)| format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)));
            let pointer = step.is_pointer.then(|| "pointer".to_owned());
            let notes: Vec<String> = pointer.into_iter().chain(line).collect();
            text += match (index, notes.is_empty()) {
                (0, _) => "",
                (_, true) => " -> ",
                (_, false) => " -> (",
            };
            if index > 0 && !notes.is_empty() {
                text += &format!("{}) ", notes.join(", "));
            }
            text += &name(&step.name);
        }
        text
    }
}

impl Calls {
    pub fn new(objects: &[Object]) -> Self {
        let mut calls = Calls::default();
        let mut prototypes: HashMap<&str, usize> = HashMap::new();
        for (number, object) in objects.iter().enumerate() {
            for (index, symbol) in object.symbols.iter().enumerate().filter(|(_, s)| s.is_function()) {
                let id = calls.function(objects, number, index as u32).unwrap_or(NONE);
                if let Some(node) = calls.nodes.get_mut(id) {
                    node.is_kernel |= symbol.is_kernel();
                }
            }
            for &(from, to) in &object.calls {
                let place = object.lines_of(from, to).first().map(|&line| (number, line));
                let ends = calls.function(objects, number, from).zip(calls.function(objects, number, to));
                ends.into_iter().for_each(|(from, to)| calls.edge(from, to, place));
            }
            for (list, is_site) in [(&object.sites, true), (&object.taken, false)] {
                for (function, prototype) in list {
                    let node = *prototypes.entry(prototype).or_insert_with(|| calls.node(None));
                    match (calls.function(objects, number, *function), is_site) {
                        (Some(f), true) => {
                            let place = object.site_lines(*function).first().map(|&line| (number, line));
                            calls.edge(f, node, place);
                        }
                        (Some(f), false) => calls.edge(node, f, None),
                        (None, _) => {}
                    }
                }
            }
        }
        calls.find_kernels();
        calls.find_cycles();
        calls
    }

    fn node(&mut self, name: Option<String>) -> usize {
        self.nodes.push(Node {
            name,
            is_kernel: false,
            to: Vec::new(),
        });
        self.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, place: Option<(usize, Line)>) {
        if let Some(place) = place {
            self.places.entry((from, to)).or_insert(place);
        }
        if let Some(node) = self.nodes.get_mut(from) {
            node.to.push(to);
        }
    }

    fn function(&mut self, objects: &[Object], number: usize, index: u32) -> Option<usize> {
        let symbol = objects.get(number)?.symbols.get(index as usize).filter(|s| !s.name.is_empty())?;
        let owner = if symbol.is_local() { number } else { NONE };
        let key = (owner, symbol.name.clone());
        if let Some(&known) = self.by_name.get(&key) {
            return Some(known);
        }
        let id = self.node(Some(symbol.name.clone()));
        self.by_name.insert(key, id);
        Some(id)
    }

    fn targets(&self, node: usize) -> &[usize] {
        self.nodes.get(node).map_or(&[], |n| &n.to)
    }

    fn find_kernels(&mut self) {
        let kernels: Vec<usize> = (0..self.nodes.len())
            .filter(|&n| self.nodes.get(n).is_some_and(|n| n.is_kernel))
            .collect();
        self.parent = self.search(&kernels);
    }

    /// Breadth first from some nodes: the node before each, itself for the first ones.
    fn search(&self, from: &[usize]) -> Vec<usize> {
        let mut parent = vec![NONE; self.nodes.len()];
        let mut queue: VecDeque<usize> = from.iter().copied().collect();
        for &start in from {
            set(&mut parent, start, start);
        }
        while let Some(node) = queue.pop_front() {
            for &next in self.targets(node) {
                if parent.get(next) == Some(&NONE) {
                    set(&mut parent, next, node);
                    queue.push_back(next);
                }
            }
        }
        parent
    }

    fn find_cycles(&mut self) {
        let component = self.components();
        let mut sizes: HashMap<usize, usize> = HashMap::new();
        component.iter().for_each(|&c| *sizes.entry(c).or_default() += 1);
        let on_cycle = |node: usize| {
            let size = component.get(node).and_then(|c| sizes.get(c)).copied().unwrap_or(0);
            size > 1 || self.targets(node).contains(&node)
        };
        let mut back: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for node in 0..self.nodes.len() {
            for &next in self.targets(node) {
                if let Some(list) = back.get_mut(next) {
                    list.push(node);
                }
            }
        }
        let mut towards = vec![NONE; self.nodes.len()];
        // A cycle is entered at a function, not at a prototype, so that it has a name.
        let named = |n: &usize| self.nodes.get(*n).is_some_and(|n| n.name.is_some());
        let mut queue: VecDeque<usize> = (0..self.nodes.len()).filter(|&n| on_cycle(n)).filter(named).collect();
        for &node in &queue {
            set(&mut towards, node, node);
        }
        while let Some(node) = queue.pop_front() {
            for &before in back.get(node).into_iter().flatten() {
                if towards.get(before) == Some(&NONE) {
                    set(&mut towards, before, node);
                    queue.push_back(before);
                }
            }
        }
        self.towards_cycle = towards;
    }

    /// The number of the strongly connected component of each node.
    fn components(&self) -> Vec<usize> {
        let count = self.nodes.len();
        let (mut index, mut low, mut component) = (vec![NONE; count], vec![0; count], vec![NONE; count]);
        let (mut next, mut stack, mut number) = (0, Vec::new(), 0);
        for root in 0..count {
            if index.get(root) != Some(&NONE) {
                continue;
            }
            let mut work = vec![(root, 0)];
            while let Some((node, edge)) = work.pop() {
                if edge == 0 {
                    set(&mut index, node, next);
                    set(&mut low, node, next);
                    next += 1;
                    stack.push(node);
                }
                match self.targets(node).get(edge) {
                    Some(&to) => {
                        work.push((node, edge + 1));
                        match at(&index, to) {
                            NONE => work.push((to, 0)),
                            seen if at(&component, to) == NONE => {
                                let least = at(&low, node).min(seen);
                                set(&mut low, node, least);
                            }
                            _ => {}
                        }
                    }
                    None => {
                        if at(&low, node) == at(&index, node) {
                            while let Some(member) = stack.pop() {
                                set(&mut component, member, number);
                                if member == node {
                                    break;
                                }
                            }
                            number += 1;
                        }
                        if let Some(&(above, _)) = work.last() {
                            let least = at(&low, above).min(at(&low, node));
                            set(&mut low, above, least);
                        }
                    }
                }
            }
        }
        component
    }

    fn id(&self, object: usize, name: &str) -> Option<usize> {
        let local = self.by_name.get(&(object, name.to_owned()));
        local.or_else(|| self.by_name.get(&(NONE, name.to_owned()))).copied()
    }

    /// The path from the nearest kernel to a function of an object.
    pub fn path_from_kernel(&self, object: usize, function: &str) -> Option<CallPath> {
        self.trace(&self.parent, self.id(object, function)?)
    }

    /// Ways from one kernel to functions of objects.
    pub fn paths_from(&self, kernel: &str) -> impl Fn(usize, &str) -> Option<CallPath> + '_ {
        let start: Vec<usize> = self.id(NONE, kernel).into_iter().collect();
        let parent = self.search(&start);
        move |object, function| self.trace(&parent, self.id(object, function)?)
    }

    fn trace(&self, parent: &[usize], end: usize) -> Option<CallPath> {
        let mut nodes = vec![end];
        let mut node = end;
        loop {
            let before = *parent.get(node).filter(|&&p| p != NONE)?;
            if before == node {
                break;
            }
            nodes.push(before);
            node = before;
        }
        nodes.reverse();
        Some(self.call_path(&nodes))
    }

    /// The path from a kernel to the nearest cycle, and once around it.
    pub fn recursion(&self, kernel: &str) -> Option<CallPath> {
        let mut node = self.id(NONE, kernel)?;
        let mut nodes = vec![node];
        loop {
            let next = *self.towards_cycle.get(node).filter(|&&n| n != NONE)?;
            if next == node {
                break;
            }
            nodes.push(next);
            node = next;
        }
        let parent = self.search(self.targets(node));
        let mut around = vec![node];
        let mut at_node = node;
        loop {
            let before = *parent.get(at_node).filter(|&&p| p != NONE)?;
            if before == at_node {
                break;
            }
            around.push(before);
            at_node = before;
        }
        nodes.extend(around.into_iter().rev());
        Some(self.call_path(&nodes))
    }

    fn call_path(&self, nodes: &[usize]) -> CallPath {
        let mut steps = Vec::new();
        let (mut is_pointer, mut place, mut before) = (false, None, NONE);
        for &id in nodes {
            place = place.or_else(|| self.places.get(&(before, id)).copied());
            before = id;
            match self.nodes.get(id).map(|node| &node.name) {
                Some(Some(name)) => steps.push(PathStep {
                    name: name.clone(),
                    is_pointer: std::mem::take(&mut is_pointer),
                    place: place.take(),
                }),
                Some(None) => is_pointer = true,
                None => {}
            }
        }
        CallPath { steps }
    }
}

fn at(list: &[usize], index: usize) -> usize {
    list.get(index).copied().unwrap_or(NONE)
}

fn set(list: &mut [usize], index: usize, value: usize) {
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
}
