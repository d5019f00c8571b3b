//! Receiver of an image that is not returned in memory.

use std::io;

/// Takes an image in parts, in any order and from several threads; together the parts and zeros between them are the image.
pub trait Sink: Sync {
    /// The link succeeded and an image of this size follows. `false` asks for the whole image in [`Outcome::image`](crate::Outcome::image)
    /// instead, and nothing is written.
    fn begin(&self, size: u64) -> io::Result<bool>;
    /// One part.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
}
