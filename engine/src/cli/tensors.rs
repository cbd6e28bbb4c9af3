//! Safetensors files that a verb reads or writes: values of any float type in, `f32` and ids out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::CliError;

/// The tensors of a file, by name.
pub(super) struct TensorFile {
    path: PathBuf,
    tensors: BTreeMap<String, StoredTensor>,
}

/// One tensor as it is stored.
pub(super) struct StoredTensor {
    /// The type of its elements.
    pub(super) dtype: Dtype,
    /// Its extents, rows first.
    pub(super) shape: Vec<usize>,
    /// Its bytes, little-endian.
    pub(super) bytes: Vec<u8>,
}

/// A tensor to be written.
pub(super) struct NewTensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl TensorFile {
    /// Reads a whole file.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let unreadable = |source| CliError::Read { path: path.to_path_buf(), source };
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let file = SafeTensors::deserialize(&bytes)
            .map_err(|error| unreadable(std::io::Error::other(error)))?;
        let stored = |(name, view): (&str, TensorView<'_>)| {
            let tensor = StoredTensor {
                dtype: view.dtype(),
                shape: view.shape().to_vec(),
                bytes: view.data().to_vec(),
            };
            (name.to_owned(), tensor)
        };
        Ok(Self { path: path.to_path_buf(), tensors: file.iter().map(stored).collect() })
    }

    /// The names, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The tensor of that name, if there is one.
    pub(super) fn find(&self, name: &str) -> Option<&StoredTensor> {
        self.tensors.get(name)
    }

    /// The tensor of that name.
    pub(super) fn tensor(&self, name: &str) -> Result<&StoredTensor, CliError> {
        self.find(name).ok_or_else(|| self.bad(name, "is missing".to_owned()))
    }

    /// A matrix of floats: its columns and its values, row after row.
    pub(super) fn rows(&self, name: &str) -> Result<(usize, Vec<f32>), CliError> {
        let tensor = self.tensor(name)?;
        match tensor.shape[..] {
            [rows, width] if rows > 0 && width > 0 => Ok((width, self.floats(name)?)),
            _ => Err(self.bad(
                name,
                format!("has shape {:?}, expected [rows, width], none of them 0", tensor.shape),
            )),
        }
    }

    /// All values of a tensor of floats.
    pub(super) fn floats(&self, name: &str) -> Result<Vec<f32>, CliError> {
        let StoredTensor { dtype, bytes, .. } = self.tensor(name)?;
        match dtype {
            Dtype::F32 => Ok(elements(bytes).map(f32::from_le_bytes).collect()),
            Dtype::BF16 => {
                Ok(elements(bytes).map(|two| bf16::from_le_bytes(two).to_f32()).collect())
            }
            Dtype::F16 => Ok(elements(bytes).map(|two| f16::from_le_bytes(two).to_f32()).collect()),
            other => Err(self.bad(name, format!("is {other:?}, expected F32, BF16 or F16"))),
        }
    }

    /// All values of a tensor of whole numbers from 0 on.
    pub(super) fn ids(&self, name: &str) -> Result<Vec<u32>, CliError> {
        let StoredTensor { dtype, bytes, .. } = self.tensor(name)?;
        if *dtype != Dtype::I64 {
            return Err(self.bad(name, format!("is {dtype:?}, expected I64")));
        }
        let id = |eight| {
            let value = i64::from_le_bytes(eight);
            let bad = || self.bad(name, format!("holds {value}, expected numbers from 0 to 2^32"));
            u32::try_from(value).map_err(|_| bad())
        };
        elements(bytes).map(id).collect()
    }

    /// What is wrong with one of its tensors.
    pub(super) fn bad(&self, name: &str, fault: String) -> CliError {
        CliError::Tensor { path: self.path.clone(), name: name.to_owned(), fault }
    }
}

fn elements<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

impl NewTensor {
    /// Floats in that shape.
    pub(super) fn floats(shape: Vec<usize>, values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dtype: Dtype::F32, shape, bytes }
    }

    /// A list of ids.
    pub(super) fn ids(values: &[u32]) -> Self {
        let bytes = values.iter().flat_map(|&value| i64::from(value).to_le_bytes()).collect();
        Self { dtype: Dtype::I64, shape: vec![values.len()], bytes }
    }
}

impl safetensors::View for &NewTensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes a file with these tensors.
pub(super) fn write(path: &Path, tensors: &BTreeMap<String, NewTensor>) -> Result<(), CliError> {
    let failed = |source| CliError::Write { path: path.to_path_buf(), source };
    let bytes = safetensors::serialize(tensors, None)
        .map_err(|error| failed(std::io::Error::other(error)))?;
    std::fs::write(path, bytes).map_err(failed)
}
