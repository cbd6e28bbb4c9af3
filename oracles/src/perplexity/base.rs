//! llama-perplexity's file of a base model's log-probabilities (`--save-all-logits`).
//!
//! The mark `_logits_`, then as little-endian 32-bit integers the context length `c`, the size of the vocabulary `v`, the
//! number of chunks `k` and `k * c` token ids. Of each chunk the second half is scored: `c - 1 - c / 2` rows, each two f32,
//! a step and the lowest log-probability, and one 16-bit code a token, padded to an even number of codes. A
//! log-probability is `step * code + lowest`.

use std::io::{self, Read};

const MARK: &[u8; 8] = b"_logits_";
/// Bounds far beyond any model, so that a header that lies allocates nothing.
const MOST_CONTEXT: u32 = 1 << 20;
const MOST_VOCABULARY: u32 = 1 << 22;
const MOST_CHUNKS: u32 = 1 << 20;

/// Why a base file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// It is something else.
    #[error("it begins with {found:?} where {MARK:?} stands in a file of log-probabilities")]
    Mark {
        /// The first bytes.
        found: [u8; 8],
    },
    /// A header field is out of bounds.
    #[error("its {key} is {found}; expected {expected}")]
    Field {
        /// Which one.
        key: &'static str,
        /// What it says.
        found: u32,
        /// What it may say.
        expected: String,
    },
    /// It ends too early, or cannot be read.
    #[error("cannot read {part}")]
    Read {
        /// Which part.
        part: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The header of a base file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Tokens of a chunk.
    pub context: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// The tokens of every chunk.
    pub chunks: Vec<Vec<u32>>,
}

impl Header {
    /// The first position of a chunk that is scored: what comes before is its context.
    pub fn first_scored(&self) -> usize {
        self.context / 2
    }

    /// Positions of a chunk that are scored: from the first on, each by the token behind it.
    pub fn scored(&self) -> usize {
        self.context - 1 - self.first_scored()
    }
}

/// A position's log-probabilities under the base model.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseRow {
    step: f32,
    lowest: f32,
    codes: Vec<u16>,
}

impl BaseRow {
    /// The log-probability of every token.
    pub fn logprobs(&self) -> impl Iterator<Item = f32> + '_ {
        self.codes.iter().map(|&code| self.step * f32::from(code) + self.lowest)
    }
}

/// A base file as it is read, chunk after chunk.
#[derive(Debug)]
pub struct BaseFile<R> {
    header: Header,
    rest: R,
    read: usize,
}

impl<R: Read> BaseFile<R> {
    /// Reads the header.
    pub fn open(mut file: R) -> Result<Self, BaseError> {
        let mut mark = [0; 8];
        read(&mut file, &mut mark, "the mark")?;
        if mark != *MARK {
            return Err(BaseError::Mark { found: mark });
        }
        let mut field = |key: &'static str, least: u32, most: u32| {
            let mut bytes = [0; 4];
            read(&mut file, &mut bytes, key)?;
            let found = u32::from_le_bytes(bytes);
            if (least..=most).contains(&found) {
                return Ok(found as usize);
            }
            Err(BaseError::Field { key, found, expected: format!("{least} to {most}") })
        };
        // Three tokens give one that is scored.
        let context = field("context length", 3, MOST_CONTEXT)?;
        let vocabulary = field("vocabulary size", 1, MOST_VOCABULARY)?;
        let count = field("number of chunks", 1, MOST_CHUNKS)?;
        let mut chunks = Vec::new();
        let mut bytes = vec![0; 4 * context];
        for chunk in 0..count {
            read(&mut file, &mut bytes, &format!("the tokens of chunk {chunk}"))?;
            let ids: Vec<u32> =
                bytes.as_chunks().0.iter().map(|id| u32::from_le_bytes(*id)).collect();
            if let Some(&found) = ids.iter().find(|&&id| id as usize >= vocabulary) {
                let expected = format!("below the vocabulary size, {vocabulary}");
                return Err(BaseError::Field { key: "token", found, expected });
            }
            chunks.push(ids);
        }
        let header = Header { context, vocabulary, chunks };
        Ok(Self { header, rest: file, read: 0 })
    }

    /// What the file is about.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The scored rows of the next chunk; none behind the last.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<BaseRow>>, BaseError> {
        let Header { vocabulary, chunks, .. } = &self.header;
        if self.read == chunks.len() {
            return Ok(None);
        }
        let mut bytes = vec![0; 8 + 2 * vocabulary.next_multiple_of(2)];
        let mut rows = Vec::with_capacity(self.header.scored());
        for row in 0..self.header.scored() {
            let part = || format!("row {row} of chunk {}", self.read);
            self.rest
                .read_exact(&mut bytes)
                .map_err(|source| BaseError::Read { part: part(), source })?;
            let number = |at: usize| {
                f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            };
            let codes = bytes[8..].as_chunks().0.iter().take(*vocabulary);
            let codes = codes.map(|code| u16::from_le_bytes(*code)).collect();
            rows.push(BaseRow { step: number(0), lowest: number(4), codes });
        }
        self.read += 1;
        Ok(Some(rows))
    }
}

