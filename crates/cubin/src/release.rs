//! Releases of the CUDA toolkit, and what the linker of each does differently.
//!
//! A release is a row of [`RELEASES`]: its number, its builds and its [`Rules`]; builds with other rules are a row of their own. Rules are named
//! capabilities, so that code asks "are weak symbols in the global part of the table?" and never "is this 13.4?". A new release is a new row, with
//! `..` taking over the rules of the release before it.

mod rules;

use crate::arch::Arch;
pub use crate::build::Form;
use rules::*;
use std::fmt;

/// A release of the toolkit, such as 13.0.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// Version times ten, as notes and headers state it: 130 for 13.0.
    pub toolkit: u32,
    /// Rules of its linker.
    pub rules: Rules,
    /// Its rules for architectures with a Mercury view, which have the form of CUDA 13 in every release.
    pub mercury_rules: Rules,
    /// Builds that were compared, oldest first. The last one represents the release.
    pub builds: &'static [Build],
}

/// One build of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Build {
    /// Full version: `13.0.88`.
    pub version: &'static str,
    /// Build identifier: `cuda_13.0.r13.0/compiler.36424714_0`.
    pub id: &'static str,
    /// When it was built, as `--version` prints it.
    pub date: &'static str,
    /// Years of its copyright line.
    pub years: &'static str,
}

/// What limits the static shared memory of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedLimit {
    /// 48 KB.
    Common,
    /// What the hardware has.
    Hardware,
    /// 48 KB, for targets with suffix `a` what the hardware has.
    CommonOrArch,
}

/// Whose virtual architecture a file states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteArch {
    /// The smallest of target and inputs.
    Smallest,
    /// The last input's, or the target's if that is smaller.
    LastInput,
    /// The target's.
    Target,
}

