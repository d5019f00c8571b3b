//! What one unit contributes: its device code, its messages, its host information. A pure function of the unit, so units are
//! examined in parallel.
//!
//! 1. A device object is checked and taken as it is.
//! 2. A fatbin is read, an entry chosen, decompressed and checked; PTX becomes a job for later.
//! 3. A host object is searched for its fatbins: nvlink takes the first, culd all of them.
//!
//! Steps are kept in order, because in nvlink's manner the first fatal message ends everything.

use crate::bytes::Bytes;
use crate::check::{self, Verdict};
use crate::host::HostObject;
use crate::message::{Code, Message, Severity};
use crate::options::LoadOptions;
use crate::plan::{Unit, UnitKind};
use crate::register::ModuleIds;
use crate::select::{self, Candidate, Choice};
use cubin::fatbin::{Compression, Entry, EntryKind, FLAG_64BIT, Fatbin, FatbinError, VERSION};
use std::borrow::Cow;
use std::sync::Arc;

/// Largest device object that is unpacked.
const UNPACK_LIMIT: u64 = 2 << 30;
/// nvlink quirk: a container that claims so many bytes has no entries.
const UNREADABLE: u64 = 1 << 31;
/// Numbers of architectures that nvlink has a name for.
const NAMED_ARCHS: std::ops::Range<u32> = 1..1000;
/// What an allocation is refused for.
const UNOBTAINABLE: u64 = 1 << 36;

/// One thing that happens when a unit is taken in.
#[derive(Debug)]
pub(crate) enum Step {
    Say(Message),
    Object(Piece),
    /// PTX text to compile; its place in the order stays.
    Ptx(Piece, Vec<u8>),
}

impl Step {
    /// The message, when it is one.
    pub(crate) fn into_message(self) -> Option<Message> {
        match self {
            Step::Say(message) => Some(message),
            _ => None,
        }
    }
}

/// A piece of device code.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) name: Arc<str>,
    pub(crate) bytes: Bytes,
}

/// What a unit says about the kernels that host code uses.
#[derive(Debug, Default)]
pub(crate) enum HostPart {
    /// Nothing, and that does not matter.
    #[default]
    Silent,
    /// Nothing, so all kernels have to stay.
    Unknown,
    /// The lists of what is used.
    Lists(Box<Lists>),
}

/// The lists of a host object, of external and of internal names.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) kernels: [Bytes; 2],
    pub(crate) constants: [Bytes; 2],
}

/// Everything a unit contributes.
#[derive(Debug, Default)]
pub(crate) struct Finding {
    pub(crate) steps: Vec<Step>,
    pub(crate) host: HostPart,
    /// Ids of the host object; registered even without code for the target.
    pub(crate) ids: Option<ModuleIds>,
}

impl Finding {
    fn say(&mut self, severity: Severity, code: Code) {
        self.steps.push(Step::Say(Message { severity, code }));
    }

    fn unusable(&mut self, file: &str, reason: impl Into<String>) {
        let file = file.to_owned();
        let reason = reason.into();
        self.say(Severity::Error, Code::Unusable { file, reason });
    }

    /// True for a host object that announces a fatbin and has none.
    pub(crate) fn lacks_fatbin(&self) -> bool {
        let first = self.steps.first();
        matches!(first, Some(Step::Say(m)) if matches!(m.code, Code::FatbinMissing { .. }))
    }

    /// True when a message ends the load here.
    pub(crate) fn is_fatal(&self) -> bool {
        self.steps
            .iter()
            .any(|s| matches!(s, Step::Say(m) if m.severity == Severity::Fatal))
    }
}

/// Examines one unit.
pub(crate) fn examine(unit: &Unit, options: &LoadOptions) -> Finding {
    let mut examiner = Examiner {
        unit,
        options,
        finding: Finding::default(),
    };
    match &unit.kind {
        UnitKind::Problem(messages) => {
            let messages = messages.iter().cloned();
            examiner.finding.steps.extend(messages.map(Step::Say));
        }
        UnitKind::Device => examiner.device(),
        UnitKind::Fatbin => examiner.fatbin(),
        UnitKind::Ptx => examiner.ptx(),
        UnitKind::Host => examiner.host(),
        UnitKind::Passed => examiner.finding.host = HostPart::Unknown,
    }
    examiner.finding
}

