//! Texts of PTX modules: functions that take and give a number, kernels that read and write one.
//!
//! What is computed does not matter; constants are random so that no two functions are alike.

use culd_tests::rng::Rng;
use std::fmt::Write as _;

/// A module being written. Writing to a string cannot fail, so the results of `write!` are dropped.
pub(super) struct Module {
    text: String,
    pub(super) rng: Rng,
}

impl Module {
    /// An empty module; `label` seeds the constants.
    pub(super) fn new(arch: &str, label: &str) -> Self {
        Self {
            text: format!(".version 8.8\n.target {arch}\n.address_size 64\n"),
            rng: Rng::new(hash(label)),
        }
    }

    /// The finished text.
    pub(super) fn text(self) -> String {
        self.text
    }

    /// A line as it is.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A function of another module.
    pub(super) fn import(&mut self, name: &str) {
        let _ = writeln!(self.text, ".extern .func (.param .b32 out) {name} (.param .b32 in);");
    }

    /// A function that is defined further down.
    pub(super) fn forward(&mut self, name: &str) {
        let _ = writeln!(self.text, ".visible .func (.param .b32 out) {name} (.param .b32 in);");
    }

    /// A function with `length` rounds of arithmetic and these calls.
    pub(super) fn function(&mut self, linkage: &str, name: &str, length: usize, calls: &[String]) {
        let start = self.rng.below(1 << 20);
        let _ = writeln!(
            self.text,
            "{linkage} .func (.param .b32 out) {name} (.param .b32 in) {{\n .reg .b32 %r<8>;\n ld.param.b32 %r1, [in];\n mov.b32 %r2, {start};"
        );
        self.work(length);
        self.calls(calls);
        self.line(" st.param.b32 [out], %r1;\n ret;\n}");
    }

    /// A kernel with `length` rounds of arithmetic, these calls and then these lines.
    pub(super) fn kernel(&mut self, name: &str, length: usize, calls: &[String], body: &str) {
        let start = self.rng.below(1 << 20);
        let _ = writeln!(
            self.text,
            ".visible .entry {name} (.param .u64 at) {{\n .reg .b32 %r<8>;\n .reg .b64 %d<4>;\n ld.param.b64 %d1, [at];\n \
             ld.global.b32 %r1, [%d1];\n mov.b32 %r2, {start};"
        );
        self.work(length);
        self.calls(calls);
        self.text.push_str(body);
        self.line(" st.global.b32 [%d1], %r1;\n ret;\n}");
    }

    fn work(&mut self, length: usize) {
        for _ in 0..length {
            let factor = self.rng.between(3, 1 << 20);
            let _ = writeln!(self.text, " mad.lo.s32 %r1, %r1, {factor}, %r2;\n xor.b32 %r2, %r2, %r1;");
        }
    }

    fn calls(&mut self, calls: &[String]) {
        for name in calls {
            let _ = writeln!(
                self.text,
                " {{ .param .b32 p;\n .param .b32 q;\n st.param.b32 [p], %r1;\n call.uni (q), {name}, (p);\n ld.param.b32 %r3, [q];\n \
                 add.s32 %r1, %r1, %r3; }}"
            );
        }
    }
}

/// Lines of a kernel that add the 32-bit number at a variable.
pub(super) fn load(variable: &str, kind: &str) -> String {
    format!(" mov.u64 %d2, {variable};\n ld.global.{kind} %r3, [%d2];\n add.s32 %r1, %r1, %r3;\n")
}

/// FNV-1a: the same on every machine.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
