//! Settings of a link that follow from the options, the target and the release, computed once.

use crate::inputs::Inputs;
use crate::options::LinkOptions;
use cubin::release::{Form, Release, Rules};

/// Settings derived from the options, the target and the release.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// Relocatable output.
    pub relocatable: bool,
    /// Shared symbols for a debugger.
    pub debug_symbols: bool,
    /// Resolved relocations are kept.
    pub preserve: bool,
    /// All kept relocations become RELA.
    pub force_rela: bool,
    /// Offset of the first shared variable: sm_90 reserves 1 KB.
    pub shared_base: u64,
    /// First shared offset handed out: 1 with `--reserve-null-pointer`.
    pub shared_start: u64,
    /// Toolkit that the output states, version times ten.
    pub toolkit: u32,
    /// What the linker of that release does.
    pub rules: Rules,
}

impl Mode {
    /// From the options and, where they leave the release open, the newest of the inputs.
    pub fn new(options: &LinkOptions<'_>, inputs: &Inputs<'_>) -> Self {
        let newest = || inputs.objects.iter().map(|o| o.toolkit).max().unwrap_or(0);
        let form = options.form();
        // Without a release to be, the form says how the file looks, and the newest input what the linker does.
        let release = options.release().unwrap_or_else(|| Release::with_form(newest(), Form::Cuda13));
        Mode {
            relocatable: options.relocatable,
            debug_symbols: options.debug && !options.suppress_debug_info,
            preserve: options.preserve_relocs,
            force_rela: options.force_rela,
            shared_base: if options.target.capabilities().reserves_shared_base && !options.disable_smem_reservation {
                0x400
            } else {
                0
            },
            shared_start: u64::from(options.reserve_null_pointer),
            toolkit: match options.release() {
                Some(release) => release.toolkit,
                None => Release::with_form(newest(), form).toolkit,
            },
            rules: release.rules_for(options.target).with_form(form),
        }
    }
    /// The output has the form of CUDA 12.
    pub fn is_older_form(&self) -> bool {
        self.rules.form == Form::Cuda12
    }
    /// Shared variables get symbols.
    pub fn shared_symbols(&self) -> bool {
        self.debug_symbols || self.preserve
    }
}
