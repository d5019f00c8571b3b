//! Folds what the units contribute into one list, in link order.
//!
//! 1. Messages of the library search first, then source by source and unit by unit.
//! 2. An archive that was seen before is passed over.
//! 3. PTX is replaced by the object that ptxas made of it.
//! 4. culd: objects of the device runtime that do not fit are refused only if something calls into it.
//! 5. The first fatal message ends the fold.
//!
//! Order alone decides here, never which thread was first.

use crate::bytes::Bytes;
use crate::device_runtime::Functions;
use crate::extracted::{Extracted, HostPart, Item, Piece};
use crate::files::FileId;
use crate::host_info::HostInfo;
use crate::message::{LoadCode, Message, WarningFlags};
use crate::options::LoadOptions;
use crate::plan::{InputSource, Plan, Reader, Unit, UnitKind};
use crate::ptx::{self, Compiled};
use crate::registration::ModuleIds;
use crate::unpack;
use culd_base::Severity;
use culd_lto::{Module, ModuleKind};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

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
    /// ChosenEntry as it was found: a file, or an entry of a fatbin.
    Binary,
    /// Compiled from PTX.
    Ptx,
}

/// Kind of the compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompilationKind {
    /// PTX of an input.
    Ptx,
    /// Modules for link-time optimization, to PTX.
    Modules,
    /// PTX that the optimizer made of the modules.
    Optimized,
}

/// A compilation that took place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compilation {
    /// Kind of the compilation.
    pub what: CompilationKind,
    /// Name of the input.
    pub name: String,
    /// Duration.
    pub time: Duration,
}

/// A place in the extracted: unit and step.
pub(crate) type Place = (usize, usize);
/// Results of ptxas, by place; an error in words when it could not be run.
pub(crate) type Results = HashMap<Place, Result<Compiled, LoadCode>, FixedState>;

/// A module of an item.
#[derive(Debug)]
pub(crate) struct LtoModule {
    pub(crate) module: Module,
    /// Options it was compiled with, as text; none for LTO IR in a file of its own.
    pub(crate) options: Option<String>,
    /// It came from a host object.
    pub(crate) from_host: bool,
}

impl LtoModule {
    pub(crate) fn new(piece: &Piece, kind: ModuleKind, options: &[u8], from_host: bool) -> Self {
        LtoModule {
            module: Module {
                name: piece.name.to_string(),
                kind,
                bytes: piece.bytes.to_vec(),
            },
            options: (kind == ModuleKind::Fatbin).then(|| String::from_utf8_lossy(options).into_owned()),
            from_host,
        }
    }
}

/// An object that does not fit the link, though it is intact.
fn is_refusal(message: &Message) -> bool {
    message.severity >= Severity::Error && matches!(message.code, LoadCode::Admission(_))
}

/// Something that takes part in the link or in its registration.
pub(crate) struct LinkItem {
    pub(crate) name: Arc<str>,
    pub(crate) content: ItemContent,
    pub(crate) ids: Ids,
    pub(crate) is_device_runtime: bool,
    pub(crate) has_runtime_name: bool,
}

impl LinkItem {
    pub(crate) fn object(&self) -> Option<&LoadedObject> {
        match &self.content {
            ItemContent::Object(object) => Some(object),
            ItemContent::Module(_) | ItemContent::Nothing => None,
        }
    }
}

/// The code of an item.
pub(crate) enum ItemContent {
    Object(LoadedObject),
    /// For link-time optimization.
    Module(LtoModule),
    Nothing,
}

/// How an item is registered.
pub(crate) enum Ids {
    /// Under the ids of its host object.
    Own(ModuleIds),
    /// Under its path.
    Path,
    /// Together with the first piece of the same host object.
    Shared,
}

/// The ids of the next item of a unit.
pub(crate) fn ids_of(own: &mut Option<ModuleIds>, is_first: &mut bool) -> Ids {
    let is_first = std::mem::replace(is_first, false);
    match own.take() {
        Some(ids) => Ids::Own(ids),
        None if is_first => Ids::Path,
        None => Ids::Shared,
    }
}

/// A fatal message was said.
pub(crate) struct Ended;

