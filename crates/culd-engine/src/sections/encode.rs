//! Bytes of `.nv.info` and `.nv.info.F`.

use crate::arrange::{Arranged, OutputPlan};
use crate::ids::{FunctionId, Id as _};
use crate::layout::Layout;
use crate::metadata::attributes::flag;
use crate::metadata::attributes::{Attribute, Payload, Subject, subject};
use crate::metadata::kernel::KernelAttributes;
use crate::resolve::Function;
use crate::session::Link;
use cubin::nvinfo::FORMAT_SIZED;
use cubin::nvinfo::attr;

/// Objects of older toolkits than 10.0 leave a mark.
const VERSION_10: u32 = 100;

/// The attributes with the mark of old inputs and the records that need symbol numbers: MIN_STACK_SIZE per kernel in symbol order, region
/// stacks, missing register counts. nvlink quirk: languages of stubs make the last stack size longer.
pub fn complete<'d>(link: Link<'_, '_>, layout: &Layout<'_>, arranged: &Arranged, mut last: KernelAttributes<'d>) -> KernelAttributes<'d> {
    if link.mode.relocatable {
        return last;
    }
    if link.inputs.objects.iter().any(|o| o.toolkit < VERSION_10) {
        last.module.push(flag(attr::HAS_PRE_V10_OBJECT, 0));
    }
    let only = link.live.only.is_some();
    let functions = &link.resolved.functions;
    let entry = |f: FunctionId| Some((arranged.symbol_index(layout.records.symbol_of[f]?), f));
    let stub = |n, function: &Function<'_>| {
        let f = FunctionId::from_index(n);
        (function.stub && link.live.alive[f]).then(|| entry(f))?
    };
    let mut entries: Vec<(u32, FunctionId)> = link.threads.filter_map(&link.live.kernels, |_, &k| entry(k));
    if !only {
        entries.append(&mut link.threads.filter_map(functions.as_slice(), stub));
    }
    entries.sort_unstable_by_key(|e| e.0);
    // A stack size and registers of each.
    last.module.reserve(2 * entries.len());
    for &(_, f) in &entries {
        let value = last.stack[f].unwrap_or(-1) as u32;
        last.module.push(word(attr::MIN_STACK_SIZE, f, value));
    }
    if let (Some(&(symbol, f)), Some(record)) = (entries.last(), last.module.last_mut()) {
        let mut words = vec![symbol, last.stack[f].unwrap_or(-1) as u32];
        let own = words.len();
        for &language in &last.stub_languages {
            if !words.contains(&language) {
                words.push(language);
            }
        }
        if words.len() > own {
            record.payload = Payload::Words(words.into());
        }
    }
    regions(link, &entries, &mut last);
    for &(_, f) in entries.iter().filter(|e| link.live.is_kernel[e.1]) {
        if last.facts[f].registers.is_none() {
            last.module.push(word(attr::REGCOUNT, f, last.registers[f]));
        }
    }
    last
}

/// A record with a number of a function.
fn word(code: u8, f: FunctionId, value: u32) -> Attribute<'static> {
    Attribute {
        format: FORMAT_SIZED,
        code,
        payload: Payload::FunctionWord(f, value),
    }
}

/// Region stacks: the maximum over the functions that a kernel calls.
fn regions(link: Link<'_, '_>, entries: &[(u32, FunctionId)], last: &mut KernelAttributes<'_>) {
    if last.facts.iter().all(|f| f.region.is_none()) {
        return;
    }
    let facts = &last.facts;
    let highest = link.graph.fold(
        link.resolved,
        |f, max: &mut Option<u32>| *max = (*max).max(facts[f].region.filter(|_| !link.live.is_kernel[f])),
        |max, callee| *max = (*max).max(*callee),
    );
    for &(_, f) in entries.iter().filter(|e| link.live.is_kernel[e.1]) {
        if let Some(value) = highest[link.graph.component(f)] {
            last.module.push(word(attr::SAM_REGION_STACK_SIZE, f, value));
        }
    }
}

/// Writes records with the numbers that symbols have in the output.
#[derive(Clone, Copy)]
pub(crate) struct Encoder<'a, 'd> {
    /// Inputs and functions.
    pub(crate) link: Link<'a, 'd>,
    /// Records.
    pub(crate) layout: &'a Layout<'d>,
    /// Numbers.
    pub(crate) arranged: &'a Arranged,
}

impl<'d> Encoder<'_, 'd> {
    /// Appends records to a section.
    pub(crate) fn all<'r>(self, records: impl IntoIterator<Item = &'r Attribute<'d>>, out: &mut Vec<u8>)
    where
        'd: 'r,
    {
        for record in records {
            self.one(record, out);
        }
    }

    /// Appends a record, unless its subject was dropped or it has no effect.
    pub(crate) fn one(self, record: &Attribute<'_>, out: &mut Vec<u8>) {
        let head = |size: usize| {
            let [low, high] = (size as u16).to_le_bytes();
            [record.format, record.code, low, high]
        };
        let mut plain = |bytes: &[u8]| {
            // What has no bytes is not written.
            if !bytes.is_empty() {
                out.extend_from_slice(&head(bytes.len()));
                out.extend_from_slice(bytes);
            }
        };
        let symbol_of = |f: FunctionId| Some(self.arranged.symbol_index(self.layout.records.symbol_of[f]?));
        match &record.payload {
            Payload::Half(value) => out.extend_from_slice(&head((*value).into())),
            Payload::Bytes(bytes) => plain(bytes),
            Payload::Views(views) => plain(views.mercury),
            Payload::About(..) | Payload::AboutViews(..) => {
                let Some((symbol, bytes)) = record.payload.about() else { return };
                match subject(self.link, self.layout, symbol) {
                    Subject::Is(named) => {
                        let words = [head(bytes.len()), self.arranged.named_index(named).to_le_bytes()];
                        out.extend_from_slice(words.as_flattened());
                        out.extend_from_slice(bytes.get(4..).unwrap_or_default());
                    }
                    Subject::NoSymbol => plain(bytes),
                    Subject::Dropped => {}
                }
            }
            Payload::FunctionWord(f, word) => {
                if let Some(number) = symbol_of(*f) {
                    let words = [head(8), number.to_le_bytes(), word.to_le_bytes()];
                    out.extend_from_slice(words.as_flattened());
                }
            }
            Payload::Word(word) => out.extend_from_slice([head(4), word.to_le_bytes()].as_flattened()),
            Payload::Words(words) => list(head, words.iter().copied(), out),
            Payload::Functions(functions) => list(head, functions.iter().filter_map(|&f| symbol_of(f)), out),
        }
    }

    /// Will this record be written?
    pub(crate) fn writes(link: Link<'_, 'd>, layout: &Layout<'d>, record: &Attribute<'_>) -> bool {
        let about = record.payload.about();
        about.is_none_or(|(symbol, _)| subject(link, layout, symbol) != Subject::Dropped)
    }
}

/// A record of words, unless there are none.
fn list(head: impl Fn(usize) -> [u8; 4], words: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&head(0));
    words.for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    let size = out.len() - start - 4;
    if size == 0 {
        out.truncate(start);
    } else if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&head(size));
    }
}

impl<'a, 'd> OutputPlan<'a, 'd> {
    /// Writes attributes.
    pub(crate) fn encoder(&self) -> Encoder<'a, 'd> {
        let OutputPlan {
            link, layout, arranged, ..
        } = *self;
        Encoder { link, layout, arranged }
    }
}
