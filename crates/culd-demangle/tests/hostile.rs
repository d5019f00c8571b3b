//! Damaged and malicious names: no panic, no overflow of a small stack, bounded time, the name as it is where there is no text.

use culd_demangle::{demangle, display};
use std::time::{Duration, Instant};

/// Far above what any name takes, far below what a runaway takes.
const TIME_LIMIT: Duration = Duration::from_secs(5);

fn vectors() -> impl Iterator<Item = &'static [u8]> {
    include_str!("vectors.tsv")
        .lines()
        .filter_map(|line| Some(line.split_once('\t')?.0.as_bytes()))
}

/// Runs `work` on a thread with the stack of a thread pool's worker cut in half.
fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(result)) => result,
        _ => panic!("the thread ends without a panic"),
    }
}

/// The text of `name`, in bounded time.
fn in_time(name: String) -> Option<String> {
    on_small_stack(move || {
        let start = Instant::now();
        let text = demangle(name.as_bytes());
        assert!(start.elapsed() < TIME_LIMIT, "{} bytes take {:?}", name.len(), start.elapsed());
        text
    })
}

#[test]
fn every_prefix_of_every_vector_is_harmless() {
    for name in vectors() {
        for length in 0..name.len() {
            let _ = display(&name[..length]);
        }
    }
}

#[test]
fn every_damaged_byte_is_harmless() {
    // A fixed linear congruential generator: the same damage in every run.
    let mut state: u32 = 1;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % limit
    };
    let alphabet: Vec<u8> = vectors().flatten().copied().collect();
    let start = Instant::now();
    for name in vectors() {
        for _ in 0..100 {
            let mut name = name.to_vec();
            for _ in 0..=random(3) {
                let place = random(name.len().max(1)).min(name.len().saturating_sub(1));
                match random(4) {
                    0 => name[place] = alphabet[random(alphabet.len())],
                    1 => name[place] ^= 1 << random(8),
                    2 => name.insert(place, alphabet[random(alphabet.len())]),
                    _ if name.len() > 1 => drop(name.remove(place)),
                    _ => (),
                }
            }
            let _ = display(&name);
        }
    }
    assert!(
        start.elapsed() < 12 * TIME_LIMIT,
        "a quarter of a million names take {:?}",
        start.elapsed()
    );
}

#[test]
fn bytes_outside_of_ascii_stay() {
    for name in [
        &b"_Z2\xc3\xa4v"[..],
        b"_Z1fv$\xff",
        b"\xff\xfe",
        b"_Z\0",
        b"_Z1f\0",
        b"",
        b"_",
        b"_Z",
        b"$",
        b"__nv_static_",
    ] {
        assert_eq!(display(name), name);
    }
}

#[test]
fn moderate_nesting_is_printed_in_full() {
    let arguments = 400;
    let name = format!("_Z1f{}i{}", "1AI".repeat(arguments), "E".repeat(arguments));
    let text = format!("f({}int{})", "A<".repeat(arguments), ">".repeat(arguments));
    assert_eq!(in_time(name), Some(text));

    let pointers = 100_000;
    let text = format!("f(int {})", "*".repeat(pointers));
    assert_eq!(in_time(format!("_Z1f{}i", "P".repeat(pointers))), Some(text));

    let functions = 150;
    let text = in_time(format!("_Z1f{}v{}", "PFv".repeat(functions), "E".repeat(functions)));
    let text = text.unwrap_or_default();
    assert!(
        text.starts_with("f(void (*)(void (*)("),
        "nvlink takes exponential time for this one"
    );
    assert_eq!(text.matches("(*)").count(), functions);

    let identifier = "x".repeat(5000);
    assert_eq!(in_time(format!("_Z5000{identifier}v")), Some(format!("{identifier}()")));
    let parameters = in_time(format!("_Z1f{}", "i".repeat(2000))).unwrap_or_default();
    assert_eq!(parameters.matches("int").count(), 2000);
}

