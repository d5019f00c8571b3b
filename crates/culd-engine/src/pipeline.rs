//! The link, phase by phase. Each phase takes what the earlier ones made and returns its own result.
//!
//! 1. `inputs`: read and check the objects. While later ones are still being read, those before them get their names numbered, and those before
//!    these are handed to `resolve`: first their functions, then their call graphs.
//! 2. `resolve`: one definition per function; the joined call graph. From here on the set of functions is fixed.
//! 3. `graph`: the edges of the call graph.
//! 4. `liveness`: which functions stay.
//! 5. `merge`: sections and symbols of the output, in the order in which the inputs mention them; beside it `graph` condenses the call graph, and
//!    `metadata` collects the attributes of functions.
//! 6. `check`: unknown stacks; undefined references after the layout.
//! 7. `layout`: shared memory, literals, constants, texture slots. From here on no new section or symbol. Beside it `metadata` makes the attributes of
//!    kernels with everything they call.
//! 8. Side by side: `relocate` (what happens to each relocation; sizes of relocation sections), then order and numbers of sections and
//!    symbols; and string tables.
//! 9. `arrange`: both together.
//! 10. `report`: the texts that the options request.
//! 11. `sections`: bytes of synthetic sections. `emit`: the image; with Mercury `finalize`, because the phases so far have linked the Mercury view.

use crate::diagnostics::{Code, Collector, Stop};
use crate::emit::{Emitted, Sink};
use crate::explain::Explained;
use crate::graph::{CallEdges, CallGraph};
use crate::inputs::Input;
use crate::metadata::propagate::Heritable;
use crate::metadata::{attributes, propagate};
use crate::mode::Mode;
use crate::options::LinkOptions;
use crate::outcome::{Outcome, Status};
use crate::par::Threads;
use crate::resolve::{CallLists, Resolver, SymbolNames};
use crate::sections::{self, encode};
use crate::session::Link;
use crate::{arrange, check, emit, explain, finalize, inputs, layout, ledger, liveness, merge, relocate, report, size_limit, verify};
use culd_base::Stopwatch;

/// So many times as much work is a byte of an input with Mercury: its code is scheduled again.
const MERCURY_COST: usize = 16;

