//! Admission: which inputs take part in the link, and whether they may.
//!
//! 1. Parse the inputs in chunks, in parallel when there is much to read; a chunk continues with the next steps while the one after it is
//!    parsed.
//! 2. In link order: executables are left out; an object whose structure is broken is left out by nvlink and refused by culd.
//! 3. Check ABI, architecture and toolkit ([`culd_base::admission`]); a caller that has done so is not warned again.
//! 4. Number the objects and their symbols.

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
    /// Numbers an object.
    fn add(&mut self, mut object: Object<'d>) -> Result<ObjectId, &'static str> {
        let numbers = u32::try_from(self.symbol_count).ok().zip(u32::try_from(self.section_count).ok());
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
        self.symbol_count += object.symbol_count() as usize;
        self.section_count += object.sections.len();
        self.named += object.named as usize;
        object.id = ObjectId::from_index(self.objects.len());
        Ok(self.objects.push(object))
    }

    /// The object that a symbol belongs to and its index there.
    pub fn locate(&self, symbol: SymbolRef) -> (&Object<'d>, u32) {
        let n = symbol.index() as u32;
        let i = self.objects.as_slice().partition_point(|o| o.first_symbol <= n).saturating_sub(1);
        let object = &self.objects[ObjectId::from_index(i)];
        (object, n - object.first_symbol)
    }
}

/// Inputs that are parsed together.
const CHUNK: usize = 128;

/// Reads and checks all inputs. `each` is called for every object that takes part, while later ones are still being parsed.
pub fn admit<'d>(
    inputs: &[Input<'d>],
    options: &LinkOptions<'_>,
    threads: Threads,
    out: &mut Collector<'_>,
    mut each: impl FnMut(&Table<ObjectId, Object<'d>>, ObjectId) + Send,
) -> Result<Inputs<'d>, Stop> {
    let bytes: usize = inputs.iter().map(|i| i.data.len()).sum();
    let trust = match options.identity {
        Identity::Nvlink => Trust::Trusted,
        Identity::Culd => Trust::Validate,
    };
    let rules = &options.release().unwrap_or_else(Release::newest).rules;
    let mut admitted = Inputs {
        objects: Table::new(),
        symbol_count: 0,
        section_count: 0,
        named: 0,
        bytes: bytes as u64,
    };
    let parse_all = |chunk: &[Input<'d>]| threads.map(chunk, |input| parse(input, trust, rules));
    let mut after_ewp = false;
    let mut chunks = inputs.chunks(CHUNK);
    let mut now = chunks.next().unwrap_or_default();
    let mut parsed = parse_all(now);
    while !now.is_empty() {
        let next = chunks.next().unwrap_or_default();
        let (following, done) = threads.join(
            || parse_all(next),
            || {
                now.iter().zip(parsed).try_for_each(|(input, parsed)| {
                    let Some(object) = admit_one(input, parsed, options, out)? else {
                        return Ok(());
                    };
                    check_beside_ewp(&object, &mut after_ewp, options, out)?;
                    let id = admitted.add(object).map_err(|reason| damaged(input, reason.into(), out))?;
                    each(&admitted.objects, id);
                    Ok(())
                })
            },
        );
        done?;
        (now, parsed) = (next, following);
    }
    Ok(admitted)
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

type Parsed<'d> = Result<(Cubin<'d>, Result<Object<'d>, ObjectError>), ReadError>;

fn parse<'d>(input: &Input<'d>, trust: Trust, rules: &Rules) -> Parsed<'d> {
    let cubin = Cubin::parse(input.data)?;
    if mercury::has_mercury(&cubin)
        && let Err(e) = mercury::check_forms(&cubin, rules)
    {
        return Ok((cubin, Err(e)));
    }
    // nvlink looks at little of this; under its name an object that it would take is taken.
    if !trust.is_trusted()
        && cubin.header().e_type.get() != ET_EXEC
        && let Err(e) = validate(&cubin)
    {
        return Ok((cubin, Err(ObjectError::Invalid(e))));
    }
    let object = if mercury::has_mercury(&cubin) {
        mercury::object(input.name, &cubin, trust)
    } else {
        Object::new(input.name, &cubin, trust)
    };
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
        ObjectError::NewerMercury { .. } if nvlink && options.release().is_some_and(|r| r.rules.explains_finalizer) => {
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
