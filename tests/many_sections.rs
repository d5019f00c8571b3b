//! Files with more sections than a symbol's field can count: an object of static functions, linked many times into one relocatable output.
//!
//! 1. With both views (sm_100) the output is read symbol by symbol and linked again.
//! 2. With one view (sm_90) the place of `.symtab_shndx` is that of each release of nvlink.

use cubin::consts::{SHN_XINDEX, SHT_CUDA_MERC_SYMTAB, STT_FUNC};
use cubin::raw::Sym;
use cubin::read::{Cubin, Section, SymbolSection, string_at};
use culd_tests::fixture::{Fixture, VERSION_VARIABLE};
use culd_tests::linker::linker;
use culd_tests::run;
use std::path::Path;
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

type Failure = Box<dyn std::error::Error>;

/// Copies of the object; each adds 256 sections.
const COPIES: usize = 260;
const MOST: usize = 65_280;

fn named<'d>(cubin: &Cubin<'d>, name: &[u8]) -> Result<Section<'d>, Failure> {
    Ok(cubin
        .section_by_name(name)
        .ok_or_else(|| format!("no {}", String::from_utf8_lossy(name)))?)
}

/// Every function of the SASS view is in the code section of its name.
fn check_sass(cubin: &Cubin<'_>) -> Result<usize, Failure> {
    let mut functions = 0;
    for symbol in cubin.symbols() {
        let symbol = symbol?;
        if let (STT_FUNC, SymbolSection::Index(i)) = (symbol.entry.kind(), symbol.section) {
            assert_eq!(cubin.section(i)?.name, [b".text.", symbol.name].concat());
            functions += 1;
        }
    }
    Ok(functions)
}

/// Every function of the Mercury view is in a capsule of its name, every variable in the initialised data. Gives the number of extended indices.
fn check_mercury(cubin: &Cubin<'_>) -> Result<usize, Failure> {
    let table = named(cubin, b".nv.merc.symtab")?;
    assert_eq!(table.header.sh_type.get(), SHT_CUDA_MERC_SYMTAB);
    let indices = named(cubin, b".nv.merc.symtab_shndx")?;
    assert_eq!(indices.header.sh_link.get(), table.index);
    let symbols = <[Sym]>::ref_from_bytes(table.data).map_err(|e| e.to_string())?;
    let indices = <[U32]>::ref_from_bytes(indices.data).map_err(|e| e.to_string())?;
    let mut extended = 0;
    for (symbol, index) in symbols.iter().zip(indices) {
        let name = string_at(cubin.strings(), symbol.st_name.get()).unwrap_or_default();
        let section = match symbol.st_shndx.get() {
            0 => continue,
            SHN_XINDEX => {
                extended += 1;
                index.get()
            }
            direct => direct.into(),
        };
        let section = cubin.section(section)?.name;
        if symbol.kind() == STT_FUNC {
            assert_eq!(section, [b".nv.capmerc.text.", name].concat());
        } else if name == b"table" {
            assert_eq!(section, b".nv.merc.nv.global.init");
        }
    }
    Ok(extended)
}

#[test]
fn more_than_65280_sections() -> Result<(), Failure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rlink-static-many-100.fixture");
    let fixture = Fixture::decode(&std::fs::read(path)?)?;
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("s.cubin"), fixture.inputs.get("s.cubin").ok_or("no input")?)?;
    let culd = linker()?;
    let inputs = "s.cubin ".repeat(COPIES);
    let outcome = run::link(&culd, &format!("-arch=sm_100 --verify -r {inputs} -o r.cubin"), dir.path(), None)?;
    assert_eq!(outcome.exit, 0, "{}", String::from_utf8_lossy(&outcome.stderr));
    let file = std::fs::read(dir.path().join("r.cubin"))?;
    let cubin = Cubin::parse(&file)?;
    assert!(cubin.section_headers().len() > MOST);
    assert_eq!(
        named(&cubin, b".symtab_shndx")?.header.sh_link.get(),
        cubin.symtab_section().unwrap_or_default()
    );
    assert_eq!(check_sass(&cubin)?, 64 * COPIES);
    assert!(check_mercury(&cubin)? > 0);
    let outcome = run::link(&culd, "-arch=sm_100 --verify r.cubin -o final.cubin", dir.path(), None)?;
    assert_eq!(outcome.exit, 0, "{}", String::from_utf8_lossy(&outcome.stderr));
    Ok(())
}

/// The names of the sections before and after `.symtab_shndx` under the name nvlink, and the bytes between the symbol table and the section after it.
fn place_of_indices(version: &str) -> Result<(Vec<u8>, Vec<u8>, u64), Failure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rlink-static-many.fixture");
    let fixture = Fixture::decode(&std::fs::read(path)?)?;
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("s.cubin"), fixture.inputs.get("s.cubin").ok_or("no input")?)?;
    let nvlink = run::as_nvlink(&linker()?, dir.path())?;
    let inputs = "s.cubin ".repeat(2 * COPIES);
    let args = format!("-arch=sm_90 -r {inputs} -o r.cubin");
    let outcome = run::link_with(&nvlink, &args, dir.path(), None, &[(VERSION_VARIABLE, version)])?;
    assert_eq!(outcome.exit, 0, "{}", String::from_utf8_lossy(&outcome.stderr));
    let file = std::fs::read(dir.path().join("r.cubin"))?;
    let cubin = Cubin::parse(&file)?;
    assert!(cubin.section_headers().len() > MOST);
    assert_eq!(check_sass(&cubin)?, 2 * 64 * COPIES);
    let indices = named(&cubin, b".symtab_shndx")?;
    let (before, after) = (cubin.section(indices.index - 1)?, cubin.section(indices.index + 1)?);
    let table = named(&cubin, b".symtab")?;
    let next = cubin.section(table.index + 1)?;
    let end = table.header.sh_offset.get() + table.header.sh_size.get();
    let free = next.header.sh_offset.get() - end;
    assert!(free == 0 || free == indices.header.sh_size.get());
    let gap = file.get(end as usize..(end + free) as usize).ok_or("past the end")?;
    assert!(gap.iter().all(|&b| b == 0));
    Ok((before.name.to_vec(), after.name.to_vec(), free))
}

#[test]
fn extended_indices_have_the_place_of_the_release() -> Result<(), Failure> {
    let (before, after, free) = place_of_indices("13.2")?;
    assert_eq!((&before[..], &after[..], free), (&b".symtab"[..], &b".debug_frame"[..], 0));
    for version in ["13.3", "13.4"] {
        let (before, after, free) = place_of_indices(version)?;
        assert_eq!((&before[..], &after[..]), (&b".debug_frame"[..], &b".note.nv.tkinfo"[..]));
        assert!(free > 0);
    }
    Ok(())
}
