//! Settles a folded load: which objects are linked, in which order, and which ids are registered.
//!
//! 1. The device runtime library is linked where a function is pending that it may define. nvlink decides once, in order, and refuses an
//!    object after a runtime that it skipped; culd links a skipped runtime at the end.
//! 2. Every item that is linked is registered under the ids of its host object or under its path.

use crate::device_runtime::Functions;
use crate::fold::{Compilation, Fold, Ids, ItemContent, LinkItem, LoadedObject};
use crate::message::{LoadCode, Message, WarningFlags};
use crate::optimize::Finished;
use crate::options::LoadOptions;
use crate::registration::Register;
use culd_base::KernelFilter;
use std::path::PathBuf;

/// What a link is made of.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// Device objects in link order.
    pub objects: Vec<LoadedObject>,
    /// Kernels to keep; `None` keeps all.
    pub kernels: Option<KernelFilter>,
    /// Ids for `--register-link-binaries`.
    pub register: Register,
    /// A fatal message that comes up after the first `n` objects were merged without error. When it is there, exactly those objects
    /// are in `objects`: link them for their errors, and when there are none, say this.
    pub deferred_error: Option<(usize, Message)>,
    /// The output of link-time optimization that needs no link.
    pub finished: Option<Finished>,
    /// All modules were optimized together; the device runtime library is linked to the result.
    pub is_optimized: bool,
    /// PTX compilations in order.
    pub compilations: Vec<Compilation>,
    /// How warnings are treated from here on: as requested, unless (nvlink quirk) a PTX compilation changed it.
    pub warnings: WarningFlags,
}

/// Decides about the device runtime and lists what is linked and registered.
pub(crate) fn settle(fold: Fold<'_>, options: &LoadOptions, current_dir: PathBuf) -> Loaded {
    let decisions = decide(&fold.items, options);
    let mut loaded = Loaded {
        kernels: options.host_info.then(|| fold.host_info.finish()).flatten(),
        is_optimized: fold.is_optimized,
        compilations: fold.compilations,
        warnings: fold.warnings,
        register: Register::new(current_dir),
        ..Loaded::default()
    };
    loaded.register.keep_existing = decisions.contains(&Decision::Skip);
    loaded.objects.reserve(fold.items.len());
    let mut parked = Vec::new();
    for (item, decision) in fold.items.into_iter().zip(decisions) {
        match decision {
            Decision::Skip => continue,
            Decision::Park => {
                parked.push(item);
                continue;
            }
            Decision::Refuse => {
                loaded.deferred_error = Some((loaded.objects.len(), Message::fatal(LoadCode::AfterCudadevrt)));
                return loaded;
            }
            Decision::Link => take(&mut loaded, item),
        }
    }
    for item in parked {
        take(&mut loaded, item);
    }
    loaded
}

fn take(loaded: &mut Loaded, item: LinkItem) {
    match item.ids {
        Ids::Own(ids) => loaded.register.add(ids),
        Ids::Path => loaded.register.add_path(item.name),
        Ids::Shared => {}
    }
    if let ItemContent::Object(object) = item.content {
        loaded.objects.push(object);
    }
}

/// What happens to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Link,
    /// Device runtime that nothing needs.
    Skip,
    /// Device runtime that only later objects need; it is moved to the end.
    Park,
    /// An object after device runtime that was skipped.
    Refuse,
}

fn decide(items: &[LinkItem], options: &LoadOptions) -> Vec<Decision> {
    if !items.iter().any(|item| item.is_device_runtime) {
        return vec![Decision::Link; items.len()];
    }
    let mut functions = Functions::default();
    let mut skipped = Vec::new();
    let mut decisions = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let is_behind = !skipped.is_empty() && item.object().is_some();
        let decision = match item.is_device_runtime {
            true if !functions.is_pending() => {
                skipped.push(index);
                Decision::Skip
            }
            false if is_behind && options.is_nvlink() => Decision::Refuse,
            _ => Decision::Link,
        };
        if let (Decision::Link, Some(object)) = (decision, item.object()) {
            functions.add(&object.bytes);
        }
        decisions.push(decision);
    }
    if !options.is_nvlink() && functions.is_pending() {
        for index in skipped {
            if let Some(decision) = decisions.get_mut(index) {
                *decision = Decision::Park;
            }
        }
    }
    decisions
}
