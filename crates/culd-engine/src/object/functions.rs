//! Functions of an object: their order, and the registers that copies of weak functions are compared by.

use super::{NO_OWNER, Object, Role};
use cubin::consts::{STB_WEAK, STO_CUDA_ENTRY, STT_FUNC};
use cubin::nvinfo::attr;

/// What the resolution of functions reads of a symbol. That is serial, and other threads read the file: the list takes few cache lines.
#[derive(Debug, Clone, Copy)]
pub struct FunctionMention {
    /// Symbol index.
    pub index: u32,
    /// Section of the definition, [`NO_SECTION`] if there is none.
    section: u32,
    /// Registers of a weak definition, 0 for others.
    pub registers: u32,
    /// Binding.
    pub bind: u8,
    /// It is a kernel.
    pub entry: bool,
    /// The definition is a stub.
    pub stub: bool,
}

/// The section of an undefined function.
const NO_SECTION: u32 = u32::MAX;

impl FunctionMention {
    /// Section of the definition.
    pub fn defined_in(&self) -> Option<u32> {
        (self.section != NO_SECTION).then_some(self.section)
    }
}

impl Object<'_> {
    /// Symbols of functions in the order in which they are linked.
    pub fn function_mentions(&self) -> impl Iterator<Item = FunctionMention> {
        let listed = |(n, &index): (usize, &u32)| self.mentions.get(n).copied().unwrap_or_else(|| self.mention(index));
        self.functions.iter().enumerate().map(listed)
    }

    /// Lists the functions, when everything about them was read. That pays when another thread reads the list.
    pub(crate) fn list_functions(&mut self) {
        self.mentions = self.functions.iter().map(|&index| self.mention(index)).collect();
    }

    fn mention(&self, index: u32) -> FunctionMention {
        let sym = self.symbol(index);
        let section = sym.defined_in();
        let registers = section.filter(|_| sym.bind == STB_WEAK).map(|s| self.register_count(index, s));
        FunctionMention {
            index,
            section: section.unwrap_or(NO_SECTION),
            registers: registers.unwrap_or(0),
            bind: sym.bind,
            entry: sym.other & STO_CUDA_ENTRY != 0,
            stub: section.and_then(|s| self.section(s)).is_some_and(|s| s.role == Role::Stub),
        }
    }

    /// The function whose text contains another one: `$K$F` is the copy of F inside kernel K. Second names (aliases) start where it starts.
    pub fn outer(&self, index: u32) -> Option<u32> {
        let sym = self.symbols.get(index as usize)?;
        if !self.has_inner_functions || sym.kind() != STT_FUNC || sym.st_value.get() == 0 {
            return None;
        }
        let section = self.section(self.symbol(index).defined_in()?)?;
        let is_inner = section.role == Role::Text && section.owner != index && section.owner != NO_OWNER;
        is_inner.then_some(section.owner)
    }

    /// Symbols of functions in the order in which they are linked: that of the symbols, but an outer function before those inside it.
    pub fn function_order(&self) -> &[u32] {
        &self.functions
    }

    pub(super) fn order_functions(&self) -> Vec<u32> {
        let symbols = self.symbols_of(&[STT_FUNC]);
        if !self.has_inner_functions {
            return symbols.collect();
        }
        let mut order = Vec::new();
        let mut listed = vec![false; self.symbols.len()];
        for index in symbols {
            for index in self.outer(index).into_iter().chain([index]) {
                let known = listed.get_mut(index as usize).is_none_or(|l| std::mem::replace(l, true));
                order.extend((!known).then_some(index));
            }
        }
        order
    }

    /// Reads the REGCOUNT attributes if copies of the object's functions are compared by them: it has weak functions, and the headers of their
    /// sections do not have the number of registers, as they do up to sm_89. Linkers of CUDA 12 look at the headers alone, so that on sm_90
    /// the first copy stays.
    pub(crate) fn read_registers(&mut self) {
        let compared = |i: u32| {
            let is_weak = self.symbols.get(i as usize).is_some_and(|s| s.bind() == STB_WEAK);
            is_weak && self.symbol(i).defined_in().is_some_and(|s| self.header_registers(s) == 0)
        };
        if !self.symbols_of(&[STT_FUNC]).any(compared) {
            return;
        }
        let infos = self.sections.iter().filter(|s| s.role == Role::Info);
        let mut counts: Vec<_> = infos
            .flat_map(|s| cubin::nvinfo::records(s.data))
            .flatten()
            .filter(|r| r.attribute == attr::REGCOUNT)
            .filter_map(|r| r.word(0).zip(r.word(1)))
            .collect();
        counts.reverse();
        counts.sort_by_key(|&(symbol, _)| symbol);
        self.registers = counts;
    }

    /// Registers of a definition: the text section's `sh_info` up to sm_89, else the REGCOUNT attribute.
    pub fn register_count(&self, symbol: u32, section: u32) -> u32 {
        match self.header_registers(section) {
            0 => {
                let at = self.registers.partition_point(|&(s, _)| s < symbol);
                self.registers.get(at).filter(|(s, _)| *s == symbol).map_or(0, |(_, n)| *n)
            }
            count => count,
        }
    }

    fn header_registers(&self, section: u32) -> u32 {
        self.section(section).map_or(0, |s| s.info >> 24)
    }
}
