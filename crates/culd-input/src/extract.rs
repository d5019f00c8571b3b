//! What one unit contributes: its device code, its messages, its host information. A pure function of the unit, so units are
//! examined in parallel.
//!
//! 1. A device object is checked and taken as it is.
//! 2. A host object is searched for its fatbins: nvlink takes the first, culd all of them.
//! 3. A fatbin is read and an entry chosen. Compressed ones of many units are unpacked together ([`crate::unpack`]).
//! 4. The entry is checked; PTX becomes a job for later.
//!
//! Steps are kept in order, because for nvlink the first fatal message ends everything.

use crate::bytes::Bytes;
use crate::check::{self, Verdict};
use crate::extracted::{BytesAt, ChosenEntry, Extracted, HostPart, Item, Part, Piece};
use crate::host::HostObject;
use crate::host_info::HostLists;
use crate::message::{LoadCode, Message};
use crate::options::LoadOptions;
use crate::plan::{Unit, UnitKind};
use crate::registration::ModuleIds;
use crate::select::{self, Candidate, Choice};
use cubin::fatbin::{Compression, Content, Entry, EntryKind, FLAG_64BIT, Fatbin, FatbinError, Packed, VERSION};
use culd_base::Severity;
use std::ops::Range;
use std::sync::Arc;

/// Largest device object that is unpacked.
const UNPACK_LIMIT: u64 = 2 << 30;
/// Entries up to this size are unpacked together with those of other units.
const UNPACKED_TOGETHER: usize = 1 << 20;
/// nvlink quirk: a container that claims so many bytes has no entries.
const UNREADABLE: u64 = 1 << 31;
/// Numbers of architectures that nvlink has a name for.
const NAMED_ARCHS: std::ops::Range<u32> = 1..1000;
/// What an allocation is refused for.
const UNOBTAINABLE: u64 = 1 << 36;

/// A unit that is being examined.
pub(crate) struct Extractor<'u> {
    unit: &'u Unit,
    options: &'u LoadOptions,
    parts: Vec<Part<'u>>,
    host: HostPart,
    ids: Option<ModuleIds>,
}

impl<'u> Extractor<'u> {
    /// Examines a unit, but for compressed entries.
    pub(crate) fn new(unit: &'u Unit, options: &'u LoadOptions) -> Self {
        let mut extractor = Extractor {
            unit,
            options,
            parts: Vec::new(),
            host: HostPart::default(),
            ids: None,
        };
        match &unit.kind {
            UnitKind::Problem(messages) => {
                let messages = messages.iter().cloned();
                extractor.parts.extend(messages.map(|m| Part::Item(Item::Message(m))));
            }
            UnitKind::Device => extractor.device(),
            UnitKind::Fatbin => extractor.fatbin(),
            UnitKind::Ptx => extractor.ptx(),
            UnitKind::LtoIr => extractor.lto_ir(),
            UnitKind::Host => extractor.host(),
            UnitKind::Passed => extractor.host = HostPart::Unknown,
        }
        let is_device = matches!(unit.kind, UnitKind::Device | UnitKind::Fatbin | UnitKind::Ptx) && unit.archive_name.is_none();
        // Said of inputs that were taken: a refusal ends the link before.
        if is_device && options.registers && options.release.is_some_and(|r| r.rules.reports_missing_host_code) {
            let file = unit.name.to_string();
            extractor.say(Severity::Info, LoadCode::NoHostCode { file });
        }
        extractor
    }

    /// Bytes that its compressed entries unpack to.
    pub(crate) fn packed_size(&self) -> usize {
        let sizes = self.parts.iter().map(|part| match part {
            Part::Packed(_, packed) => packed.size(),
            Part::Item(_) => 0,
        });
        sizes.sum()
    }

