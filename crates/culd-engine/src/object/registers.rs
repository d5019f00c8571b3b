//! Registers of weak functions: copies are compared by them.

use super::{Object, Role};
use cubin::consts::{STB_WEAK, STT_FUNC};
use cubin::nvinfo::attr;

impl Object<'_> {
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
