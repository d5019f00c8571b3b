//! The command line as the linked file records it.
//!
//! Only flags that were given appear, in the fixed order of the flag table, under their short names, with values in normal form:
//! `-name value `; switches have an empty value, hence two blanks. The long form (with `-g` or `--verbose-tkinfo true`) starts with
//! the inputs and also names files, by the last part of their paths.

use crate::cli::flags::{self, Flag, Recorded};
use crate::cli::parse::{LowArgs, Value};

/// Builds the recorded command line.
pub fn command_line(low: &LowArgs, long_form: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if long_form {
        let names: Vec<&[u8]> = low.inputs.iter().map(|i| file_name(i)).collect();
        out.extend(names.join(&b','));
        out.push(b' ');
    }
    let mut flags: Vec<(u8, &Flag)> = flags::all()
        .filter_map(|f| match f.recorded {
            Recorded::At(n) => Some((n, f)),
            Recorded::LongFormAt(n) if long_form => Some((n, f)),
            _ => None,
        })
        .collect();
    flags.sort_by_key(|(n, _)| *n);
    for (_, flag) in flags {
        let Some(value) = low.get(flag.id) else { continue };
        out.push(b'-');
        // The one flag without a short name leaves a bare dash.
        out.extend(flag.short.unwrap_or_default().bytes());
        out.push(b' ');
        out.extend(normal_form(value, flag));
        out.push(b' ');
    }
    out
}

/// A value as it is recorded.
fn normal_form(value: &Value, flag: &Flag) -> Vec<u8> {
    match value {
        Value::On => Vec::new(),
        Value::Text(text) if matches!(flag.recorded, Recorded::LongFormAt(_)) => file_name(text).to_vec(),
        Value::Text(text) => text.clone(),
        Value::Number(n) => n.to_string().into_bytes(),
        Value::Boolean(b) => b.to_string().into_bytes(),
        Value::List(items) => items.join(&b','),
    }
}

/// The part of a path after its last separator.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| std::path::is_separator(b.into())).next().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use culd_engine::Identity;

    fn record(line: &str, long_form: bool) -> String {
        let args: Vec<Vec<u8>> = line.split(' ').map(|a| a.as_bytes().to_vec()).collect();
        let low = crate::cli::parse::parse(args, Identity::Nvlink, &mut Vec::new()).unwrap();
        String::from_utf8(command_line(&low, long_form)).unwrap()
    }

    #[test]
    fn order_is_fixed_and_values_are_normal() {
        // Both recorded from nvlink.
        assert_eq!(
            record(
                "b.o -L/foo -lcudadevrt -L /bar -cpu-arch=X86_64 -m0x40 --arch sm_90 -o x -maxrregcount=010 -v",
                false
            ),
            "-arch sm_90 -m 64 -l cudadevrt -L /foo,/bar -v  -cpu-arch X86_64 -maxrregcount 8 "
        );
        assert_eq!(
            record(
                "./a.cubin ld/../b.cubin -r -uidx=./u -time=./tq -device-stack-protector=true -g -arch=sm_90 -o ./o.cubin --register-link-binaries=./rq.c",
                true
            ),
            "a.cubin,b.cubin -o o.cubin -g  -arch sm_90 - rq.c -time tq -r  -uidx ./u -device-stack-protector true "
        );
    }
}
