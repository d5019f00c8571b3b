//! The whole way from a command line to the device objects of a link.
//!
//! 1. Plan: search libraries, open files, take archives apart ([`crate::plan`]).
//! 2. Examine every unit, in parallel when there is much to do ([`crate::extract`], [`crate::unpack`]).
//! 3. Compile the PTX before the first fatal message, in parallel.
//! 4. Fold, in order: messages, objects, host information; archives that were seen before are passed over; the first fatal message
//!    ends it. From here on everything is decided by order alone, never by which thread was first.
//! 5. Optimize the modules for link-time optimization, if that is on.
//! 6. Settle: decide about the device runtime library and write down the ids to register.
use crate::extracted::{Extracted, Item, Piece};
use crate::files::Files;
use crate::fold::{Ended, Fold, Place, Results};
use crate::message::{LoadCode, Message};
use crate::options::LoadOptions;
use crate::plan::{Plan, Unit};
use crate::progress::Step;
use crate::ptx::{self, CompileRequest, PtxasOutput};
use crate::settle::{Loaded, settle};
use crate::unpack;
use culd_base::{Phase, Severity, Stopwatch};
use rayon::prelude::*;
use std::path::Path;

/// Below this many bytes of inputs there is nothing to gain from threads.
const PARALLEL_BYTES: usize = 512 * 1024;
/// And below this many units.
const PARALLEL_UNITS: usize = 8;

/// Result of loading: device objects and messages.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LoadOutcome {
    /// Messages of the library search, which come before anything is read.
    pub search_messages: Vec<Message>,
    /// Messages of the inputs, in order.
    pub input_messages: Vec<Message>,
    /// Libraries that were not found or have no device code to link; worth a message only when references stay undefined.
    pub passed_over: Vec<Message>,
    /// The inputs; `None` when a message was an error or fatal.
    pub loaded: Option<Loaded>,
    /// How long the parts took, if that was asked for: open, unpack, ptxas, order, optimize.
    pub phases: Vec<Phase>,
}

impl LoadOutcome {
    /// All messages in order.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.search_messages.iter().chain(&self.input_messages)
    }

    /// True when a fatal message ended the load (nvlink's exit code 1 instead of 255).
    pub fn is_fatal(&self) -> bool {
        self.messages().any(|m| m.severity == Severity::Fatal)
    }
}

/// Loads the inputs of a link.
pub fn load<P: AsRef<Path>>(inputs: &[P], options: &LoadOptions, files: &dyn Files) -> LoadOutcome {
    let inputs: Vec<&Path> = inputs.iter().map(AsRef::as_ref).collect();
    let mut times = Stopwatch::new(options.time_phases);
    options.start(Step::Reading, 0);
    let mut plan = Plan::new(&inputs, options, files);
    times.lap("open");
    let passed_over = std::mem::take(&mut plan.passed_over);
    options.start(Step::Unpacking, 0);
    let extracted = extract_all(&plan.units, options);
    times.lap("unpack");
    let compiled = compile_all(&extracted, options);
    times.lap("ptxas");
    let mut fold = Fold::new(options, compiled);
    let mut finished = None;
    let mut ended = fold.run(plan, extracted).is_err();
    times.lap("order");
    if let (Some(lto), false, false) = (&options.lto, ended, fold.has_errors) {
        options.start(Step::Optimizing, 0);
        match fold.optimize(lto) {
            Ok(done) => finished = done,
            Err(Ended) => ended = true,
        }
    }
    times.lap("optimize");
    options.start(Step::Done, 0);
    let has_errors = fold.has_errors;
    let mut outcome = LoadOutcome {
        search_messages: std::mem::take(&mut fold.search_messages),
        input_messages: std::mem::take(&mut fold.messages),
        passed_over,
        loaded: None,
        phases: times.into_phases(),
    };
    if !ended && !has_errors {
        let current_dir = files.current_dir().unwrap_or_default();
        let mut loaded = settle(fold, options, current_dir);
        if finished.is_some() {
            loaded.register.reverse();
        }
        loaded.finished = finished;
        outcome.loaded = Some(loaded);
    }
    outcome
}

fn extract_all(units: &[Unit], options: &LoadOptions) -> Vec<Extracted> {
    let bytes: usize = units.iter().map(|u| u.bytes.len()).sum();
    let parallel = options.threads != 1 && units.len() >= PARALLEL_UNITS && bytes >= PARALLEL_BYTES;
    unpack::extract_all(units, options, parallel)
}

/// Compiles the PTX that comes before the first fatal message.
fn compile_all(extracted: &[Extracted], options: &LoadOptions) -> Results {
    let end = extracted.iter().position(Extracted::is_fatal).unwrap_or(extracted.len());
    let units = extracted.iter().take(end).enumerate();
    let jobs: Vec<(Place, &Piece, &[u8])> = units
        .flat_map(|(unit, extracted)| {
            extracted.steps.iter().enumerate().filter_map(move |(step, what)| match what {
                Item::Ptx(piece, entry_options) => Some(((unit, step), piece, entry_options.as_slice())),
                _ => None,
            })
        })
        .collect();
    if jobs.is_empty() {
        return Results::default();
    }
    options.start(Step::Ptx, jobs.len());
    let ptxas = options.ptxas.find();
    let run = |&(place, piece, entry_options): &(Place, &Piece, &[u8])| {
        let file = || piece.name.to_string();
        let result = match &ptxas {
            Err(tried) => Err(LoadCode::NoPtxas {
                file: file(),
                tried: tried.clone(),
            }),
            Ok(ptxas) => {
                let request = CompileRequest {
                    ptxas,
                    text: &piece.bytes,
                    entry_options,
                    target: options.target,
                    options: &options.ptx,
                    makes: PtxasOutput::Object,
                };
                match &options.ptx_cache {
                    Some(cache) => cache.compile(&request),
                    None => ptx::compile(&request),
                }
            }
            .map_err(|error| LoadCode::Unusable {
                file: file(),
                reason: format!("cannot run '{}': {error}", ptxas.display()),
            }),
        };
        if let Some(progress) = &options.progress {
            progress.advance();
        }
        (place, result)
    };
    if options.threads != 1 && jobs.len() > 1 {
        jobs.par_iter().map(run).collect::<Vec<_>>().into_iter().collect()
    } else {
        jobs.iter().map(run).collect()
    }
}
