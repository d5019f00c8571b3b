//! The link map: what every part of the output came from, and what did not get there.
//!
//! The text has one block per output section in file order, one line per piece in address order, then everything that was dropped with
//! the reason. C++ names are demangled beside the name in the file.

use crate::explain;
use serde::Serialize;
use std::fmt::Write;

/// Where everything went.
#[derive(Debug, Default, Serialize)]
pub struct LinkMap {
    /// Output sections in file order.
    pub sections: Vec<MapSection>,
    /// What was left out, in link order.
    pub dropped: Vec<Dropped>,
}

/// An output section.
#[derive(Debug, Serialize)]
pub struct MapSection {
    /// Name.
    pub name: String,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Alignment.
    pub align: u64,
    /// What it is made of, by offset. Sections that the linker writes itself have none.
    pub pieces: Vec<Piece>,
}

/// A part of an output section.
#[derive(Debug, Serialize)]
pub struct Piece {
    /// Offset in the section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Input, or `archive:member`.
    pub input: String,
    /// The symbol it belongs to, when there is one.
    pub symbol: Option<String>,
}

/// Something that did not get into the output.
#[derive(Debug, Serialize)]
pub struct Dropped {
    /// Function, variable or section.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Input, or `archive:member`.
    pub input: String,
    /// Why.
    pub why: DropReason,
}

/// Why something was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// No kernel reaches it.
    Unreached,
    /// A kernel that host code does not launch, or that `--kernels-used` does not name.
    NotUsed,
    /// A weak copy; the definition in this input was taken.
    OtherCopy(String),
    /// Equal bytes were already there.
    Merged,
}

impl LinkMap {
    /// The map as text.
    pub fn text(&self, output: &str, target: &str) -> String {
        let mut out = format!("Link map of {output} for {target}\n");
        for section in &self.sections {
            let _ = writeln!(
                out,
                "\n{}  at {:#x}, {} bytes, align {}",
                section.name, section.offset, section.size, section.align
            );
            for piece in &section.pieces {
                let symbol = piece.symbol.as_deref().map(explain::name).unwrap_or_default();
                let line = format!("  {:>#10x} {:>8}  {}  {symbol}", piece.offset, piece.size, piece.input);
                let _ = writeln!(out, "{}", line.trim_end());
            }
        }
        if !self.dropped.is_empty() {
            out += "\nDropped\n";
        }
        for dropped in &self.dropped {
            let why = match &dropped.why {
                DropReason::Unreached => "no kernel reaches it".to_string(),
                DropReason::NotUsed => "nothing launches it".to_string(),
                DropReason::OtherCopy(input) => format!("the copy in {input} was taken"),
                DropReason::Merged => "the same bytes were already there".to_string(),
            };
            let _ = writeln!(
                out,
                "  {:>8}  {}  {}: {why}",
                dropped.size,
                dropped.input,
                explain::name(&dropped.name)
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_pieces_and_reasons() {
        let map = LinkMap {
            sections: vec![MapSection {
                name: ".nv.global.init".into(),
                offset: 0xf00,
                size: 8,
                align: 4,
                pieces: vec![Piece {
                    offset: 4,
                    size: 4,
                    input: "libx.a:b.o".into(),
                    symbol: Some("gb".into()),
                }],
            }],
            dropped: vec![Dropped {
                name: "_Z1fi".into(),
                size: 384,
                input: "c.cubin".into(),
                why: DropReason::OtherCopy("a.cubin".into()),
            }],
        };
        assert_eq!(
            map.text("out.cubin", "sm_90"),
            "Link map of out.cubin for sm_90\n\n.nv.global.init  at 0xf00, 8 bytes, align 4\n         0x4        4  libx.a:b.o  gb\n\n\
             Dropped\n       384  c.cubin  f(int) [_Z1fi]: the copy in a.cubin was taken\n"
        );
    }
}
