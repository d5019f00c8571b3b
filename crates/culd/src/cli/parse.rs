//! Low-level arguments: what was typed, value by value, by nvlink's grammar.
//!
//! 1. Go through the arguments in order; the first problem ends the run.
//! 2. A lone `-` and everything without a dash in front is an input.
//! 3. `--name` is looked up among long names, `-name` among short ones, both up to the first `=`; then single letters with a glued
//!    value (`-lfoo`).
//! 4. Take the value: after `=`, glued, or the next argument. Check it against the flag's kind and allowed values.
//! 5. Lists add up. Another value for anything else replaces the first and warns.
//! 6. Option files are read where they are named, and their arguments are treated as if they were typed there; a flag at the end of a file
//!    does not take its value from after it.

use crate::cli::called::Called;
use crate::cli::flags::{self, Flag, Id, Kind};
use crate::cli::os;
use crate::cli::tokens::{self, OptionFile, Stray};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Option files may be nested this deep.
const MAX_DEPTH: usize = 15;

/// The value of a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A switch is on.
    On,
    /// A text.
    Text(Vec<u8>),
    /// A number.
    Number(i32),
    /// `true` or `false`.
    Boolean(bool),
    /// Items of a list, all occurrences together.
    List(Vec<Vec<u8>>),
}

/// What was typed.
#[derive(Debug, Default)]
pub struct LowArgs {
    values: BTreeMap<Id, Value>,
    /// Inputs in order. There can be many, so that copies of the list share it.
    pub inputs: Arc<[Vec<u8>]>,
    /// Option and response files that were read, in order.
    pub files_read: Vec<Vec<u8>>,
}

impl LowArgs {
    /// The value of a flag, if it was given.
    pub fn get(&self, id: Id) -> Option<&Value> {
        self.values.get(&id)
    }

    /// Gives a flag a text, as if it were on the command line.
    pub fn set_text(&mut self, id: Id, text: Vec<u8>) {
        self.values.insert(id, Value::Text(text));
    }

    /// Whether a flag was given at all.
    pub fn has(&self, id: Id) -> bool {
        self.values.contains_key(&id)
    }

    /// The text of a flag.
    pub fn text(&self, id: Id) -> Option<&[u8]> {
        match self.get(id) {
            Some(Value::Text(t)) => Some(t),
            _ => None,
        }
    }

    /// The items of a list; empty when the flag was not given.
    pub fn list(&self, id: Id) -> &[Vec<u8>] {
        match self.get(id) {
            Some(Value::List(l)) => l,
            _ => &[],
        }
    }

    /// A number.
    pub fn number(&self, id: Id) -> Option<i32> {
        match self.get(id) {
            Some(Value::Number(n)) => Some(*n),
            _ => None,
        }
    }

    /// A `true`/`false` value.
    pub fn boolean(&self, id: Id) -> Option<bool> {
        match self.get(id) {
            Some(Value::Boolean(b)) => Some(*b),
            _ => None,
        }
    }
}

/// A command line that makes no sense; the texts are nvlink's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No such flag. Holds the argument without its first dash and its value.
    #[error("Unknown option '{}'", os::lossy(.0))]
    Unknown(Vec<u8>),
    /// The value is missing.
    #[error("argument expected after '{}'", os::lossy(.0))]
    MissingValue(Vec<u8>),
    /// A switch has a value.
    #[error("no argument expected after '{}'", os::lossy(.0))]
    UnexpectedValue(Vec<u8>),
    /// Not a number.
    #[error("'{}': expected a number", os::lossy(.0))]
    NotANumber(Vec<u8>),
    /// A number that does not fit.
    #[error("32-bit integer value ({}) out of range", os::lossy(.0))]
    OutOfRange(Vec<u8>),
    /// Not `true` or `false`.
    #[error("'{}': expected true or false", os::lossy(.0))]
    NotABoolean(Vec<u8>),
    /// Not one of the allowed values.
    #[error("Value '{}' is not defined for option '{flag}'", os::lossy(.value))]
    NotAllowed {
        /// Value as typed.
        value: Vec<u8>,
        /// Long name of the flag.
        flag: &'static str,
    },
    /// Quotes that do not match.
    #[error(transparent)]
    Stray(#[from] Stray),
    /// An option file that cannot be read.
    #[error("Could not open options file '{}'", os::lossy(.0))]
    OptionsFile(Vec<u8>),
    /// Option files nested too deep.
    #[error("Too many options file opened '{}'", os::lossy(.0))]
    TooManyFiles(Vec<u8>),
}

/// Parses a command line. `redefined` receives the long name of each flag whose value was replaced by another, in order, also when
/// parsing fails later.
pub fn parse(args: Vec<Vec<u8>>, called: impl Into<Called>, redefined: &mut Vec<&'static str>) -> Result<LowArgs, ParseError> {
    let mut parser = Parser {
        called: called.into(),
        low: LowArgs::default(),
        inputs: Vec::with_capacity(args.len()),
        redefined,
        depth: 0,
    };
    parser.arguments(args.into_iter().map(Ok))?;
    let inputs = parser.inputs.into();
    Ok(LowArgs { inputs, ..parser.low })
}

