//! The texts of `culd_dump` and `culd_diff`: those of the program's commands, without colours.

use crate::boundary::c_text;
use culd_inspect::file::DeviceFile;
use culd_inspect::{TextStyle, diff, dump};
use std::ffi::{CString, c_char};

/// `culd_text`.
#[derive(Debug)]
pub struct Text {
    text: CString,
    good: bool,
}

impl Text {
    fn new(text: &[u8], good: bool) -> Self {
        Text {
            text: c_text(&String::from_utf8_lossy(text)),
            good,
        }
    }

    pub(crate) fn text(&self) -> *const c_char {
        self.text.as_ptr()
    }

    pub(crate) fn is_good(&self) -> bool {
        self.good
    }

    pub(crate) fn defect() -> Self {
        Text::new(b"internal error (please report)", false)
    }
}

pub(crate) fn dumped(name: &str, data: &[u8], json: bool) -> Text {
    let file = DeviceFile::open(data);
    let selection = dump::Selection::default();
    let mut out = Vec::new();
    let outcome = if json {
        dump::write_file_json(&mut out, &file, &selection, name, false)
    } else {
        dump::write_file(&mut out, &file, &selection, name, TextStyle::default(), false)
    };
    Text::new(&out, outcome.is_ok_and(|o| !o.damaged))
}

pub(crate) fn differences(a: &[u8], b: &[u8], json: bool) -> Text {
    let names = ["A", "B"];
    let options = diff::Options {
        demangle: true,
        all: false,
    };
    let report = match diff::compare_files(a, b, names, options) {
        Ok(report) => report,
        Err(problem) => return Text::new(problem.as_bytes(), false),
    };
    let mut out = Vec::new();
    let written = if json {
        diff::write_json(&mut out, &report, names)
    } else {
        diff::write_text(&mut out, &report, names, options, TextStyle::default())
    };
    Text::new(&out, written.is_ok() && report.is_same())
}
