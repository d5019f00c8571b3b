//! `--why-live`: the chain that keeps a function or a variable in the output, in words, one line per step.

use crate::cli::{culd_text, map};
use culd_engine::explain::why::*;

/// The answer for one symbol.
pub fn text(why: &WhyLive) -> String {
    let name = culd_text::name(&why.symbol);
    match &why.answer {
        Answer::Unknown => format!("{name}: no input mentions it\n"),
        Answer::Dropped(reason) => format!("{name} is dropped: {}\n", map::reason(reason)),
        Answer::Live(chain) => {
            let steps = chain.iter().map(|step| format!("  {}\n", words(step)));
            format!("{name} is kept:\n{}", steps.collect::<String>())
        }
    }
}

fn words(step: &Step) -> String {
    let name = culd_text::short_name(&step.symbol);
    match step.how {
        How::Kernel => format!("kernel {name}"),
        How::Stub => format!("stub of a unified function {name}"),
        How::Variable => format!("variable {name}, which is always kept"),
        How::Everything => format!("{name}, like everything in this kind of link"),
        How::Called => format!("calls {name}"),
        How::CalledThroughPointer => format!("calls through a pointer that may lead to {name}"),
        How::AddressTaken => format!("takes the address of {name}"),
        How::Initial => format!("holds the address of {name}"),
        How::Used => format!("uses {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use culd_engine::explain::map::DropReason;

    fn why(answer: Answer) -> String {
        text(&WhyLive {
            symbol: "_Z1gv".into(),
            answer,
        })
    }

    #[test]
    fn chains_read_from_the_kernel_down() {
        let step = |symbol: &str, how| Step {
            symbol: symbol.into(),
            how,
        };
        let chain = vec![
            step("_Z1kv", How::Kernel),
            step("_Z1fi", How::Called),
            step("_Z1gv", How::AddressTaken),
        ];
        assert_eq!(
            why(Answer::Live(chain)),
            "g() [_Z1gv] is kept:\n  kernel k()\n  calls f(int)\n  takes the address of g()\n"
        );
    }

    #[test]
    fn what_is_not_there_has_a_reason() {
        assert_eq!(why(Answer::Unknown), "g() [_Z1gv]: no input mentions it\n");
        assert_eq!(
            why(Answer::Dropped(DropReason::NotUsed)),
            "g() [_Z1gv] is dropped: nothing launches it\n"
        );
    }
}