struct Parser<'a> {
    called: Called,
    low: LowArgs,
    inputs: Vec<Vec<u8>>,
    redefined: &'a mut Vec<&'static str>,
    depth: usize,
}

/// A lone dash is not a flag.
fn is_flag(argument: &[u8]) -> bool {
    argument.starts_with(b"-") && argument != b"-"
}

/// A flag with the value attached to it.
struct Spelled<'a> {
    flag: &'static Flag,
    attached: Option<&'a [u8]>,
    /// As typed, without the value.
    name: &'a [u8],
}

impl Parser<'_> {
    fn arguments(&mut self, args: impl Iterator<Item = Result<Vec<u8>, Stray>>) -> Result<(), ParseError> {
        let mut args = args.peekable();
        while let Some(arg) = args.next() {
            let arg = arg?;
            match arg.strip_prefix(b"@") {
                Some(file) if !self.called.is_nvlink() => {
                    self.response_file(file)?;
                    continue;
                }
                _ => {}
            }
            if !is_flag(&arg) {
                self.inputs.push(arg);
                continue;
            }
            let spelled = self.look_up(&arg)?;
            if spelled.flag.kind == Kind::Switch {
                if spelled.attached.is_some() {
                    return Err(ParseError::UnexpectedValue(spelled.name.to_vec()));
                }
                self.low.values.insert(spelled.flag.id, Value::On);
                continue;
            }
            let value = match spelled.attached {
                Some(value) => value.to_vec(),
                None if spelled.flag.kind == Kind::OptionalText => match args.next_if(|a| a.as_ref().is_ok_and(|a| !is_flag(a))) {
                    Some(value) => value?,
                    None => spelled.flag.omitted.as_bytes().to_vec(),
                },
                None => args.next().ok_or_else(|| ParseError::MissingValue(spelled.name.to_vec()))??,
            };
            self.give(spelled.flag, &value)?;
        }
        Ok(())
    }

    fn look_up<'a>(&self, arg: &'a [u8]) -> Result<Spelled<'a>, ParseError> {
        let equals = arg.iter().position(|&b| b == b'=');
        let (name, attached) = match equals {
            Some(i) => (arg.get(..i).unwrap_or_default(), arg.get(i + 1..)),
            None => (arg, None),
        };
        let bare = name.get(1..).unwrap_or_default();
        let found = match bare.strip_prefix(b"-") {
            Some(long) => flags::by_long(long, self.called),
            None => flags::by_short(bare, self.called),
        };
        if let Some(flag) = found {
            return Ok(Spelled { flag, attached, name });
        }
        match flags::by_glued_letter(bare, self.called) {
            Some(flag) => Ok(Spelled {
                flag,
                attached: arg.get(2..),
                name,
            }),
            None => Err(ParseError::Unknown(bare.to_vec())),
        }
    }

    /// Enters a value.
    fn give(&mut self, flag: &'static Flag, text: &[u8]) -> Result<(), ParseError> {
        let value = read_value(flag, text, self.called)?;
        let items = match value {
            Value::List(items) => items,
            value => {
                let previous = self.low.values.insert(flag.id, value.clone());
                if previous.is_some_and(|p| p != value) {
                    self.redefined.push(flag.long);
                }
                return Ok(());
            }
        };
        if flag.id == Id::OptionsFile {
            // The note records that option files were used, not which.
            self.low.values.insert(flag.id, Value::List(Vec::new()));
            return items.iter().try_for_each(|file| self.option_file(file));
        }
        match self.low.values.entry(flag.id).or_insert_with(|| Value::List(Vec::new())) {
            Value::List(list) => list.extend(items),
            other => *other = Value::List(items),
        }
        Ok(())
    }

    /// Treats the arguments in an option file as if they were on the command line.
    fn option_file(&mut self, file: &[u8]) -> Result<(), ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(ParseError::TooManyFiles(file.to_vec()));
        }
        let path = os::path(file);
        // nvlink quirk: a directory opens and reads as an empty file.
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(_) if self.called.is_nvlink() && path.is_dir() => Vec::new(),
            Err(_) => return Err(ParseError::OptionsFile(file.to_vec())),
        };
        self.low.files_read.push(file.to_vec());
        self.depth += 1;
        let done = self.arguments(OptionFile::new(&text));
        self.depth -= 1;
        done
    }

    /// The same for a response file.
    fn response_file(&mut self, file: &[u8]) -> Result<(), ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(ParseError::TooManyFiles(file.to_vec()));
        }
        let text = std::fs::read(os::path(file)).map_err(|_| ParseError::OptionsFile(file.to_vec()))?;
        self.low.files_read.push(file.to_vec());
        let args = tokens::split_response(&text)?;
        self.depth += 1;
        let done = self.arguments(args.into_iter().map(Ok));
        self.depth -= 1;
        done
    }
}

