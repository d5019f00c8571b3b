#![allow(clippy::unwrap_used, reason = "a failing test may panic")]
use super::strings::{NewSymbol, StringTable, encode_symbols};
use super::*;
use crate::read::{Cubin, SymbolSection};

fn section(name: u32, sh_type: u32, flags: u64, align: u64, bytes: &[u8]) -> ImageSection<'_> {
    ImageSection {
        name,
        sh_type,
        flags,
        link: 0,
        info: 0,
        align,
        entsize: 0,
        size: bytes.len() as u64,
        reserve: 0,
        content: Content::Bytes(bytes.into()),
    }
}

fn nobits(name: u32, align: u64, size: u64) -> ImageSection<'static> {
    ImageSection {
        size,
        content: Content::NoBits,
        ..section(name, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, align, &[])
    }
}

fn image(e_type: u16, writer: WriterKind, sections: Vec<ImageSection<'_>>) -> Image<'_> {
    Image {
        header: ImageHeader {
            ident: ImageHeader::IDENT,
            e_type,
            e_version: 1,
            e_flags: 0x5a04,
            section_names: 1,
        },
        writer,
        sections,
    }
}

#[test]
fn sections_without_bytes_align_the_cursor() {
    let names = b"\0.shstrtab\0";
    let list = vec![
        section(1, SHT_STRTAB, 0, 1, names),
        section(0, SHT_PROGBITS, 6, 128, &[1; 16]),
        nobits(0, 64, 100),
        section(0, SHT_PROGBITS, 3, 4, &[2; 3]),
        nobits(0, 8, 0x20),
        nobits(0, 256, 0x10),
    ];
    let image = image(ET_EXEC, WriterKind::Linker, list);
    let plan = image.plan().unwrap();
    let offsets: Vec<u64> = (1..7).map(|i| plan.placement(i).unwrap().offset).collect();
    assert_eq!(offsets, [0x40, 0x80, 0xc0, 0xc0, 0xc8, 0x100]);
    assert_eq!(plan.section_header_offset(), 0x100);
    let out = image.emit().unwrap();
    let cubin = Cubin::parse(&out).unwrap();
    assert_eq!(cubin.section(2).unwrap().data, [1; 16]);
    let segments = cubin.program_headers().unwrap();
    let memory: Vec<_> = segments
        .iter()
        .map(|p| (p.p_flags.get(), p.p_filesz.get(), p.p_memsz.get()))
        .collect();
    // Writable: 0xc0 to 0x100 in the file; 100 bytes, then 0x20 at the next multiple of 8, then 0x10 at a multiple of 256.
    let first = 100u64;
    let second = (0xc8 + first).next_multiple_of(8) + 0x20 - 0xc8;
    let third = (0x100 + second).next_multiple_of(256) + 0x10 - 0x100;
    assert_eq!(memory, [(5, 224, 224), (5, 16, 16), (6, 0x40, 0x40 + third), (5, 224, 224)]);
}

#[test]
fn the_finalizer_makes_a_segment_per_run() {
    let list = vec![
        section(0, SHT_STRTAB, 0, 1, b"\0"),
        section(0, SHT_PROGBITS, 2, 4, &[0; 4]),
        section(0, SHT_PROGBITS, 6, 16, &[0; 16]),
        section(0, SHT_PROGBITS, 2 | SHF_CUDA_MERCURY, 4, &[0; 4]),
        nobits(0, 4, 8),
        section(0, SHT_PROGBITS, 2, 4, &[0; 4]),
    ];
    let plan = image(ET_EXEC, WriterKind::Finalizer, list.clone()).plan().unwrap();
    let flags: Vec<u32> = plan.segments().iter().map(|p| p.p_flags.get()).collect();
    assert_eq!(flags, [4, 4, 4, 5, 6, 4]);
    let relocatable = image(ET_REL, WriterKind::Finalizer, list.clone()).emit().unwrap();
    let header = |bytes: &[u8]| Cubin::parse(bytes).unwrap().header().e_phentsize.get();
    assert_eq!(header(&relocatable), 0);
    assert_eq!(header(&image(ET_REL, WriterKind::Linker, list).emit().unwrap()), 56);
}

#[test]
fn bytes_can_be_shared_and_kept_free() {
    let mut names = section(0, SHT_STRTAB, 0, 1, b"\0");
    names.reserve = 36;
    let data = section(0, SHT_PROGBITS, 3, 4, &[7; 12]);
    let twin = ImageSection {
        content: Content::SameAs(2),
        ..data.clone()
    };
    let list = vec![names, data, twin, section(0, SHT_PROGBITS, 0, 1, &[9])];
    let image = image(ET_REL, WriterKind::Finalizer, list);
    let plan = image.plan().unwrap();
    assert_eq!([1, 2, 3, 4].map(|i| plan.placement(i).unwrap().offset), [0x40, 0x68, 0x68, 0x74]);
    let out = image.emit().unwrap();
    assert_eq!(Cubin::parse(&out).unwrap().section(3).unwrap().data, [7; 12]);
}

#[test]
fn mistakes_are_errors() {
    let base = vec![section(0, SHT_STRTAB, 0, 1, b"\0"), section(0, SHT_PROGBITS, 3, 4, &[7; 12])];
    let with = |change: &dyn Fn(&mut Vec<ImageSection<'_>>)| {
        let mut list = base.clone();
        change(&mut list);
        image(ET_EXEC, WriterKind::Linker, list).emit().unwrap_err()
    };
    let error = with(&|l| l[1].size = 11);
    assert_eq!(error.to_string(), "section 2: sh_size is 0xb, but there are 0xc bytes");
    assert_eq!(with(&|l| l[1].align = 12), WriteError::Alignment { section: 2, align: 12 });
    for other in [0, 2, 3] {
        assert_eq!(
            with(&|l| l[1].content = Content::SameAs(other)),
            WriteError::Shared { section: 2, other }
        );
    }
    assert!(matches!(
        with(&|l| l[1].content = Content::SameAs(1)),
        WriteError::SizeMismatch { .. }
    ));
    assert_eq!(with(&|l| l[0].reserve = u64::MAX), WriteError::TooLarge { section: 1 });
    let image = image(ET_EXEC, WriterKind::Linker, base.clone());
    let size = image.emit().unwrap().len() as u64;
    assert!(image.emit_within(size).is_ok());
    let refused = WriteError::OverLimit { size, limit: size - 1 };
    assert_eq!(image.emit_within(size - 1), Err(refused));
}

#[test]
fn the_parts_and_zeros_between_them_are_the_file() {
    let list = vec![
        section(1, SHT_STRTAB, 0, 1, b"\0.shstrtab\0"),
        section(0, SHT_PROGBITS, 6, 128, &[1; 16]),
        section(0, SHT_PROGBITS, 3, 4, &[]),
        nobits(0, 64, 100),
        section(0, SHT_PROGBITS, 3, 64, &[2; 3]),
    ];
    for writer in [WriterKind::Linker, WriterKind::Finalizer] {
        let image = image(ET_EXEC, writer, list.clone());
        let plan = image.plan().unwrap();
        let mut out = vec![0; plan.size() as usize];
        let mut end = 0;
        for (offset, bytes) in image.parts(&plan) {
            assert!(offset >= end, "parts are in file order");
            end = offset + bytes.len() as u64;
            out[offset as usize..end as usize].copy_from_slice(&bytes);
        }
        assert_eq!(end, plan.size());
        assert_eq!(out, image.emit().unwrap());
    }
}

#[test]
fn more_sections_than_16_bits_can_count() {
    let mut list = vec![section(1, SHT_STRTAB, 0, 1, b"\0.shstrtab\0")];
    let symbol = |section| NewSymbol {
        name: 1,
        info: 3,
        other: 0,
        section,
        value: 0,
        size: 0,
        unused_index: 9,
    };
    let symbols: Vec<_> = [SymbolSection::Undefined, SymbolSection::Index(0xfeff), SymbolSection::Index(66_000)]
        .map(symbol)
        .to_vec();
    let (table, extended) = encode_symbols(&symbols);
    let extended = extended.unwrap();
    assert_eq!(extended, [9u32, 9, 66_000].map(u32::to_le_bytes).concat());
    list.push(ImageSection {
        link: 1,
        entsize: 24,
        ..section(0, SHT_SYMTAB, 0, 8, &table)
    });
    list.push(ImageSection {
        link: 2,
        ..section(0, SHT_SYMTAB_SHNDX, 0, 4, &extended)
    });
    list.resize(66_010, section(0, SHT_PROGBITS, 0, 1, &[]));
    let out = image(ET_REL, WriterKind::Linker, list).emit().unwrap();
    let cubin = Cubin::parse(&out).unwrap();
    assert_eq!(cubin.header().e_shnum.get(), 0);
    assert_eq!(cubin.section_headers().len(), 66_011);
    assert_eq!(cubin.symbol(1).unwrap().section, SymbolSection::Index(0xfeff));
    assert_eq!(cubin.symbol(2).unwrap().section, SymbolSection::Index(66_000));
    assert_eq!(cubin.symbol(2).unwrap().entry.st_shndx.get(), SHN_XINDEX);
    assert_eq!(encode_symbols(&symbols[..2]).1, None);
}

#[test]
fn the_finalizer_counts_one_section_more() {
    for (writer, sections, field) in [
        (WriterKind::Finalizer, 65_280, 65_280),
        (WriterKind::Finalizer, 65_281, 0),
        (WriterKind::Linker, 65_280, 0),
        (WriterKind::Linker, 65_279, 65_279),
    ] {
        let mut list = vec![section(1, SHT_STRTAB, 0, 1, b"\0.shstrtab\0")];
        list.resize(sections - 1, section(0, SHT_PROGBITS, 0, 1, &[]));
        let out = image(ET_REL, writer, list).emit().unwrap();
        let cubin = Cubin::parse(&out).unwrap();
        assert_eq!(cubin.header().e_shnum.get(), field);
        assert_eq!(cubin.section_headers().len(), sections);
    }
}

#[test]
fn strings_keep_the_callers_order() {
    let mut table = StringTable::new();
    assert_eq!(table.intern(b""), 0);
    assert_eq!(table.intern(b"b"), 1);
    assert_eq!(table.intern(b"a"), 3);
    assert_eq!(table.intern(b"b"), 1);
    assert_eq!(table.append(b"b"), 5);
    assert_eq!(table.append(b""), 7);
    assert_eq!(table.intern(b""), 0);
    assert_eq!(table.find(b"b"), Some(1));
    assert_eq!(table.into_bytes(), b"\0b\0a\0b\0\0");
}
