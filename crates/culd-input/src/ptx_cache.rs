//! Compiled PTX, kept for the next compilation of the same text.
//!
//! 1. The key is everything that a compilation depends on: the compiler (path, size and time of its last change), target, options and text. Keys are compared as a
//!    whole, so that two texts never share an object.
//! 2. Only successful compilations are kept, with the messages of ptxas.
//! 3. In memory there is a limit; what was used least recently is dropped.
//! 4. With a directory, entries are also files there: named after a hash of the key, with the key inside and a checksum, written under another
//!    name and renamed. A file that cannot be read, or is not that of the key, does not count.
//! 5. The cache never waits: while another thread has it, the text is compiled.

use crate::ptx::{self, CompileRequest, Compiled};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

/// First bytes of a file.
const MAGIC: &[u8; 8] = b"culdptx1";

/// A cache of compiled PTX. It may be shared by links and threads.
#[derive(Debug)]
pub struct PtxCache {
    limit: usize,
    directory: Option<PathBuf>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: HashMap<Vec<u8>, Entry, FixedState>,
    bytes: usize,
    /// Counts the uses.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    object: Vec<u8>,
    messages: Vec<String>,
    used: u64,
}

impl Entry {
    fn compiled(&self) -> Compiled {
        Compiled {
            object: Some(self.object.clone()),
            messages: self.messages.clone(),
            time: Duration::ZERO,
        }
    }

    fn size(&self, key: &[u8]) -> usize {
        let messages: usize = self.messages.iter().map(String::len).sum();
        key.len() + self.object.len() + messages
    }
}

impl PtxCache {
    /// An empty cache of at most `limit` bytes in memory; with `directory`, also there.
    pub fn new(limit: usize, directory: Option<PathBuf>) -> Self {
        PtxCache {
            limit,
            directory,
            kept: Mutex::default(),
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.kept.try_lock().map_or(0, |kept| kept.bytes)
    }

    /// As [`ptx::compile`], or what it made of the same text before.
    ///
    /// # Errors
    ///
    /// ptxas cannot be run.
    pub fn compile(&self, request: &CompileRequest<'_>) -> io::Result<Compiled> {
        let key = key(request)?;
        if let Some(found) = self.in_memory(&key) {
            return Ok(found);
        }
        if let Some(entry) = self.directory.as_deref().and_then(|d| read(d, &key)) {
            let compiled = entry.compiled();
            self.keep(key, entry);
            return Ok(compiled);
        }
        let compiled = ptx::compile(request)?;
        if let Some(object) = &compiled.object {
            let entry = Entry {
                object: object.clone(),
                messages: compiled.messages.clone(),
                used: 0,
            };
            if let Some(directory) = &self.directory {
                // A cache that cannot be written is a slow one.
                let _ = write(directory, &key, &entry);
            }
            self.keep(key, entry);
        }
        Ok(compiled)
    }

    fn in_memory(&self, key: &[u8]) -> Option<Compiled> {
        let mut kept = self.kept.try_lock().ok()?;
        kept.clock += 1;
        let clock = kept.clock;
        let entry = kept.entries.get_mut(key)?;
        entry.used = clock;
        Some(entry.compiled())
    }

    fn keep(&self, key: Vec<u8>, entry: Entry) {
        let Ok(mut kept) = self.kept.try_lock() else { return };
        let size = entry.size(&key);
        if size > self.limit {
            return;
        }
        kept.clock += 1;
        let used = kept.clock;
        kept.bytes += size;
        if let Some(old) = kept.entries.insert(key.clone(), Entry { used, ..entry }) {
            kept.bytes -= old.size(&key);
        }
        while kept.bytes > self.limit {
            let oldest = kept.entries.iter().min_by_key(|(_, e)| e.used).map(|(key, _)| key.clone());
            let Some((key, entry)) = oldest.and_then(|key| kept.entries.remove_entry(&key)) else {
                return;
            };
            kept.bytes -= entry.size(&key);
        }
    }
}

/// Everything that the result depends on. Each part has its length before it.
fn key(request: &CompileRequest<'_>) -> io::Result<Vec<u8>> {
    let CompileRequest {
        ptxas,
        text,
        entry_options,
        target,
        options,
        makes,
    } = *request;
    let meta = std::fs::metadata(ptxas)?;
    let changed = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let compiler = format!("{}\0{}\0{}", ptxas.display(), meta.len(), changed.as_nanos());
    let settings = format!(
        "{target} {makes:?} {:?} {} {:?}",
        options.max_registers, options.debug, options.extra
    );
    let mut key = Vec::with_capacity(text.len() + compiler.len() + settings.len() + entry_options.len() + 32);
    for part in [compiler.as_bytes(), settings.as_bytes(), entry_options, text] {
        put(&mut key, part);
    }
    Ok(key)
}

fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u64).to_le_bytes());
    bytes.extend(part);
}

fn take<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (size, rest) = bytes.split_first_chunk::<8>()?;
    let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
    *bytes = rest;
    Some(part)
}

