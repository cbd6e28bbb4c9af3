//! Evidence that is kept compressed: one way to write it, one way to read it, told by the name.
//!
//! A name that ends in `.gz` is of a gzip stream (RFC 1952); any other file is as it is.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// The ending of a name that says so.
const ENDING: &str = ".gz";

/// The most that a compressed file may hold, in bytes: a million legs are a quarter of it. A file that grows beyond is a defect, and must
/// not take the memory of whoever reads it.
const LARGEST: u64 = 4 << 30;

/// Whether a file of that name is compressed.
pub fn is_packed(name: &str) -> bool {
    name.ends_with(ENDING)
}

/// The bytes to keep of a file of that name. The same bytes come of the same content: the header has no time and no name.
pub fn pack(name: &str, content: &[u8]) -> Vec<u8> {
    if !is_packed(name) {
        return content.to_vec();
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let _ = encoder.write_all(content);
    encoder.finish().unwrap_or_default()
}

/// What a file of that name holds.
pub fn unpack<'b>(name: &str, kept: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
    if !is_packed(name) {
        return Ok(Cow::Borrowed(kept));
    }
    let mut content = Vec::new();
    GzDecoder::new(kept).take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        let why = format!("holds more than {LARGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(Cow::Owned(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_how_a_file_is_kept() {
        let text = b"the same again and again and again and again";
        let (plain, packed) = (pack("a.json", text), pack("a.json.gz", text));
        assert_eq!(plain, text);
        // The magic number of RFC 1952, deflate, no flags, no time.
        assert_eq!(packed[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
        assert_eq!(*unpack("a.json", &plain).unwrap(), *text);
        assert_eq!(*unpack("a.json.gz", &packed).unwrap(), *text);
        assert_eq!(pack("a.json.gz", text), packed);
    }

    #[test]
    fn what_is_no_stream_or_half_of_one_is_an_error() {
        let packed = pack("a.gz", b"some text");
        assert!(unpack("a.gz", b"some text").is_err());
        assert!(unpack("a.gz", &packed[..packed.len() - 4]).is_err(), "cut off");
    }
}