/// What differs between the linkers of two releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Form of the output.
    pub form: Form,
    /// Sections that belong to another one have `SHF_INFO_LINK`.
    pub info_link_flags: bool,
    /// Relocations of parameter banks lack `SHF_INFO_LINK` in RELA form, too.
    pub plain_parameter_relocs: bool,
    /// Entries of `.debug_frame` for weak functions that were replaced keep their relocations.
    pub keeps_replaced_frames: bool,
    /// Weak copies are compared by the register count of their section headers, not of their attributes.
    pub compares_header_registers: bool,
    /// The first undefined function of a file that is new to the link comes with a symbol without a name.
    pub unnamed_symbols: bool,
    /// `-r` makes a relocatable file; it has no effect in releases without.
    pub partial_links: bool,
    /// `-w` drops warnings.
    pub disables_warnings: bool,
    /// `-v` prints the number of barriers.
    pub prints_barriers: bool,
    /// What limits static shared memory.
    pub shared_limit: SharedLimit,
    /// String tables have the name of every section and symbol that the linker makes, removed ones included, in the order in which it makes them.
    pub keeps_dead_names: bool,
    /// `sh_link` fields that are about the symbol table hold 5, whichever number it has.
    pub fixed_symbol_table_link: bool,
    /// The call graph lists indirect calls as calls of every function that they may reach, too.
    pub lists_indirect_calls: bool,
    /// The call graph lists calls of functions that the driver provides.
    pub lists_driver_calls: bool,
    /// There is a `.nv.rel.action` in final links for sm_75 and later.
    pub makes_rel_action: bool,
    /// The symbol `.nv.reservedSmem.cap` has the size of what the system reserves as its value.
    pub states_reserved_cap: bool,
    /// A second name of a function stays with the function; that of a removed one is in the list of prototypes, without a symbol.
    pub keeps_aliases: bool,
    /// The register count in the header of a kernel's section includes the functions that the kernel calls.
    pub kernel_headers_have_totals: bool,
    /// `.nv.compat` leaves out records 5 and 6 when they have their default, and does not add them for inputs that lack them.
    pub compat_without_defaults: bool,
    /// `.nv.compat` record b (what the finalizer may change) of the inputs is joined below sm_100 too.
    pub compat_joins_finalizer_mask: bool,
    /// `.nv.compat` record d replaces record 7 as the one that is added for inputs that lack it.
    pub compat_instruction_set: bool,
    /// `.nv.compat` has the records of the inputs alone, and its place among the sections of the first input that has it.
    pub compat_of_inputs: bool,
    /// The notes have their first form: `.note.nv.cuver` does not state the toolkit, and there are no symbols for the sections.
    pub first_notes: bool,
    /// Whose virtual architecture the note about CUDA states.
    pub note_arch: NoteArch,
    /// The symbols of parameter banks, which a Mercury link appends, count as local in the header of the symbol table, and so do all before them.
    pub counts_last_symbols: bool,
    /// The finalizer takes the scoreboard from the load of a stack pointer that nothing uses.
    pub frees_stack_pointer: bool,
    /// Mercury sections that repeat the place of their SASS twin move the next one to their alignment.
    pub aligns_twins: bool,
    /// Capsules have their first form.
    pub first_capsules: bool,
    /// Functions with Mercury code that do not state its version get the first one.
    pub adds_mercury_version: bool,
    /// Newest Mercury instructions that are linked, as `.nv.compat` states them: 0x101 for 1.1.
    pub newest_mercury: u16,
    /// The finalizer says why it fails.
    pub explains_finalizer: bool,
    /// The finalizer's mask of a Blackwell file depends on the target alone, not on the instructions.
    pub mask_of_target: bool,
    /// `.nv.compat` has records c, e and f.
    pub compat_scheduling: bool,
    /// Dynamic shared memory keeps the alignment of its declaration.
    pub dynamic_alignment: bool,
    /// Objects for one architecture only (suffix `a`) are refused for a target without the suffix.
    pub accelerated_only_for_itself: bool,
    /// `-r` keeps relocations against shared variables.
    pub partial_keeps_shared_relocs: bool,
    /// EIATTR_EXTERNS of the only kernel of a link lists new names last, not first.
    pub externs_in_order: bool,
    /// EIATTR_LANGUAGE of a kernel lists the languages of the functions that it reaches, too.
    pub joins_languages: bool,
    /// Messages about a lone kernel whose functions use tensor core instructions for one CTA and for pairs, while it uses none itself.
    pub tensor_groups_of_functions: u8,
    /// Every Blackwell function has EIATTR_NVSAL_SW_WAR.
    pub adds_software_wait: bool,
    /// Blackwell code with full debug information waits after every instruction; in releases without it has neither stall counts nor scoreboards.
    pub debug_code_waits: bool,
    /// Fences that are added to a guarded `EXIT` take time, in which results arrive: scoreboards are decided again. In releases without, those of the
    /// compiler stay.
    pub fences_take_time: bool,
    /// The scheduler of Blackwell code looks at the next blocks: what they need decides scoreboards and waits of this one.
    pub schedule_looks_ahead: bool,
    /// A common symbol that is larger than a definition without initial value has an error message of its own; one of the same size may follow
    /// such a definition.
    pub names_larger_common: bool,
    /// `-r` leaves a common symbol that a weak definition without initial value follows as it is, without a place.
    pub strands_commons: bool,
    /// How messages spell `--link-as-tools-patch`.
    pub tools_patch_flag: &'static str,
    /// `--register-link-binaries` reports inputs without host code.
    pub reports_missing_host_code: bool,
    /// `--preserve-relocs`: a relocation past the end of Blackwell code is reported as an address that is not found.
    pub looks_up_preserved: bool,
    /// A relocation against a shared variable past the end of Blackwell code is reported as an address that is not found, before other errors.
    pub looks_up_shared: bool,
    /// Oldest toolkit whose Blackwell code this release does not change.
    pub finalizer: u32,
    /// Blackwell code of older toolkits is scheduled again, all of it.
    pub schedules_older_again: bool,
    /// Of a group of delays in Blackwell code the longest come first; in releases without, last.
    pub longest_delays_first: bool,
    /// Functions compiled with a sanitizer must be of one toolkit.
    pub compares_sanitizers: bool,
    /// Weak symbols are in the global part of the symbol table.
    pub weak_symbols_global: bool,
    /// Shared memory of a kernel that has a size and no variables, as a relocatable link leaves it, counts.
    pub counts_laid_out_shared: bool,
    /// Shared memory that the compiler laid out (`-ewp`) counts with a debugger, too.
    pub debug_keeps_laid_out_shared: bool,
    /// Unified variables of a final link are in a section of type `PROGBITS`.
    pub plain_unified_data: bool,
    /// With symbols for shared memory, a variable that one kernel uses alone has a local symbol.
    pub kernel_shared_local: bool,
    /// The Mercury view has a call graph and prototypes of its own.
    pub mercury_callgraph: bool,
    /// Stubs of unified functions of Blackwell objects have no NOPs; the linker fills them.
    pub fills_stubs: bool,
    /// Debug sections of DWARF 5 share their bytes between the views of a Blackwell file.
    pub shares_later_debug: bool,
    /// Blackwell functions have EIATTR_PREEXIT_USED, inherited by the kernels that reach them.
    pub adds_preexit: bool,
    /// sm_107 is a target.
    pub has_sm_107: bool,
    /// `.symtab_shndx` is the first section of the metadata, and the bytes after the symbol table, where it was before, stay free.
    pub late_extended_indices: bool,
    /// Entries of fat binaries that hold several images are read.
    pub reads_groups: bool,
    /// Damaged fat binaries are reported in other words, and their inputs are passed over.
    pub passes_over_damaged_fatbins: bool,
    /// Object files with broken attribute records, with relocations against symbols that do not exist or with notes that are too short are
    /// left out without a message.
    pub leaves_out_broken_objects: bool,
}