    /// Unpacks compressed entries into `place`, which starts at `start` of the memory that is shared with other units.
    pub(crate) fn unpack(&mut self, mut start: usize, mut place: &mut [u8]) {
        if self.parts.iter().all(|part| matches!(part, Part::Item(_))) {
            return;
        }
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::Item(_) => self.parts.push(part),
                Part::Packed(taken, packed) => {
                    let (own, rest) = std::mem::take(&mut place).split_at_mut_checked(packed.size()).unwrap_or_default();
                    self.unpack_one(&taken, &packed, own, start..start + own.len());
                    start += own.len();
                    place = rest;
                }
            }
        }
    }

    fn unpack_one(&mut self, taken: &ChosenEntry<'u>, packed: &Packed<'_>, place: &mut [u8], range: Range<usize>) {
        match packed.unpack_into(place) {
            Ok(()) => {
                if self.has_any_magic(taken) {
                    set_magic(place);
                }
                self.check_contents(taken, place, BytesAt::Shared(range));
            }
            Err(error) => self.not_unpacked(taken, &error),
        }
    }

    /// What was found; `shared` is the memory that entries were unpacked into.
    pub(crate) fn finish(self, shared: &Bytes) -> Extracted {
        Extracted {
            steps: self.parts.into_iter().filter_map(|part| part.into_step(shared)).collect(),
            host: self.host,
            ids: self.ids,
        }
    }

    fn say(&mut self, severity: Severity, code: LoadCode) {
        self.parts.push(Part::Item(Item::Message(Message { severity, code })));
    }

    fn unusable(&mut self, file: &str, reason: impl Into<String>) {
        let file = file.to_owned();
        let reason = reason.into();
        self.say(Severity::Error, LoadCode::Unusable { file, reason });
    }

    /// Device code without host code: the used kernels are unknown.
    fn no_host_info(&mut self) {
        if !self.unit.is_device_runtime {
            self.host = HostPart::Unknown;
        }
    }

    /// nvlink quirk: what is named `.ptx` is checked but not linked below sm_90.
    fn is_dropped(&self) -> bool {
        self.options.is_nvlink() && self.unit.ptx_name && self.options.target.number < 90
    }

    fn device(&mut self) {
        let verdict = check::check(
            &self.unit.bytes,
            &self.unit.name,
            self.options.target,
            self.options.release,
            check::ObjectSource::File,
        );
        let is_nvlink = self.options.is_nvlink();
        if is_nvlink && self.unit.ptx_name && !matches!(verdict, Verdict::Accept(_) | Verdict::Linked) {
            return self.nothing_usable(&[]);
        }
        match verdict {
            Verdict::Linked if is_nvlink => return,
            Verdict::Linked => self.unusable(&self.unit.name, "already linked; give the objects it was made from"),
            Verdict::Damaged(_) if is_nvlink => {}
            Verdict::Damaged(reason) => self.unusable(&self.unit.name, reason),
            Verdict::Refuse(warnings, code) => self.refuse(warnings, code),
            Verdict::Accept(warnings) => {
                self.accept(&self.unit.name, warnings, BytesAt::Alone(self.unit.bytes.clone()));
                if self.is_dropped() {
                    return;
                }
            }
        }
        self.no_host_info();
    }

    fn accept(&mut self, name: &Arc<str>, warnings: Vec<LoadCode>, bytes: BytesAt) {
        warnings.into_iter().for_each(|code| self.say(Severity::Warning, code));
        if !self.is_dropped() {
            let name = name.clone();
            // Most units give one, and there are many units.
            self.parts.reserve_exact(1);
            self.parts.push(Part::Item(Item::Object(Piece { name, bytes })));
        }
    }

    fn refuse(&mut self, warnings: Vec<LoadCode>, code: LoadCode) {
        warnings.into_iter().for_each(|code| self.say(Severity::Warning, code));
        self.say(self.fatal(), code);
    }

    /// culd continues with the next input after a refusal, to name all problems at once.
    fn fatal(&self) -> Severity {
        if self.options.is_nvlink() {
            Severity::Fatal
        } else {
            Severity::Error
        }
    }

    fn ptx(&mut self) {
        let piece = Piece {
            name: self.unit.name.clone(),
            bytes: BytesAt::Alone(self.unit.bytes.clone()),
        };
        self.parts.push(Part::Item(Item::Ptx(piece, Vec::new())));
        if !self.is_dropped() {
            self.no_host_info();
        }
    }

    fn lto_ir(&mut self) {
        let (name, bytes) = (self.unit.name.clone(), BytesAt::Alone(self.unit.bytes.clone()));
        let step = Item::Lto(Piece { name, bytes }, culd_lto::ModuleKind::LtoIr, Vec::new());
        self.parts.push(Part::Item(step));
    }

    fn fatbin(&mut self) {
        let unit = self.unit;
        self.no_host_info();
        match Fatbin::parse(&unit.bytes) {
            Ok(fatbin) => {
                if self.is_dropped() {
                    self.host = HostPart::Silent;
                }
                self.container(&unit.name, &fatbin);
            }
            Err(error) => self.bad_container(&self.unit.name, &error),
        }
    }

    fn bad_container(&mut self, name: &str, error: &FatbinError) {
        if !self.options.is_nvlink() {
            return self.unusable(name, error.to_string());
        }
        // nvlink quirk: with a header that is too short there are no entries.
        if let FatbinError::Version { version: VERSION, .. } = error {
            return self.nothing_usable(&[]);
        }
        self.say(Severity::Error, self.options.unknown_binary());
        self.say(Severity::Fatal, LoadCode::FatbinaryError);
    }

    /// Takes the entry for the target.
    fn container(&mut self, name: &Arc<str>, fatbin: &Fatbin<'u>) {
        if self.options.is_nvlink() && fatbin.header.payload_size.get() >= UNREADABLE {
            return self.nothing_usable(&[]);
        }
        let mut entries = Vec::new();
        let mut damage = fatbin.is_truncated().then(|| "its fatbin is cut off".to_owned());
        let reads_groups = self.options.release.is_none_or(|r| r.rules.reads_groups);
        for entry in fatbin.entries() {
            match entry.and_then(|e| if reads_groups { e.members() } else { Ok(vec![e]) }) {
                Ok(members) => entries.extend(members),
                Err(error) => damage = Some(error.to_string()),
            }
        }
        // nvlink reads on as long as the entry that it takes is whole.
        if let Some(reason) = damage {
            if !self.options.is_nvlink() {
                return self.unusable(name, reason);
            }
            if entries.is_empty() {
                return self.uncompress_failed(&[]);
            }
        }
        if self.options.is_nvlink() {
            let is_elf = |e: &&Entry<'_>| e.kind() == EntryKind::Elf;
            if entries.iter().filter(is_elf).any(|e| !NAMED_ARCHS.contains(&e.arch().number)) {
                self.say(Severity::Fatal, LoadCode::UnnamedArch);
                self.say(Severity::Fatal, LoadCode::FatbinaryError);
                return;
            }
            // nvlink quirk: an entry is not for a target of 64 bits unless its flags say so.
            entries.retain(|e| !is_elf(&e) || e.header.flags.get() & FLAG_64BIT != 0);
        }
        let candidates: Vec<Candidate> = entries.iter().map(Candidate::from).collect();
        match select::choose(&candidates, self.options.target, self.options.lto.is_some(), self.options.release) {
            Choice::Entry(index) => {
                if let Some(&entry) = entries.get(index) {
                    self.take(ChosenEntry {
                        name: name.clone(),
                        entry,
                        all: candidates,
                    });
                }
            }
            Choice::OnlyLtoIr => self.only_lto(name),
            Choice::Nothing => self.nothing_usable(&candidates),
        }
    }

    fn only_lto(&mut self, name: &str) {
        if self.options.is_nvlink() {
            self.say(Severity::Fatal, LoadCode::LtoObjects);
        } else {
            let reason = "for this target it has only LTO IR, which needs link-time optimization (-lto)";
            self.unusable(name, reason);
        }
    }

    fn nothing_usable(&mut self, entries: &[Candidate]) {
        let file = self.unit.name.to_string();
        let target = self.options.target;
        if !self.options.is_nvlink() {
            let have = entries.iter().map(describe).collect();
            // The device runtime takes part only where something needs it, and what it lacks is then undefined.
            let severity = match self.unit.has_runtime_name {
                true => Severity::Warning,
                false => Severity::Error,
            };
            self.say(severity, LoadCode::NoCodeFor { file, target, have });
        } else if !self.unit.is_member() && !self.unit.has_runtime_name {
            // nvlink quirk: members of archives and the device runtime are passed over silently.
            self.say(Severity::Warning, LoadCode::ArchNotFound { file, target });
        }
    }

    fn uncompress_failed(&mut self, entries: &[Candidate]) {
        self.say(Severity::Error, LoadCode::UncompressFailed);
        if self.options.passes_over_damage() {
            // nvlink quirk: an error that the link survives.
            return self.nothing_usable(entries);
        }
        self.say(Severity::Error, LoadCode::UncompressFailed);
        self.say(Severity::Fatal, LoadCode::FatbinaryError);
    }

    /// An entry that does not unpack, and nvlink's ways to say so.
    fn not_unpacked(&mut self, taken: &ChosenEntry<'_>, error: &FatbinError) {
        if !self.options.is_nvlink() {
            return self.unusable(&taken.name, error.to_string());
        }
        match (error, taken.entry.compression()) {
            (FatbinError::TooLarge { claimed, .. }, _) if *claimed >= UNOBTAINABLE => {
                self.say(Severity::Fatal, LoadCode::OutOfMemory);
                self.say(Severity::Fatal, LoadCode::FatbinaryError);
            }
            // nvlink quirk: with LZ4 the entry counts as not there.
            (_, Compression::Lz4) => {
                self.say(Severity::Error, LoadCode::UncompressFailed);
                self.nothing_usable(&taken.all);
            }
            _ => self.uncompress_failed(&taken.all),
        }
    }

    /// Takes an entry; small compressed ones are left for later.
    fn take(&mut self, taken: ChosenEntry<'u>) {
        if taken.entry.kind() == EntryKind::Lto {
            // Only the optimizer can read what is inside.
            let options = taken.entry.options().split(|&b| b == 0).next().unwrap_or_default().to_vec();
            let (name, bytes) = (taken.name, BytesAt::Alone(taken.entry.alone().into()));
            let step = Item::Lto(Piece { name, bytes }, culd_lto::ModuleKind::Fatbin, options);
            self.parts.push(Part::Item(step));
            if matches!(self.unit.kind, UnitKind::Fatbin) {
                // Modules have no kernels that could be dropped by mistake: the optimizer keeps what is used.
                self.host = HostPart::Silent;
            }
            return;
        }
        let content = match taken.entry.content(UNPACK_LIMIT) {
            Ok(Content::Packed(packed)) if packed.size() <= UNPACKED_TOGETHER => return self.parts.push(Part::Packed(taken, packed)),
            Ok(Content::Packed(packed)) => packed.unpack().map(Bytes::from),
            Ok(Content::Plain(part)) => Ok(self.unit.bytes.part(part)),
            Err(error) => Err(error),
        };
        match content {
            Ok(bytes) => {
                let bytes = if self.has_any_magic(&taken) { with_magic(bytes) } else { bytes };
                self.check_contents(&taken, &bytes, BytesAt::Alone(bytes.clone()));
            }
            Err(error) => self.not_unpacked(&taken, &error),
        }
    }

    /// nvlink quirk: in a fatbin the flags of the entry say what it is; magic and byte order of the file inside are not looked at.
    fn has_any_magic(&self, taken: &ChosenEntry<'_>) -> bool {
        self.options.is_nvlink() && taken.entry.kind() == EntryKind::Elf
    }

    /// Checks the contents of an entry; `held` is where they are.
    fn check_contents(&mut self, taken: &ChosenEntry<'_>, content: &[u8], held: BytesAt) {
        let is_nvlink = self.options.is_nvlink();
        let name = &taken.name;
        if taken.entry.kind() == EntryKind::Ptx {
            let options = taken.entry.options().split(|&b| b == 0).next().unwrap_or_default();
            let piece = Piece {
                name: name.clone(),
                bytes: held,
            };
            return self.parts.push(Part::Item(Item::Ptx(piece, options.to_vec())));
        }
        match check::check(
            content,
            name,
            self.options.target,
            self.options.release,
            check::ObjectSource::Fatbin,
        ) {
            Verdict::Accept(warnings) => self.accept(name, warnings, held),
            Verdict::Refuse(warnings, code) => self.refuse(warnings, code),
            // A fatbin of its own with a linked file is passed over.
            Verdict::Linked if is_nvlink && matches!(self.unit.kind, UnitKind::Fatbin) => self.host = HostPart::Silent,
            Verdict::Linked if is_nvlink => {}
            Verdict::Linked => self.unusable(name, "its device code is already linked"),
            Verdict::Damaged(_) if is_nvlink => self.say(Severity::Fatal, LoadCode::FatbinaryError),
            Verdict::Damaged(reason) => self.unusable(name, reason),
        }
    }

    fn host(&mut self) {
        let unit = self.unit;
        let is_nvlink = self.options.is_nvlink();
        let host = match HostObject::parse(&unit.bytes) {
            Ok(host) => host,
            Err(_) if is_nvlink && unit.is_member() => {
                self.host = HostPart::Unknown;
                return;
            }
            Err(_) if is_nvlink => return self.fatbin_missing(),
            Err(error) => return self.unusable(&unit.name, error.to_string()),
        };
        self.host = match host.external_kernels {
            None => HostPart::Unknown,
            Some(external) => {
                let list = |section: Option<&[u8]>| unit.bytes.part(section.unwrap_or_default());
                HostPart::Lists(Box::new(HostLists {
                    kernels: [unit.bytes.part(external), list(host.internal_kernels)],
                    constants: [list(host.external_constants), list(host.internal_constants)],
                    variables: [list(host.external_variables), list(host.internal_variables)],
                }))
            }
        };
        if !host.has_segment {
            return;
        }
        let Some(fatbins) = host.fatbins else {
            if host.has_whole_program {
                return;
            }
            if is_nvlink {
                return self.fatbin_missing();
            }
            return self.unusable(&unit.name, "it should have a fatbin but has none");
        };
        self.ids = host.module_id.map(ModuleIds::of_section);
        if is_nvlink {
            self.first_fatbin(fatbins)
        } else {
            self.all_fatbins(fatbins)
        }
    }

    fn fatbin_missing(&mut self) {
        let file = self.unit.name.to_string();
        self.say(Severity::Fatal, LoadCode::FatbinMissing { file });
        self.say(Severity::Fatal, LoadCode::InternalError);
    }

    fn first_fatbin(&mut self, section: &'u [u8]) {
        match Fatbin::parse(section) {
            Ok(fatbin) => self.container(&self.unit.name, &fatbin),
            Err(FatbinError::Magic { .. } | FatbinError::Codec(_)) => self.fatbin_missing(),
            Err(error) => self.bad_container(&self.unit.name, &error),
        }
    }

    /// The linker joins the sections of several objects, each fatbin aligned to 8 with zeros between.
    fn all_fatbins(&mut self, section: &'u [u8]) {
        let mut rest = section;
        let mut fatbins = Vec::new();
        while let Some(start) = rest.iter().position(|&b| b != 0) {
            rest = rest.get(start..).unwrap_or_default();
            match Fatbin::parse(rest) {
                Ok(fatbin) => {
                    let size = usize::try_from(fatbin.size()).unwrap_or(usize::MAX);
                    rest = rest.get(size..).unwrap_or_default();
                    fatbins.push(fatbin);
                }
                Err(error) => {
                    self.unusable(&self.unit.name, error.to_string());
                    break;
                }
            }
        }
        let count = fatbins.len();
        if count > 1 {
            let file = self.unit.name.to_string();
            self.say(Severity::Info, LoadCode::SeveralFatbins { file, count });
        }
        for (i, fatbin) in fatbins.iter().enumerate() {
            let name = match i {
                0 => self.unit.name.clone(),
                _ => format!("{}#{}", self.unit.name, i + 1).into(),
            };
            self.container(&name, fatbin);
        }
    }
}

