//! Deletion. Numbers are given out when the object is finished, so that nothing has to be renumbered here; what remains is that nothing refers
//! to what is gone. [`ObjectBuilder::finish`] reports references from the rest of the object as [`BuildError::Deleted`].

use super::section::Body;
use super::symbol::State;
use super::{Binding, BuildError, FunctionId, ObjectBuilder, Place, SectionId, SymbolId, SymbolSpec};
use crate::consts::STV_INTERNAL;

impl ObjectBuilder {
    /// Deletes a section with its relocations, its symbol and the symbols that it defines. Names stay in the string tables, as in objects of
    /// ptxas.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, SectionContents, SectionSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let section = object.add_section(SectionSpec::new(b".debug_line"), SectionContents::Bytes(vec![0; 12]))?;
    /// object.delete_section(section)?;
    /// assert_eq!(object.section_by_name(b".debug_line"), None);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn delete_section(&mut self, section: SectionId) -> Result<(), BuildError> {
        let entry = self.entry_mut(section)?;
        if entry.deleted {
            return Ok(());
        }
        entry.deleted = true;
        let name = entry.spec.name.clone();
        let companions = [entry.rel, entry.rela];
        self.by_name.remove(&name);
        for symbol in &mut self.symbols {
            if symbol.spec.place == Place::Section(section) {
                symbol.state = State::Deleted;
            }
        }
        companions.into_iter().flatten().try_for_each(|c| self.delete_section(c))
    }

    /// Deletes a section that was created just now: nothing but its own symbol is in it.
    pub(super) fn abandon(&mut self, section: SectionId) -> Result<(), BuildError> {
        let entry = self.entry_mut(section)?;
        entry.deleted = true;
        let (name, symbol) = (entry.spec.name.clone(), entry.symbol);
        self.by_name.remove(&name);
        self.delete_symbol(symbol)
    }

    /// Deletes a symbol: it is left out of the table, its name stays.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let symbol = object.declare_variable(b"unused", 4)?;
    /// object.delete_symbol(symbol)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn delete_symbol(&mut self, symbol: SymbolId) -> Result<(), BuildError> {
        self.symbol_entry_mut(symbol)?.state = State::Deleted;
        Ok(())
    }

    /// Clears a symbol as the finalizer clears symbols of its own: an entry without name, type and section remains, and zeros where the name
    /// was. Later symbols keep their numbers.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, SymbolSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(90), Form::Cuda13)?;
    /// let cap = SymbolSpec::new(b".nv.reservedSmem.cap", Binding::Weak, cubin::consts::STT_OBJECT);
    /// let cap = object.add_symbol(cap)?;
    /// object.erase_symbol(cap)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn erase_symbol(&mut self, symbol: SymbolId) -> Result<(), BuildError> {
        let entry = self.symbol_entry_mut(symbol)?;
        entry.state = State::Erased;
        entry.spec = SymbolSpec {
            other: STV_INTERNAL,
            ..SymbolSpec::new(&entry.spec.name, Binding::Local, 0)
        };
        Ok(())
    }

    /// Deletes a function: its symbol, code, attributes, parameter bank and shared memory, the attributes of the module that name it, and its
    /// edges of the call graph. Takes time linear in the size of the object.
    ///
    /// ```
    /// # use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let kernel = object.declare_kernel(b"k")?;
    /// object.define(kernel, FunctionCode::new(vec![0; 128], 24))?;
    /// object.delete_function(kernel)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn delete_function(&mut self, function: FunctionId) -> Result<(), BuildError> {
        let f = self.function_mut(function)?;
        f.deleted = true;
        let (symbol, text) = (f.symbol, f.text.take());
        if let Some(text) = text {
            let owned = |s: &&SectionId| {
                let entry = self.sections.get(s.0 as usize);
                // Relocations of the code are deleted with the code itself.
                entry.is_some_and(|e| e.spec.info == super::Reference::Section(text) && !matches!(e.body, Body::Rel(_) | Body::Rela(_)))
            };
            let all: Vec<SectionId> = (0u32..).map(SectionId).take(self.sections.len()).collect();
            let sections: Vec<SectionId> = all.iter().filter(owned).copied().collect();
            sections.into_iter().try_for_each(|s| self.delete_section(s))?;
            self.delete_section(text)?;
        }
        self.delete_symbol(symbol)?;
        self.attributes.retain(|a| !a.names(symbol));
        let graph = &mut self.graph;
        graph.calls.retain(|&(a, b)| a != function && b != function);
        graph.takers.retain(|&(a, b)| a != function && b != function);
        for list in [&mut graph.address_taken, &mut graph.indirect_calls, &mut graph.prototypes] {
            list.retain(|&(f, _)| f != function);
        }
        Ok(())
    }
}