impl Rules {
    /// The same rules for files of this form.
    pub fn with_form(self, form: Form) -> Rules {
        Rules { form, ..self }
    }
}

const fn build(version: &'static str, id: &'static str, date: &'static str, years: &'static str) -> Build {
    Build { version, id, date, years }
}

/// All releases, oldest first. The dates of 12.0 to 12.3, 12.5.82 and 12.6 to 12.9 are those of ptxas: nvlink of these builds was not at hand.
pub static RELEASES: [Release; 15] = [
    Release {
        toolkit: 120,
        rules: RULES_12_0,
        mercury_rules: RULES_12_0,
        builds: &[build(
            "12.0.140",
            "cuda_12.0.r12.0/compiler.32267302_0",
            "Fri_Jan__6_16:43:29_PST_2023",
            "2005-2023",
        )],
    },
    Release {
        toolkit: 121,
        rules: RULES_12_1,
        mercury_rules: RULES_12_1,
        builds: &[build(
            "12.1.105",
            "cuda_12.1.r12.1/compiler.32688072_0",
            "Mon_Apr__3_17:13:45_PDT_2023",
            "2005-2023",
        )],
    },
    Release {
        toolkit: 122,
        rules: RULES_12_2,
        mercury_rules: RULES_12_2,
        builds: &[build(
            "12.2.140",
            "cuda_12.2.r12.2/compiler.33191640_0",
            "Tue_Aug_15_21:58:55_PDT_2023",
            "2005-2023",
        )],
    },
    Release {
        toolkit: 123,
        rules: RULES_12_3,
        mercury_rules: RULES_12_3,
        builds: &[build(
            "12.3.107",
            "cuda_12.3.r12.3/compiler.33567101_0",
            "Wed_Nov_22_10:13:51_PST_2023",
            "2005-2023",
        )],
    },
    Release {
        toolkit: 124,
        rules: RULES_12_4,
        mercury_rules: RULES_12_4,
        builds: &[build(
            "12.4.131",
            "cuda_12.4.r12.4/compiler.34097967_0",
            "Thu_Mar_28_02:18:24_PDT_2024",
            "2005-2024",
        )],
    },
    Release {
        toolkit: 125,
        rules: RULES_12_4,
        mercury_rules: RULES_12_4,
        builds: &[
            build(
                "12.5.40",
                "cuda_12.5.r12.5/compiler.34177558_0",
                "Wed_Apr_17_19:19:55_PDT_2024",
                "2005-2024",
            ),
            build(
                "12.5.82",
                "cuda_12.5.r12.5/compiler.34385749_0",
                "Thu_Jun__6_02:14:54_PDT_2024",
                "2005-2024",
            ),
        ],
    },
    Release {
        toolkit: 126,
        rules: RULES_12_6,
        mercury_rules: RULES_12_6,
        builds: &[build(
            "12.6.85",
            "cuda_12.6.r12.6/compiler.35059454_0",
            "Tue_Oct_29_23:47:06_PDT_2024",
            "2005-2024",
        )],
    },
    Release {
        toolkit: 128,
        rules: RULES_12_8,
        mercury_rules: MERCURY_12_8,
        builds: &[build(
            "12.8.93",
            "cuda_12.8.r12.8/compiler.35583870_0",
            "Fri_Feb_21_20:21:21_PST_2025",
            "2005-2025",
        )],
    },
    Release {
        toolkit: 129,
        rules: RULES_12_9,
        mercury_rules: MERCURY_12_9,
        builds: &[build(
            "12.9.86",
            "cuda_12.9.r12.9/compiler.36037853_0",
            "Tue_May_27_02:18:05_PDT_2025",
            "2005-2025",
        )],
    },
    Release {
        toolkit: 130,
        rules: RULES_13_0,
        mercury_rules: RULES_13_0,
        builds: &[
            build(
                "13.0.48",
                "cuda_13.0.r13.0/compiler.36260728_0",
                "Wed_Jul_16_07:30:01_PM_PDT_2025",
                "2005-2025",
            ),
            build(
                "13.0.88",
                "cuda_13.0.r13.0/compiler.36424714_0",
                "Wed_Aug_20_01:58:59_PM_PDT_2025",
                "2005-2025",
            ),
        ],
    },
    Release {
        toolkit: 131,
        rules: RULES_13_1,
        mercury_rules: RULES_13_1,
        builds: &[
            build(
                "13.1.80",
                "cuda_13.1.r13.1/compiler.36836380_0",
                "Fri_Nov__7_07:23:37_PM_PST_2025",
                "2005-2025",
            ),
            build(
                "13.1.115",
                "cuda_13.1.r13.1/compiler.37061995_0",
                "Tue_Dec_16_07:23:41_PM_PST_2025",
                "2005-2025",
            ),
        ],
    },
    Release {
        toolkit: 132,
        rules: RULES_13_2_51,
        mercury_rules: RULES_13_2_51,
        builds: &[
            build(
                "13.2.51",
                "cuda_13.2.r13.2/compiler.37434383_0",
                "Mon_Mar_02_09:52:23_PM_PST_2026",
                "2005-2026",
            ),
            build(
                "13.2.78",
                "cuda_13.2.r13.2/compiler.37668154_0",
                "Thu_Mar_19_11:12:51_PM_PDT_2026",
                "2005-2026",
            ),
        ],
    },
    Release {
        toolkit: 132,
        rules: RULES_13_2,
        mercury_rules: RULES_13_2,
        builds: &[build(
            "13.2.86",
            "cuda_13.2.r13.2/compiler.37953736_0",
            "Fri_May_08_10:53:34_AM_PDT_2026",
            "2005-2026",
        )],
    },
    Release {
        toolkit: 133,
        rules: RULES_13_3,
        mercury_rules: RULES_13_3,
        builds: &[
            build(
                "13.3.33",
                "cuda_13.3.r13.3/compiler.37862127_0",
                "Fri_Apr_24_07:22:02_PM_PDT_2026",
                "2005-2026",
            ),
            build(
                "13.3.73",
                "cuda_13.3.r13.3/compiler.38244171_0",
                "Tue_Jun_09_02:43:40_PM_PDT_2026",
                "2005-2026",
            ),
        ],
    },
    Release {
        toolkit: 134,
        rules: RULES_13_4,
        mercury_rules: RULES_13_4,
        builds: &[
            build(
                "13.4.59",
                "cuda_13.4.r13.4/compiler.38657139_0",
                "Mon_Aug_03_13:24:11_PDT_2026",
                "2005-2026",
            ),
            build(
                "13.4.92",
                "cuda_13.4.r13.4/compiler.38855100_0",
                "Tue_Sep_01_08:45:21_PDT_2026",
                "2005-2026",
            ),
        ],
    },
];

