//! The whole way from a command line to the device objects of a link.
//!
//! 1. Plan: search libraries, open files, take archives apart ([`crate::plan`]).
//! 2. Examine every unit, in parallel when there is much to do ([`crate::examine`], [`crate::unpack`]).
//! 3. Compile the PTX in front of the first fatal message, in parallel.
//! 4. Fold, in order: messages, objects, host information; archives that were seen before are passed over; the first fatal message
//!    ends it. From here on everything is decided by order alone, never by which thread was first.
//! 5. Optimize the modules for link-time optimization, if that is on.
//! 6. Settle: decide about the device runtime library and write down the ids to register.

mod optimize;

pub use optimize::Finished;

use crate::bytes::Bytes;
use crate::devrt::Functions;
use crate::examine::{Finding, HostPart, Piece, Step};
use crate::files::{FileId, Files};
use crate::host_info::{HostInfo, KernelPatterns};
use crate::message::{Code, Message, Severity};
use crate::options::LoadOptions;
use crate::plan::{Plan, Reader, Source, Unit, UnitKind};
use crate::ptx::{self, Compiled, Makes};
use crate::register::{ModuleIds, Register};
use crate::unpack;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use optimize::LtoModule;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Below this many bytes of inputs there is nothing to gain from threads.
const PARALLEL_BYTES: usize = 512 * 1024;
/// And below this many units.
const PARALLEL_UNITS: usize = 8;

/// One device object to link.
#[derive(Debug, Clone)]
pub struct LoadedObject {
    /// Name in messages: the path as given, or `archive:member`.
    pub name: Arc<str>,
    /// The object.
    pub bytes: Bytes,
    /// Where the bytes came from.
    pub origin: Origin,
}

/// Where a device object came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Taken as it was found: a file, or an entry of a fatbin.
    Binary,
    /// Compiled from PTX.
    Ptx,
}

/// What was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiles {
    /// PTX of an input.
    Ptx,
    /// Modules for link-time optimization, to PTX.
    Modules,
    /// What they became.
    Optimized,
}

/// A compilation that took place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compilation {
    /// What was compiled.
    pub what: Compiles,
    /// Name of the input.
    pub name: String,
    /// How long it took.
    pub time: Duration,
}

/// What a link is made of.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Device objects in link order.
    pub objects: Vec<LoadedObject>,
    /// Kernels to keep; `None` keeps all.
    pub kernels: Option<KernelPatterns>,
    /// Ids for `--register-link-binaries`.
    pub register: Register,
    /// A fatal message that comes up after the first `n` objects were merged without error. When it is there, exactly those objects
    /// are in `objects`: link them for their errors, and when there are none, say this.
    pub late: Option<(usize, Message)>,
    /// The output of link-time optimization that needs no link.
    pub finished: Option<Finished>,
    /// All modules were optimized together; the device runtime library is linked to the result.
    pub is_optimized: bool,
    /// PTX compilations in order.
    pub compilations: Vec<Compilation>,
    /// How warnings are treated from here on: as asked for, unless (nvlink quirk) a PTX compilation changed it.
    pub warnings: WarningFlags,
}

/// How warnings are treated.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct WarningFlags {
    /// Not said at all (`--disable-infos`).
    pub disabled: bool,
    /// Errors (`--warning-as-error`).
    pub as_errors: bool,
}

/// What loading came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Messages in order.
    pub messages: Vec<Message>,
    /// Libraries that were not found or have no device code to link; worth a message only when references stay undefined.
    pub passed_over: Vec<Message>,
    /// The inputs; `None` when a message was an error or fatal.
    pub loaded: Option<Loaded>,
}

impl Outcome {
    /// True when a fatal message ended the load (nvlink's exit code 1 instead of 255).
    pub fn is_fatal(&self) -> bool {
        self.messages.iter().any(|m| m.severity == Severity::Fatal)
    }
}

