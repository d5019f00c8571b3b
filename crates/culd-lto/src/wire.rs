//! A job and its result as bytes, for the pipe between two processes of the same program.
//!
//! Numbers are little-endian; a text or contents are a length of 64 bits and the bytes.

use crate::{Failure, Job, Module, ModuleKind};

const KINDS: [ModuleKind; 2] = [ModuleKind::LtoIr, ModuleKind::Fatbin];

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

/// Takes a length and so many bytes from the front.
fn take<'s>(src: &mut &'s [u8]) -> Option<&'s [u8]> {
    let (size, rest) = src.split_first_chunk()?;
    let (bytes, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
    *src = rest;
    Some(bytes)
}

fn take_text(src: &mut &[u8]) -> Option<String> {
    Some(String::from_utf8_lossy(take(src)?).into_owned())
}

fn take_byte(src: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = src.split_first()?;
    *src = rest;
    Some(byte)
}

pub(crate) fn encode_job(job: &Job) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, job.arch.as_bytes());
    out.extend((job.options.len() as u64).to_le_bytes());
    job.options.iter().for_each(|option| put(&mut out, option.as_bytes()));
    for module in &job.modules {
        out.push(KINDS.iter().position(|k| *k == module.kind).unwrap_or_default() as u8);
        put(&mut out, module.name.as_bytes());
        put(&mut out, &module.bytes);
    }
    out
}

pub(crate) fn decode_job(mut src: &[u8]) -> Option<Job> {
    let arch = take_text(&mut src)?;
    let (count, rest) = src.split_first_chunk()?;
    src = rest;
    let mut job = Job { arch, ..Job::default() };
    for _ in 0..u64::from_le_bytes(*count) {
        job.options.push(take_text(&mut src)?);
    }
    while !src.is_empty() {
        job.modules.push(Module {
            kind: *KINDS.get(usize::from(take_byte(&mut src)?))?,
            name: take_text(&mut src)?,
            bytes: take(&mut src)?.to_vec(),
        });
    }
    Some(job)
}

pub(crate) fn encode_answer(answer: &Result<Vec<u8>, Failure>) -> Vec<u8> {
    let (tag, bytes) = match answer {
        Ok(ptx) => (0, ptx.as_slice()),
        Err(Failure::Library(text)) => (1, text.as_bytes()),
        Err(Failure::Refused(text)) => (2, text.as_bytes()),
        Err(Failure::Died(text)) => (3, text.as_bytes()),
    };
    let mut out = vec![tag];
    put(&mut out, bytes);
    out
}

/// The answer; `None` when it is not whole.
pub(crate) fn decode_answer(mut src: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
    let tag = take_byte(&mut src)?;
    let bytes = take(&mut src)?;
    let text = || String::from_utf8_lossy(bytes).into_owned();
    match tag {
        0 => Some(Ok(bytes.to_vec())),
        1 => Some(Err(Failure::Library(text()))),
        2 => Some(Err(Failure::Refused(text()))),
        3 => Some(Err(Failure::Died(text()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_answers_come_back_as_they_were() {
        let module = |name: &str, kind, bytes: &[u8]| Module {
            name: name.into(),
            kind,
            bytes: bytes.into(),
        };
        let job = Job {
            arch: "sm_90".into(),
            options: vec!["-g".into(), String::new(), "-host-ref-ek=a,b*".into()],
            modules: vec![module("a.o", ModuleKind::Fatbin, &[1, 0, 2]), module("", ModuleKind::LtoIr, b"")],
        };
        let bytes = encode_job(&job);
        assert_eq!(decode_job(&bytes), Some(job));
        assert_eq!(decode_job(&bytes[..bytes.len() - 1]), None);
        for answer in [
            Ok(b".version".to_vec()),
            Err(Failure::Refused("no".into())),
            Err(Failure::Library("x".into())),
        ] {
            let bytes = encode_answer(&answer);
            assert_eq!(decode_answer(&bytes), Some(answer));
            assert_eq!(decode_answer(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn sizes_that_lie_are_refused() {
        assert_eq!(decode_answer(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(decode_job(&[0xff; 24]), None);
    }
}
