//! The C interface of `culd-nvjitlink` under a script of calls.
//!
//! 1. A file is an input, then a text, then [`SCRIPT`] bytes: library, architecture, three options, the length of the text, and calls.
//! 2. [`run`] creates a handle with the options, makes the calls, completes the link, fetches every output and destroys the handle.
//! 3. Every answer is checked: codes that exist, an image only after a link without errors, one that can be read, logs that end with NUL, no byte
//!    written after a buffer, and the same answers when everything is repeated.
//! 4. A panic that the interface catches is a failure here: the panic hook remembers it.
//! 5. [`change`] makes the next file: it changes the script, the text or the input.
#![allow(unsafe_code, reason = "a C interface is called with raw pointers")]

use crate::mutate;
use crate::targets::PARTNERS;
use cubin::Cubin;
use culd_nvjitlink::abi::*;
use culd_tests::rng::Rng;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::io::Write as _;
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a script.
pub const SCRIPT: usize = 16;
/// Where the calls of a script start.
const CALLS: usize = 6;
/// Bytes after a buffer that nobody may write to.
const GUARD: [u8; 16] = [0xa5; 16];
/// Targets; the first represents the one that the input names.
const ARCHS: [&str; 12] = [
    "", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_103", "sm_120", "sm_121",
];
/// Input types of the header, and some that do not exist.
const KINDS: [c_int; 16] = [10, 1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 11, -1, 1, 5, 10];
/// Options. `{}` is the text of the file, `<>` the path of a file with the input. No option for 0.
const OPTIONS: [&str; 32] = [
    "",
    "-g",
    "-r",
    "-verbose",
    "-O0",
    "-O3",
    "-lineinfo",
    "-time",
    "-lto",
    "-dlto",
    "-ptx",
    "-no-cache",
    "-optimize-unused-variables",
    "-kernels-used=kernel",
    "-kernels-used={}",
    "-variables-used={}",
    "-maxrregcount=32",
    "-maxrregcount={}",
    "-uidx=<>",
    "-uidx={}",
    "-Xptxas={}",
    "-Xnvvm={}",
    "-arch=sm_90",
    "-arch={}",
    "-split-compile={}",
    "-split-compile-extended={}",
    "-Ofc={}",
    "--device-stack-protector={}",
    "-ftz={}",
    "{}",
    "-{}",
    "-fast-compile",
];
/// Texts that are worth trying.
const TEXTS: [&str; 12] = [
    "",
    "0",
    "-1",
    "4294967296",
    "kernel",
    "*",
    "sm_90",
    "lto_90",
    "max",
    "a,b,,c",
    ".version 9.0\n.target sm_90\n",
    "\u{e9}\u{fffd}",
];

type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Fetch = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
type FetchBytes = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;

/// The functions of one library.
struct Library {
    create: unsafe extern "C" fn(*mut Handle, c_uint, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    add_data: unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int,
    add_file: unsafe extern "C" fn(Handle, c_int, *const c_char) -> c_int,
    complete: unsafe extern "C" fn(Handle) -> c_int,
    images: [(Size, FetchBytes); 2],
    texts: [(Size, Fetch); 3],
    codes: &'static [c_int],
}

const CUDA_13: Library = Library {
    create: nvJitLinkCreate,
    destroy: nvJitLinkDestroy,
    add_data: nvJitLinkAddData,
    add_file: nvJitLinkAddFile,
    complete: nvJitLinkComplete,
    images: [
        (nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedCubin),
        (nvJitLinkGetLinkedLTOIRSize, nvJitLinkGetLinkedLTOIR),
    ],
    texts: [
        (nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog),
        (nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog),
        (nvJitLinkGetLinkedPtxSize, nvJitLinkGetLinkedPtx),
    ],
    codes: &[0, 1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 16, 17, 18],
};

const CUDA_12: Library = Library {
    create: create12,
    destroy: destroy12,
    add_data: add_data12,
    add_file: add_file12,
    complete: complete12,
    images: [(cubin_size12, cubin12), (lto_ir_size12, lto_ir12)],
    texts: [(error_log_size12, error_log12), (info_log_size12, info_log12), (ptx_size12, ptx12)],
    codes: &[0, 1, 2, 3, 4, 5, 6, 8],
};

/// A panic happened inside the interface.
static PANICKED: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The first handle silences the panic hook: it is made here, and the hook of before comes back.
fn watch_panics() {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        let mut handle: Handle = null_mut();
        // SAFETY: a place for a handle and an empty list; the handle is destroyed once.
        unsafe {
            nvJitLinkCreate(&mut handle, 0, [null()].as_ptr());
            nvJitLinkDestroy(&mut handle);
        }
        std::panic::set_hook(Box::new(move |info| {
            PANICKED.store(true, Ordering::SeqCst);
            before(info);
        }));
    });
}

