//! The byte-level alphabet of GPT-2: every byte as one printable character.
//!
//! The printable bytes of Latin-1 stand for themselves; the other 68 are numbered from U+0100 in byte
//! order, so that a space is "Ġ" and a line feed "Ċ". (OpenAI, `gpt-2/src/encoder.py`, `bytes_to_unicode`.)

/// The first code point given to a byte that does not print.
const FIRST_SUBSTITUTE: u32 = 0x100;

/// Whether a byte stands for itself.
const fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// The character of each byte.
const ALPHABET: [char; 256] = {
    let mut alphabet = ['\0'; 256];
    let mut substitutes = 0;
    let mut byte = 0;
    while byte < 256 {
        alphabet[byte] = if is_printable(byte as u8) {
            byte as u8 as char
        } else {
            substitutes += 1;
            match char::from_u32(FIRST_SUBSTITUTE + substitutes - 1) {
                Some(character) => character,
                None => unreachable!(),
            }
        };
        byte += 1;
    }
    alphabet
};

/// The text with every byte as its character.
pub(super) fn spell(text: &str) -> String {
    text.bytes().map(|byte| ALPHABET[usize::from(byte)]).collect()
}

/// The byte of a character of the alphabet.
fn byte_of(character: char) -> Option<u8> {
    match u8::try_from(character) {
        Ok(byte) => is_printable(byte).then_some(byte),
        Err(_) => ALPHABET.iter().position(|&known| known == character).map(|byte| byte as u8),
    }
}

/// The bytes that a token's text spells. A character outside the alphabet (some vocabularies carry such
/// tokens, never reached by encoding) stands for itself in UTF-8.
pub(super) fn read(token: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(token.len());
    for character in token.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_newlines_have_their_known_names() {
        assert_eq!(spell(" \n\t\u{7f}"), "ĠĊĉġ");
        assert_eq!(spell("é"), "Ã©");
    }

    #[test]
    fn every_byte_reads_back() {
        let alphabet: std::collections::BTreeSet<char> = ALPHABET.into();
        assert_eq!(alphabet.len(), 256);
        for byte in 0..=255_u8 {
            assert_eq!(byte_of(ALPHABET[usize::from(byte)]), Some(byte));
        }
        assert_eq!(read("▁"), "▁".as_bytes());
    }
}