/// The bytes with magic and byte order of a device object.
fn with_magic(bytes: Bytes) -> Bytes {
    if has_magic(&bytes) {
        return bytes;
    }
    let mut copy = bytes.to_vec();
    set_magic(&mut copy);
    copy.into()
}

const LITTLE_ENDIAN: u8 = 1;

/// True also for what is too short to have any.
fn has_magic(bytes: &[u8]) -> bool {
    matches!(bytes.get(..6), None | Some([0x7f, b'E', b'L', b'F', _, LITTLE_ENDIAN]))
}

fn set_magic(bytes: &mut [u8]) {
    if let Some([a, b, c, d, _, order]) = bytes.first_chunk_mut::<6>() {
        [*a, *b, *c, *d, *order] = [0x7f, b'E', b'L', b'F', LITTLE_ENDIAN];
    }
}

/// An entry in words: `sm_90`, `compute_90 (PTX)`.
fn describe(entry: &Candidate) -> String {
    let sm = entry.arch.to_string();
    let bare = sm.trim_start_matches("sm_");
    match entry.kind {
        EntryKind::Elf => sm,
        EntryKind::Ptx => format!("compute_{bare} (PTX)"),
        EntryKind::Lto => format!("lto_{bare} (LTO IR)"),
        EntryKind::Mercury => format!("{sm} (Mercury)"),
        EntryKind::Group => "a group of images".into(),
        EntryKind::Other(kind) => format!("{sm} (unknown kind {kind})"),
    }
}
