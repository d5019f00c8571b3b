#![allow(clippy::unwrap_used, reason = "a failing test may panic")]
use super::*;
use crate::Cubin;
use crate::callgraph::CallGraph;
use crate::validate::validate;

fn sm80() -> ObjectBuilder {
    ObjectBuilder::new(Target::sm(80), Form::Cuda13).unwrap()
}

fn function(object: &mut ObjectBuilder, name: &[u8], binding: Binding) -> FunctionId {
    let f = object.declare_function(name, binding).unwrap();
    object.define(f, FunctionCode::new(vec![0; 128], 16)).unwrap();
    object.function_attribute(f, Attribute::half(0x1b, 255)).unwrap();
    object
        .set_resources(
            f,
            Resources {
                registers: 16,
                ..Resources::default()
            },
        )
        .unwrap();
    f
}

fn names(file: &Cubin<'_>) -> Vec<String> {
    file.sections()
        .skip(1)
        .map(|s| String::from_utf8_lossy(s.unwrap().name).into_owned())
        .collect()
}

fn symbol_names(file: &Cubin<'_>) -> Vec<String> {
    file.symbols()
        .skip(1)
        .map(|s| String::from_utf8_lossy(s.unwrap().name).into_owned())
        .collect()
}

#[test]
fn every_form_and_style_is_valid() {
    for form in [Form::Cuda12, Form::Cuda13] {
        for sm in [75, 80, 90] {
            for writer in [WriterKind::Linker, WriterKind::Finalizer] {
                let mut object = ObjectBuilder::with_writer(Target::sm(sm), form, writer).unwrap();
                let kernel = object.declare_kernel(b"k").unwrap();
                let text = object.define(kernel, FunctionCode::new(vec![0; 128], 16).barriers(1)).unwrap();
                object.add_parameters(kernel, 8).unwrap();
                let buffer = object.add_shared(kernel, b"buffer", 64, 16).unwrap();
                let table = object.add_constant(3, b"table", Binding::Local, &[1; 8], 4).unwrap();
                let value = object.add_global_init(b"value", Binding::Weak, &[2; 4], 4).unwrap();
                object.relocate(text, 0, 0x38, value, None).unwrap();
                object.relocate(text, 16, 0x38, table, Some(4)).unwrap();
                object.relocate(text, 32, 0x38, buffer, None).unwrap();
                object.add_debug_frame().unwrap();
                let bytes = object.finish().unwrap();
                let file = Cubin::parse(&bytes).unwrap();
                validate(&file).unwrap_or_else(|e| panic!("sm_{sm} {form:?} {writer:?}: {e}"));
                assert_eq!(names::file_flags(file.header()).sm, sm);
                assert!(crate::roundtrip(&bytes).unwrap() == bytes, "sm_{sm} {form:?} {writer:?}");
                let last = names(&file).pop().unwrap();
                assert_eq!(last == ".nv.constant0.k", writer == WriterKind::Finalizer);
            }
        }
    }
    assert!(ObjectBuilder::new(Target::sm(100), Form::Cuda12).is_err());
}

#[test]
fn sections_have_ranks_and_symbols_two_parts() {
    let mut object = sm80();
    object.add_global(b"late", Binding::Global, 4, 4).unwrap();
    function(&mut object, b"a", Binding::Global);
    function(&mut object, b"b", Binding::Local);
    object.add_constant(3, b"weak", Binding::Weak, &[0; 4], 4).unwrap();
    let bytes = object.finish().unwrap();
    let file = Cubin::parse(&bytes).unwrap();
    let expected = ".shstrtab .strtab .symtab .note.nv.tkinfo .note.nv.cuinfo .nv.info .nv.info.a .nv.info.b .nv.callgraph \
                    .nv.constant3 .text.a .text.b .nv.global";
    assert_eq!(names(&file).join(" "), expected);
    let expected = ".note.nv.tkinfo .note.nv.cuinfo .nv.global .text.a b .text.b .nv.constant3 weak .nv.callgraph late a";
    assert_eq!(symbol_names(&file).join(" "), expected);
    let table = file.section_by_name(b".symtab").unwrap();
    assert_eq!(table.header.sh_info.get(), 10);
}