/// The state that depends on the order of the inputs.
pub(crate) struct Fold<'o> {
    pub(crate) options: &'o LoadOptions,
    compiled: Results,
    /// Messages of the library search.
    pub(crate) search_messages: Vec<Message>,
    /// Messages of the inputs.
    pub(crate) messages: Vec<Message>,
    /// What `--suppress-arch-warning` keeps from being said.
    suppressed: Vec<Message>,
    /// culd: why objects of the device runtime are refused.
    runtime_refusals: Vec<Message>,
    pub(crate) has_errors: bool,
    pub(crate) warnings: WarningFlags,
    pub(crate) items: Vec<LinkItem>,
    seen: HashSet<FileId, FixedState>,
    pub(crate) host_info: HostInfo,
    pub(crate) is_optimized: bool,
    pub(crate) compilations: Vec<Compilation>,
}

impl<'o> Fold<'o> {
    pub(crate) fn new(options: &'o LoadOptions, compiled: Results) -> Self {
        Fold {
            options,
            compiled,
            search_messages: Vec::new(),
            messages: Vec::new(),
            suppressed: Vec::new(),
            runtime_refusals: Vec::new(),
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

    pub(crate) fn run(&mut self, plan: Plan, extracted: Vec<Extracted>) -> Result<(), Ended> {
        let ended = self.say_all(plan.search_messages);
        self.search_messages = std::mem::take(&mut self.messages);
        ended?;
        let mut extracted: Vec<Option<Extracted>> = extracted.into_iter().map(Some).collect();
        self.items.reserve(extracted.len());
        for source in &plan.sources {
            self.source(source, &plan.units, &mut extracted)?;
        }
        self.refused_runtime();
        self.nothing_fits();
        Ok(())
    }

    /// culd: a device runtime that cannot be linked, such as that of a newer toolkit, matters only if something calls into it.
    fn refused_runtime(&mut self) {
        if self.runtime_refusals.is_empty() {
            return;
        }
        let mut functions = Functions::default();
        self.items.iter().filter_map(LinkItem::object).for_each(|o| functions.add(&o.bytes));
        // What modules call is not known before they are compiled.
        let has_modules = self.items.iter().any(|item| matches!(item.content, ItemContent::Module(_)));
        if has_modules || functions.is_pending() {
            self.has_errors = true;
            self.messages.append(&mut self.runtime_refusals);
        }
    }

    /// culd: an input without code for the target may be passed over, but not all of them.
    fn nothing_fits(&mut self) {
        let has_code = self
            .items
            .iter()
            .any(|item| !matches!(item.content, ItemContent::Nothing) && !item.is_device_runtime);
        if self.options.is_nvlink() || has_code || self.suppressed.is_empty() {
            return;
        }
        self.has_errors = true;
        self.messages.append(&mut self.suppressed);
    }

    fn source(&mut self, source: &InputSource, units: &[Unit], extracted: &mut [Option<Extracted>]) -> Result<(), Ended> {
        // nvlink passes over the device runtime before everything; given again later, it counts.
        // nvlink quirk: cubins before it do not count once there is an error.
        let is_early = source.has_runtime_name && source.archive.is_some() && (self.items.is_empty() || self.has_errors);
        if is_early && self.options.is_nvlink() {
            return Ok(());
        }
        if self.has_errors && self.options.is_nvlink() {
            // nvlink quirk: an error left by one part makes the next one fail, unless it fails by itself before it looks.
            let units = extracted.get(source.units.clone()).unwrap_or_default();
            let fails = units.iter().flatten().any(Extracted::lacks_fatbin) && source.archive.is_none();
            match source.reader {
                Reader::None => {}
                Reader::Elf if fails => {}
                Reader::Fatbinary => self.say(Message::fatal(LoadCode::FatbinaryError))?,
                Reader::Elf => self.say(Message::fatal(LoadCode::InternalError))?,
            }
        }
        if source.archive.as_ref().is_some_and(|id| !self.seen.insert(id.clone())) {
            return Ok(());
        }
        for index in source.units.clone() {
            let (Some(unit), Some(slot)) = (units.get(index), extracted.get_mut(index)) else {
                continue;
            };
            // Members of an archive that was spelt another way before: the names in messages have to be those of this place.
            match (unit.respelt(source), slot.take()) {
                (Some(unit), _) => {
                    let extracted = unpack::examine(&unit, self.options).unwrap_or_default();
                    self.unit(index, &unit, extracted)?;
                }
                (None, Some(extracted)) => self.unit(index, unit, extracted)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Takes in one unit.
    fn unit(&mut self, index: usize, unit: &Unit, extracted: Extracted) -> Result<(), Ended> {
        match extracted.host {
            HostPart::Silent => {}
            HostPart::Unknown => self.host_info.unknown(),
            HostPart::Lists(lists) => {
                // Also with --keep-system-libraries the runtime's lists alone remove nothing.
                self.host_info.add(&lists, unit.has_runtime_name);
            }
        }
        let mut own_ids = extracted.ids;
        let mut is_first = true;
        let mut steps = extracted.steps.into_iter().enumerate();
        while let Some((step, what)) = steps.next() {
            let (piece, origin) = match what {
                Item::Message(message) if unit.is_device_runtime && is_refusal(&message) && !self.options.is_nvlink() => {
                    self.runtime_refusals.push(message);
                    continue;
                }
                Item::Message(message) => {
                    if self.say(message).is_err() {
                        self.trailing(steps.find_map(|(_, step)| step.into_message()));
                        return Err(Ended);
                    }
                    continue;
                }
                Item::Object(piece) => (piece, Origin::Binary),
                Item::Ptx(piece, entry_options) => match self.compiled(piece, &entry_options, (index, step), unit)? {
                    Some(piece) => (piece, Origin::Ptx),
                    None => continue,
                },
                Item::Lto(piece, kind, options) => {
                    let from_host = matches!(unit.kind, UnitKind::Host);
                    let module = ItemContent::Module(LtoModule::new(&piece, kind, &options, from_host));
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
                    code: LoadCode::NotBuiltForLto { file },
                })?;
            }
            let object = LoadedObject {
                name: piece.name.clone(),
                bytes: piece.bytes,
                origin,
            };
            self.add(unit, piece.name, ItemContent::Object(object), ids_of(&mut own_ids, &mut is_first));
        }
        if let Some(ids) = own_ids {
            self.add(unit, unit.name.clone(), ItemContent::Nothing, Ids::Own(ids));
        }
        Ok(())
    }

    fn add(&mut self, unit: &Unit, name: Arc<str>, content: ItemContent, ids: Ids) {
        self.items.push(LinkItem {
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
            Err(LoadCode::NoPtxas { .. }) if is_dropped => return Ok(None),
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
            // nvlink quirk: its built-in ptxas leaves its own switches for warnings set.
            self.warnings = ptx::warning_flags(entry_options, &self.options.ptx);
        }
        self.messages.extend(compiled.messages.into_iter().map(|line| Message {
            severity: Severity::Info,
            code: LoadCode::Ptxas { line },
        }));
        self.compilations.push(Compilation {
            what: CompilationKind::Ptx,
            name: piece.name.to_string(),
            time: compiled.time,
        });
        match compiled.object {
            Some(_) if is_dropped => Ok(None),
            Some(object) => Ok(Some(Piece {
                name: piece.name,
                bytes: object.into(),
            })),
            None if self.options.is_nvlink() => self.say(Message::fatal(LoadCode::FatbinaryError)).map(|()| None),
            None => {
                let code = LoadCode::Unusable {
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

    /// A second fatal line belongs to the first: nvlink reports the cause, then the part of it that failed.
    fn trailing(&mut self, next: Option<Message>) {
        let is_said = self.messages.last().is_some_and(|m| m.code == LoadCode::InternalError);
        let last = next.filter(|m| m.severity == Severity::Fatal && matches!(m.code, LoadCode::InternalError | LoadCode::FatbinaryError));
        self.messages.extend(last.filter(|_| !is_said));
    }

    /// Says one message, after the options that silence or raise warnings.
    pub(crate) fn say(&mut self, mut message: Message) -> Result<(), Ended> {
        let is_arch = matches!(message.code, LoadCode::ArchNotFound { .. } | LoadCode::NoCodeFor { .. });
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
        // nvlink quirk: data that does not unpack is called an error, but the link continues; where it does not, a fatal error follows.
        let is_harmless = self.options.is_nvlink() && message.code == LoadCode::UncompressFailed;
        self.has_errors |= severity >= Severity::Error && !is_harmless;
        self.messages.push(message);
        if severity == Severity::Fatal { Err(Ended) } else { Ok(()) }
    }
}
