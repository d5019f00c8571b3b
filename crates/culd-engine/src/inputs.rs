//! Admission: which inputs take part in the link, and whether they may.
//!
//! 1. Parse the inputs in chunks, in parallel when there is much to read.
//! 2. In link order: executables are left out; an object whose structure is broken is left out by nvlink and refused by culd.
//! 3. Check ABI, architecture and toolkit ([`culd_base::admission`]); a caller that has done so is not warned again.
//! 4. Number the objects and their symbols; number the names of the symbols ([`Stages::name`]).
//! 5. Resolve functions ([`Stages::resolve`]).
//! 6. Join call graphs ([`Stages::join`]).
//!
//! Steps 1, 2 to 4, 5 and 6 are a pipeline: they run at the same time, on chunks that follow each other.

use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{Id, ObjectId, SymbolRef, Table};
use crate::object::{Object, ObjectError, Trust, mercury};
use crate::options::{Identity, LinkOptions};
use crate::par::Threads;
use cubin::consts::*;
use cubin::read::{Cubin, ReadError};
use cubin::release::{Release, Rules};
use cubin::validate::validate;
use culd_base::AdmissionProblem;
use culd_base::admission::{self, Admission, AdmissionCode, Request};
use std::ops::Range;

/// One relocatable device object.
#[derive(Debug, Clone, Copy)]
pub struct Input<'d> {
    /// Name shown in messages: the path as given, or `archive:member`.
    pub name: &'d str,
    /// The object's bytes.
    pub data: &'d [u8],
}

/// The objects of a link.
#[derive(Debug)]
pub struct Inputs<'d> {
    /// Objects in link order.
    pub objects: Table<ObjectId, Object<'d>>,
    /// Number of symbols over all objects.
    pub symbol_count: usize,
    /// Number of sections over all objects.
    pub section_count: usize,
    /// Number of symbols that other objects can see.
    pub named: usize,
    /// Bytes of all inputs.
    pub bytes: u64,
}

impl<'d> Inputs<'d> {
    /// The object that a symbol belongs to and its index there.
    pub fn locate(&self, symbol: SymbolRef) -> (&Object<'d>, u32) {
        let n = symbol.index() as u32;
        let i = self.objects.as_slice().partition_point(|o| o.first_symbol <= n).saturating_sub(1);
        let object = &self.objects[ObjectId::from_index(i)];
        (object, n - object.first_symbol)
    }
}

/// Counts of the objects that were numbered so far.
#[derive(Debug, Default)]
struct Numbering {
    objects: usize,
    symbols: usize,
    sections: usize,
    named: usize,
    after_ewp: bool,
}

