//! The link, phase by phase. Each phase takes what the earlier ones made and returns its own result.
//!
//! 1. `inputs`: read and check the objects. Each is handed to `resolve` while later ones are still being read.
//! 2. `resolve`: one definition per function; the joined call graph. From here on the set of functions is fixed.
//! 3. `graph`: condense the call graph.
//! 4. `liveness`: which functions stay.
//! 5. `merge`: sections and symbols of the output, in the order that their inputs ask for; beside it `metadata`: attributes of kernels with
//!    everything they call.
//! 6. `check`: unknown stacks; undefined references after the layout.
//! 7. `layout`: shared memory, literals, constants, texture slots. From here on no new section or symbol.
//! 8. Side by side: `relocate` (what happens to each relocation; sizes of relocation sections), then order and numbers of sections and
//!    symbols; and string tables.
//! 9. `arrange`: both together.
//! 10. `report`: texts that were asked for.
//! 11. `emit`: the image; from sm_100 on `blackwell`, which has linked the Mercury view so far.

use crate::diagnostics::{Code, Collector, Stop};
use crate::emit::{Emitted, Sink};
use crate::explain::phases::Watch;
use crate::graph::CallGraph;
use crate::layout::Context;
use crate::merge::Mode;
use crate::metadata::folds::Folds;
use crate::metadata::{attributes, encode, propagate};
use crate::par::Crew;
use crate::resolve::Resolver;
use crate::{Explained, Input, LinkOptions, Outcome, Status};
use crate::{arrange, blackwell, bounds, check, emit, explain, inputs, layout, ledger, liveness, merge, relocate, report, verify};

/// Runs the pipeline.
pub fn run(inputs: &[Input<'_>], options: &LinkOptions<'_>, sink: Option<&dyn Sink>) -> Outcome {
    let mut out = Collector::new(options);
    let mut explained = Explained::default();
    let mut watch = Watch::new(options.time_phases);
    let bytes = inputs.iter().map(|i| i.data.len()).sum();
    let crew = Crew::new(bytes, options.threads);
    let result = crew.gather(|| link(inputs, options, crew, sink, &mut out, &mut explained, &mut watch));
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
    Outcome {
        image,
        written,
        status,
        messages: out.into_messages(),
        explained,
    }
}

fn link(
    files: &[Input<'_>],
    options: &LinkOptions<'_>,
    crew: Crew,
    sink: Option<&dyn Sink>,
    out: &mut Collector<'_>,
    explained: &mut Explained,
    watch: &mut Watch,
) -> Result<Option<Emitted>, Stop> {
    if options.preserve_relocs && options.target.is_hopper_or_later() {
        out.warning(Code::PreserveRelocsIncomplete {
            target: options.target.to_string(),
        })?;
        if out.errors() > 0 {
            return Ok(None);
        }
    }
    let mut resolver = Resolver::new(options);
    let inputs = inputs::admit(files, options, crew, out, |objects, id| resolver.add(objects, id))?;
    watch.lap("inputs");
    let mode = Mode::new(options, &inputs);
    let (resolved, places) = crew.join(|| resolver.finish(options.relocatable), || merge::Places::new(&inputs));
    watch.lap("resolve");
    let graph = CallGraph::new(&resolved);
    let live = liveness::mark(&inputs, &resolved, &graph, options);
    watch.lap("liveness");
    let context = Context {
        inputs: &inputs,
        resolved: &resolved,
        graph: &graph,
        live: &live,
        options,
        mode,
        crew,
    };
    // Attributes are read and inherited meanwhile: that needs no more than to know who lives.
    let (merged, mut attributes) = crew.join(
        || merge::merge(&inputs, &resolved, &live, places, options, mode, out),
        || {
            let attributes = attributes::collect(context);
            let folds = (!options.relocatable).then(|| Folds::new(context, &attributes.facts));
            propagate::propagate(context, attributes, folds.as_ref())
        },
    );
    let mut merged = merged?;
    watch.lap("merge");
    check::stacks(context, out)?;
    if let Some(code) = merged.unified.problem.take() {
        return Err(out.fatal(code));
    }
    check::uncalled(context, out)?;
    let layout = layout::lay_out(context, merged, out)?;
    check::undefined(context, &layout.m, out);
    explain::layout(context, &layout, explained);
    watch.lap("layout");
    let is_written = |record| encode::Encoder::writes(context, &layout, record);
    let has_info = !live.kernels.is_empty() || attributes.module.iter().any(is_written);
    // These only read what was laid out.
    let ((plan, order), names) = crew.join(
        || {
            let plan = relocate::plan(context, &layout);
            let order = arrange::order(context, &layout, &plan, has_info);
            (plan, order)
        },
        || arrange::names(context, &layout),
    );
    check::removed(context, &layout.m, &plan.removed, out);
    check::nothing_left(context, out)?;
    propagate::check_tensor_groups(context, &attributes, out);
    watch.lap("plan");
    let arranged = arrange::arrange(order, names);
    encode::complete(context, &layout, &arranged, &mut attributes);
    report::report(context, &layout, &arranged, &attributes, out);
    watch.lap("arrange");
    if out.errors() > 0 {
        return Ok(None);
    }
    if let Some(what) = layout.failure.or(plan.failure) {
        return Err(out.fatal(Code::Internal { what }));
    }
    bounds::check(&inputs, &layout, &arranged, out)?;
    ledger::check(context, &layout, &plan, out)?;
    let flagged = std::mem::take(&mut attributes.flagged);
    let parts = emit::Parts {
        context,
        layout: &layout,
        plan: &plan,
        arranged: &arranged,
        flagged: &flagged,
    };
    let computed = emit::computed(&parts, &attributes);
    // Whoever looks at the image needs it in memory.
    let sink = sink.filter(|_| !options.verify && !options.map);
    let emitted = if options.target.is_blackwell() {
        Emitted::Image(blackwell::emit(&parts, &computed, &attributes, out)?)
    } else {
        // Their bytes are made, and they take more memory than anything that follows.
        let (emitted, ()) = crew.join(|| emit::emit(&parts, &computed, sink, out), || drop(attributes));
        emitted?
    };
    watch.lap("emit");
    if let Emitted::Image(image) = &emitted {
        if let Some(reason) = options.verify.then(|| verify::problem(image, files, options)).flatten() {
            return Err(out.fatal(Code::BadImage { reason }));
        }
        explain::image(&parts, image, explained);
    }
    if options.leave_memory {
        std::mem::forget((layout, plan, arranged, computed));
        std::mem::forget((inputs, resolved, graph, live));
    }
    Ok(Some(emitted))
}
