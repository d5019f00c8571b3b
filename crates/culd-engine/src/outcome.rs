//! Result of a link.

use crate::diagnostics::Diagnostic;
use crate::explain::Explained;

/// Result of a link: image, messages and status.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The linked file; `None` when the link failed or a sink took it.
    pub image: Option<Vec<u8>>,
    /// A sink took the linked file: its size, or why it could not be written.
    pub written: Option<std::io::Result<u64>>,
    /// Messages in order.
    pub messages: Vec<Diagnostic>,
    /// How the run ended.
    pub status: Status,
    /// Requested explanations.
    pub explained: Explained,
}

impl Outcome {
    /// The result of a run in which nothing had to be linked: success without an image.
    pub fn nothing_linked() -> Self {
        Self {
            image: None,
            written: None,
            messages: Vec::new(),
            status: Status::Success,
            explained: Explained::default(),
        }
    }
}

/// How a link ended; the numbers are nvlink's exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// An image was made.
    Success = 0,
    /// A fatal problem stopped the link.
    Fatal = 1,
    /// The link ran to its end but had errors.
    Errors = 255,
}