/// A build of a release: what a linker presents itself as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The release.
    pub release: &'static Release,
    /// The build of it.
    pub build: Build,
}

/// The build that is the default: 13.0.88.
pub const DEFAULT_VERSION: &str = "13.0.88";

impl Version {
    /// Finds a version: `13.4.92`, or `13.4` for the last known build of that release.
    pub fn parse(text: &str) -> Option<Version> {
        RELEASES.iter().rev().find_map(|release| {
            let exact = release.builds.iter().find(|b| b.version == text);
            let last = release.builds.last().filter(|_| release.is_named(text));
            exact.or(last).map(|&build| Version { release, build })
        })
    }

    /// Finds the version of a build that may be unknown: the same release, in its last known build.
    pub fn nearest(text: &str) -> Option<Version> {
        let minor = text
            .match_indices('.')
            .nth(1)
            .map_or(text, |(at, _)| text.get(..at).unwrap_or(text));
        Version::parse(text).or_else(|| Version::parse(minor))
    }

    /// The line that names the version in notes.
    pub fn line(&self) -> String {
        format!("Cuda compilation tools, release {}, V{}", self.release.name(), self.build.version)
    }

    /// The line that names the build in notes.
    pub fn build_line(&self) -> String {
        format!("Build {}", self.build.id)
    }
}

