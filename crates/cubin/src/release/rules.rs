//! The rules of each release, those for architectures with a Mercury view apart where they differ.

use super::{Form, NoteArch, Rules, SharedLimit};

/// The first release of CUDA 12.
pub(super) const RULES_12_0: Rules = Rules {
    form: Form::Cuda12,
    info_link_flags: false,
    plain_parameter_relocs: true,
    keeps_replaced_frames: true,
    compares_header_registers: true,
    unnamed_symbols: true,
    partial_links: false,
    disables_warnings: true,
    prints_barriers: false,
    shared_limit: SharedLimit::Common,
    keeps_dead_names: true,
    states_reserved_cap: false,
    fixed_symbol_table_link: true,
    makes_rel_action: false,
    lists_indirect_calls: true,
    keeps_aliases: true,
    kernel_headers_have_totals: true,
    finalizer: 120,
    schedules_older_again: false,
    longest_delays_first: false,
    debug_keeps_laid_out_shared: true,
    plain_unified_data: true,
    ..RULES_13_0
};
pub(super) const RULES_12_1: Rules = Rules {
    lists_indirect_calls: false,
    ..RULES_12_0
};
pub(super) const RULES_12_2: Rules = Rules {
    makes_rel_action: true,
    lists_driver_calls: false,
    ..RULES_12_1
};
pub(super) const RULES_12_3: Rules = Rules {
    fixed_symbol_table_link: false,
    lists_driver_calls: true,
    ..RULES_12_2
};
pub(super) const RULES_12_4: Rules = Rules {
    info_link_flags: true,
    shared_limit: SharedLimit::Hardware,
    keeps_dead_names: false,
    keeps_aliases: false,
    kernel_headers_have_totals: false,
    ..RULES_12_3
};
pub(super) const RULES_12_6: Rules = Rules {
    prints_barriers: true,
    ..RULES_12_4
};
pub(super) const RULES_12_8: Rules = Rules {
    keeps_replaced_frames: false,
    shared_limit: SharedLimit::Common,
    debug_keeps_laid_out_shared: false,
    plain_unified_data: false,
    ..RULES_12_6
};
pub(super) const RULES_12_9: Rules = Rules {
    states_reserved_cap: true,
    ..RULES_12_8
};
pub(super) const RULES_13_0: Rules = Rules {
    form: Form::Cuda13,
    info_link_flags: true,
    plain_parameter_relocs: false,
    keeps_replaced_frames: false,
    compares_header_registers: false,
    unnamed_symbols: false,
    partial_links: true,
    disables_warnings: false,
    prints_barriers: true,
    shared_limit: SharedLimit::CommonOrArch,
    keeps_dead_names: false,
    states_reserved_cap: true,
    fixed_symbol_table_link: false,
    makes_rel_action: true,
    lists_indirect_calls: false,
    lists_driver_calls: true,
    keeps_aliases: false,
    kernel_headers_have_totals: false,
    compat_without_defaults: false,
    compat_joins_finalizer_mask: false,
    compat_instruction_set: false,
    compat_of_inputs: false,
    first_notes: false,
    note_arch: NoteArch::Smallest,
    counts_last_symbols: true,
    frees_stack_pointer: true,
    aligns_twins: false,
    first_capsules: false,
    adds_mercury_version: true,
    newest_mercury: 0x101,
    explains_finalizer: false,
    mask_of_target: false,
    compat_scheduling: false,
    dynamic_alignment: false,
    accelerated_only_for_itself: false,
    partial_keeps_shared_relocs: false,
    externs_in_order: false,
    joins_languages: false,
    tensor_groups_of_functions: 0,
    adds_software_wait: false,
    debug_code_waits: true,
    fences_take_time: true,
    schedule_looks_ahead: false,
    names_larger_common: false,
    strands_commons: false,
    tools_patch_flag: "--astoolspatch",
    reports_missing_host_code: false,
    looks_up_preserved: false,
    looks_up_shared: false,
    finalizer: 130,
    schedules_older_again: false,
    longest_delays_first: true,
    compares_sanitizers: false,
    weak_symbols_global: false,
    counts_laid_out_shared: false,
    plain_unified_data: false,
    debug_keeps_laid_out_shared: false,
    kernel_shared_local: false,
    mercury_callgraph: false,
    fills_stubs: false,
    shares_later_debug: false,
    adds_preexit: false,
    has_sm_107: false,
    late_extended_indices: false,
    reads_groups: false,
    passes_over_damaged_fatbins: false,
    leaves_out_broken_objects: false,
};
/// The finalizer of 12.8 and 12.9.
pub(super) const MERCURY_12_8: Rules = Rules {
    compat_of_inputs: true,
    first_notes: true,
    note_arch: NoteArch::Target,
    counts_last_symbols: false,
    frees_stack_pointer: false,
    aligns_twins: true,
    first_capsules: true,
    adds_mercury_version: false,
    finalizer: 128,
    longest_delays_first: false,
    compares_header_registers: true,
    unnamed_symbols: true,
    partial_links: false,
    disables_warnings: true,
    shared_limit: SharedLimit::Common,
    ..RULES_13_0
};
pub(super) const MERCURY_12_9: Rules = Rules {
    finalizer: 129,
    note_arch: NoteArch::LastInput,
    aligns_twins: false,
    first_capsules: false,
    ..MERCURY_12_8
};
pub(super) const RULES_13_1: Rules = Rules {
    finalizer: 131,
    compares_sanitizers: true,
    schedules_older_again: true,
    explains_finalizer: true,
    fills_stubs: true,
    fences_take_time: false,
    schedule_looks_ahead: true,
    compat_without_defaults: true,
    dynamic_alignment: true,
    accelerated_only_for_itself: true,
    passes_over_damaged_fatbins: true,
    leaves_out_broken_objects: true,
    ..RULES_13_0
};
/// The first builds of 13.2.
pub(super) const RULES_13_2_51: Rules = Rules {
    looks_up_preserved: true,
    looks_up_shared: true,
    finalizer: 132,
    newest_mercury: 0x102,
    compat_joins_finalizer_mask: true,
    partial_keeps_shared_relocs: true,
    reads_groups: true,
    externs_in_order: true,
    joins_languages: true,
    tensor_groups_of_functions: 2,
    ..RULES_13_1
};
pub(super) const RULES_13_2: Rules = Rules {
    adds_software_wait: true,
    ..RULES_13_2_51
};
pub(super) const RULES_13_3: Rules = Rules {
    newest_mercury: 0x103,
    compat_instruction_set: true,
    mask_of_target: true,
    debug_code_waits: false,
    names_larger_common: true,
    strands_commons: true,
    reports_missing_host_code: true,
    late_extended_indices: true,
    ..RULES_13_2
};
pub(super) const RULES_13_4: Rules = Rules {
    newest_mercury: 0x104,
    compat_scheduling: true,
    tools_patch_flag: "-astoolspatch",
    weak_symbols_global: true,
    counts_laid_out_shared: true,
    kernel_shared_local: true,
    mercury_callgraph: true,
    shares_later_debug: true,
    adds_preexit: true,
    has_sm_107: true,
    ..RULES_13_3
};
