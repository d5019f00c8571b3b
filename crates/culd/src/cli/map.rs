//! The link map as text: one block per output section in file order, one line per input section and per symbol in it, by offset; then
//! shared memory, then everything that was dropped with the reason. C++ names are demangled beside the name in the file.

use crate::cli::culd_text;
use culd_engine::explain::map::*;
use std::fmt::Write;

/// The map as text.
pub fn text(map: &LinkMap, output: &str, target: &str) -> String {
    let mut out = format!("Link map of {output} for {target}\n");
    for section in &map.sections {
        let (name, offset, size, align) = (&section.name, section.offset, section.size, section.align);
        let _ = writeln!(out, "\n{name}  at {offset:#x}, {size} bytes, align {align}");
        section_lines(section, &mut out);
    }
    if !map.shared.is_empty() {
        out += "\nShared memory\n";
    }
    for var in &map.shared {
        let whose = var.kernel.as_deref().map(|k| format!("  of {}", culd_text::short_name(k)));
        let name = culd_text::name(&var.name);
        line(
            &mut out,
            var.offset,
            var.size,
            &format!("    {name}  {}{}", var.input, whose.unwrap_or_default()),
        );
    }
    if !map.dropped.is_empty() {
        out += "\nDropped\n";
    }
    for dropped in &map.dropped {
        let name = culd_text::name(&dropped.name);
        let _ = writeln!(out, "{:>21}  {}  {name}: {}", dropped.size, dropped.input, reason(&dropped.why));
    }
    out
}

fn line(out: &mut String, offset: u64, size: u64, rest: &str) {
    let _ = writeln!(out, "  {offset:>#10x} {size:>8}  {rest}");
}

/// Input sections and symbols, merged by offset; a section comes before the symbols in it.
fn section_lines(section: &MapSection, out: &mut String) {
    let mut pieces = section.pieces.iter().peekable();
    for symbol in &section.symbols {
        while let Some(piece) = pieces.next_if(|p| p.offset <= symbol.offset) {
            piece_line(piece, out);
        }
        let name = culd_text::name(&symbol.name);
        let kernel = if symbol.kind == SymbolKind::Kernel { "kernel " } else { "" };
        // The input is named where the section's line does not do it.
        let alone = section.pieces.is_empty();
        let input = symbol.input.as_deref().filter(|_| alone).map(|i| format!("  {i}"));
        line(
            out,
            symbol.offset,
            symbol.size,
            &format!("    {kernel}{name}{}", input.unwrap_or_default()),
        );
    }
    pieces.for_each(|piece| piece_line(piece, out));
}

fn piece_line(piece: &MapPiece, out: &mut String) {
    line(out, piece.offset, piece.size, &format!("{}({})", piece.input, piece.section));
}

/// Why something was dropped, in words.
pub fn reason(why: &DropReason) -> String {
    match why {
        DropReason::Unreached => "no kernel reaches it".into(),
        DropReason::NotUsed => "nothing launches it".into(),
        DropReason::OtherCopy(input) => format!("the copy in {input} was taken"),
        DropReason::Merged => "the same bytes were already there".into(),
        DropReason::Unnamed => "no symbol is defined in it".into(),
        DropReason::Ignored => "it has no meaning in a linked file".into(),
        DropReason::AddressUnused(function) => format!("no kernel reaches {function} through it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_pieces_symbols_and_reasons() {
        let map = LinkMap {
            sections: vec![MapSection {
                name: ".nv.global.init".into(),
                offset: 0xf00,
                size: 8,
                align: 4,
                pieces: vec![MapPiece {
                    offset: 4,
                    size: 4,
                    input: "libx.a:b.o".into(),
                    section: ".nv.global.init".into(),
                }],
                symbols: vec![MapSymbol {
                    name: "gb".into(),
                    offset: 4,
                    size: 4,
                    input: Some("libx.a:b.o".into()),
                    kind: SymbolKind::Variable,
                }],
            }],
            shared: vec![MapShared {
                name: "tile".into(),
                offset: 0x400,
                size: 64,
                input: "a.cubin".into(),
                kernel: Some("_Z1kv".into()),
            }],
            dropped: vec![Dropped {
                name: "_Z1fi".into(),
                size: 384,
                input: "c.cubin".into(),
                why: DropReason::OtherCopy("a.cubin".into()),
            }],
        };
        assert_eq!(
            text(&map, "out.cubin", "sm_90"),
            "Link map of out.cubin for sm_90\n\n.nv.global.init  at 0xf00, 8 bytes, align 4\n         0x4        4  libx.a:b.o(.nv.global.init)\n         \
             0x4        4      gb\n\nShared memory\n       0x400       64      tile  a.cubin  of k()\n\nDropped\n                  384  c.cubin  \
             f(int) [_Z1fi]: the copy in a.cubin was taken\n"
        );
    }
}