#[test]
fn weak_symbols_can_come_with_global_ones() {
    let mut object = sm80();
    object.set_weak_order(WeakOrder::WithGlobal);
    object.add_global(b"weak", Binding::Weak, 4, 4).unwrap();
    object.add_global(b"local", Binding::Local, 4, 4).unwrap();
    let bytes = object.finish().unwrap();
    let file = Cubin::parse(&bytes).unwrap();
    assert_eq!(symbol_names(&file).pop().unwrap(), "weak");
}

#[test]
fn deleted_parts_are_gone_and_the_rest_is_renumbered() {
    let mut object = sm80();
    let a = function(&mut object, b"a", Binding::Global);
    let b = function(&mut object, b"b", Binding::Global);
    let c = function(&mut object, b"c", Binding::Global);
    object.add_call(a, b).unwrap();
    object.add_call(b, c).unwrap();
    object.add_call(a, c).unwrap();
    object.delete_function(b).unwrap();
    let (bytes, numbers) = object.finish_numbered().unwrap();
    let file = Cubin::parse(&bytes).unwrap();
    validate(&file).unwrap();
    assert!(!names(&file).iter().any(|n| n.ends_with(".b")));
    // As in objects of ptxas, the name is left in the table.
    assert!(file.section_names().windows(8).any(|w| w == b".text.b\0"));
    let symbols = symbol_names(&file);
    assert!(!symbols.contains(&"b".into()));
    let graph = CallGraph::read(file.section_by_name(b".nv.callgraph").unwrap().data).unwrap();
    let calls: Vec<_> = graph
        .calls
        .iter()
        .map(|p| [p.first.get(), p.second.get()].map(|n| symbols[n as usize - 1].as_str()))
        .collect();
    assert_eq!(calls, [["a", "c"]]);
    assert_eq!(file.section_by_name(b".nv.info").unwrap().data.len(), 2 * 3 * 12);
    assert_eq!(symbols.len() as u32, numbers.symbols.len() as u32);
}

#[test]
fn references_to_deleted_parts_are_errors() {
    let mut object = sm80();
    let a = function(&mut object, b"a", Binding::Global);
    let text = object.text_of(a).unwrap();
    let gone = object.add_global(b"gone", Binding::Global, 4, 4).unwrap();
    object.relocate(text, 0, 0x38, gone, None).unwrap();
    let data = object.section_by_name(b".nv.global").unwrap();
    object.delete_section(data).unwrap();
    let error = object.finish().unwrap_err();
    assert_eq!(error.to_string(), ".rel.text.a references 'gone', which was deleted");

    let mut object = sm80();
    let a = function(&mut object, b"a", Binding::Global);
    let info = object.info_section(a).unwrap();
    let symbol = object.section_symbol(info).unwrap();
    let text = object.text_of(a).unwrap();
    object.relocate(text, 0, 0x38, symbol, None).unwrap();
    assert!(matches!(object.finish(), Err(BuildError::NoSymbol { .. })));
}

#[test]
fn mistakes_are_errors() {
    let mut object = sm80();
    let f = object.declare_function(b"f", Binding::Global).unwrap();
    assert!(matches!(object.declare_kernel(b""), Err(BuildError::Name { .. })));
    assert!(matches!(object.declare_variable(b"a\0b", 4), Err(BuildError::Name { .. })));
    assert!(matches!(object.prototype(b"a\0b"), Err(BuildError::Name { .. })));
    assert!(matches!(
        object.function_attribute(f, Attribute::flag(1)),
        Err(BuildError::NoCode { .. })
    ));
    assert!(matches!(object.add_parameters(f, 8), Err(BuildError::NoCode { .. })));
    let mut bad = FunctionCode::new(vec![0; 16], 8);
    bad.align = 3;
    assert!(matches!(object.define(f, bad), Err(BuildError::Align { .. })));
    object.define(f, FunctionCode::new(vec![0; 16], 8)).unwrap();
    assert!(matches!(
        object.define(f, FunctionCode::new(vec![], 8)),
        Err(BuildError::Redefined { .. })
    ));
    let again = SectionSpec::new(b".text.f");
    assert!(matches!(
        object.add_section(again, SectionContents::NoBits(0)),
        Err(BuildError::DuplicateSection { .. })
    ));
    assert!(matches!(
        object.add_constant(18, b"c", Binding::Local, &[], 4),
        Err(BuildError::Bank { bank: 18 })
    ));
    assert!(matches!(
        object.add_global(b"g", Binding::Local, 4, 1 << 40),
        Err(BuildError::Align { .. })
    ));
    assert!(matches!(
        object.add_global(b"g", Binding::Local, u64::MAX, 4),
        Err(BuildError::TooLarge { .. })
    ));
    let foreign = SymbolId(1000);
    let text = object.text_of(f).unwrap();
    assert!(matches!(
        object.relocate(text, 0, 2, foreign, None),
        Err(BuildError::UnknownId { .. })
    ));
    assert!(matches!(object.delete_section(SectionId(1000)), Err(BuildError::UnknownId { .. })));
    assert!(matches!(object.add_call(f, FunctionId(9)), Err(BuildError::UnknownId { .. })));
    assert!(matches!(
        object.add_indirect_call(f, PrototypeId(9)),
        Err(BuildError::UnknownId { .. })
    ));
    let names = object.section_by_name(b".shstrtab").unwrap();
    assert!(matches!(object.bytes_mut(names), Err(BuildError::NotBytes { .. })));
    object.module_attribute(Attribute::symbol_value(0x2f, foreign, 1)).unwrap();
    assert!(matches!(object.finish(), Err(BuildError::UnknownId { .. })));
}

