//! Texts with several values in them: lists, option files, response files.
//!
//! * [`split_list`]: a list value. Commas separate, double quotes protect commas and vanish, blanks around an item vanish, empty items
//!   are dropped. A backslash means itself.
//! * [`OptionFile`]: nvlink's option files. White space separates; double quotes protect it; a backslash takes away the meaning of
//!   the next character.
//! * [`split_response`]: culd's `@file`, with the rules of other compilers' response files.

/// A quote that is never closed, or a backslash at the very end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Stray '{0}' character")]
pub struct Stray(&'static str);

/// An open double quote.
const QUOTE: Stray = Stray("\"");
// nvlink quirk: it names the terminating NUL, which prints as nothing.
const END: Stray = Stray("");

/// Cuts blanks (spaces and tabs only) off both ends.
fn trim(item: &[u8]) -> &[u8] {
    let blank = |b: &u8| *b == b' ' || *b == b'\t';
    let start = item.iter().position(|b| !blank(b)).unwrap_or(item.len());
    let end = item.iter().rposition(|b| !blank(b)).map_or(start, |i| i + 1);
    item.get(start..end).unwrap_or_default()
}

/// Splits a list value into its items.
pub fn split_list(value: &[u8]) -> Result<Vec<Vec<u8>>, Stray> {
    let mut items = Vec::new();
    let mut item = Vec::new();
    let mut quoted = false;
    for &b in value {
        match b {
            b'"' => quoted = !quoted,
            b',' if !quoted => items.push(std::mem::take(&mut item)),
            _ => item.push(b),
        }
    }
    if quoted {
        return Err(QUOTE);
    }
    items.push(item);
    Ok(items.iter().map(|i| trim(i).to_vec()).filter(|i| !i.is_empty()).collect())
}

/// The arguments in an nvlink option file, one by one: an error ends it, arguments before the error count.
#[derive(Debug)]
pub struct OptionFile<'t> {
    rest: &'t [u8],
}

impl<'t> OptionFile<'t> {
    /// Reads the text of an option file.
    pub fn new(text: &'t [u8]) -> Self {
        // The text is a C string: a NUL ends it.
        let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        OptionFile {
            rest: text.get(..end).unwrap_or_default(),
        }
    }

    /// Length of the argument at the start of the rest.
    fn raw_len(&self) -> Result<usize, Stray> {
        let mut quoted = false;
        let mut i = 0;
        while let Some(&b) = self.rest.get(i) {
            match b {
                b'\\' if i + 1 == self.rest.len() => return Err(END),
                b'\\' => i += 1,
                b'"' => quoted = !quoted,
                b' ' | b'\t' | b'\r' | b'\n' if !quoted => break,
                _ => {}
            }
            i += 1;
        }
        if quoted { Err(QUOTE) } else { Ok(i.min(self.rest.len())) }
    }
}

impl Iterator for OptionFile<'_> {
    type Item = Result<Vec<u8>, Stray>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.rest.iter().position(|b| !b" \t\r\n".contains(b))?;
        self.rest = self.rest.get(start..).unwrap_or_default();
        Some(self.raw_len().map(|len| {
            let (raw, rest) = self.rest.split_at(len);
            self.rest = rest;
            unquote(trim(&unescape(raw)))
        }))
    }
}

/// Drops each backslash that takes away a meaning.
fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter();
    while let Some(&b) = bytes.next() {
        match b {
            b'\\' => out.extend(bytes.next()),
            _ => out.push(b),
        }
    }
    out
}

/// Drops double quotes.
// nvlink quirk: this runs after unescaping, so an escaped quote vanishes too, and one after an escaped backslash stays.
fn unquote(text: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut previous = 0;
    for &b in text {
        if b != b'"' || previous == b'\\' {
            out.push(b);
        }
        previous = b;
    }
    out
}

/// Splits a response file: white space separates, both kinds of quotes protect, a backslash takes the next character as it is.
pub fn split_response(text: &[u8]) -> Result<Vec<Vec<u8>>, Stray> {
    let mut args = Vec::new();
    let mut arg: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter();
    while let Some(&b) = bytes.next() {
        match (b, quote) {
            (b'\\', _) => {
                let next = *bytes.next().ok_or(END)?;
                arg.get_or_insert_default().push(next);
            }
            (q, Some(open)) if q == open => quote = None,
            (b'"' | b'\'', None) => {
                quote = Some(b);
                arg.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\r' | b'\n', None) => args.extend(arg.take()),
            _ => arg.get_or_insert_default().push(b),
        }
    }
    match quote {
        Some(b'\'') => Err(Stray("'")),
        Some(_) => Err(QUOTE),
        None => {
            args.extend(arg);
            Ok(args)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn list(text: &str) -> Option<String> {
        split_list(text.as_bytes()).ok().map(|l| String::from_utf8(l.join(&b'|')).unwrap())
    }

    #[test]
    fn lists_split_as_nvlink_splits_them() {
        for (value, items) in [
            ("a,b", "a|b"),
            ("", ""),
            (",", ""),
            ("a,,b,", "a|b"),
            ("\"a,b\",c", "a,b|c"),
            ("x\"a\"b", "xab"),
            (" a , b", "a|b"),
            ("\" a \"b ,\"\",c", "a b|c"),
            ("'a,b'", "'a|b'"),
            ("a\\,b", "a\\|b"),
            ("a\n,\rb", "a\n|\rb"),
        ] {
            assert_eq!(list(value).as_deref(), Some(items), "{value:?}");
        }
        assert_eq!(split_list(b"\\\"a"), Err(QUOTE));
    }

    #[test]
    fn option_files_split_as_nvlink_splits_them() {
        // Recorded from nvlink: file text, first argument.
        for (text, first) in [
            ("\\\"a", "a"),
            ("\"a\\\"b\"", "ab"),
            ("\\\\\\\"q", "\\\"q"),
            ("\\\\\"q\"", "\\\"q"),
            ("\"\\\\\"q", "\\\"q"),
            ("\"a\\\\b\"", "a\\b"),
            ("\"a b\"c d", "a bc"),
            ("\\ a", "a"),
            ("\" a \"", " a "),
            ("x\\\"\"y z\"", "xy z"),
            ("\\\\\"\\\\\"", "\\\"\\\""),
            ("\\\\\\\\\"x\"", "\\\\\"x"),
            ("a\\ b\\\\ c", "a b\\"),
            ("a\0b", "a"),
            ("\r\n\x0bb", "\x0bb"),
        ] {
            let got = OptionFile::new(text.as_bytes()).next().unwrap();
            assert_eq!(got, Ok(first.as_bytes().to_vec()), "{text:?}");
        }
        for (text, stray) in [("\"a\\\"", QUOTE), ("\\\\\"q", QUOTE), ("a\\", END), ("\"a\\", END)] {
            assert_eq!(OptionFile::new(text.as_bytes()).next(), Some(Err(stray)), "{text:?}");
        }
        assert_eq!(OptionFile::new(b" \n").next(), None);
    }

    #[test]
    fn response_files_know_both_quotes() {
        let got = split_response(b"-o 'a b' \"c'd\" e\\ f '' g").unwrap();
        assert_eq!(got, ["-o", "a b", "c'd", "e f", "", "g"].map(|s| s.as_bytes().to_vec()));
        assert!(split_response(b"'a").is_err());
    }
}
