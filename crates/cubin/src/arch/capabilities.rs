//! What files for an architecture have, and what its linker does: named capabilities instead of comparisons of architecture numbers.

/// Capabilities of an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// A file has two views of its code, SASS and Mercury; the phases link the Mercury view and a finalizer rebuilds the SASS view.
    pub has_mercury: bool,
    /// A file has `.nv.compat`, and the note of the CUDA version is merged with others.
    pub has_compat: bool,
    /// The first shared variable of a kernel follows memory that is reserved for the system.
    pub reserves_shared_base: bool,
    /// Final links end with `.nv.rel.action`, which describes a relocation type to the driver.
    pub has_rel_action: bool,
    /// Slots of textures, samplers and surfaces are in sections of their own, made before those of shared memory.
    pub has_texture_slot_sections: bool,
    /// Literals are in `.nv.constant.optimizer.F` instead of a numbered bank.
    pub has_optimizer_bank: bool,
    /// `--preserve-relocs` does not list everything.
    pub lists_relocs_incompletely: bool,
}

/// Capabilities from an architecture number on, ascending.
static GENERATIONS: [(u32, Capabilities); 3] = [(0, VOLTA), (90, HOPPER), (100, BLACKWELL)];

const VOLTA: Capabilities = Capabilities {
    has_mercury: false,
    has_compat: false,
    reserves_shared_base: false,
    has_rel_action: true,
    has_texture_slot_sections: false,
    has_optimizer_bank: false,
    lists_relocs_incompletely: false,
};

const HOPPER: Capabilities = Capabilities {
    has_compat: true,
    reserves_shared_base: true,
    lists_relocs_incompletely: true,
    ..VOLTA
};

const BLACKWELL: Capabilities = Capabilities {
    has_mercury: true,
    reserves_shared_base: false,
    has_rel_action: false,
    has_texture_slot_sections: true,
    has_optimizer_bank: true,
    ..HOPPER
};

/// The capabilities of an architecture, by its number: 90 is `sm_90`.
pub fn capabilities(number: u32) -> &'static Capabilities {
    let known = GENERATIONS.iter().rev().find(|g| g.0 <= number);
    known.map_or(&GENERATIONS[0].1, |g| &g.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_start_at_their_numbers() {
        assert_eq!(
            [75, 89, 90, 99, 100, 121].map(|n| capabilities(n).has_compat),
            [false, false, true, true, true, true]
        );
        assert_eq!(
            [75, 89, 90, 99, 100, 121].map(|n| capabilities(n).has_mercury),
            [false, false, false, false, true, true]
        );
        assert_eq!([89, 90, 100].map(|n| capabilities(n).reserves_shared_base), [false, true, false]);
    }
}