/// Reads the text of a value as the flag's kind asks.
fn read_value(flag: &'static Flag, text: &[u8], called: Called) -> Result<Value, ParseError> {
    let not_allowed = || ParseError::NotAllowed {
        value: text.to_vec(),
        flag: flag.long,
    };
    match flag.kind {
        Kind::Switch => Ok(Value::On),
        Kind::List => Ok(Value::List(tokens::split_list(text)?)),
        Kind::Boolean => match text {
            b"true" => Ok(Value::Boolean(true)),
            b"false" => Ok(Value::Boolean(false)),
            _ => Err(ParseError::NotABoolean(text.to_vec())),
        },
        Kind::Number => {
            let number = read_number(text)?;
            let allowed = |n: &str| n.parse() == Ok(number);
            (!flag.is_restricted() || flag.values(called).any(allowed))
                .then_some(Value::Number(number))
                .ok_or_else(not_allowed)
        }
        Kind::Text | Kind::OptionalText => flag
            .accepts(called, text)
            .then(|| Value::Text(text.to_vec()))
            .ok_or_else(not_allowed),
    }
}

/// Reads a number as C's `strtol` with base 0 does; nothing at all is 0.
fn read_number(text: &[u8]) -> Result<i32, ParseError> {
    if text.is_empty() {
        return Ok(0);
    }
    let wrong = || ParseError::NotANumber(text.to_vec());
    let space = |b: &u8| b" \t\n\x0b\x0c\r".contains(b);
    let start = text.iter().position(|b| !space(b)).ok_or_else(wrong)?;
    let rest = text.get(start..).unwrap_or_default();
    let (negative, rest) = match rest {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, rest),
    };
    let (radix, digits) = match rest {
        [b'0', b'x' | b'X', digits @ ..] => (16, digits),
        [b'0', _, ..] => (8, rest),
        _ => (10, rest),
    };
    let count = digits.iter().take_while(|d| char::from(**d).is_digit(radix)).count();
    let magnitude = digits.iter().take(count).fold(0i64, |n, d| {
        let digit = char::from(*d).to_digit(radix).unwrap_or(0);
        n.saturating_mul(i64::from(radix)).saturating_add(i64::from(digit))
    });
    let signed = if negative { -magnitude } else { magnitude };
    // A number that is too large is said before what follows it.
    let number = i32::try_from(signed).map_err(|_| ParseError::OutOfRange(text.to_vec()))?;
    match count {
        n if n > 0 && n == digits.len() => Ok(number),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn low(line: &str) -> Result<LowArgs, ParseError> {
        let args: Vec<Vec<u8>> = line.split(' ').map(|a| a.as_bytes().to_vec()).collect();
        parse(args, culd_engine::Identity::Nvlink, &mut Vec::new())
    }

    #[test]
    fn values_come_attached_glued_or_next() {
        let low = low("-lfoo=bar -l -v --library=c -m64 -o=x a.o - -arch sm_90 -ghls").unwrap();
        assert_eq!(low.list(Id::Library), [b"foo=bar".to_vec(), b"-v".to_vec(), b"c".to_vec()]);
        assert_eq!(low.number(Id::Machine), Some(64));
        assert_eq!(low.text(Id::Output), Some(&b"x"[..]));
        assert_eq!(*low.inputs, [b"a.o".to_vec(), b"-".to_vec()]);
        assert_eq!(low.text(Id::HostScript), Some(&b"lcs-abs"[..]));
        assert!(!low.has(Id::Verbose));
    }

    #[test]
    fn mistakes_have_nvlinks_words() {
        for (line, words) in [
            ("--foo=bar", "Unknown option '-foo'"),
            ("-verbose", "Unknown option 'verbose'"),
            ("-=x", "Unknown option ''"),
            ("-o", "argument expected after '-o'"),
            ("--verbose=", "no argument expected after '--verbose'"),
            ("-m=64x", "'64x': expected a number"),
            ("-m=", "Value '' is not defined for option 'machine'"),
            ("-m=2147483648x", "32-bit integer value (2147483648x) out of range"),
            ("-maxrregcount=08", "'08': expected a number"),
            ("-maxrregcount=0x", "'0x': expected a number"),
            ("-arch=sm_91", "Value 'sm_91' is not defined for option 'arch'"),
            ("-device-stack-protector=TRUE", "'TRUE': expected true or false"),
            ("-l \"a", "Stray '\"' character"),
            ("-threads=2", "Unknown option 'threads'"),
        ] {
            assert_eq!(low(line).unwrap_err().to_string(), words, "{line}");
        }
    }

    #[test]
    fn another_value_warns_and_wins() {
        let args = ["-m=0x40", "-m64", "-o", "a", "-o", "b", "-o", "b", "-v", "-v"].map(|a| a.as_bytes().to_vec());
        let mut redefined = Vec::new();
        let low = parse(args.to_vec(), culd_engine::Identity::Nvlink, &mut redefined).unwrap();
        assert_eq!((low.text(Id::Output), redefined), (Some(&b"b"[..]), vec!["output-file"]));
    }

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        for (text, number) in [
            ("", 0),
            ("010", 8),
            ("0X1f", 31),
            (" -5", -5),
            ("+7", 7),
            ("00", 0),
            ("-0x10", -16),
            ("2147483647", i32::MAX),
        ] {
            assert_eq!(read_number(text.as_bytes()), Ok(number), "{text:?}");
        }
    }
}