impl Numbering {
    /// Numbers an object.
    fn number(&mut self, object: &mut Object<'_>) -> Result<(), &'static str> {
        let numbers = u32::try_from(self.symbols).ok().zip(u32::try_from(self.sections).ok());
        let Some((first_symbol, first_section)) = numbers else {
            return Err(TOO_MANY);
        };
        (object.first_symbol, object.first_section) = (first_symbol, first_section);
        let last = first_symbol
            .checked_add(object.symbol_count())
            .zip(first_section.checked_add(object.sections.len() as u32));
        if last.is_none() {
            return Err(TOO_MANY);
        }
        object.id = ObjectId::from_index(self.objects);
        self.objects += 1;
        self.symbols += object.symbol_count() as usize;
        self.sections += object.sections.len();
        self.named += object.named as usize;
        Ok(())
    }

    /// Admits and numbers the objects of a chunk; `parsed` is empty afterwards.
    fn admit<'d>(
        &mut self,
        chunk: &[Input<'d>],
        parsed: &mut Vec<Parsed<'d>>,
        options: &LinkOptions<'_>,
        objects: &mut Vec<Object<'d>>,
        out: &mut Collector<'_>,
    ) -> Result<(), Stop> {
        objects.reserve(chunk.len());
        for (input, parsed) in chunk.iter().zip(parsed.drain(..)) {
            let Some(mut object) = admit_one(input, parsed, options, out)? else {
                continue;
            };
            check_beside_ewp(&object, &mut self.after_ewp, options, out)?;
            self.number(&mut object).map_err(|reason| damaged(input, reason.into(), out))?;
            objects.push(object);
        }
        Ok(())
    }
}

/// What is done with the objects of each chunk, in link order.
pub struct Stages<N, R, J> {
    /// Numbers the names of the chunk's symbols.
    pub name: N,
    /// Takes the chunk: all objects so far, which of them it is, and what `name` returned.
    pub resolve: R,
    /// Takes the chunk and what `resolve` returned.
    pub join: J,
}

/// Most inputs that are parsed together by few threads.
const CHUNK: usize = 128;
/// Inputs per thread where that is more: a chunk ends when its last input is parsed, and other threads are idle until then.
const CHUNK_OF_THREAD: usize = 16;
/// Most inputs that are parsed together by any number of threads.
const LARGEST_CHUNK: usize = 256;
/// Bytes after which a chunk ends.
const CHUNK_BYTES: usize = 8 << 20;

/// Cuts the inputs into chunks.
fn chunks<'i, 'd>(mut rest: &'i [Input<'d>], threads: usize) -> impl Iterator<Item = &'i [Input<'d>]> {
    let most = threads.saturating_mul(CHUNK_OF_THREAD).clamp(CHUNK, LARGEST_CHUNK);
    std::iter::from_fn(move || {
        let mut bytes = 0usize;
        let fits = |input: &&Input<'_>| {
            let fits = bytes < CHUNK_BYTES;
            bytes = bytes.saturating_add(input.data.len());
            fits
        };
        let count = rest.iter().take(most).take_while(fits).count();
        let (chunk, others) = rest.split_at_checked(count)?;
        rest = others;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// How inputs are read.
fn reading(options: &LinkOptions<'_>) -> (Trust, &'static Rules) {
    let trust = match options.identity {
        Identity::Nvlink => Trust::Trusted,
        Identity::Culd => Trust::Validate,
    };
    (trust, options.release().unwrap_or_else(Release::newest).rules_for(options.target))
}

/// Moves new objects to the others, and returns which they are.
fn append<'d>(objects: &mut Table<ObjectId, Object<'d>>, new: &mut Vec<Object<'d>>) -> Range<usize> {
    let first = objects.len();
    objects.append(new);
    first..objects.len()
}

/// Reads and checks all inputs.
pub fn admit<'d, T: Send, F: Send>(
    inputs: &[Input<'d>],
    options: &LinkOptions<'_>,
    threads: Threads,
    out: &mut Collector<'_>,
    stages: Stages<
        impl FnMut(&[Object<'d>]) -> T + Send,
        impl FnMut(&Table<ObjectId, Object<'d>>, Range<usize>, T) -> F + Send,
        impl FnMut(&[Object<'d>], F) + Send,
    >,
) -> Result<Inputs<'d>, Stop> {
    let Stages {
        mut name,
        mut resolve,
        mut join,
    } = stages;
    let (trust, rules) = reading(options);
    let parse_all = |chunk, results: &mut _| threads.map_into(chunk, |input| parse(input, trust, rules, threads), results);
    let mut numbering = Numbering::default();
    let mut objects = Table::new();
    objects.reserve(inputs.len());
    let mut chunks = chunks(inputs, threads.count());
    let (mut parsed, mut named, mut resolved) = (None, None, None);
    // Chunks follow each other through the same memory.
    let (mut spare_parsed, mut spare_objects) = (Vec::new(), Vec::new());
    loop {
        let next = chunks.next();
        if next.is_none() && parsed.is_none() && named.is_none() && resolved.is_none() {
            break;
        }
        let arrived = named.map(|(names, mut new)| {
            let range = append(&mut objects, &mut new);
            spare_objects = new;
            (names, range)
        });
        let objects = &objects;
        let (mut results, mut new_objects) = (std::mem::take(&mut spare_parsed), std::mem::take(&mut spare_objects));
        let follow = || {
            let (functions, range): (F, Range<usize>) = resolved?;
            join(objects.as_slice().get(range).unwrap_or_default(), functions);
            Some(())
        };
        let take = || arrived.map(|(names, range)| (resolve(objects, range.clone(), names), range));
        let number = || {
            let (chunk, mut parsed) = parsed?;
            let admitted = numbering.admit(chunk, &mut parsed, options, &mut new_objects, out);
            Some(admitted.map(|()| (parsed, (name(&new_objects), new_objects))))
        };
        let read = || {
            let chunk = next?;
            parse_all(chunk, &mut results);
            Some((chunk, results))
        };
        // What resolves comes first, so that it stays on one thread, whose caches have its tables.
        let ((taken, _), (numbered, following)) = threads.join(|| threads.join(take, follow), || threads.join(number, read));
        let emptied;
        (emptied, named) = numbered.transpose()?.unzip();
        spare_parsed = emptied.unwrap_or_default();
        (resolved, parsed) = (taken, following);
    }
    Ok(Inputs {
        objects,
        symbol_count: numbering.symbols,
        section_count: numbering.sections,
        named: numbering.named,
        bytes: inputs.iter().map(|i| i.data.len() as u64).sum(),
    })
}

/// Extensible whole programs, and what is given after one, are of the linker's own release; what is given before may be older.
fn check_beside_ewp(object: &Object<'_>, after_ewp: &mut bool, options: &LinkOptions<'_>, out: &mut Collector<'_>) -> Result<(), Stop> {
    *after_ewp |= object.is_ewp;
    match options.release().is_some_and(|r| *after_ewp && object.toolkit != r.toolkit) {
        true => Err(out.fatal(Code::OlderBesideEwp)),
        false => Ok(()),
    }
}

const TOO_MANY: &str = "more than 4 billion symbols or sections in one link";

/// Inputs of this size are checked and read at the same time: reading relies on no check, only what was read is dropped if one fails.
const LARGE: usize = 1 << 20;

type Parsed<'d> = Result<(Cubin<'d>, Result<Object<'d>, ObjectError>), ReadError>;

fn parse<'d>(input: &Input<'d>, trust: Trust, rules: &Rules, threads: Threads) -> Parsed<'d> {
    let cubin = Cubin::parse(input.data)?;
    if mercury::has_mercury(&cubin)
        && let Err(e) = mercury::check_forms(&cubin, rules)
    {
        return Ok((cubin, Err(e)));
    }
    // nvlink looks at little of this; under its name an object that it would take is taken.
    let validate = || match trust.is_trusted() || cubin.header().e_type.get() == ET_EXEC {
        true => Ok(()),
        false => validate(&cubin),
    };
    let read = || match mercury::has_mercury(&cubin) {
        true => mercury::object(input.name, &cubin, trust, threads),
        false => Object::new(input.name, &cubin, trust, threads),
    };
    let mut object = match input.data.len() >= LARGE {
        true => {
            let (valid, object) = threads.join(validate, read);
            valid.map_err(ObjectError::Invalid).and(object)
        }
        false => validate().map_err(ObjectError::Invalid).and_then(|()| read()),
    };
    if let Ok(object) = &mut object {
        if !rules.compares_header_registers {
            object.read_registers();
        }
        if threads.are_many() {
            object.list_functions();
        }
    }
    Ok((cubin, object))
}

/// Decides about an input: objects that cannot be read, and executables, and what does not fit the target.
fn admit_one<'d>(
    input: &Input<'d>,
    parsed: Parsed<'d>,
    options: &LinkOptions<'_>,
    out: &mut Collector<'_>,
) -> Result<Option<Object<'d>>, Stop> {
    let nvlink = options.identity == Identity::Nvlink;
    let (cubin, object) = match parsed {
        // nvlink quirk: executables and objects with a broken structure are dropped silently.
        Ok((cubin, _)) if cubin.header().e_type.get() == ET_EXEC => {
            return match nvlink {
                true => Ok(None),
                false => Err(damaged(
                    input,
                    "already linked (ET_EXEC), a relocatable object is needed".into(),
                    out,
                )),
            };
        }
        Ok(parsed) => parsed,
        Err(ReadError::Class { .. } | ReadError::OutOfFile { .. } | ReadError::Field { .. }) if nvlink => return Ok(None),
        Err(e) => return Err(damaged(input, e.to_string(), out)),
    };
    let admission = check(input, &cubin, options, out)?;
    let mut object = object.map_err(|e| refuse(input, &e, options, out))?;
    if object.has_mercury() && (options.relocatable || options.debug) {
        mercury::refuse_inner(&object).map_err(|e| refuse(input, &e, options, out))?;
    }
    object.virtual_sm = Some(admission.virtual_arch);
    object.toolkit = admission.toolkit;
    Ok(Some(object))
}

fn damaged(input: &Input<'_>, reason: String, out: &mut Collector<'_>) -> Stop {
    out.fatal(Code::Damaged {
        file: input.name.into(),
        reason,
    })
}

fn refuse(input: &Input<'_>, error: &ObjectError, options: &LinkOptions<'_>, out: &mut Collector<'_>) -> Stop {
    let nvlink = options.identity == Identity::Nvlink;
    match error {
        ObjectError::RelocationOffset { section, entry } => damaged(
            input,
            format!("section {section}: entry {entry} is past the end of its section"),
            out,
        ),
        ObjectError::NewerMercury { .. } if nvlink && options.release().is_some_and(|r| r.mercury_rules.explains_finalizer) => {
            out.error(Code::UnsupportedBinary);
            out.fatal(Code::FinalizationFailed)
        }
        ObjectError::NewerMercury { .. } => out.fatal(Code::NewerMercury {
            file: input.name.into(),
            reason: error.to_string(),
        }),
        ObjectError::Unsupported { .. } => out.fatal(Code::Unsupported {
            file: input.name.into(),
            reason: error.to_string(),
        }),
        other => damaged(input, other.to_string(), out),
    }
}

/// Checks ABI, architecture and toolkit.
fn check(input: &Input<'_>, cubin: &Cubin<'_>, options: &LinkOptions<'_>, out: &mut Collector<'_>) -> Result<Admission, Stop> {
    let target = options.target;
    let admission = admission::admit(
        cubin,
        Request {
            target,
            release: options.release(),
        },
    );
    let code = |problem: AdmissionCode| {
        let file = input.name.to_string();
        Code::Admission(AdmissionProblem { file, target, problem })
    };
    for warning in admission.warnings.iter().filter(|_| !options.inputs_checked) {
        out.warning(code(*warning))?;
    }
    match admission.refusal {
        Some(problem) => Err(out.fatal(code(problem))),
        None => Ok(admission),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_end_after_many_inputs_or_many_bytes() {
        let large = vec![0; CHUNK_BYTES];
        let mut inputs = vec![Input { name: "small", data: b"x" }; 2 * CHUNK + 1];
        inputs.insert(
            3,
            Input {
                name: "large",
                data: &large,
            },
        );
        let sizes = |threads| chunks(&inputs, threads).map(<[_]>::len).collect::<Vec<usize>>();
        for few in [0, 1, 8] {
            assert_eq!(sizes(few), [4, CHUNK, CHUNK - 2]);
        }
        assert_eq!(sizes(9), [4, 9 * CHUNK_OF_THREAD, 2 * CHUNK - 2 - 9 * CHUNK_OF_THREAD]);
        for many in [16, 64, usize::MAX] {
            assert_eq!(sizes(many), [4, 2 * CHUNK - 2]);
        }
        assert_eq!(chunks(&[], 16).count(), 0);
    }
}
