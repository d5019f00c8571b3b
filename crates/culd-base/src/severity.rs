//! How serious a message is.

/// How serious a message is, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information.
    Info,
    /// The link continues and succeeds.
    Warning,
    /// The run continues to find more problems, but writes no image.
    Error,
    /// The run stops here.
    Fatal,
}

impl Severity {
    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Fatal => "fatal",
        }
    }
}
