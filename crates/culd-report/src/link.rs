//! What only a link can tell: inputs, what was dropped, registers of functions before they were propagated.

use crate::model::{Dropped, Report, Unit, Variable};
use crate::{build, calls, names};
use culd_engine::explain::map::{DropReason, LinkMap, MapSymbol, SymbolKind};
use std::collections::{HashMap, VecDeque};

/// A link to describe.
#[derive(Debug, Clone, Copy)]
pub struct Linked<'l> {
    /// The output's name.
    pub output: &'l str,
    /// The output.
    pub image: &'l [u8],
    /// Device objects in link order.
    pub inputs: &'l [(&'l str, &'l [u8])],
    /// The link map.
    pub map: Option<&'l LinkMap>,
}

/// Describes a link. Messages and status are up to the caller.
pub fn report(linked: Linked<'_>) -> Result<Report, String> {
    let mut report = Report::new(linked.output);
    let mut unit = build::unit(linked.output, linked.image)?;
    let mut inputs = Inputs::default();
    linked.inputs.iter().for_each(|(name, _)| {
        inputs.number(name);
    });
    if let Some(map) = linked.map {
        add_map(&mut unit, map, &mut inputs);
    }
    own_registers(&mut unit, linked.inputs);
    unit.inputs = inputs.names;
    calls::find_paths(&mut unit);
    report.units.push(unit);
    Ok(report)
}

/// Inputs and their numbers.
#[derive(Debug, Default)]
struct Inputs {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Inputs {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

fn add_map(unit: &mut Unit, map: &LinkMap, inputs: &mut Inputs) {
    // Local functions of different inputs may have the same name: they keep their order.
    let mut functions: HashMap<&str, VecDeque<&MapSymbol>> = HashMap::new();
    let mut variables: HashMap<(&str, u64, &str), &MapSymbol> = HashMap::new();
    for section in &map.sections {
        for symbol in &section.symbols {
            match symbol.kind {
                SymbolKind::Variable => {
                    variables.insert((&section.name, symbol.offset, &symbol.name), symbol);
                }
                _ => functions.entry(&symbol.name).or_default().push_back(symbol),
            }
        }
    }
    for f in &mut unit.functions {
        let symbol = functions.get_mut(f.name.as_str()).and_then(VecDeque::pop_front);
        f.input = symbol.and_then(|s| s.input.as_deref()).map(|i| inputs.number(i));
    }
    for space in &mut unit.spaces {
        for v in &mut space.variables {
            let symbol = variables.get(&(space.section.as_str(), v.offset, v.name.as_str()));
            v.input = symbol.and_then(|s| s.input.as_deref()).map(|i| inputs.number(i));
        }
    }
    for var in &map.shared {
        let section = var.kernel.as_ref().map(|k| format!(".nv.shared.{k}"));
        let variable = Variable {
            name: var.name.clone(),
            demangled: names::demangled(&var.name),
            offset: var.offset,
            size: var.size,
            input: Some(inputs.number(&var.input)),
            kernel: var.kernel.as_deref().map(names::demangled),
        };
        let space = unit.spaces.iter_mut().find(|s| Some(&s.section) == section.as_ref());
        match space {
            Some(space) if !space.variables.iter().any(|v| v.name == variable.name) => space.variables.push(variable),
            Some(_) => {}
            None => shared_by_all(unit, variable),
        }
    }
    unit.dropped = map.dropped.iter().map(dropped).collect();
}

/// Adds a variable that several kernels may use.
fn shared_by_all(unit: &mut Unit, variable: Variable) {
    const NAME: &str = "shared, by variable";
    let at = unit.spaces.iter().position(|s| s.name == NAME).unwrap_or_else(|| {
        unit.spaces.push(crate::model::Space {
            name: NAME.into(),
            ..Default::default()
        });
        unit.spaces.len() - 1
    });
    if let Some(space) = unit.spaces.get_mut(at) {
        space.size = space.size.saturating_add(variable.size);
        space.variables.push(variable);
    }
}

fn dropped(d: &culd_engine::explain::map::Dropped) -> Dropped {
    Dropped {
        name: d.name.clone(),
        demangled: names::demangled(&d.name),
        size: d.size,
        input: d.input.clone(),
        why: reason(&d.why),
    }
}

/// Why something was dropped, in words.
pub fn reason(why: &DropReason) -> String {
    match why {
        DropReason::Unreached => "no kernel reaches it".into(),
        DropReason::NotUsed => "nothing launches it".into(),
        DropReason::OtherCopy(input) => format!("the copy in {input} was taken"),
        DropReason::Merged => "the same bytes were already there".into(),
        DropReason::Unnamed => "no symbol is defined in it".into(),
        DropReason::Ignored => "it has no meaning in a linked file".into(),
        DropReason::AddressUnused(function) => format!("no kernel reaches {} through it", names::demangled(function)),
    }
}

/// Registers of each function before the link, from the input that defines it.
fn own_registers(unit: &mut Unit, inputs: &[(&str, &[u8])]) {
    let mut known: HashMap<(u32, String), u32> = HashMap::new();
    for (number, (_, bytes)) in inputs.iter().enumerate() {
        let Ok(input) = build::unit("", bytes) else { continue };
        for f in input.functions {
            if let Some(registers) = f.registers {
                known.insert((number as u32, f.name), registers);
            }
        }
    }
    for f in &mut unit.functions {
        f.own_registers = f.input.and_then(|i| known.get(&(i, f.name.clone())).copied());
    }
}