#[test]
fn endless_nesting_is_left_alone() {
    let levels = 200_000;
    for (open, close) in [
        ("1AI", "E"),
        ("N1AI", "EE"),
        ("PFv", "E"),
        ("DTng", "E"),
        ("M", ""),
        ("A", ""),
        ("J", ""),
        ("ILi", ""),
        ("NUl", ""),
        ("Z1f", ""),
        ("ZZ", ""),
        ("1AIJ", ""),
        ("1AIXadL_Z1f", ""),
        ("1AIXnw", ""),
        ("1AIXfrpl", ""),
        ("DTsr", ""),
        ("DTdn", ""),
        ("DTcl", ""),
        ("DTgs", ""),
        ("NcvT_I", ""),
        ("Dy", ""),
        ("DO", ""),
    ] {
        for name in [
            format!("_Z1f{}i{}", open.repeat(levels), close.repeat(levels)),
            format!("_Z{}1f{}", open.repeat(levels), close.repeat(levels)),
        ] {
            assert_eq!(in_time(name), None, "{open}");
        }
    }
    assert_eq!(in_time(format!("_Z{}1fv", "T".repeat(levels))), None);
    assert_eq!(in_time(format!("_Z{}1fv", "Th0_".repeat(levels))), None);
    assert_eq!(in_time("_ZDC1a".repeat(levels)), None);
}

#[test]
fn clones_in_a_row_are_harmless() {
    let clones = 2000;
    let text = in_time(format!("_Z1fv{}", "$_Z1gv".repeat(clones))).unwrap_or_default();
    assert_eq!(text.matches("[clone ").count(), clones);
}

/// Checks that `name` has a text for few levels and none for many: it is the size that matters, not a mistake in the name.
fn check_bomb(few: usize, many: usize, name: impl Fn(usize) -> String) {
    assert!(in_time(name(few)).is_some(), "{}", name(few));
    assert_eq!(in_time(name(many)), None);
}

#[test]
fn a_bomb_of_template_arguments_is_left_alone() {
    // Each parameter is a template of the one before it, twice: the text doubles with each.
    check_bomb(8, 60, |levels| {
        let pair = |level| {
            let last = base_36(level * 2);
            format!("1BIS{last}_S{last}_E")
        };
        (0..levels).fold(String::from("_Z1f1AIiE"), |name, level| name + &pair(level))
    });
}

#[test]
fn a_bomb_without_text_is_left_alone() {
    // A vector names its element twice; the elements print nothing.
    check_bomb(8, 64, |levels| format!("_Z1f{}Sc", "Dv4_".repeat(levels)));
    check_bomb(8, 64, |levels| format!("_Z1f{}9_INTERNAL", "Dv4_".repeat(levels)));
}

#[test]
fn a_bomb_of_lambdas_is_left_alone() {
    // The constructor of a lambda records the lambda's parameter types again: the table doubles with each level.
    check_bomb(4, 200, |levels| {
        format!("_Z1f{}P1A{}", "NUl".repeat(levels), "E_C1E".repeat(levels))
    });
}

#[test]
fn a_bomb_of_conversions_is_left_alone() {
    // Arguments after a conversion to a template parameter are read twice: the time doubles with each level.
    check_bomb(3, 100, |levels| {
        format!("_Z1f{}i{}", "N1AcvT_I".repeat(levels), "EE".repeat(levels))
    });
}

#[test]
fn local_names_in_local_names_take_linear_time() {
    let levels = 400;
    let name = format!("_Z{}1fv{}", "Z".repeat(levels), "E1x".repeat(levels));
    assert_eq!(in_time(name), Some(format!("f(){}", "::x".repeat(levels))));
}

fn base_36(mut value: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % 36]);
        value /= 36;
        if value == 0 {
            break;
        }
    }
    digits.iter().rev().copied().map(char::from).collect()
}
