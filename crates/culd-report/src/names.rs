//! Names for people: the C++ name, and the family of templates that a function belongs to.

/// The C++ name, or the name itself.
pub fn demangled(name: &str) -> String {
    let plain = static_shared(name).unwrap_or(name);
    culd_demangle::readable(plain.as_bytes()).unwrap_or_else(|| plain.to_owned())
}

/// The variable in the name of a static variable of shared memory: `_ZZ1kvE1s` in `$___ZZ1kvE1s__120`.
fn static_shared(name: &str) -> Option<&str> {
    let inner = name.strip_prefix("$__")?;
    let (inner, number) = inner.rsplit_once("__")?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && inner.starts_with("_Z")).then_some(inner)
}

/// A demangled name without return type, template arguments and parameters: `geo::dot` of `T1 geo::dot<double>(const T1 &)`.
///
/// 1. Parameters begin at the last parenthesis that is not inside another bracket and is neither `operator()` nor `(anonymous namespace)`.
/// 2. The return type ends at the last space outside brackets, unless the word before it is `operator`.
/// 3. Template arguments are what `<` and `>` enclose, other than in `operator<` and `<unnamed>`.
pub fn family(demangled: &str) -> String {
    let name = before_parameters(demangled);
    let name = after_return_type(name);
    let plain = without_arguments(name);
    if plain.is_empty() { demangled.to_owned() } else { plain }
}

const UNNAMED: [&str; 2] = ["<unnamed>", "(anonymous namespace)"];

/// Positions of bytes outside brackets, with the depth that is left after each.
fn scan(text: &str, mut see: impl FnMut(usize, u8)) {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(&b) = bytes.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        if let Some(word) = UNNAMED.iter().find(|w| rest.starts_with(**w)) {
            at += word.len();
            continue;
        }
        if depth == 0 && rest.starts_with("operator") {
            let symbols = rest.bytes().skip(8).take_while(|b| b"<>()[]-=!+*/%^&|~,".contains(b)).count();
            // `operator()` takes its own parentheses only; `operator<` those signs that are not template arguments.
            let own = match rest.get(8..).unwrap_or_default() {
                r if r.starts_with("()") || r.starts_with("[]") || r.starts_with("<<") || r.starts_with(">>") || r.starts_with("->") => 2,
                r if r.starts_with("<=>") => 3,
                _ => symbols.min(1),
            };
            at += 8 + own;
            continue;
        }
        if depth == 0 {
            see(at, b);
        }
        match b {
            b'(' | b'<' | b'[' | b'{' => depth += 1,
            b')' | b'>' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
}

fn before_parameters(text: &str) -> &str {
    let mut end = None;
    scan(text, |at, b| {
        if b == b'(' && end.is_none() {
            end = Some(at);
        }
    });
    text.get(..end.unwrap_or(text.len())).unwrap_or(text).trim_end()
}

fn after_return_type(text: &str) -> &str {
    let mut start = 0;
    scan(text, |at, b| {
        if b == b' ' {
            start = at + 1;
        }
    });
    let before = text.get(..start).unwrap_or_default().trim_end();
    // A conversion: `A::operator int`.
    if before.ends_with("operator") {
        return text;
    }
    text.get(start..).unwrap_or(text).trim_start_matches(['*', '&'])
}

fn without_arguments(text: &str) -> String {
    let (mut out, mut from, mut open) = (String::new(), 0, None);
    scan(text, |at, b| {
        if let Some(start) = open.take() {
            // The first byte outside brackets after template arguments.
            out.push_str(text.get(from..start).unwrap_or_default());
            from = at;
        }
        if b == b'<' {
            open = Some(at);
        }
    });
    match open {
        Some(start) => out.push_str(text.get(from..start).unwrap_or_default()),
        None => out.push_str(text.get(from..).unwrap_or_default()),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        for (name, expected) in [
            ("k(int *)", "k"),
            ("void unr<(int)16, double>(T2 *)", "unr"),
            ("T1 geo::dot<double>(const geo::V<T1> &, int)", "geo::dot"),
            ("<unnamed>::hid(int *)", "<unnamed>::hid"),
            ("(anonymous namespace)::hid(int*)", "(anonymous namespace)::hid"),
            ("void a::B<int>::c<1>(a::B<int>::D)", "a::B::c"),
            ("A::operator()(int) const", "A::operator()"),
            ("A::operator int()", "A::operator int"),
            ("plain_c_name", "plain_c_name"),
            ("void std::f<[lambda(int) (instance 1)]>(T1)", "std::f"),
            ("", ""),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
    }

    #[test]
    fn static_variables_of_shared_memory() {
        assert_eq!(demangled("$___ZZ5use_aiE1a__22"), demangled("_ZZ5use_aiE1a"));
        assert_eq!(demangled("$__x__22"), "$__x__22");
    }
}