struct Examiner<'u> {
    unit: &'u Unit,
    options: &'u LoadOptions,
    finding: Finding,
}

impl Examiner<'_> {
    /// Device code without host code: nobody says which kernels are used.
    fn no_host_info(&mut self) {
        if !self.unit.is_device_runtime {
            self.finding.host = HostPart::Unknown;
        }
    }

    /// nvlink quirk: what is named `.ptx` is checked but not linked below sm_90.
    fn is_dropped(&self) -> bool {
        self.options.is_nvlink() && self.unit.ptx_name && self.options.target.number < 90
    }

    fn device(&mut self) {
        let verdict = check::check(&self.unit.bytes, &self.unit.name, self.options.target, check::Source::File);
        let is_nvlink = self.options.is_nvlink();
        if is_nvlink && self.unit.ptx_name && !matches!(verdict, Verdict::Accept(_) | Verdict::Linked) {
            return self.nothing_usable(&[]);
        }
        match verdict {
            Verdict::Linked if is_nvlink => return,
            Verdict::Linked => self
                .finding
                .unusable(&self.unit.name, "already linked; give the objects it was made from"),
            Verdict::Damaged(_) if is_nvlink => {}
            Verdict::Damaged(reason) => self.finding.unusable(&self.unit.name, reason),
            Verdict::Refuse(warnings, code) => self.refuse(warnings, code),
            Verdict::Accept(warnings) => {
                self.accept(&self.unit.name, warnings, self.unit.bytes.clone());
                if self.is_dropped() {
                    return;
                }
            }
        }
        self.no_host_info();
    }

    fn accept(&mut self, name: &Arc<str>, warnings: Vec<Code>, bytes: Bytes) {
        warnings.into_iter().for_each(|code| self.finding.say(Severity::Warning, code));
        if !self.is_dropped() {
            let name = name.clone();
            self.finding.steps.push(Step::Object(Piece { name, bytes }));
        }
    }

    fn refuse(&mut self, warnings: Vec<Code>, code: Code) {
        warnings.into_iter().for_each(|code| self.finding.say(Severity::Warning, code));
        self.finding.say(self.fatal(), code);
    }

    /// culd goes on to the next input after a refusal, to name all problems at once.
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
            bytes: self.unit.bytes.clone(),
        };
        self.finding.steps.push(Step::Ptx(piece, Vec::new()));
        if !self.is_dropped() {
            self.no_host_info();
        }
    }

    fn fatbin(&mut self) {
        let bytes = self.unit.bytes.clone();
        self.no_host_info();
        match Fatbin::parse(&bytes) {
            Ok(fatbin) => {
                let is_linked = self.container(&self.unit.name, &fatbin);
                if self.options.is_nvlink() && (is_linked || self.is_dropped()) {
                    self.finding.host = HostPart::Silent;
                }
            }
            Err(error) => self.bad_container(&self.unit.name, &error),
        }
    }

    fn bad_container(&mut self, name: &str, error: &FatbinError) {
        if !self.options.is_nvlink() {
            return self.finding.unusable(name, error.to_string());
        }
        // nvlink quirk: with a header that is too short there are no entries.
        if let FatbinError::Version { version: VERSION, .. } = error {
            return self.nothing_usable(&[]);
        }
        self.finding.say(Severity::Error, Code::BinaryFormat);
        self.finding.say(Severity::Fatal, Code::FatbinaryError);
    }

    /// Takes the entry for the target; true when it turned out to be a linked file.
    fn container(&mut self, name: &Arc<str>, fatbin: &Fatbin<'_>) -> bool {
        if self.options.is_nvlink() && fatbin.header.payload_size.get() >= UNREADABLE {
            self.nothing_usable(&[]);
            return false;
        }
        let mut entries = Vec::new();
        let mut damage = fatbin.is_truncated().then(|| "its fatbin is cut off".to_owned());
        for entry in fatbin.entries() {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(error) => damage = Some(error.to_string()),
            }
        }
        // nvlink reads on as long as the entry that it takes is whole.
        if let Some(reason) = damage {
            if !self.options.is_nvlink() {
                self.finding.unusable(name, reason);
                return false;
            }
            if entries.is_empty() {
                self.uncompress_failed();
                return false;
            }
        }
        if self.options.is_nvlink() {
            let is_elf = |e: &&Entry<'_>| e.kind() == EntryKind::Elf;
            if entries.iter().filter(is_elf).any(|e| !NAMED_ARCHS.contains(&e.arch())) {
                self.finding.say(Severity::Fatal, Code::UnnamedArch);
                self.finding.say(Severity::Fatal, Code::FatbinaryError);
                return false;
            }
            // nvlink quirk: an entry is not for a target of 64 bits unless its flags say so.
            entries.retain(|e| !is_elf(&e) || e.header.flags.get() & FLAG_64BIT != 0);
        }
        let candidates: Vec<Candidate> = entries.iter().map(Candidate::from).collect();
        match select::choose(&candidates, self.options.target) {
            Choice::Entry(index) => entries.get(index).is_some_and(|entry| self.entry(name, entry, &candidates)),
            Choice::OnlyLtoIr => {
                self.only_lto(name);
                false
            }
            Choice::Nothing => {
                self.nothing_usable(&candidates);
                false
            }
        }
    }

    fn only_lto(&mut self, name: &str) {
        if self.options.is_nvlink() {
            self.finding.say(Severity::Fatal, Code::LtoObjects);
        } else {
            let reason = "for this target it has only LTO IR, which needs link-time optimisation";
            self.finding.unusable(name, reason);
        }
    }

    fn nothing_usable(&mut self, entries: &[Candidate]) {
        let file = self.unit.name.to_string();
        let target = self.options.target;
        if !self.options.is_nvlink() {
            let have = entries.iter().map(describe).collect();
            self.finding.say(Severity::Warning, Code::NoCodeFor { file, target, have });
        } else if !self.unit.is_member() && !self.unit.has_runtime_name {
            // nvlink quirk: members of archives and the device runtime are passed over without a word.
            self.finding.say(Severity::Warning, Code::ArchNotFound { file, target });
        }
    }

    fn uncompress_failed(&mut self) {
        self.finding.say(Severity::Error, Code::UncompressFailed);
        self.finding.say(Severity::Error, Code::UncompressFailed);
        self.finding.say(Severity::Fatal, Code::FatbinaryError);
    }

    /// nvlink's ways to say that an entry does not unpack.
    fn not_unpacked(&mut self, entry: &Entry<'_>, error: &FatbinError, all: &[Candidate]) {
        match (error, entry.compression()) {
            (FatbinError::TooLarge { claimed, .. }, _) if *claimed >= UNOBTAINABLE => {
                self.finding.say(Severity::Fatal, Code::OutOfMemory);
                self.finding.say(Severity::Fatal, Code::FatbinaryError);
            }
            // nvlink quirk: with LZ4 the entry counts as not there.
            (_, Compression::Lz4) => {
                self.finding.say(Severity::Error, Code::UncompressFailed);
                self.nothing_usable(all);
            }
            _ => self.uncompress_failed(),
        }
    }

    /// Unpacks and checks the chosen entry; true when it is a linked file.
    fn entry(&mut self, name: &Arc<str>, entry: &Entry<'_>, all: &[Candidate]) -> bool {
        let is_nvlink = self.options.is_nvlink();
        let content = match entry.payload(UNPACK_LIMIT) {
            Ok(content) => content,
            Err(error) if is_nvlink => {
                self.not_unpacked(entry, &error, all);
                return false;
            }
            Err(error) => {
                self.finding.unusable(name, error.to_string());
                return false;
            }
        };
        let bytes = match content {
            Cow::Borrowed(part) => self.unit.bytes.part(part),
            Cow::Owned(bytes) => bytes.into(),
        };
        let bytes = match entry.kind() {
            EntryKind::Elf if is_nvlink => with_magic(bytes),
            _ => bytes,
        };
        if entry.kind() == EntryKind::Ptx {
            let name = name.clone();
            let piece = Piece { name, bytes };
            let options = entry.options().split(|&b| b == 0).next().unwrap_or_default();
            self.finding.steps.push(Step::Ptx(piece, options.to_vec()));
            return false;
        }
        match check::check(&bytes, name, self.options.target, check::Source::Fatbin) {
            Verdict::Accept(warnings) => self.accept(name, warnings, bytes),
            Verdict::Refuse(warnings, code) => self.refuse(warnings, code),
            Verdict::Linked if is_nvlink => return true,
            Verdict::Linked => self.finding.unusable(name, "its device code is already linked"),
            Verdict::Damaged(_) if is_nvlink => self.finding.say(Severity::Fatal, Code::FatbinaryError),
            Verdict::Damaged(reason) => self.finding.unusable(name, reason),
        }
        false
    }

    fn host(&mut self) {
        let unit = self.unit;
        let is_nvlink = self.options.is_nvlink();
        let host = match HostObject::parse(&unit.bytes) {
            Ok(host) => host,
            Err(_) if is_nvlink && unit.is_member() => {
                self.finding.host = HostPart::Unknown;
                return;
            }
            Err(_) if is_nvlink => return self.fatbin_missing(),
            Err(error) => return self.finding.unusable(&unit.name, error.to_string()),
        };
        self.finding.host = match host.external_kernels {
            None => HostPart::Unknown,
            Some(external) => {
                let list = |section: Option<&[u8]>| unit.bytes.part(section.unwrap_or_default());
                HostPart::Lists(Box::new(Lists {
                    kernels: [unit.bytes.part(external), list(host.internal_kernels)],
                    constants: [list(host.external_constants), list(host.internal_constants)],
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
            return self.finding.unusable(&unit.name, "it announces a fatbin but has none");
        };
        self.finding.ids = host.module_id.map(ModuleIds::of_section);
        if is_nvlink {
            self.first_fatbin(fatbins)
        } else {
            self.all_fatbins(fatbins)
        }
    }

    fn fatbin_missing(&mut self) {
        let file = self.unit.name.to_string();
        self.finding.say(Severity::Fatal, Code::FatbinMissing { file });
        self.finding.say(Severity::Fatal, Code::InternalError);
    }

    fn first_fatbin(&mut self, section: &[u8]) {
        match Fatbin::parse(section) {
            Ok(fatbin) => {
                self.container(&self.unit.name, &fatbin);
            }
            Err(FatbinError::Magic { .. } | FatbinError::Codec(_)) => self.fatbin_missing(),
            Err(error) => self.bad_container(&self.unit.name, &error),
        }
    }

    /// The linker joins the sections of several objects, each fatbin aligned to 8 with zeros between.
    fn all_fatbins(&mut self, section: &[u8]) {
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
                    self.finding.unusable(&self.unit.name, error.to_string());
                    break;
                }
            }
        }
        let count = fatbins.len();
        if count > 1 {
            let file = self.unit.name.to_string();
            self.finding.say(Severity::Info, Code::SeveralFatbins { file, count });
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

/// nvlink quirk: in a fatbin the flags of the entry say what it is; magic and byte order of the file inside are not looked at.
fn with_magic(bytes: Bytes) -> Bytes {
    const LITTLE_ENDIAN: u8 = 1;
    match bytes.get(..6) {
        None | Some([0x7f, b'E', b'L', b'F', _, LITTLE_ENDIAN]) => bytes,
        Some(_) => {
            let mut copy = bytes.to_vec();
            let marks = [(0, 0x7f), (1, b'E'), (2, b'L'), (3, b'F'), (5, LITTLE_ENDIAN)];
            for (at, mark) in marks {
                if let Some(byte) = copy.get_mut(at) {
                    *byte = mark;
                }
            }
            copy.into()
        }
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
        EntryKind::Other(kind) => format!("{sm} (unknown kind {kind})"),
    }
}