/// Loads the inputs of a link.
pub fn load<P: AsRef<Path>>(inputs: &[P], options: &LoadOptions, files: &dyn Files) -> Outcome {
    let inputs: Vec<&Path> = inputs.iter().map(AsRef::as_ref).collect();
    let mut plan = Plan::new(&inputs, options, files);
    let passed_over = std::mem::take(&mut plan.passed_over);
    let findings = examine_all(&plan.units, options);
    let compiled = compile_all(&findings, options);
    let mut fold = Fold::new(options, compiled);
    let mut finished = None;
    let mut ended = fold.run(plan, findings).is_err();
    if let (Some(lto), false, false) = (&options.lto, ended, fold.has_errors) {
        match fold.optimize(lto) {
            Ok(done) => finished = done,
            Err(Ended) => ended = true,
        }
    }
    let has_errors = fold.has_errors;
    let mut outcome = Outcome {
        messages: std::mem::take(&mut fold.messages),
        passed_over,
        loaded: None,
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

fn examine_all(units: &[Unit], options: &LoadOptions) -> Vec<Finding> {
    let bytes: usize = units.iter().map(|u| u.bytes.len()).sum();
    let parallel = options.threads != 1 && units.len() >= PARALLEL_UNITS && bytes >= PARALLEL_BYTES;
    unpack::examine_all(units, options, parallel)
}

/// A place in the findings: unit and step.
type Place = (usize, usize);
/// Results of ptxas, by place; an error in words when it could not be run.
type Results = HashMap<Place, Result<Compiled, Code>, FixedState>;

/// Compiles the PTX that comes before the first fatal message.
fn compile_all(findings: &[Finding], options: &LoadOptions) -> Results {
    let end = findings.iter().position(Finding::is_fatal).unwrap_or(findings.len());
    let units = findings.iter().take(end).enumerate();
    let jobs: Vec<(Place, &Piece, &[u8])> = units
        .flat_map(|(unit, finding)| {
            finding.steps.iter().enumerate().filter_map(move |(step, what)| match what {
                Step::Ptx(piece, entry_options) => Some(((unit, step), piece, entry_options.as_slice())),
                _ => None,
            })
        })
        .collect();
    if jobs.is_empty() {
        return Results::default();
    }
    let ptxas = options.ptxas.find();
    let run = |&(place, piece, entry_options): &(Place, &Piece, &[u8])| {
        let file = || piece.name.to_string();
        let result = match &ptxas {
            Err(tried) => Err(Code::NoPtxas {
                file: file(),
                tried: tried.clone(),
            }),
            Ok(ptxas) => ptx::compile(ptxas, &piece.bytes, entry_options, options.target, &options.ptx, Makes::Object).map_err(|error| {
                Code::Unusable {
                    file: file(),
                    reason: format!("cannot run '{}': {error}", ptxas.display()),
                }
            }),
        };
        (place, result)
    };
    if options.threads != 1 && jobs.len() > 1 {
        jobs.par_iter().map(run).collect::<Vec<_>>().into_iter().collect()
    } else {
        jobs.iter().map(run).collect()
    }
}

/// Something that takes part in the link or in its registration.
struct Item {
    name: Arc<str>,
    content: Content,
    ids: Ids,
    is_device_runtime: bool,
    has_runtime_name: bool,
}

impl Item {
    fn object(&self) -> Option<&LoadedObject> {
        match &self.content {
            Content::Object(object) => Some(object),
            Content::Module(_) | Content::Nothing => None,
        }
    }
}

/// The code of an item.
enum Content {
    Object(LoadedObject),
    /// For link-time optimization.
    Module(LtoModule),
    Nothing,
}

/// How an item is registered.
enum Ids {
    /// Under the ids of its host object.
    Own(ModuleIds),
    /// Under its path.
    Path,
    /// Together with the first piece of the same host object.
    Shared,
}

/// The ids of the next item of a unit.
fn ids_of(own: &mut Option<ModuleIds>, is_first: &mut bool) -> Ids {
    let is_first = std::mem::replace(is_first, false);
    match own.take() {
        Some(ids) => Ids::Own(ids),
        None if is_first => Ids::Path,
        None => Ids::Shared,
    }
}

/// A fatal message was said.
struct Ended;

/// The state that depends on the order of the inputs.
struct Fold<'o> {
    options: &'o LoadOptions,
    compiled: Results,
    messages: Vec<Message>,
    /// What `--suppress-arch-warning` keeps from being said.
    suppressed: Vec<Message>,
    has_errors: bool,
    warnings: WarningFlags,
    items: Vec<Item>,
    seen: HashSet<FileId, FixedState>,
    host_info: HostInfo,
    is_optimized: bool,
    compilations: Vec<Compilation>,
}

impl<'o> Fold<'o> {
    fn new(options: &'o LoadOptions, compiled: Results) -> Self {
        Fold {
            options,
            compiled,
            messages: Vec::new(),
            suppressed: Vec::new(),
            has_errors: false,
            warnings: WarningFlags {
                disabled: options.disable_infos,
                as_errors: options.warnings_as_errors,
            },
            items: Vec::new(),
            seen: HashSet::default(),
            host_info: HostInfo::default(),
            is_optimized: false,
            compilations: Vec::new(),
        }
    }

    fn run(&mut self, plan: Plan, findings: Vec<Finding>) -> Result<(), Ended> {
        self.say_all(plan.search_messages)?;
        let mut findings: Vec<Option<Finding>> = findings.into_iter().map(Some).collect();
        for source in &plan.sources {
            self.source(source, &plan.units, &mut findings)?;
        }
        self.nothing_fits();
        Ok(())
    }

    /// culd: an input without code for the target may be passed over, but not all of them.
    fn nothing_fits(&mut self) {
        let has_code = self
            .items
            .iter()
            .any(|item| !matches!(item.content, Content::Nothing) && !item.is_device_runtime);
        if self.options.is_nvlink() || has_code || self.suppressed.is_empty() {
            return;
        }
        self.has_errors = true;
        self.messages.append(&mut self.suppressed);
    }

    fn source(&mut self, source: &Source, units: &[Unit], findings: &mut [Option<Finding>]) -> Result<(), Ended> {
        // nvlink passes over the device runtime in front of everything; given again later, it counts.
        // nvlink quirk: cubins in front of it do not count once there is an error.
        let is_early = source.has_runtime_name && source.archive.is_some() && (self.items.is_empty() || self.has_errors);
        if is_early && self.options.is_nvlink() {
            return Ok(());
        }
        if self.has_errors && self.options.is_nvlink() {
            // nvlink quirk: an error left behind by one part makes the next one fail, unless it fails by itself before it looks.
            let units = findings.get(source.units.clone()).unwrap_or_default();
            let fails = units.iter().flatten().any(Finding::lacks_fatbin) && source.archive.is_none();
            match source.reader {
                Reader::None => {}
                Reader::Elf if fails => {}
                Reader::Fatbinary => self.say(Message::fatal(Code::FatbinaryError))?,
                Reader::Elf => self.say(Message::fatal(Code::InternalError))?,
            }
        }
        if source.archive.as_ref().is_some_and(|id| !self.seen.insert(id.clone())) {
            return Ok(());
        }
        for index in source.units.clone() {
            let (Some(unit), Some(slot)) = (units.get(index), findings.get_mut(index)) else {
                continue;
            };
            // Members of an archive that was spelt another way before: the names in messages have to be those of this place.
            match (unit.respelt(source), slot.take()) {
                (Some(unit), _) => {
                    let finding = unpack::examine(&unit, self.options).unwrap_or_default();
                    self.unit(index, &unit, finding)?;
                }
                (None, Some(finding)) => self.unit(index, unit, finding)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Takes in one unit.
    fn unit(&mut self, index: usize, unit: &Unit, finding: Finding) -> Result<(), Ended> {
        match finding.host {
            HostPart::Silent => {}
            HostPart::Unknown => self.host_info.unknown(),
            HostPart::Lists(lists) => {
                // Also with --keep-system-libraries the runtime's lists alone remove nothing.
                self.host_info.add(&lists, unit.has_runtime_name);
            }
        }
        let mut own_ids = finding.ids;
        let mut is_first = true;
        let mut steps = finding.steps.into_iter().enumerate();
        while let Some((step, what)) = steps.next() {
            let (piece, origin) = match what {
                Step::Say(message) => {
                    if self.say(message).is_err() {
                        self.trailing(steps.find_map(|(_, step)| step.into_message()));
                        return Err(Ended);
                    }
                    continue;
                }
                Step::Object(piece) => (piece, Origin::Binary),
                Step::Ptx(piece, entry_options) => match self.compiled(piece, &entry_options, (index, step), unit)? {
                    Some(piece) => (piece, Origin::Ptx),
                    None => continue,
                },
                Step::Lto(piece, kind, options) => {
                    let from_host = matches!(unit.kind, UnitKind::Host);
                    let module = Content::Module(LtoModule::new(&piece, kind, &options, from_host));
                    // Without host code there is nothing to register.
                    let ids = match from_host {
                        true => ids_of(&mut own_ids, &mut is_first),
                        false => Ids::Shared,
                    };
                    self.add(unit, piece.name, module, ids);
                    continue;
                }
            };
            if self.options.lto.is_some() && !unit.has_runtime_name {
                let file = piece.name.to_string();
                self.say(Message {
                    severity: Severity::Info,
                    code: Code::NotBuiltForLto { file },
                })?;
            }
            let object = LoadedObject {
                name: piece.name.clone(),
                bytes: piece.bytes,
                origin,
            };
            self.add(unit, piece.name, Content::Object(object), ids_of(&mut own_ids, &mut is_first));
        }
        if let Some(ids) = own_ids {
            self.add(unit, unit.name.clone(), Content::Nothing, Ids::Own(ids));
        }
        Ok(())
    }

    fn add(&mut self, unit: &Unit, name: Arc<str>, content: Content, ids: Ids) {
        self.items.push(Item {
            name,
            content,
            ids,
            is_device_runtime: unit.is_device_runtime,
            has_runtime_name: unit.has_runtime_name,
        });
    }

    /// The object that ptxas made of a piece of PTX.
    fn compiled(&mut self, piece: Piece, entry_options: &[u8], place: Place, unit: &Unit) -> Result<Option<Piece>, Ended> {
        // A quirk of nvlink drops what is named .ptx below sm_90, after compiling it.
        let is_dropped = self.options.is_nvlink() && unit.ptx_name && self.options.target.number < 90;
        let Some(result) = self.compiled.remove(&place) else {
            return Ok(None);
        };
        let compiled = match result {
            Ok(compiled) => compiled,
            Err(Code::NoPtxas { .. }) if is_dropped => return Ok(None),
            Err(code) => {
                let severity = if self.options.is_nvlink() {
                    Severity::Fatal
                } else {
                    Severity::Error
                };
                self.say(Message { severity, code })?;
                return Ok(None);
            }
        };
        if self.options.is_nvlink() {
            // nvlink quirk: its built-in ptxas leaves its own switches for warnings behind.
            self.warnings = ptx::warning_flags(entry_options, &self.options.ptx);
        }
        self.messages.extend(compiled.messages.into_iter().map(|line| Message {
            severity: Severity::Info,
            code: Code::Ptxas { line },
        }));
        self.compilations.push(Compilation {
            what: Compiles::Ptx,
            name: piece.name.to_string(),
            time: compiled.time,
        });
        match compiled.object {
            Some(_) if is_dropped => Ok(None),
            Some(object) => Ok(Some(Piece {
                name: piece.name,
                bytes: object.into(),
            })),
            None if self.options.is_nvlink() => self.say(Message::fatal(Code::FatbinaryError)).map(|()| None),
            None => {
                let code = Code::Unusable {
                    file: piece.name.to_string(),
                    reason: "ptxas refused its PTX".to_owned(),
                };
                let severity = Severity::Error;
                self.say(Message { severity, code }).map(|()| None)
            }
        }
    }

    fn say_all(&mut self, messages: Vec<Message>) -> Result<(), Ended> {
        let mut messages = messages.into_iter();
        while let Some(message) = messages.next() {
            if self.say(message).is_err() {
                self.trailing(messages.next());
                return Err(Ended);
            }
        }
        Ok(())
    }

    /// A second fatal line belongs to the first: nvlink says what went wrong, then which of its parts gave up.
    fn trailing(&mut self, next: Option<Message>) {
        let is_said = self.messages.last().is_some_and(|m| m.code == Code::InternalError);
        let last = next.filter(|m| m.severity == Severity::Fatal && matches!(m.code, Code::InternalError | Code::FatbinaryError));
        self.messages.extend(last.filter(|_| !is_said));
    }

    /// Says one message, after the options that silence or raise warnings.
    fn say(&mut self, mut message: Message) -> Result<(), Ended> {
        let is_arch = matches!(message.code, Code::ArchNotFound { .. } | Code::NoCodeFor { .. });
        if is_arch && self.options.suppress_arch_warning && message.severity <= Severity::Error {
            self.suppressed.push(message);
            return Ok(());
        }
        if message.severity == Severity::Warning {
            if self.warnings.disabled {
                return Ok(());
            }
            if self.warnings.as_errors {
                message.severity = Severity::Error;
            }
        }
        let severity = message.severity;
        // nvlink quirk: data that does not unpack is called an error, but the link goes on; where it does not, a fatal error follows.
        let is_harmless = self.options.is_nvlink() && message.code == Code::UncompressFailed;
        self.has_errors |= severity >= Severity::Error && !is_harmless;
        self.messages.push(message);
        if severity == Severity::Fatal { Err(Ended) } else { Ok(()) }
    }
}

/// Decides about the device runtime and lists what is linked and registered.
fn settle(fold: Fold<'_>, options: &LoadOptions, current_dir: PathBuf) -> Loaded {
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
    let mut parked = Vec::new();
    for (item, decision) in fold.items.into_iter().zip(decisions) {
        match decision {
            Decision::Skip => continue,
            Decision::Park => {
                parked.push(item);
                continue;
            }
            Decision::Refuse => {
                loaded.late = Some((loaded.objects.len(), Message::fatal(Code::AfterCudadevrt)));
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

fn take(loaded: &mut Loaded, item: Item) {
    match item.ids {
        Ids::Own(ids) => loaded.register.add(ids),
        Ids::Path => loaded.register.add_path(item.name),
        Ids::Shared => {}
    }
    if let Content::Object(object) = item.content {
        loaded.objects.push(object);
    }
}

/// What happens to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Link,
    /// Device runtime that nothing needs.
    Skip,
    /// Device runtime that only later objects need; it goes to the end.
    Park,
    /// An object behind device runtime that was skipped.
    Refuse,
}

fn decide(items: &[Item], options: &LoadOptions) -> Vec<Decision> {
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
