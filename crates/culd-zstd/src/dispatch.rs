//! Functions that are compiled twice, with and without BMI instructions.
//!
//! Shifts by a number that is not known are most of what reading bits costs. x86 processors with BMI have better
//! instructions for them, but a portable program must check for BMI first. `dispatch_bmi!` calls a function in one of two copies:
//!
//! 1. The function is always inlined, so that each copy is compiled with the instructions of the function around it.
//! 2. One copy may use BMI and is called when the processor has it; what it has is asked once and remembered by the standard library.
//! 3. Both do the same; a test compares them.

/// Calls `function(arguments)` in the copy that fits the processor; each argument is a variable and its type.
macro_rules! dispatch_bmi {
    ($function:path as ($($name:ident: $type:ty),*) $(-> $out:ty)?) => {{
        #[inline(never)]
        fn plain($($name: $type),*) $(-> $out)? {
            $function($($name),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "bmi1,bmi2,lzcnt")]
        fn with_bmi($($name: $type),*) $(-> $out)? {
            $function($($name),*)
        }
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_bmi() {
            // SAFETY: the processor has the instructions that the copy is compiled for; there is no other condition.
            #[allow(unsafe_code, reason = "a copy for other instructions can only be called so")]
            return unsafe { with_bmi($($name),*) };
        }
        plain($($name),*)
    }};
}

/// True where the processor has the instructions of the second copies.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_bmi() -> bool {
    use std::arch::is_x86_feature_detected as has;
    #[cfg(test)]
    if tests::PLAIN.get() {
        return false;
    }
    has!("bmi1") && has!("bmi2") && has!("lzcnt")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::cell::Cell;

    thread_local! {
        /// Set while this thread is to use the first copies.
        pub(super) static PLAIN: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn both_copies_give_the_same() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
        let mut frames = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let mut frame = std::fs::read(entry.unwrap().path()).unwrap();
            frames += 1;
            // As it is, and with a damaged byte in many places.
            for at in (0..frame.len()).step_by(1 + frame.len() / 100) {
                let [fast, plain] = [false, true].map(|plain| {
                    PLAIN.set(plain);
                    crate::decompress(&frame, 1 << 20)
                });
                assert_eq!(fast, plain);
                frame[at] ^= 0x55;
            }
        }
        PLAIN.set(false);
        assert!(frames > 15);
    }
}
