//! Reading forward through a file's bytes, never past their end.

use super::fault::{GgufFault, Located};

/// A position in the bytes of a file. Every read checks that the bytes are there.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// A cursor at `offset`, which may lie behind the end: then every read fails.
    pub(super) fn at(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, position: usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len()) }
    }

    /// The next byte to be read, counted from the start of the file.
    pub(super) fn position(&self) -> u64 {
        self.position as u64
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> u64 {
        (self.bytes.len() - self.position) as u64
    }

    /// The next `length` bytes; `what` names them when they are missing.
    pub(super) fn take(&mut self, length: u64, what: &'static str) -> Result<&'a [u8], Located> {
        if length > self.left() {
            let fault = GgufFault::Truncated { what, needed: length, left: self.left() };
            return Err(fault.at(self.position()));
        }
        let start = self.position;
        self.position += length as usize;
        Ok(&self.bytes[start..self.position])
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Located> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, what)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Located> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Located> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A count of things that each take at least `shortest` bytes of what is left: so a lying count is
    /// found before anything is allocated or looped over.
    pub(super) fn count(&mut self, what: &'static str, shortest: u64) -> Result<u64, Located> {
        let start = self.position();
        let count = self.u64("a count")?;
        let left = self.left();
        if count > left / shortest {
            return Err(GgufFault::Count { what, count, shortest, left }.at(start));
        }
        Ok(count)
    }

    /// A u64 length and that many bytes of UTF-8.
    pub(super) fn string(&mut self, what: &'static str) -> Result<&'a str, Located> {
        let length = self.u64("the length of a string")?;
        let start = self.position();
        let bytes = self.take(length, what)?;
        std::str::from_utf8(bytes).map_err(|error| GgufFault::NotUtf8(error).at(start))
    }

    /// A string of 1 to `longest` bytes.
    pub(super) fn name(&mut self, longest: u64) -> Result<&'a str, Located> {
        let start = self.position();
        let length = self.clone().u64("the length of a name")?;
        if length == 0 || length > longest {
            return Err(GgufFault::NameLength { found: length, longest }.at(start));
        }
        self.string("a name")
    }
}
