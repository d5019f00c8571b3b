//! Result codes of the interface.

/// Which interface a library has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// `libnvJitLink.so.12`: codes above 8 do not exist.
    Cuda12,
    /// `libnvJitLink.so.13`.
    Cuda13,
}

impl Flavour {
    /// The name of the library.
    pub fn library(self) -> &'static str {
        match self {
            Flavour::Cuda12 => "libnvJitLink.so.12",
            Flavour::Cuda13 => "libnvJitLink.so.13",
        }
    }

    /// The log for LTO IR in a link without `-lto`.
    pub(crate) fn lto_not_enabled(self) -> &'static str {
        match self {
            Flavour::Cuda12 => "ERROR 1: TODO: nvvm input without LTO\n",
            Flavour::Cuda13 => "ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)\n",
        }
    }
}

/// A result; the numbers are those of the header of CUDA 13.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the header")]
#[non_exhaustive]
#[repr(i32)]
pub enum Code {
    Success = 0,
    UnrecognizedOption = 1,
    MissingArch = 2,
    InvalidInput = 3,
    PtxCompile = 4,
    NvvmCompile = 5,
    Internal = 6,
    UnrecognizedInput = 8,
    NullInput = 10,
    IncompatibleOptions = 11,
    IncorrectInputType = 12,
    UnrecognizedArch = 16,
    UnsupportedArch = 17,
    LtoNotEnabled = 18,
}

impl Code {
    /// The number that a library of this flavour returns.
    pub fn number(self, flavour: Flavour) -> i32 {
        let number = self as i32;
        match (flavour, self) {
            (Flavour::Cuda12, Code::LtoNotEnabled) => Code::Internal as i32,
            (Flavour::Cuda12, Code::UnrecognizedInput) => number,
            (Flavour::Cuda12, _) if number > 7 => Code::InvalidInput as i32,
            _ => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_12_has_no_code_above_eight() {
        assert_eq!(Code::UnrecognizedInput.number(Flavour::Cuda12), 8);
        assert_eq!(Code::NullInput.number(Flavour::Cuda12), 3);
        assert_eq!(Code::LtoNotEnabled.number(Flavour::Cuda12), 6);
        assert_eq!(Code::LtoNotEnabled.number(Flavour::Cuda13), 18);
        assert_eq!(Code::Internal.number(Flavour::Cuda12), 6);
    }
}
