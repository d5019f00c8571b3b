//! Why a function or variable is in the output: the chain that leads from a kernel to it.

use crate::explain;

/// The answer for one symbol.
#[derive(Debug)]
pub struct WhyLive {
    /// The symbol asked about.
    pub symbol: String,
    /// What came of it.
    pub answer: Answer,
}

/// What is known about a symbol.
#[derive(Debug)]
pub enum Answer {
    /// No input mentions it.
    Unknown,
    /// It was dropped: nothing that is kept refers to it.
    Dropped,
    /// It is kept; the first link starts at a root, the last one ends at the symbol.
    Live(Vec<Link>),
}

/// One step of a chain.
#[derive(Debug)]
pub struct Link {
    /// The symbol that this step leads to.
    pub symbol: String,
    /// How.
    pub how: How,
}

/// How a symbol is reached from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A kernel that is kept for its own sake.
    Kernel,
    /// Everything is kept: `-g`, `-r` or `--preserve-relocs`.
    Everything,
    /// Called by name.
    Called,
    /// May be called through a pointer of its type.
    CalledThroughPointer,
    /// Its address is taken.
    AddressTaken,
}

impl WhyLive {
    /// The answer in words, one line per step.
    pub fn text(&self) -> String {
        let name = explain::name(&self.symbol);
        match &self.answer {
            Answer::Unknown => format!("{name}: no input mentions it\n"),
            Answer::Dropped => format!("{name}: dropped, nothing that is kept refers to it\n"),
            Answer::Live(chain) => {
                let steps = chain.iter().map(|link| {
                    let how = match link.how {
                        How::Kernel => "kernel",
                        How::Everything => "kept like everything in this kind of link:",
                        How::Called => "calls",
                        How::CalledThroughPointer => "calls through a pointer that may lead to",
                        How::AddressTaken => "takes the address of",
                    };
                    format!("  {how} {}\n", explain::short_name(&link.symbol))
                });
                format!("{name} is kept:\n{}", steps.collect::<String>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_read_from_the_kernel_down() {
        let step = |symbol: &str, how| Link {
            symbol: symbol.into(),
            how,
        };
        let why = WhyLive {
            symbol: "_Z1gv".into(),
            answer: Answer::Live(vec![
                step("_Z1kv", How::Kernel),
                step("_Z1fi", How::Called),
                step("_Z1gv", How::AddressTaken),
            ]),
        };
        assert_eq!(
            why.text(),
            "g() [_Z1gv] is kept:\n  kernel k()\n  calls f(int)\n  takes the address of g()\n"
        );
    }
}
