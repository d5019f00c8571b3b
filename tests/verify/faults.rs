//! Damage to good files, class by class: what is changed, and how much of it `--verify` has to notice.

use crate::links::Link;
use cubin::consts::*;
use cubin::kind::{SectionKind, classify};
use cubin::nvinfo::{Payload, records};
use cubin::read::{Cubin, Section};
use culd_tests::rng::Rng;

/// How much of a class is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Every fault.
    All,
    /// Some: the class holds changes that leave a file right.
    Some,
    /// None: nothing in the inputs contradicts the file.
    None,
}

/// A file that is damaged.
pub struct Target<'a> {
    pub cubin: Cubin<'a>,
    pub bytes: Vec<u8>,
    pub rng: Rng,
}

type Damage = fn(&mut Target<'_>) -> Option<()>;

/// A way of damaging files.
pub struct Class {
    pub name: &'static str,
    pub expect: Expect,
    damage: Damage,
}

const fn class(name: &'static str, expect: Expect, damage: Damage) -> Class {
    Class { name, expect, damage }
}

impl Class {
    /// One fault of this class in a file; nothing where the file has no such thing.
    pub fn apply(&self, image: &[u8], seed: u64) -> Option<Vec<u8>> {
        let mut target = Target {
            cubin: Cubin::parse(image).ok()?,
            bytes: image.to_vec(),
            rng: Rng::new(seed),
        };
        (self.damage)(&mut target)?;
        (target.bytes != image).then_some(target.bytes)
    }
}

impl<'a> Target<'a> {
    fn put(&mut self, at: usize, bytes: &[u8]) -> Option<()> {
        self.bytes.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
        Some(())
    }
    fn header(&self, index: u32) -> usize {
        self.cubin.header().e_shoff.get() as usize + 64 * index as usize
    }
    fn pick<T>(&mut self, mut list: Vec<T>) -> Option<T> {
        let n = list.len();
        (n > 0).then(|| list.swap_remove(self.rng.below(n)))
    }
    fn sections(&self, wanted: impl Fn(&Section<'a>, SectionKind) -> bool) -> Vec<Section<'a>> {
        let all = self.cubin.sections().flatten().skip(1);
        all.filter(|s| wanted(s, classify(s.name, s.header.sh_type.get()))).collect()
    }
    fn section(&mut self, wanted: impl Fn(&Section<'a>, SectionKind) -> bool) -> Option<Section<'a>> {
        let list = self.sections(wanted);
        self.pick(list)
    }
    /// Offset of a symbol's entry in the file.
    fn symbol(&mut self, wanted: impl Fn(&cubin::Symbol<'a>) -> bool) -> Option<(cubin::Symbol<'a>, usize)> {
        let list = self.cubin.symbols().flatten().skip(1).filter(|y| wanted(y)).collect();
        let y: cubin::Symbol<'a> = self.pick(list)?;
        let table = self.cubin.section(self.cubin.symtab_section()?).ok()?;
        Some((y, table.header.sh_offset.get() as usize + 24 * y.index as usize))
    }
    /// Takes a section away: no type, no size, no name.
    fn remove(&mut self, s: &Section<'a>) -> Option<()> {
        let at = self.header(s.index);
        self.put(at, &[0; 8])?;
        self.put(at + 32, &[0; 8])
    }
    /// Offset in the file of a record of an attribute section.
    fn record(&mut self, section: &Section<'a>, wanted: impl Fn(&cubin::nvinfo::Record<'a>) -> bool) -> Option<usize> {
        let mut found = Vec::new();
        let mut list = records(section.data);
        loop {
            let at = list.offset();
            let Some(Ok(r)) = list.next() else { break };
            if wanted(&r) {
                found.push(section.header.sh_offset.get() as usize + at);
            }
        }
        self.pick(found)
    }
    /// Offset in the file of an entry of a relocation section of code against a function or variable.
    fn reference(&mut self, sh_type: u32) -> Option<usize> {
        let prefix: &[u8] = if sh_type == SHT_CUDA_MERC_RELA {
            b".nv.merc.rela.text."
        } else {
            b".re"
        };
        let s = self
            .section(|s, _| s.header.sh_type.get() == sh_type && s.name.starts_with(prefix) && s.name.windows(6).any(|w| w == b".text."))?;
        let size = if sh_type == SHT_REL { 16 } else { 24 };
        let count = s.data.len() / size;
        let symbols = self.cubin.symbol_entries();
        let named = (0..count).filter(|i| {
            let sym = s.data.get(i * size + 12..i * size + 16).and_then(|b| b.first_chunk::<4>());
            let y = sym.and_then(|b| symbols.get(u32::from_le_bytes(*b) as usize));
            y.is_some_and(|y| y.kind() == STT_FUNC || (y.kind() == STT_OBJECT && y.st_shndx.get() != 0))
        });
        let list = named.collect();
        let i: usize = self.pick(list)?;
        Some(s.header.sh_offset.get() as usize + i * size)
    }
    fn flip(&mut self, s: &Section<'a>) -> Option<()> {
        let n = self.rng.below(s.data.len());
        let at = s.header.sh_offset.get() as usize + n;
        let old = *self.bytes.get(at)?;
        self.put(at, &[old ^ 0x11])
    }
}

fn is_info(kind: SectionKind, s: &Section<'_>) -> bool {
    kind == SectionKind::FunctionInfo && s.header.sh_type.get() == SHT_CUDA_INFO
}

fn drop_kind(t: &mut Target<'_>, wanted: fn(SectionKind) -> bool) -> Option<()> {
    let s = t.section(|s, k| wanted(k) && s.header.sh_size.get() != 0)?;
    t.remove(&s)
}

/// Changes the second word of a record's payload.
fn change_word(t: &mut Target<'_>, wanted: fn(u8) -> bool, word: usize, by: u32) -> Option<()> {
    let s = t.section(|s, k| is_info(k, s) && records(s.data).flatten().any(|r| wanted(r.attribute) && r.payload.len() > 4 * word))?;
    let at = t.record(&s, |r| wanted(r.attribute) && r.payload.len() > 4 * word)? + 4 + 4 * word;
    let old = u32::from_le_bytes(*t.bytes.get(at..)?.first_chunk()?);
    t.put(at, &old.wrapping_add(by).to_le_bytes())
}

fn add_long(t: &mut Target<'_>, at: usize, by: u64) -> Option<()> {
    let old = u64::from_le_bytes(*t.bytes.get(at..)?.first_chunk()?);
    t.put(at, &old.wrapping_add(by).to_le_bytes())
}

fn rename(t: &mut Target<'_>, kind: u8) -> Option<()> {
    let (y, _) = t.symbol(|y| y.entry.kind() == kind && y.section.index().is_some() && y.name.len() > 1)?;
    let strings = t
        .cubin
        .section(t.cubin.section(t.cubin.symtab_section()?).ok()?.header.sh_link.get())
        .ok()?;
    let at = strings.header.sh_offset.get() as usize + y.entry.st_name.get() as usize;
    t.put(at, b"~")
}

fn is_place(code: u8) -> bool {
    code != 0x1c && cubin::nvinfo::attribute_info(code).is_some_and(|i| i.payload == Payload::Offsets)
}

/// All classes.
pub const CLASSES: &[Class] = &[
    class("e_flags for another architecture", Expect::All, |t| t.put(49, &[50])),
    class("other e_type", Expect::All, |t| t.put(16, &[7])),
    class("other ABI version", Expect::All, |t| t.put(8, &[7])),
    class("code section dropped", Expect::All, |t| drop_kind(t, |k| k == SectionKind::Text)),
    class("`.nv.info.K` of a kernel dropped", Expect::All, |t| {
        let s = t.section(|s, k| is_info(k, s) && records(s.data).flatten().any(|r| r.attribute == 0x0a))?;
        t.remove(&s)
    }),
    class("parameter bank dropped", Expect::All, |t| {
        let s = t.section(|s, _| s.name.starts_with(b".nv.constant0.") && s.header.sh_flags.get() & SHF_CUDA_MERCURY == 0)?;
        t.remove(&s)
    }),
    class("global memory dropped", Expect::All, |t| {
        drop_kind(t, |k| matches!(k, SectionKind::Global | SectionKind::GlobalInit))
    }),
    class("constant bank dropped", Expect::All, |t| {
        drop_kind(t, |k| k == SectionKind::Constant(3))
    }),
    class("debug section dropped", Expect::All, |t| drop_kind(t, |k| k == SectionKind::Debug)),
    class("relocations of code dropped", Expect::All, |t| {
        let s = t.section(|s, _| s.name.starts_with(b".rel") && s.name.windows(6).any(|w| w == b".text.") && !s.data.is_empty())?;
        t.remove(&s)
    }),
    class("section type changed", Expect::All, |t| {
        let s = t.section(|s, k| {
            matches!(
                k,
                SectionKind::Global | SectionKind::GlobalInit | SectionKind::Constant(_) | SectionKind::Shared
            ) && s.header.sh_flags.get() & SHF_CUDA_MERCURY == 0
        })?;
        let other = if s.header.sh_type.get() == SHT_NOBITS {
            SHT_PROGBITS
        } else {
            SHT_NOBITS
        };
        let at = t.header(s.index) + 4;
        t.put(at, &other.to_le_bytes())
    }),
    class("code section cut", Expect::All, |t| {
        let s = t.section(|_, k| k == SectionKind::Text)?;
        let at = t.header(s.index) + 32;
        add_long(t, at, 16u64.wrapping_neg())
    }),
    class("section moved in the file", Expect::Some, |t| {
        let s = t.section(|s, _| !s.data.is_empty())?;
        let at = t.header(s.index) + 24;
        add_long(t, at, s.header.sh_addralign.get().max(1))
    }),
    class("relocations of another section", Expect::All, |t| {
        let s = t.section(|s, _| matches!(s.header.sh_type.get(), SHT_REL | SHT_RELA))?;
        let at = t.header(s.index) + 44;
        t.put(at, &[1])
    }),
    class("function renamed", Expect::All, |t| rename(t, STT_FUNC)),
    class("variable renamed", Expect::All, |t| rename(t, STT_OBJECT)),
    class("size of a function changed", Expect::All, |t| {
        let (_, at) = t.symbol(|y| y.entry.kind() == STT_FUNC && y.section.index().is_some() && y.entry.st_size.get() != 0)?;
        add_long(t, at + 16, 16u64.wrapping_neg())
    }),
    class("size of a variable changed", Expect::All, |t| {
        let (_, at) = t.symbol(|y| y.entry.kind() == STT_OBJECT && y.section.index().is_some() && y.entry.st_size.get() > 1)?;
        add_long(t, at + 16, 1u64.wrapping_neg())
    }),
    class("symbol moved to section 1", Expect::All, |t| {
        let (_, at) = t.symbol(|y| y.entry.kind() == STT_FUNC && y.section.index().is_some())?;
        t.put(at + 6, &[1, 0])
    }),
    class("symbol with 0xffff, no index table", Expect::All, |t| {
        let (_, at) = t.symbol(|y| y.section.index().is_some())?;
        t.put(at + 6, &[0xff, 0xff])
    }),
    class("kernel is not a kernel", Expect::All, |t| {
        let (y, at) = t.symbol(|y| y.entry.kind() == STT_FUNC && y.entry.st_other & STO_CUDA_ENTRY != 0)?;
        t.put(at + 5, &[y.entry.st_other & !STO_CUDA_ENTRY])
    }),
    class("KPARAM_INFO removed", Expect::All, |t| {
        let s = t.section(|s, k| is_info(k, s) && records(s.data).flatten().any(|r| r.attribute == 0x17))?;
        let at = t.record(&s, |r| r.attribute == 0x17)?;
        t.put(at + 1, &[0x55])
    }),
    class("KPARAM_INFO: other offset or size", Expect::All, |t| {
        change_word(t, |c| c == 0x17, 1, 0x4_0000)
    }),
    class("PARAM_CBANK: other size", Expect::All, |t| {
        change_word(t, |c| c == 0x0a, 1, 0x8_0000)
    }),
    class("CBANK_PARAM_SIZE changed", Expect::All, |t| {
        let s = t.section(|s, k| is_info(k, s) && records(s.data).flatten().any(|r| r.attribute == 0x19))?;
        let at = t.record(&s, |r| r.attribute == 0x19)? + 2;
        let old = *t.bytes.get(at)?;
        t.put(at, &[old.wrapping_add(8)])
    }),
    class("EXIT_INSTR_OFFSETS shifted", Expect::All, |t| change_word(t, |c| c == 0x1c, 0, 16)),
    class("EXIT_INSTR_OFFSETS outside", Expect::All, |t| {
        change_word(t, |c| c == 0x1c, 0, 0x10_0000)
    }),
    class("other place in code outside", Expect::All, |t| {
        change_word(t, is_place, 0, 0x10_0000)
    }),
    class("attribute of a function in `.nv.info`", Expect::All, |t| {
        let s = t.section(|s, _| s.name == b".nv.info")?;
        let at = t.record(&s, |r| r.attribute == 0x11)?;
        t.put(at + 1, &[0x1c])
    }),
    class("REGCOUNT of another symbol", Expect::Some, |t| {
        let s = t.section(|s, _| s.name == b".nv.info")?;
        let at = t.record(&s, |r| r.attribute == 0x2f)?;
        t.put(at + 4, &[1, 0, 0, 0])
    }),
    class("reference removed", Expect::All, |t| {
        let at = t.reference(SHT_RELA).or_else(|| t.reference(SHT_REL))?;
        t.put(at + 8, &[0; 8])
    }),
    class("reference moved", Expect::Some, |t| {
        let at = t.reference(SHT_RELA).or_else(|| t.reference(SHT_REL))?;
        add_long(t, at, 16)
    }),
    class("reference to a symbol that does not exist", Expect::All, |t| {
        let at = t.reference(SHT_RELA).or_else(|| t.reference(SHT_REL))?;
        t.put(at + 12, &[0xff, 0xff, 0xff, 0])
    }),
    class("code changed, below sm_100", Expect::Some, |t| {
        let s = t.section(|_, k| k == SectionKind::Text).filter(|_| !is_blackwell(t))?;
        t.flip(&s)
    }),
    class("initial value changed", Expect::Some, |t| {
        let s = t.section(|s, k| matches!(k, SectionKind::GlobalInit | SectionKind::Constant(3)) && !s.data.is_empty())?;
        t.flip(&s)
    }),
    class("DWARF address outside", Expect::All, |t| {
        let s = t.section(|s, _| {
            s.header.sh_type.get() == SHT_RELA && matches!(s.name, b".rela.debug_frame" | b".rela.debug_info" | b".rela.nv_debug_line_sass")
        })?;
        let at = s.header.sh_offset.get() as usize;
        add_long(t, at + 16, 0x10_0000)
    }),
    class("Mercury: capsule of another section", Expect::All, |t| {
        let s = t.section(|_, k| k == SectionKind::Capsule)?;
        t.put(s.header.sh_offset.get() as usize, &[1, 0, 0, 0])
    }),
    class("Mercury: capsule dropped", Expect::All, |t| {
        drop_kind(t, |k| k == SectionKind::Capsule)
    }),
    class("Mercury: attributes dropped", Expect::All, |t| {
        let s = t.section(|s, _| s.name.starts_with(b".nv.merc.nv.info."))?;
        t.remove(&s)
    }),
    class("Mercury: symbol renamed", Expect::All, |t| {
        let s = t.section(|s, _| s.header.sh_type.get() == SHT_CUDA_MERC_SYMTAB)?;
        let entries = s.data.chunks_exact(24).enumerate();
        let list = entries.filter(|(_, e)| e[4] & 15 == STT_FUNC).map(|(i, _)| i).collect();
        let i: usize = t.pick(list)?;
        t.put(s.header.sh_offset.get() as usize + 24 * i, &[1, 0, 0, 0])
    }),
    class("Mercury: reference removed", Expect::All, |t| {
        let at = t.reference(SHT_CUDA_MERC_RELA)?;
        t.put(at + 8, &[0; 8])
    }),
    class("Mercury: code changed", Expect::None, |t| {
        let s = t.section(|_, k| k == SectionKind::Capsule)?;
        let at = s.header.sh_offset.get() as usize + s.data.len() / 2;
        let old = *t.bytes.get(at)?;
        t.put(at, &[old ^ 0x11])
    }),
    class("register count changed", Expect::None, |t| {
        let s = t.section(|s, _| s.name == b".nv.info")?;
        let at = t.record(&s, |r| r.attribute == 0x2f)?;
        let old = *t.bytes.get(at + 8)?;
        t.put(at + 8, &[old ^ 0x40])
    }),
    class("note changed", Expect::None, |t| {
        let s = t.section(|s, _| s.name == b".note.nv.tkinfo")?;
        let at = s.header.sh_offset.get() as usize + s.data.len() - 8;
        let old = *t.bytes.get(at)?;
        t.put(at, &[old ^ 0x11])
    }),
];

fn is_blackwell(t: &Target<'_>) -> bool {
    cubin::names::file_flags(t.cubin.header()).sm >= 100
}

/// Links whose files are damaged: the first of each of these fixtures that makes an executable.
const BASES: [&str; 12] = [
    "opt-debug ",
    "opt-lineinfo ",
    "weak-frame-debug-100 ",
    "random-sm_100-910000 ",
    "random-sm_100a-910007 ",
    "random-sm_120-910026 ",
    "random-sm_75-900003 ",
    "random-sm_80-900017 ",
    "random-sm_86",
    "random-sm_89-900070 ",
    "random-sm_90-",
    "callgraph-",
];

/// The files that are damaged.
pub fn bases(links: &[Link]) -> Vec<&Link> {
    let good = |l: &&Link| !l.options.relocatable && l.options.kernels.is_none() && l.problems(&l.image).is_empty();
    let first = |name: &&str| links.iter().find(|l| l.name.starts_with(*name) && good(l));
    BASES.iter().filter_map(first).collect()
}
