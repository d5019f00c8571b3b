//! A position in the bytes of a mangled name.

/// Reads a mangled name from left to right.
#[derive(Clone)]
pub(crate) struct Cursor<'m> {
    rest: &'m [u8],
}

impl<'m> Cursor<'m> {
    pub(crate) fn new(bytes: &'m [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    pub(crate) fn rest(&self) -> &'m [u8] {
        self.rest
    }

    pub(crate) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, 0 at the end. No rule of the grammar matches a 0.
    pub(crate) fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    /// The next two bytes, with 0 after the end.
    pub(crate) fn pair(&self) -> [u8; 2] {
        [self.peek(), self.rest.get(1).copied().unwrap_or(0)]
    }

    pub(crate) fn starts_with(&self, text: &[u8]) -> bool {
        self.rest.starts_with(text)
    }

    /// Whether a digit follows.
    pub(crate) fn at_digit(&self) -> bool {
        self.peek().is_ascii_digit()
    }

    /// Skips `count` bytes, or what is left.
    pub(crate) fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Skips `text` if it follows, and says whether it did.
    pub(crate) fn eat(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(crate) fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.eat(text).then_some(())
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'m [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// The longest run of bytes that satisfy `test`; it may be empty.
    pub(crate) fn take_while(&mut self, test: impl Fn(u8) -> bool) -> &'m [u8] {
        let count = self.rest.iter().take_while(|&&byte| test(byte)).count();
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    /// One or more decimal digits, as they are written.
    pub(crate) fn digits(&mut self) -> Option<&'m str> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            None
        } else {
            std::str::from_utf8(digits).ok()
        }
    }
}
