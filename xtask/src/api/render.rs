//! Tokens as a person would write them.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// The text of a part of the syntax tree, on one line.
pub(super) fn text(part: &impl ToTokens) -> String {
    let mut words = Vec::new();
    flatten(part.to_token_stream(), &mut words);
    join(&words)
}

/// Words and punctuation; punctuation that belongs together (`->`, `::`) is one entry.
fn flatten(tokens: TokenStream, words: &mut Vec<String>) {
    let mut joint = false;
    for token in tokens {
        let mut next_joint = false;
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(open.to_owned());
                flatten(group.stream(), words);
                words.push(close.to_owned());
            }
            TokenTree::Punct(p) => {
                // brackets of generics stay single: `Vec<Vec<u8>>` has two ends
                next_joint = p.spacing() == Spacing::Joint && !matches!(p.as_char(), '<' | '>');
                append(words, p.as_char().to_string(), joint);
            }
            other => append(words, other.to_string(), joint),
        }
        joint = next_joint;
    }
    words.retain(|w| !w.is_empty());
}

fn append(words: &mut Vec<String>, word: String, joint: bool) {
    match words.last_mut() {
        Some(last) if joint => last.push_str(&word),
        _ => words.push(word),
    }
}

fn join(words: &[String]) -> String {
    let mut out = String::new();
    for (n, word) in words.iter().enumerate() {
        // the comma after the last parameter, where the source has it on a line of its own
        let is_last_comma = word == "," && words.get(n + 1).is_some_and(|next| matches!(next.as_str(), ")" | ">" | "]"));
        if is_last_comma {
            continue;
        }
        let previous = n.checked_sub(1).and_then(|p| words.get(p)).map_or("", String::as_str);
        let opens = matches!(previous, "" | "(" | "[" | "<" | "&" | "::" | "?" | "*" | "!" | "#") || previous.ends_with("::<");
        let closes = matches!(
            word.as_str(),
            "," | ")" | "]" | ">" | "<" | "::" | ":" | ";" | "?" | "(" | "!" | ".." | "..="
        );
        let keeps = word == "(" && matches!(previous, "->" | "," | "=" | ":" | "+" | "mut" | "dyn" | "impl" | "for" | "=>");
        if !opens && (!closes || keeps) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn spaces_are_as_in_source_text() {
        for source in [
            "fn f<'d>(&'d self, n: &mut Vec<Vec<u8>>) -> Result<(), Error<'d>>",
            "impl<P: AsRef<Path>> From<P> for [u8; 2]",
            "fn g(x: (u8, u16), f: impl Fn(usize) -> bool + 'static)",
        ] {
            let tokens: TokenStream = source.parse().expect("tokens");
            assert_eq!(text(&tokens), source);
        }
    }
}