#[test]
fn without_the_standard_tables_there_is_no_object() {
    let mut object = sm80();
    let names = object.section_by_name(b".shstrtab").unwrap();
    object.delete_section(names).unwrap();
    assert!(matches!(object.finish(), Err(BuildError::Deleted { .. })));
}

#[test]
fn more_sections_than_16_bits_can_count() {
    let mut object = sm80();
    for i in 0..0xff10u32 {
        let spec = SectionSpec::new(format!(".x{i}").as_bytes());
        object.add_section(spec, SectionContents::Bytes(Vec::new())).unwrap();
    }
    let last = object.section_by_name(b".x65295").unwrap();
    let last_symbol = object.section_symbol(last).unwrap();
    let (bytes, numbers) = object.finish_numbered().unwrap();
    let file = Cubin::parse(&bytes).unwrap();
    assert_eq!(file.header().e_shnum.get(), 0);
    assert!(file.section_by_name(b".symtab_shndx").is_some());
    let symbol = file.symbol(numbers.symbol(last_symbol).unwrap()).unwrap();
    assert_eq!(symbol.section, crate::read::SymbolSection::Index(numbers.section(last).unwrap()));
    assert_eq!(symbol.name, b".x65295");
    validate(&file).unwrap();
}

#[test]
fn an_erased_symbol_keeps_its_number() {
    let mut object = ObjectBuilder::new(Target::sm(90), Form::Cuda13).unwrap();
    let cap = object
        .add_symbol(SymbolSpec::new(b".nv.reservedSmem.cap", Binding::Weak, STT_OBJECT))
        .unwrap();
    object.erase_symbol(cap).unwrap();
    let (bytes, numbers) = object.finish_numbered().unwrap();
    let file = Cubin::parse(&bytes).unwrap();
    let symbol = file.symbol(numbers.symbol(cap).unwrap()).unwrap();
    assert_eq!(
        (symbol.name, symbol.entry.st_info, symbol.entry.st_other),
        (&b""[..], 0, STV_INTERNAL)
    );
    assert!(!bytes.windows(6).any(|w| w == b"Smem.c"));
}

#[test]
fn the_value_of_a_shared_variable_is_its_alignment() {
    let mut object = sm80();
    let kernel = object.declare_kernel(b"k").unwrap();
    object.define(kernel, FunctionCode::new(vec![0; 128], 8)).unwrap();
    let variables = [(20, 4), (64, 16)].map(|(size, align)| object.add_shared(kernel, b"v", size, align).unwrap());
    let section = object.section_by_name(b".nv.shared.k").unwrap();
    let (bytes, numbers) = object.finish_numbered().unwrap();
    let file = Cubin::parse(&bytes).unwrap();
    let values = variables.map(|v| file.symbol(numbers.symbol(v).unwrap()).unwrap().entry.st_value.get());
    assert_eq!(values, [4, 16]);
    let header = file.section(numbers.section(section).unwrap()).unwrap().header;
    assert_eq!((header.sh_size.get(), header.sh_addralign.get()), (84, 16));
    validate(&file).unwrap();
}