/// Runs the pipeline.
pub fn run(inputs: &[Input<'_>], options: &LinkOptions<'_>, sink: Option<&dyn Sink>) -> Outcome {
    let mut out = Collector::new(options);
    let mut explained = Explained::default();
    let mut watch = Stopwatch::new(options.time_phases);
    let bytes = inputs.iter().map(|i| i.data.len()).sum();
    let cost = if options.target.capabilities().has_mercury {
        MERCURY_COST
    } else {
        1
    };
    let threads = Threads::new(usize::saturating_mul(bytes, cost), options.threads);
    let result = threads.install(|| link(inputs, options, threads, sink, &mut out, &mut explained, &mut watch));
    explained.phases = watch.into_phases();
    let (emitted, status) = match result {
        Err(Stop) => (None, Status::Fatal),
        Ok(_) if out.errors() > 0 => (None, Status::Errors),
        Ok(emitted) => (emitted, Status::Success),
    };
    let (image, written) = match emitted {
        None => (None, None),
        Some(Emitted::Image(image)) => (Some(image), None),
        Some(Emitted::Written(result)) => (None, Some(result)),
    };
    let (messages, callgraph) = out.finish();
    explained.callgraph = callgraph;
    Outcome {
        image,
        written,
        status,
        messages,
        explained,
    }
}

fn link(
    files: &[Input<'_>],
    options: &LinkOptions<'_>,
    threads: Threads,
    sink: Option<&dyn Sink>,
    out: &mut Collector<'_>,
    explained: &mut Explained,
    watch: &mut Stopwatch,
) -> Result<Option<Emitted>, Stop> {
    let bytes = files.iter().map(|file| file.data.len() as u64).sum();
    let (mut names, mut resolver, mut calls) = (SymbolNames::new(threads), Resolver::new(bytes), CallLists::new(options));
    let stages = inputs::Stages {
        name: |objects: &[_]| names.add(objects),
        resolve: |objects: &_, new, names| resolver.add(objects, new, names),
        join: |objects: &[_], functions| calls.add(objects, &functions),
    };
    let inputs = inputs::admit(files, options, threads, out, stages)?;
    watch.lap("inputs");
    let mode = Mode::new(options, &inputs);
    let (resolved, places) = threads.join(
        || resolver.finish(calls, names, &inputs.objects, options.relocatable, threads),
        || merge::Places::new(&inputs, threads),
    );
    watch.lap("resolve");
    let calls = CallEdges::new(&resolved);
    let live = liveness::mark(&inputs, &resolved, &calls, options, threads);
    watch.lap("liveness");
    // The condensed graph and the attributes need nothing of the merge, so they run in parallel with it.
    let collected = || {
        let sources = attributes::Sources {
            inputs: &inputs,
            resolved: &resolved,
            live: &live,
            mode,
            threads,
        };
        let (graph, attributes) = threads.join(|| CallGraph::new(calls, &resolved), || attributes::collect(sources));
        let link = Link::new(&inputs, &resolved, &graph, &live, options, mode, threads);
        let heritable = (!options.relocatable).then(|| Heritable::new(link, &attributes));
        (graph, attributes, heritable)
    };
    let timed = options.time_phases;
    let ((merged, records), ((graph, attributes, heritable), metadata)) = threads.join(
        || {
            Stopwatch::part(timed, "records", || {
                merge::merge(&inputs, &resolved, &live, places, options, (mode, threads), out)
            })
        },
        || Stopwatch::part(timed, "attributes", collected),
    );
    let link = Link::new(&inputs, &resolved, &graph, &live, options, mode, threads);
    let mut merged = merged?;
    watch.lap_with("merge", records.into_iter().chain(metadata).collect());
    // What kernels inherit does not depend on memory.
    let lay_out = || {
        let cyclic = heritable.as_ref().map(|h| h.totals.reaches_cycle()).unwrap_or_default();
        check::stacks(link, &cyclic, out)?;
        check::uncalled(link, out)?;
        if let Some(code) = merged.unified.problem.take() {
            return Err(out.fatal(code));
        }
        let layout = layout::lay_out(link, merged, out)?;
        check::undefined(link, &layout.records, out);
        Ok(layout)
    };
    let (layout, attributes) = threads.join(lay_out, || propagate::propagate(link, attributes, heritable.as_ref()));
    let layout = layout?;
    explain::layout(link, &layout, explained);
    watch.lap("layout");
    let is_written = |record| encode::Encoder::writes(link, &layout, record);
    let has_info = !live.kernels.is_empty() || attributes.module.iter().any(is_written);
    // These only read what was laid out.
    let planned = || {
        let plan = relocate::plan(link, &layout);
        let order = arrange::order(link, &layout, &plan, has_info);
        (plan, order)
    };
    let (((plan, order), relocations), (names, strings)) = threads.join(
        || Stopwatch::part(timed, "relocations", planned),
        || Stopwatch::part(timed, "strings", || arrange::names(link, &layout)),
    );
    check::removed(link, &layout.records, &plan.removed, out);
    check::nothing_left(link, out)?;
    propagate::check_tensor_groups(link, &attributes, out);
    watch.lap_with("plan", relocations.into_iter().chain(strings).collect());
    let arranged = arrange::arrange(order, names);
    let mut attributes = encode::complete(link, &layout, &arranged, attributes);
    if let Some(what) = plan.early_failure.filter(|_| out.errors() == 0) {
        return Err(out.fatal(Code::Internal { what }));
    }
    explained.usage = report::report(link, &layout, &arranged, &attributes, out);
    watch.lap("arrange");
    if out.errors() > 0 {
        return Ok(None);
    }
    if let Some(what) = layout.failure.or(plan.failure) {
        return Err(out.fatal(Code::Internal { what }));
    }
    let flagged = std::mem::take(&mut attributes.flagged);
    let totals = attributes.header_totals(link);
    let output = arrange::OutputPlan {
        link,
        layout: &layout,
        plan: &plan,
        arranged: &arranged,
        flagged: &flagged,
        totals: &totals,
    };
    let (problem, computed) = threads.join(
        || size_limit::problem(&inputs, &layout, &arranged),
        || sections::computed(&output, &attributes),
    );
    if let Some(code) = problem {
        return Err(out.fatal(code));
    }
    ledger::check(link, &layout, &plan, out)?;
    // Verification and the link map need the image in memory.
    let sink = sink.filter(|_| !options.verify && !options.map);
    let emitted = if options.target.capabilities().has_mercury {
        finalize::emit(&output, &computed, &attributes, sink, out)?
    } else {
        // The attributes are encoded, and they take more memory than anything that follows.
        let (emitted, ()) = threads.join(|| emit::emit(&output, &computed, sink, out), || drop(attributes));
        emitted?
    };
    watch.lap("emit");
    if let Emitted::Image(image) = &emitted {
        if let Some(reason) = options.verify.then(|| verify::problem(image, files, options)).flatten() {
            return Err(out.fatal(Code::BadImage { reason }));
        }
        explain::image(&output, image, explained);
    }
    if options.leave_memory {
        std::mem::forget((layout, plan, arranged, computed));
        std::mem::forget((inputs, resolved, graph, live));
    }
    Ok(Some(emitted))
}