/// The parts of a file.
struct Parts<'a> {
    input: &'a [u8],
    text: &'a [u8],
    script: [u8; SCRIPT],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (rest, script) = bytes.split_last_chunk::<SCRIPT>()?;
        let length = usize::from(script[5]).min(rest.len());
        let (input, text) = rest.split_at(rest.len() - length);
        Some(Parts {
            input,
            text,
            script: *script,
        })
    }

    fn join(input: &[u8], text: &[u8], mut script: [u8; SCRIPT]) -> Vec<u8> {
        let text = &text[..text.len().min(255)];
        script[5] = text.len() as u8;
        [input, text, &script].concat()
    }

    fn arch(&self) -> String {
        let flags = self.input.get(48..52).filter(|_| self.input.starts_with(b"\x7fELF"));
        let named = flags.map(|f| u16::from_le_bytes([f[1], f[2]]));
        match (ARCHS[usize::from(self.script[0] >> 2) % ARCHS.len()], named) {
            ("", Some(number)) => format!("sm_{number}"),
            ("", None) => "sm_90".to_owned(),
            (arch, _) => arch.to_owned(),
        }
    }

    /// The text as a C text: up to its first NUL.
    fn c_text(&self) -> CString {
        let end = self.text.iter().position(|b| *b == 0).unwrap_or(self.text.len());
        CString::new(&self.text[..end]).unwrap_or_default()
    }
}

/// What a session answered.
#[derive(PartialEq)]
struct Answers {
    codes: Vec<c_int>,
    image: Option<Vec<u8>>,
    error_log: Vec<u8>,
}

/// One handle.
struct Session<'a> {
    library: &'a Library,
    handle: Handle,
    codes: Vec<c_int>,
}

impl Session<'_> {
    fn note(&mut self, code: c_int) -> c_int {
        assert!(!PANICKED.swap(false, Ordering::SeqCst), "the interface caught a panic");
        assert!(self.library.codes.contains(&code), "code {code}");
        self.codes.push(code);
        code
    }

    fn add(&mut self, kind: c_int, bytes: &[u8], name: Option<&CString>) -> c_int {
        let name = name.map_or(null(), |n| n.as_ptr());
        // SAFETY: the handle is alive, the bytes and the text are this function's arguments.
        let code = unsafe { (self.library.add_data)(self.handle, kind, bytes.as_ptr().cast(), bytes.len(), name) };
        self.note(code)
    }

    fn add_file(&mut self, kind: c_int, path: &CString) -> c_int {
        // SAFETY: the handle is alive, the text ends with NUL.
        let code = unsafe { (self.library.add_file)(self.handle, kind, path.as_ptr()) };
        self.note(code)
    }

    /// Null pointers in every place that may have one.
    fn nulls(&mut self, kind: c_int) {
        let library = self.library;
        // SAFETY: null pointers are allowed everywhere.
        let codes = unsafe {
            [
                (library.add_data)(null_mut(), kind, null(), 0, null()),
                (library.add_file)(self.handle, kind, null()),
                (library.complete)(null_mut()),
                (library.destroy)(null_mut()),
                (library.create)(null_mut(), 0, null()),
                (library.images[0].0)(self.handle, null_mut()),
                (library.texts[0].1)(self.handle, null_mut()),
            ]
        };
        for code in codes {
            assert_ne!(code, 0, "success with a null pointer");
            self.note(code);
        }
        // SAFETY: null data is allowed, whatever its size.
        let code = unsafe { (library.add_data)(self.handle, kind, null(), 8, null()) };
        assert_ne!(code, 0, "null data was accepted");
        self.note(code);
    }

    fn complete(&mut self) -> c_int {
        // SAFETY: the handle is alive.
        let code = unsafe { (self.library.complete)(self.handle) };
        self.note(code)
    }

    /// The output of a pair of functions; `None` if there is none. An empty log has no size, its NUL is written anyway.
    fn fetch(&mut self, size: Size, fetch: impl Fn(Handle, *mut u8) -> c_int) -> Option<Vec<u8>> {
        let mut length = usize::MAX;
        // SAFETY: the handle is alive, the place is this function's.
        let code = unsafe { size(self.handle, &mut length) };
        if self.note(code) != 0 {
            assert_eq!(length, usize::MAX, "a size beside an error");
            return None;
        }
        let room = length.max(1);
        let mut buffer = vec![0x5a; room];
        buffer.extend(GUARD);
        assert_eq!(self.note(fetch(self.handle, buffer.as_mut_ptr())), 0, "a size without an output");
        assert!(buffer.ends_with(&GUARD), "written after the buffer");
        buffer.truncate(room);
        Some(buffer)
    }

    fn log(&mut self, index: usize) -> Option<Vec<u8>> {
        let (size, fetch) = self.library.texts[index];
        // SAFETY: `fetch` is given a living handle and a buffer of the size that was stated.
        let log = self.fetch(size, |handle, place| unsafe { fetch(handle, place.cast()) })?;
        assert_eq!(log.iter().position(|b| *b == 0), Some(log.len() - 1), "a log without its NUL");
        Some(log)
    }

    fn image(&mut self, index: usize) -> Option<Vec<u8>> {
        let (size, fetch) = self.library.images[index];
        // SAFETY: as for logs.
        self.fetch(size, |handle, place| unsafe { fetch(handle, place.cast()) })
    }
}