impl Default for Version {
    fn default() -> Self {
        let none = Build {
            version: "",
            id: "",
            date: "",
            years: "",
        };
        Version::parse(DEFAULT_VERSION).unwrap_or(Version {
            release: Release::newest(),
            build: none,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.build.version)
    }
}

impl Release {
    /// The rules for an architecture.
    pub fn rules_for(&self, target: Arch) -> &Rules {
        match target.capabilities().has_mercury {
            true => &self.mercury_rules,
            false => &self.rules,
        }
    }

    /// The name of the release: `13.0`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.toolkit / 10, self.toolkit % 10)
    }

    /// Is this its name? Most texts are told apart without making the name.
    fn is_named(&self, text: &str) -> bool {
        let numbers = text.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        numbers == Some((Ok(self.toolkit / 10), Ok(self.toolkit % 10))) && text == self.name()
    }

    /// The newest release that is not newer than `toolkit` and whose files have that form, or the first one of that form.
    pub fn with_form(toolkit: u32, form: Form) -> &'static Release {
        let mut of_form = RELEASES.iter().filter(|r| r.rules.form == form);
        let fit = of_form.clone().rev().find(|r| r.toolkit <= toolkit);
        fit.or_else(|| of_form.next()).unwrap_or_else(|| Release::of_toolkit(toolkit))
    }

    /// The newest release that is not newer than `toolkit`; the first one for older toolkits.
    pub fn of_toolkit(toolkit: u32) -> &'static Release {
        let [first, ..] = &RELEASES;
        RELEASES.iter().rev().find(|r| r.toolkit <= toolkit).unwrap_or(first)
    }

    /// The newest release.
    pub fn newest() -> &'static Release {
        let [.., last] = &RELEASES;
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_by_build_and_by_release() {
        let toolkit = |text| Version::parse(text).map(|v| (v.release.toolkit, v.build.version));
        assert_eq!(toolkit("13.1.80"), Some((131, "13.1.80")));
        assert_eq!(toolkit("13.4"), Some((134, "13.4.92")));
        assert_eq!(toolkit("13.2"), Some((132, "13.2.86")));
        let waits = |text| Version::parse(text).map(|v| v.release.mercury_rules.adds_software_wait);
        assert_eq!((waits("13.2.78"), waits("13.2.86")), (Some(false), Some(true)));
        assert_eq!(toolkit("13.9"), None);
        assert_eq!(Version::nearest("13.2.99").map(|v| v.build.version), Some("13.2.86"));
        assert_eq!(Version::default().build.version, DEFAULT_VERSION);
    }

    #[test]
    fn releases_ascend_and_have_builds() {
        assert!(
            RELEASES
                .windows(2)
                .all(|r| r[0].toolkit < r[1].toolkit || (r[0].toolkit == r[1].toolkit && r[0].rules != r[1].rules))
        );
        assert_eq!(Release::of_toolkit(132).builds.last().map(|b| b.version), Some("13.2.86"));
        assert!(RELEASES.iter().all(|r| !r.builds.is_empty()));
        assert_eq!(Release::of_toolkit(127).toolkit, 126);
        assert_eq!(Release::with_form(129, Form::Cuda13).toolkit, 130);
        assert_eq!(Release::with_form(134, Form::Cuda12).toolkit, 129);
        assert_eq!(Release::with_form(118, Form::Cuda12).toolkit, 120);
        assert_eq!(Release::of_toolkit(135).toolkit, 134);
        let keep: Vec<u32> = RELEASES.iter().filter(|r| r.rules.keeps_dead_names).map(|r| r.toolkit).collect();
        assert_eq!(keep, [120, 121, 122, 123]);
    }
}
