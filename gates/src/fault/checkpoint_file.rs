//! A checkpoint in memory, to be patched and written as a copy.

use std::path::Path;

use super::FaultError;
use crate::subject::{Inspection, StoredTensor, StoredValue};

/// The bytes of a checkpoint.
pub struct CheckpointFile {
    bytes: Vec<u8>,
}

impl CheckpointFile {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, FaultError> {
        let bytes = std::fs::read(path).map_err(|source| FaultError::Io {
            action: "read",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { bytes })
    }

    /// Writes the patched copy.
    pub fn write(&self, path: &Path) -> Result<(), FaultError> {
        std::fs::write(path, &self.bytes).map_err(|source| FaultError::Io {
            action: "write",
            path: path.to_owned(),
            source,
        })
    }

    /// The bytes from `offset` on, `length` of them.
    pub fn slice(&mut self, offset: u64, length: u64) -> Result<&mut [u8], FaultError> {
        let end = offset.saturating_add(length);
        let total = self.bytes.len() as u64;
        self.bytes.get_mut(offset as usize..end as usize).ok_or(FaultError::Outside {
            offset,
            end,
            length: total,
        })
    }

    /// Replaces the first `needle` inside a metadata value by as many other bytes.
    pub fn replace(
        &mut self,
        value: &StoredValue,
        needle: &[u8],
        by: &[u8],
    ) -> Result<(), FaultError> {
        let bytes = self.slice(value.offset, value.bytes)?;
        let absent = || FaultError::Absent {
            what: format!("{:?} in {}", String::from_utf8_lossy(needle), value.key),
        };
        let at =
            bytes.windows(needle.len()).position(|window| window == needle).ok_or_else(absent)?;
        bytes[at..at + by.len()].copy_from_slice(by);
        Ok(())
    }

    /// Multiplies an f32 metadata value.
    pub fn scale_f32(&mut self, value: &StoredValue, factor: f32) -> Result<(), FaultError> {
        let bytes = self.slice(value.offset, 4)?;
        let old = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes.copy_from_slice(&(old * factor).to_le_bytes());
        Ok(())
    }

    /// Turns the sign of every block scale in some rows of a tensor.
    pub fn flip_scales(
        &mut self,
        tensor: &StoredTensor,
        offset: u64,
        length: u64,
    ) -> Result<(), FaultError> {
        let (block_bytes, scales) = block_layout(tensor)?;
        for block in self.slice(tensor.offset + offset, length)?.chunks_exact_mut(block_bytes) {
            for scale in scales {
                // The scale is a little-endian f16: its sign is the top bit of the second byte.
                block[scale + 1] ^= 0x80;
            }
        }
        Ok(())
    }
}

/// Size of a block in bytes and the offsets of its f16 scales (ggml's block structures).
fn block_layout(tensor: &StoredTensor) -> Result<(usize, &'static [usize]), FaultError> {
    match tensor.format.as_str() {
        "F16" => Ok((2, &[0])),
        "Q4_0" => Ok((18, &[0])),
        // Scale and minimum: both turn, so that every weight changes its sign.
        "Q4_1" => Ok((20, &[0, 2])),
        "Q8_0" => Ok((34, &[0])),
        format => Err(FaultError::Format { name: tensor.name.clone(), format: format.to_owned() }),
    }
}

/// The tensor of that name.
pub(super) fn tensor<'a>(
    inspection: &'a Inspection,
    name: &str,
) -> Result<&'a StoredTensor, FaultError> {
    inspection
        .tensors
        .iter()
        .find(|tensor| tensor.name == name)
        .ok_or_else(|| FaultError::Absent { what: format!("tensor {name}") })
}

/// The metadata value whose key ends so: keys begin with the architecture's name.
pub(super) fn value<'a>(
    inspection: &'a Inspection,
    ending: &str,
) -> Result<&'a StoredValue, FaultError> {
    inspection
        .metadata
        .iter()
        .find(|value| value.key.ends_with(ending))
        .ok_or_else(|| FaultError::Absent { what: format!("metadata key ending in {ending}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> CheckpointFile {
        CheckpointFile { bytes: (0..64).collect() }
    }

    fn tensor(format: &str) -> StoredTensor {
        StoredTensor {
            name: "t".into(),
            format: format.into(),
            shape: Vec::new(),
            offset: 10,
            bytes: 40,
        }
    }

    #[test]
    fn signs_of_scale_and_minimum_turn_and_nothing_else() {
        let mut patched = file();
        patched.flip_scales(&tensor("Q4_1"), 0, 40).unwrap();
        let changed: Vec<usize> =
            (0..64).filter(|index| patched.bytes[*index] != *index as u8).collect();
        assert_eq!(changed, [11, 13, 31, 33]);
        assert_eq!(patched.bytes[11], 0x0b ^ 0x80);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let mut patched = file();
        assert!(patched.slice(60, 5).is_err());
        assert!(patched.slice(u64::MAX, 5).is_err());
        assert!(patched.flip_scales(&tensor("Q5_K"), 0, 40).is_err());
        let value = StoredValue {
            key: "k".into(),
            kind: "string".into(),
            value: serde_json::Value::Null,
            offset: 0,
            bytes: 8,
        };
        assert!(patched.replace(&value, &[9], &[0]).is_err());
        patched.replace(&value, &[7], &[200]).unwrap();
        assert_eq!(patched.bytes[7], 200);
    }

    #[test]
    fn an_f32_is_scaled_in_place() {
        let mut patched = CheckpointFile { bytes: 10_000.0_f32.to_le_bytes().to_vec() };
        let value = StoredValue {
            key: "llama.rope.freq_base".into(),
            kind: "f32".into(),
            value: serde_json::Value::Null,
            offset: 0,
            bytes: 4,
        };
        patched.scale_f32(&value, 2.0).unwrap();
        assert_eq!(patched.bytes, 20_000.0_f32.to_le_bytes());
    }
}
