//! What is tried with a file. Every function returns whether the file was accepted, and panics when a promise is broken.

use crate::seeds::Program;
use cubin::fatbin::Fatbin;
use cubin::model::Model;
use cubin::{Cubin, roundtrip};
use culd_engine::{Arch, Identity, Input, LinkOptions, Status};
use culd_input::archive::Members;
use culd_input::files::{FileId, Files, Opened};
use culd_input::host::HostObject;
use culd_input::{LoadOptions, load};
use culd_tests::rng::Rng;
use std::io;
use std::path::{Path, PathBuf};

/// The reader: every section, symbol and relocation can be requested.
pub fn parse_cubin(bytes: &[u8]) -> bool {
    let Ok(cubin) = Cubin::parse(bytes) else { return false };
    for section in cubin.sections().flatten() {
        if let Ok(list) = cubin.relocations(&section) {
            assert_eq!((0..list.len()).filter_map(|i| list.get(i)).count(), list.len());
        }
    }
    let _symbols = cubin.symbols().flatten().count();
    let _segments = cubin.program_headers();
    Model::read(&cubin).is_ok()
}

/// The emitter: what comes out has the size of the input and can be read.
pub fn round_trip(bytes: &[u8]) -> bool {
    let Ok(again) = roundtrip(bytes) else { return false };
    assert_eq!(again.len(), bytes.len(), "another size");
    if let Err(e) = Cubin::parse(&again) {
        panic!("own output refused: {e}");
    }
    true
}

/// The emitter on a file that a vendor's tool wrote: it comes back byte for byte.
pub fn exact(bytes: &[u8]) {
    match roundtrip(bytes) {
        Ok(again) => assert!(again == bytes, "an undamaged file came back changed"),
        Err(e) => panic!("an undamaged file was refused: {e}"),
    }
}

/// The fat binary reader: nothing unpacks to more than was allowed.
pub fn parse_fatbin(bytes: &[u8]) -> bool {
    const LIMIT: u64 = 4 << 20;
    let Ok(fatbin) = Fatbin::parse(bytes) else { return false };
    let mut good = true;
    for entry in fatbin.entries() {
        let Ok(entry) = entry else {
            good = false;
            continue;
        };
        let _words = (entry.kind(), entry.arch(), entry.identifier(), entry.options());
        match entry.payload(LIMIT) {
            Ok(payload) => assert!(payload.len() as u64 <= LIMIT, "{} bytes", payload.len()),
            Err(_) => good = false,
        }
    }
    good
}

/// One file in memory, under a name that a linker accepts.
struct One<'a>(&'a [u8]);

impl Files for One<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened> {
        Ok(Opened {
            bytes: self.0.to_vec().into(),
            id: FileId::Path(path.to_owned()),
        })
    }
    fn exists(&self, _: &Path) -> bool {
        true
    }
    fn is_dir(&self, _: &Path) -> bool {
        false
    }
    fn current_dir(&self) -> io::Result<PathBuf> {
        Ok("/".into())
    }
}

/// Recognition of inputs: archives, host objects and what is inside.
pub fn load_input(bytes: &[u8], name: &str, identity: Identity) -> bool {
    let Some(target) = Arch::parse("sm_90") else {
        return false;
    };
    let mut options = LoadOptions::new(target);
    options.identity = identity;
    let outcome = load(&[PathBuf::from(name)], &options, &One(bytes));
    !outcome.is_fatal()
}

/// A linked file has at most so many times the bytes of the objects, and so many more: what `bounds.rs` of the linker promises of its
/// sections, and their headers.
const IMAGE_BOUND: (usize, usize) = (72, 16 << 20);

/// A whole link in a random mode: an image that is handed out can be read.
pub fn link(program: &Program, rng: &mut Rng) -> bool {
    let Some(target) = Arch::parse(&program.arch) else { return false };
    let mut options = LinkOptions::new(target);
    options.identity = rng.pick([Identity::Nvlink, Identity::Culd]);
    options.relocatable = rng.chance(20);
    options.debug = rng.chance(20);
    options.preserve_relocs = rng.chance(20);
    options.usage = rng.chance(30);
    options.dump_callgraph = rng.chance(20);
    options.force_rela = rng.chance(10);
    options.threads = 1;
    // An image that cannot be read is a failure here, not a refusal.
    options.verify = false;
    let names: Vec<String> = (0..program.objects.len()).map(|i| format!("{i}.cubin")).collect();
    let inputs: Vec<Input<'_>> = names
        .iter()
        .zip(&program.objects)
        .map(|(name, data)| Input { name, data })
        .collect();
    let outcome = culd_engine::link(&inputs, &options);
    match (outcome.status, &outcome.image) {
        (Status::Success, Some(image)) => {
            if let Err(e) = Cubin::parse(image) {
                panic!("the image cannot be read: {e}");
            }
            let size: usize = program.objects.iter().map(Vec::len).sum();
            let bound = size * IMAGE_BOUND.0 + IMAGE_BOUND.1;
            assert!(image.len() <= bound, "an image of {} bytes, the bound is {bound}", image.len());
            true
        }
        (Status::Success, None) => panic!("success without an image"),
        (_, Some(_)) => panic!("an image beside errors"),
        (_, None) => {
            assert!(!outcome.messages.is_empty(), "refused without a word");
            false
        }
    }
}

/// Archives: the members in both ways of reading, and what is inside.
pub fn parse_archive(bytes: &[u8]) -> bool {
    for lenient in [false, true] {
        let Ok(members) = Members::new(bytes, lenient) else { continue };
        for member in members.flatten() {
            assert!(member.data.len() <= bytes.len() && member.offset < bytes.len());
        }
    }
    let strict = load_input(bytes, "x.a", Identity::Culd);
    load_input(bytes, "x.a", Identity::Nvlink) || strict
}

/// Host objects: the sections that matter are in the file.
pub fn parse_host_object(bytes: &[u8]) -> bool {
    if let Ok(host) = HostObject::parse(bytes) {
        let sections = [host.fatbins, host.module_id, host.external_kernels, host.internal_kernels];
        for section in sections.into_iter().flatten() {
            assert!(section.len() <= bytes.len());
        }
    }
    let strict = load_input(bytes, "x.o", Identity::Culd);
    load_input(bytes, "x.o", Identity::Nvlink) || strict
}

/// Sound objects to link with, by architecture number.
pub const PARTNERS: [(u32, &str, &[u8]); 4] = [
    (75, "sm_75", include_bytes!("../programs/sm_75-cxx/second.cubin")),
    (90, "sm_90", include_bytes!("../programs/sm_90-cxx/second.cubin")),
    (100, "sm_100", include_bytes!("../programs/sm_100/helper.cubin")),
    (120, "sm_120", include_bytes!("../programs/sm_120/helper.cubin")),
];

/// An object and a sound one, for the architecture that the first one names. The last byte does not belong to the object: it selects the
/// mode.
pub fn link_two(bytes: &[u8]) -> bool {
    let Some((&draw, object)) = bytes.split_last() else { return false };
    let Some(flags) = object.get(48..52) else { return false };
    let arch = flags.iter().rev().fold(0u32, |n, &b| n << 8 | u32::from(b)) >> 8 & 0xffff;
    let Some((_, arch, partner)) = PARTNERS.iter().find(|p| p.0 == arch) else {
        return false;
    };
    let program = Program {
        arch: (*arch).to_owned(),
        objects: vec![object.to_vec(), partner.to_vec()],
    };
    link(&program, &mut Rng::new(draw.into()))
}