fn read(file: &mut impl Read, bytes: &mut [u8], part: &str) -> Result<(), BaseError> {
    file.read_exact(bytes).map_err(|source| BaseError::Read { part: part.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BaseError, BaseFile};

    /// Two chunks of five tokens over three words: rows for positions 2 and 3, four codes each.
    fn file() -> Vec<u8> {
        let mut bytes = b"_logits_".to_vec();
        for number in [5_u32, 3, 2, 0, 1, 2, 1, 0, 2, 2, 2, 1, 1] {
            bytes.extend(number.to_le_bytes());
        }
        for row in 0..4_u16 {
            bytes.extend(0.5_f32.to_le_bytes());
            bytes.extend((-8.0_f32).to_le_bytes());
            for code in [row, 2, 16, 0xffff] {
                bytes.extend(code.to_le_bytes());
            }
        }
        bytes
    }

    #[test]
    fn a_file_reads_as_it_was_written() {
        let bytes = file();
        let mut base = BaseFile::open(bytes.as_slice()).expect("header");
        assert_eq!((base.header().first_scored(), base.header().scored()), (2, 2));
        assert_eq!(base.header().chunks, [[0, 1, 2, 1, 0], [2, 2, 2, 1, 1]]);
        let mut seen = Vec::new();
        while let Some(rows) = base.next_chunk().expect("rows") {
            assert_eq!(rows.len(), 2);
            seen.extend(rows.iter().map(|row| row.logprobs().collect::<Vec<_>>()));
        }
        assert_eq!(seen.len(), 4);
        assert_eq!(seen[3], [-6.5, -7.0, 0.0]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let open = |bytes: &[u8]| BaseFile::open(bytes).map(|_| ());
        assert!(matches!(open(b"GGUF____"), Err(BaseError::Mark { .. })));
        let mut lying = file();
        lying[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        let message = open(&lying).expect_err("too large").to_string();
        assert!(message.contains("vocabulary size") && message.contains("4294967295"), "{message}");
        let mut foreign = file();
        foreign[20] = 9;
        assert!(open(&foreign).is_err_and(|error| error.to_string().contains("token is 9")));
        let whole = file();
        let mut base = BaseFile::open(&whole[..whole.len() - 1]).expect("header");
        assert!(base.next_chunk().is_ok());
        let message = base.next_chunk().expect_err("cut").to_string();
        assert_eq!(message, "cannot read row 1 of chunk 1");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(cut in 0_usize..200, at in 0_usize..120, byte: u8) {
            let mut bytes = file();
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
            bytes.truncate(cut);
            if let Ok(mut base) = BaseFile::open(bytes.as_slice()) {
                while let Ok(Some(_)) = base.next_chunk() {}
            }
        }
    }
}
