//! SHA-256 of files and streams, as lowercase hexadecimal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// The digest of `bytes`.
pub fn sha256_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest and the size in bytes of the file at `path`.
pub fn sha256_file(path: &Path) -> io::Result<(String, u64)> {
    let mut hasher = Hasher::default();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hasher.finish());
        }
        hasher.update(&buffer[..read]);
    }
}

/// A digest that is fed as bytes arrive.
#[derive(Debug, Default)]
pub struct Hasher {
    state: Sha256,
    bytes: u64,
}

impl Hasher {
    /// Feeds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// The digest of everything fed, and how many bytes that were.
    pub fn finish(self) -> (String, u64) {
        (hex(&self.state.finalize()), self.bytes)
    }
}

/// Whether `text` is a sha256 as this crate writes it: 64 lowercase hexadecimal digits.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [DIGITS[(b >> 4) as usize], DIGITS[(b & 15) as usize]])
        .map(char::from)
        .collect()
}
