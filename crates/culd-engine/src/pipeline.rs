//! The link, phase by phase. Each phase takes what the earlier ones made and returns its own result.
//!
//! 1. `inputs`: read and check the objects. Each is handed to `resolve` while later ones are still being read.
//! 2. `resolve`: one definition per function; the joined call graph. From here on the set of functions is fixed.
//! 3. `graph`: condense the call graph.
//! 4. `liveness`: which functions stay.
//! 5. `merge`: sections and symbols of the output, in the order in which the inputs mention them; beside it `metadata`: attributes of kernels with
//!    everything they call.
//! 6. `check`: unknown stacks; undefined references after the layout.
//! 7. `layout`: shared memory, literals, constants, texture slots. From here on no new section or symbol.
//! 8. Side by side: `relocate` (what happens to each relocation; sizes of relocation sections), then order and numbers of sections and
//!    symbols; and string tables.
//! 9. `arrange`: both together.
//! 10. `report`: the texts that the options request.
//! 11. `sections`: bytes of synthetic sections. `emit`: the image; with Mercury `finalize`, because the phases so far have linked the Mercury view.

use crate::diagnostics::{Code, Collector, Stop};
use crate::emit::{Emitted, Sink};
use crate::explain::Explained;
use crate::explain::phases::Watch;
use crate::graph::CallGraph;
use crate::inputs::Input;
use crate::metadata::call_totals::CallTotals;
use crate::metadata::{attributes, propagate};
use crate::mode::Mode;
use crate::options::LinkOptions;
use crate::outcome::{Outcome, Status};
use crate::par::Threads;
use crate::resolve::Resolver;
use crate::sections::{self, encode};
use crate::session::Link;
use crate::{arrange, check, emit, explain, finalize, inputs, layout, ledger, liveness, merge, relocate, report, size_limit, verify};

/// Runs the pipeline.
pub fn run(inputs: &[Input<'_>], options: &LinkOptions<'_>, sink: Option<&dyn Sink>) -> Outcome {
    let mut out = Collector::new(options);
    let mut explained = Explained::default();
    let mut watch = Watch::new(options.time_phases);
    let bytes = inputs.iter().map(|i| i.data.len()).sum();
    let threads = Threads::new(bytes, options.threads);
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
    watch: &mut Watch,
) -> Result<Option<Emitted>, Stop> {
    let mut resolver = Resolver::new(options);
    let inputs = inputs::admit(files, options, threads, out, |objects, id| resolver.add(objects, id))?;
    watch.lap("inputs");
    let mode = Mode::new(options, &inputs);
    let (resolved, places) = threads.join(|| resolver.finish(options.relocatable), || merge::Places::new(&inputs));
    watch.lap("resolve");
    let graph = CallGraph::new(&resolved);
    let live = liveness::mark(&inputs, &resolved, &graph, options);
    watch.lap("liveness");
    let link = Link {
        inputs: &inputs,
        resolved: &resolved,
        graph: &graph,
        live: &live,
        options,
        mode,
        threads,
    };
    // Attribute propagation only needs liveness, so it runs in parallel with merging.
    let (merged, attributes) = threads.join(
        || merge::merge(&inputs, &resolved, &live, places, options, mode, out),
        || {
            let attributes = attributes::collect(link);
            let folds = (!options.relocatable).then(|| CallTotals::new(link, &attributes.facts));
            propagate::propagate(link, attributes, folds.as_ref())
        },
    );
    let mut merged = merged?;
    watch.lap("merge");
    check::stacks(link, out)?;
    if let Some(code) = merged.unified.problem.take() {
        return Err(out.fatal(code));
    }
    check::uncalled(link, out)?;
    let layout = layout::lay_out(link, merged, out)?;
    check::undefined(link, &layout.records, out);
    explain::layout(link, &layout, explained);
    watch.lap("layout");
    let is_written = |record| encode::Encoder::writes(link, &layout, record);
    let has_info = !live.kernels.is_empty() || attributes.module.iter().any(is_written);
    // These only read what was laid out.
    let ((plan, order), names) = threads.join(
        || {
            let plan = relocate::plan(link, &layout);
            let order = arrange::order(link, &layout, &plan, has_info);
            (plan, order)
        },
        || arrange::names(link, &layout),
    );
    check::removed(link, &layout.records, &plan.removed, out);
    check::nothing_left(link, out)?;
    propagate::check_tensor_groups(link, &attributes, out);
    watch.lap("plan");
    let arranged = arrange::arrange(order, names);
    let mut attributes = encode::complete(link, &layout, &arranged, attributes);
    explained.usage = report::report(link, &layout, &arranged, &attributes, out);
    watch.lap("arrange");
    if out.errors() > 0 {
        return Ok(None);
    }
    if let Some(what) = layout.failure.or(plan.failure) {
        return Err(out.fatal(Code::Internal { what }));
    }
    size_limit::check(&inputs, &layout, &arranged, out)?;
    ledger::check(link, &layout, &plan, out)?;
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
    let computed = sections::computed(&output, &attributes);
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
