//! A checkpoint in memory, to be patched and written as a copy: one file, or a folder with its tensors and its `config.json`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::FaultError;
use crate::subject::{Inspection, StoredTensor, StoredValue};

/// The files of a folder that are patched; the others are copied.
const TENSORS: &str = "model.safetensors";
const CONFIG: &str = "config.json";

/// The bytes of a checkpoint.
pub struct CheckpointFile {
    /// Of the file, or of the folder's tensors.
    bytes: Vec<u8>,
    folder: Option<Folder>,
}

/// A checkpoint that is a folder.
struct Folder {
    path: PathBuf,
    config: Value,
}

impl CheckpointFile {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, FaultError> {
        let read = |path: &Path| std::fs::read(path).map_err(failed("read", path));
        if !path.is_dir() {
            return Ok(Self { bytes: read(path)?, folder: None });
        }
        let config = path.join(CONFIG);
        let parsed = serde_json::from_slice(&read(&config)?);
        let parsed = parsed.map_err(|error| failed("read", &config)(error.into()))?;
        let folder = Folder { path: path.to_owned(), config: parsed };
        Ok(Self { bytes: read(&path.join(TENSORS))?, folder: Some(folder) })
    }

    /// Writes the patched copy.
    pub fn write(&self, path: &Path) -> Result<(), FaultError> {
        let Some(folder) = &self.folder else {
            return std::fs::write(path, &self.bytes).map_err(failed("write", path));
        };
        let copy = || {
            std::fs::create_dir_all(path)?;
            for entry in std::fs::read_dir(&folder.path)? {
                let name = entry?.file_name();
                if name != TENSORS && name != CONFIG {
                    std::fs::copy(folder.path.join(&name), path.join(&name))?;
                }
            }
            std::fs::write(path.join(TENSORS), &self.bytes)?;
            std::fs::write(path.join(CONFIG), folder.config.to_string())
        };
        copy().map_err(failed("copy", path))
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

    /// Multiplies a number of the model's configuration: the metadata value whose key ends so, or a key of `config.json`.
    pub fn scale_setting(
        &mut self,
        inspection: &Inspection,
        [ending, key]: [&str; 2],
        factor: f32,
    ) -> Result<(), FaultError> {
        let Some(folder) = &mut self.folder else {
            return self.scale_f32(value(inspection, ending)?, factor);
        };
        let absent = || FaultError::Absent { what: format!("number {key} in {CONFIG}") };
        let slot = folder.config.get_mut(key).ok_or_else(absent)?;
        *slot = (slot.as_f64().ok_or_else(absent)? * f64::from(factor)).into();
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

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FaultError {
    let path = path.to_owned();
    move |source| FaultError::Io { action, path, source }
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
        CheckpointFile { bytes: (0..64).collect(), folder: None }
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
        let mut patched =
            CheckpointFile { bytes: 10_000.0_f32.to_le_bytes().to_vec(), folder: None };
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