/// A sound object for the target of a link.
fn partner(arch: &str) -> &'static [u8] {
    let found = PARTNERS.iter().find(|(_, name, _)| arch == *name);
    found.unwrap_or(&PARTNERS[1]).2
}

/// Makes one call of a script.
fn call(session: &mut Session<'_>, parts: &Parts<'_>, byte: u8, path: &CString) {
    let kind = KINDS[usize::from(byte >> 4)];
    let name = parts.c_text();
    let half = parts.input.len() / 2;
    match byte & 15 {
        0..=2 => session.add(kind, parts.input, Some(&name)),
        3 => session.add(kind, parts.input, None),
        4..=6 => session.add(kind, partner(&parts.arch()), Some(&name)),
        7 | 8 => session.add_file(kind, path),
        9 => session.add(kind, &parts.input[..half], Some(&name)),
        10 => session.add(kind, &parts.input[half..], Some(&name)),
        11 => session.add(kind, parts.text, None),
        12 => session.add_file(kind, &name),
        13 => session.complete(),
        14 => {
            session.nulls(kind);
            0
        }
        _ => {
            session.image(0);
            session.log(0);
            0
        }
    };
}

/// The options of a script, with the target first.
fn options(parts: &Parts<'_>, path: &CString) -> Vec<CString> {
    let text = parts.c_text();
    let target = format!("-arch={}", parts.arch()).into_bytes();
    let chosen = parts.script[1..4].iter().map(|byte| OPTIONS[usize::from(*byte) % OPTIONS.len()]);
    let filled = chosen.filter(|option| !option.is_empty()).map(|option| {
        let (start, middle, end) = match (option.split_once("{}"), option.split_once("<>")) {
            (Some((start, end)), _) => (start, text.as_bytes(), end),
            (_, Some((start, end))) => (start, path.as_bytes(), end),
            _ => (option, &b""[..], ""),
        };
        [start.as_bytes(), middle, end.as_bytes()].concat()
    });
    // One of the bits leaves the target out.
    let target = Some(target).filter(|_| parts.script[4] & 0xf0 != 0xf0);
    { target }.into_iter().chain(filled).filter_map(|o| CString::new(o).ok()).collect()
}

