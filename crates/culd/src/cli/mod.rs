//! The program `culd`: command line, messages and files around the linker.
//!
//! Called through a name `nvlink` it has nvlink's command line, texts and exit codes; under its own name it is stricter and explains more.
//!
//! * [`flags`]: one table of all flags; [`parse`] and [`tokens`] read a command line into what was typed; [`hiargs`] finds what it means.
//! * [`called`], [`environment`]: what the name of the program, a view and `CULD_FLAGS` add to the command line.
//! * [`driver`]: the steps of a run; `subprocess` puts a large link into a process of its own. [`load`] and [`aux_inputs`] read files, [`output`],
//!   [`side_outputs`], [`report`] and [`repro`] write files.
//! * [`messages`], [`culd_text`], [`causes`], [`codes`], `explain`, [`suggest`]: messages and their texts. [`help`], [`note`]: texts made from the flag table.
//! * [`map`], [`why`]: texts about where symbols are in the output and why they are live.
//! * [`see`]: sizes, resources, occupancy and the HTML page. [`shell`]: manual page and completions.
//! * [`inspect`], [`install`], [`doctor`], [`script`]: everything that is not a link.
pub mod aux_inputs;
pub mod called;
pub mod causes;
pub mod codes;
pub mod culd_text;
pub mod doctor;
pub mod driver;
pub mod environment;
mod explain;
pub mod flags;
pub mod help;
pub mod hiargs;
pub mod inspect;
pub mod install;
pub mod load;
pub mod lto;
pub mod map;
pub mod messages;
pub mod note;
mod optimized;
pub mod os;
pub mod output;
pub mod parse;
mod progress;
pub mod report;
pub mod repro;
pub mod script;
pub mod see;
pub mod shell;
pub mod side_outputs;
mod subprocess;
pub mod suggest;
pub mod tokens;
pub mod why;