/// FNV-1a with 64 bits. Only names and checksums of files depend on it.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
    })
}

fn file(directory: &Path, key: &[u8]) -> PathBuf {
    directory.join(format!("{:016x}.ptxobj", hash(key)))
}

fn read(directory: &Path, key: &[u8]) -> Option<Entry> {
    let bytes = std::fs::read(file(directory, key)).ok()?;
    let (rest, sum) = bytes.split_last_chunk::<8>()?;
    if hash(rest) != u64::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = rest.strip_prefix(MAGIC)?;
    if take(&mut rest)? != key {
        return None;
    }
    let (messages, object) = (take(&mut rest)?, take(&mut rest)?);
    Some(Entry {
        object: object.to_vec(),
        messages: std::str::from_utf8(messages).ok()?.lines().map(str::to_owned).collect(),
        used: 0,
    })
}

fn write(directory: &Path, key: &[u8], entry: &Entry) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut bytes = MAGIC.to_vec();
    put(&mut bytes, key);
    put(&mut bytes, entry.messages.join("\n").as_bytes());
    put(&mut bytes, &entry.object);
    bytes.extend(hash(&bytes).to_le_bytes());
    let mut file_beside = tempfile::NamedTempFile::new_in(directory)?;
    file_beside.write_all(&bytes)?;
    file_beside.persist(file(directory, key)).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::ptx::{PtxOptions, PtxasOutput};
    use cubin::arch::Arch;

    fn entry(size: usize) -> Entry {
        Entry {
            object: vec![7; size],
            messages: vec!["one".into(), "two".into()],
            used: 0,
        }
    }

    #[test]
    fn memory_is_bounded_and_the_least_used_is_dropped() {
        let cache = PtxCache::new(250, None);
        cache.keep(b"a".to_vec(), entry(100));
        cache.keep(b"b".to_vec(), entry(100));
        assert_eq!(cache.in_memory(b"a").unwrap().object.unwrap().len(), 100);
        cache.keep(b"c".to_vec(), entry(100));
        assert!(cache.in_memory(b"b").is_none());
        assert!(cache.in_memory(b"a").is_some() && cache.in_memory(b"c").is_some());
        assert_eq!(cache.bytes(), 214);
        cache.keep(b"d".to_vec(), entry(1000));
        assert!(cache.in_memory(b"d").is_none());
        assert_eq!(cache.bytes(), 214);
        cache.keep(b"c".to_vec(), entry(50));
        assert_eq!(cache.bytes(), 164);
    }

    #[test]
    fn files_are_those_of_their_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        write(path, b"key", &entry(10)).unwrap();
        let found = read(path, b"key").unwrap();
        assert_eq!((found.object.len(), found.messages), (10, vec!["one".into(), "two".into()]));
        assert!(read(path, b"other").is_none());
        // The file of another key under this name.
        std::fs::copy(file(path, b"key"), file(path, b"other")).unwrap();
        assert!(read(path, b"other").is_none());
        let mut bytes = std::fs::read(file(path, b"key")).unwrap();
        let middle = bytes.len() / 2;
        *bytes.get_mut(middle).unwrap() ^= 1;
        std::fs::write(file(path, b"key"), bytes).unwrap();
        assert!(read(path, b"key").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn the_compiler_runs_once_for_a_text() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (ptxas, count) = (directory.path().join("ptxas"), directory.path().join("count"));
        let script = format!(
            "#!/bin/sh\necho run >> {}\necho message >&2\nprintf object > elf.o\n",
            count.display()
        );
        std::fs::write(&ptxas, script).unwrap();
        std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755)).unwrap();
        let disk = directory.path().join("cache");
        let compile = |cache: &PtxCache, text: &[u8], options: &PtxOptions| {
            let request = CompileRequest {
                ptxas: &ptxas,
                text,
                entry_options: b"",
                target: Arch::parse("sm_90").unwrap(),
                options,
                makes: PtxasOutput::Object,
            };
            let made = cache.compile(&request).unwrap();
            assert_eq!(
                (made.object.unwrap(), made.messages),
                (b"object".to_vec(), vec!["message".to_owned()])
            );
            std::fs::read_to_string(&count).unwrap().lines().count()
        };
        let plain = PtxOptions::default();
        let debug = PtxOptions {
            debug: true,
            ..PtxOptions::default()
        };
        let cache = PtxCache::new(1 << 20, None);
        assert_eq!(compile(&cache, b".version 9.0", &plain), 1);
        assert_eq!(compile(&cache, b".version 9.0", &plain), 1);
        assert_eq!(compile(&cache, b".version 9.0 ", &plain), 2);
        assert_eq!(compile(&cache, b".version 9.0", &debug), 3);
        assert!(!disk.exists());
        let on_disk = || PtxCache::new(1 << 20, Some(disk.clone()));
        assert_eq!(compile(&on_disk(), b".version 9.0", &plain), 4);
        assert_eq!(compile(&on_disk(), b".version 9.0", &plain), 4);
        assert_eq!(compile(&on_disk(), b".version 9.1", &plain), 5);
    }
}