/// One session from its first to its last call.
fn session(parts: &Parts<'_>, path: &CString) -> Answers {
    let library = if parts.script[0] & 1 == 0 { &CUDA_13 } else { &CUDA_12 };
    let options = options(parts, path);
    let mut list: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
    let is_null = parts.script[4] & 0xf0 == 0x80;
    if is_null {
        list.push(null());
    }
    let mut session = Session {
        library,
        handle: null_mut(),
        codes: Vec::new(),
    };
    // SAFETY: a place for the handle and a list of as many texts or null pointers.
    let code = unsafe { (library.create)(&mut session.handle, list.len() as c_uint, list.as_ptr()) };
    let created = session.note(code) == 0;
    assert!(!session.handle.is_null(), "no handle");
    assert!(!(is_null && created), "a null option was accepted");
    let count = usize::from(parts.script[4] & 15).min(SCRIPT - CALLS);
    for byte in &parts.script[CALLS..CALLS + count] {
        call(&mut session, parts, *byte, path);
    }
    let code = session.complete();
    let image = session.image(0);
    session.image(1);
    session.log(2);
    let (error_log, _info_log) = (session.log(0).unwrap_or_default(), session.log(1));
    assert!(image.is_none() || created, "an image of a session that was refused");
    // A second completion fails and leaves the image of the first.
    assert!(code != 0 || image.is_some(), "success without an image");
    assert!(
        code == 0 || image.is_some() || !created || error_log.len() > 1,
        "failed without a word"
    );
    if let Some(Err(e)) = image.as_deref().map(Cubin::parse) {
        panic!("the image cannot be read: {e}");
    }
    // SAFETY: the handle is alive and not used again.
    let code = unsafe { (library.destroy)(&mut session.handle) };
    assert_eq!(session.note(code), 0, "not destroyed");
    assert!(session.handle.is_null(), "a handle after its end");
    Answers {
        codes: session.codes,
        image,
        error_log,
    }
}

/// Runs the script of a file; whether an image came out.
pub fn run(bytes: &[u8]) -> bool {
    watch_panics();
    let Some(parts) = Parts::of(bytes) else { return false };
    let needs_file = |byte: &u8| matches!(byte & 15, 7 | 8);
    let uses_path = |byte: &u8| OPTIONS[usize::from(*byte) % OPTIONS.len()].contains("<>");
    let file = match parts.script[CALLS..].iter().any(needs_file) || parts.script[1..4].iter().any(uses_path) {
        true => tempfile::NamedTempFile::new().ok(),
        false => None,
    };
    let mut path = CString::default();
    if let Some(mut file) = file.as_ref().map(tempfile::NamedTempFile::as_file) {
        let written = file.write_all(parts.input);
        assert!(written.is_ok(), "no room for a temporary file");
    }
    if let Some(file) = &file {
        path = CString::new(file.path().as_os_str().as_encoded_bytes()).unwrap_or_default();
    }
    let first = session(&parts, &path);
    if parts.script[0] & 2 != 0 {
        assert!(first == session(&parts, &path), "other answers the second time");
    }
    first.image.is_some()
}

/// A file that adds a sound input of a type and a partner, with options by `number`.
pub fn sound(input: &[u8], kind: c_int, arch: u32, number: usize) -> Vec<u8> {
    let mut script = [0; SCRIPT];
    let name = format!("sm_{arch}");
    let arch = ARCHS.iter().position(|a| *a == name).unwrap_or(5);
    script[0] = (arch as u8) << 2 | (number % 4) as u8;
    script[1] = (number % OPTIONS.len()) as u8;
    script[4] = 2;
    let kind = KINDS.iter().position(|k| *k == kind).unwrap_or(0) as u8;
    script[CALLS] = kind << 4 | [0, 0, 3, 7][number % 4];
    script[CALLS + 1] = 1 << 4 | 4;
    Parts::join(input, TEXTS[number % TEXTS.len()].as_bytes(), script)
}

/// Changes a file.
pub fn change(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let Some(parts) = Parts::of(bytes) else {
        bytes.extend([0; SCRIPT]);
        return;
    };
    let (mut input, mut text, mut script) = (parts.input.to_vec(), parts.text.to_vec(), parts.script);
    match rng.below(10) {
        0..4 => {
            for _ in 0..rng.pick([1, 1, 2, 4]) {
                let at = rng.below(SCRIPT);
                script[at] = rng.next() as u8;
            }
        }
        4 => text = rng.pick(TEXTS).as_bytes().to_vec(),
        5 if !text.is_empty() => {
            let at = rng.below(text.len());
            text[at] = rng.next() as u8;
        }
        _ if !input.is_empty() => mutate::change(&mut input, other, rng),
        _ => input = other.to_vec(),
    }
    *bytes = Parts::join(&input, &text, script);
}
