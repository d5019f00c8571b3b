//! Numbers of mangled names: decimal integers, and floating-point literals in the form of C's `%g`.

/// The value of a run of decimal digits.
///
/// nvlink quirk: too large a number wraps around at 64 bits, and may come out negative.
pub(crate) fn parse(digits: &str) -> i64 {
    digits.bytes().fold(0, |value: i64, digit| {
        value.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0')))
    })
}

/// The bits of a floating-point literal: an even number of hexadecimal digits, at most `width`, aligned to the right.
pub(crate) fn float_bits(hex: &[u8], width: usize) -> Option<u64> {
    if hex.len() > width || !hex.len().is_multiple_of(2) {
        return None;
    }
    hex.iter()
        .try_fold(0, |bits, &digit| Some(bits << 4 | u64::from(char::from(digit).to_digit(16)?)))
}

/// `value` as C's `printf("%.<precision>g")` writes it, with `.0` appended to what would read as an integer.
pub(crate) fn float_text(value: f64, precision: usize) -> String {
    let text = general_format(value, precision);
    if text.contains(['.', 'e', 'i', 'n']) { text } else { text + ".0" }
}

fn general_format(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    let scientific = format!("{:.*e}", precision.saturating_sub(1), value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let decimals = i64::try_from(precision).unwrap_or(0) - 1 - exponent;
    if exponent < -4 || decimals < 0 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.unsigned_abs());
    }
    let fixed = format!("{:.*}", usize::try_from(decimals).unwrap_or(0), value);
    without_trailing_zeros(&fixed).to_owned()
}

/// Drops the zeros at the end of a fraction, and its point if nothing is left of it.
fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{float_bits, float_text, parse};

    #[test]
    fn floats_look_like_percent_g() {
        let cases: [(f64, usize, &str); 14] = [
            (0.0, 6, "0.0"),
            (-0.0, 6, "-0.0"),
            (1.0, 6, "1.0"),
            (1.5, 6, "1.5"),
            (100_000.0, 6, "100000.0"),
            (999_999.5, 6, "1e+06"),
            (1_234_567.0, 6, "1.23457e+06"),
            (0.0001, 6, "0.0001"),
            (0.00001, 6, "1e-05"),
            (1e100, 15, "1e+100"),
            (0.1, 15, "0.1"),
            (1.0 / 3.0, 15, "0.333333333333333"),
            (f64::INFINITY, 15, "inf"),
            (f64::NEG_INFINITY, 6, "-inf"),
        ];
        for (value, precision, text) in cases {
            assert_eq!(float_text(value, precision), text);
        }
    }

    #[test]
    fn float_digits_are_right_aligned_pairs() {
        assert_eq!(float_bits(b"3f800000", 8), Some(0x3f80_0000));
        assert_eq!(float_bits(b"01", 8), Some(1));
        assert_eq!(float_bits(b"1", 8), None);
        assert_eq!(float_bits(b"003f800000", 8), None);
    }

    #[test]
    fn large_numbers_wrap_around() {
        assert_eq!(parse("0042"), 42);
        assert_eq!(parse("9223372036854775808"), i64::MIN);
        assert_eq!(parse("18446744073709551617"), 1);
        assert_eq!(parse("99999999999999999999"), 7_766_279_631_452_241_919);
    }
}
