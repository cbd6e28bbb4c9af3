//! Safetensors files: what an oracle or the engine answers with tensors.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

/// Tensors by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tensors(pub BTreeMap<String, Tensor>);

/// One tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// The type of its elements and its extents.
    pub form: Form,
    /// Its elements, little-endian, row after row.
    pub bytes: Vec<u8>,
}

/// The type of a tensor's elements and its extents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// As safetensors names it: `F32`, `BF16`, `I64`, `U8`.
    pub dtype: String,
    /// Extents, rows first.
    pub shape: Vec<usize>,
}

/// A file that holds no tensors.
#[derive(Debug, thiserror::Error)]
pub enum TensorsError {
    /// It cannot be read or written.
    #[error("cannot {action} {path}", path = .path.display())]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// Its bytes are no safetensors file.
    #[error("no safetensors file: {0}")]
    Format(String),
    /// A tensor cannot be written as it is.
    #[error("tensor {name:?} cannot be written: {reason}")]
    Tensor {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
}

impl Tensors {
    /// The tensors in a file's bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, TensorsError> {
        let file = SafeTensors::deserialize(bytes);
        let file = file.map_err(|error| TensorsError::Format(error.to_string()))?;
        let tensor = |(name, view): (&str, TensorView<'_>)| {
            let form = Form { dtype: view.dtype().to_string(), shape: view.shape().to_vec() };
            (name.to_owned(), Tensor { form, bytes: view.data().to_vec() })
        };
        Ok(Self(file.iter().map(tensor).collect()))
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, TensorsError> {
        let failed = |source| TensorsError::Io { action: "read", path: path.to_owned(), source };
        Self::parse(&std::fs::read(path).map_err(failed)?)
    }

    /// The bytes of a file with these tensors.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TensorsError> {
        let mut views = BTreeMap::new();
        for (name, tensor) in &self.0 {
            views.insert(name.as_str(), View::of(name, tensor)?);
        }
        safetensors::serialize(&views, None)
            .map_err(|error| TensorsError::Format(error.to_string()))
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<(), TensorsError> {
        let failed = |source| TensorsError::Io { action: "write", path: path.to_owned(), source };
        std::fs::write(path, self.to_bytes()?).map_err(failed)
    }
}

impl Tensor {
    /// A tensor of `f32`.
    pub fn of_f32(shape: Vec<usize>, values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { form: Form { dtype: "F32".to_owned(), shape }, bytes }
    }

    /// Its elements where they are floats of 16 or 32 bits; the conversion is exact.
    pub fn floats(&self) -> Option<Vec<f32>> {
        match self.form.dtype.as_str() {
            "F32" => Some(elements(&self.bytes).map(f32::from_le_bytes).collect()),
            // The upper half of binary32.
            "BF16" => {
                Some(elements(&self.bytes).map(|[a, b]| f32::from_le_bytes([0, 0, a, b])).collect())
            }
            _ => None,
        }
    }

    /// Its elements where they are whole numbers of 64 bits.
    pub fn wholes(&self) -> Option<Vec<i64>> {
        let is_whole = self.form.dtype == "I64";
        is_whole.then(|| elements(&self.bytes).map(i64::from_le_bytes).collect())
    }
}

fn elements<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// A tensor as it is written.
struct View<'a> {
    dtype: Dtype,
    tensor: &'a Tensor,
}

impl<'a> View<'a> {
    fn of(name: &str, tensor: &'a Tensor) -> Result<Self, TensorsError> {
        let Form { dtype, shape } = &tensor.form;
        let refused = |reason: String| TensorsError::Tensor { name: name.to_owned(), reason };
        let (dtype, size) = match dtype.as_str() {
            "F32" => (Dtype::F32, 4),
            "BF16" => (Dtype::BF16, 2),
            "I64" => (Dtype::I64, 8),
            "U8" => (Dtype::U8, 1),
            other => return Err(refused(format!("expected F32, BF16, I64 or U8, found {other}"))),
        };
        let expected = shape.iter().product::<usize>() * size;
        if tensor.bytes.len() != expected {
            let found = tensor.bytes.len();
            return Err(refused(format!("{shape:?} takes {expected} bytes, found {found}")));
        }
        Ok(Self { dtype, tensor })
    }
}

impl safetensors::View for &View<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.tensor.form.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.tensor.bytes)
    }

    fn data_len(&self) -> usize {
        self.tensor.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dtype: &str, shape: &[usize], bytes: &[u8]) -> Tensor {
        let form = Form { dtype: dtype.to_owned(), shape: shape.to_vec() };
        Tensor { form, bytes: bytes.to_vec() }
    }

    #[test]
    fn what_is_written_is_read() {
        let tensors = Tensors(BTreeMap::from([
            ("a".to_owned(), Tensor::of_f32(vec![1, 2], &[1.5, f32::NAN])),
            ("b".to_owned(), tensor("I64", &[1], &7_i64.to_le_bytes())),
            ("c".to_owned(), tensor("U8", &[3], &[1, 2, 3])),
        ]));
        let read = Tensors::parse(&tensors.to_bytes().unwrap()).unwrap();
        assert_eq!(read, tensors);
        assert_eq!(read.0["b"].wholes(), Some(vec![7]));
        assert_eq!(read.0["c"].floats(), None);
    }

    /// 1 is 0x3f80 and -2 is 0xc000 in bfloat16.
    #[test]
    fn bfloat16_is_the_upper_half() {
        let found = tensor("BF16", &[2], &[0x80, 0x3f, 0x00, 0xc0]).floats();
        assert_eq!(found, Some(vec![1.0, -2.0]));
    }

    #[test]
    fn a_cut_file_and_a_wrong_size_are_refused() {
        let whole = Tensors([("a".to_owned(), Tensor::of_f32(vec![2], &[1.0, 2.0]))].into());
        let bytes = whole.to_bytes().unwrap();
        assert!(Tensors::parse(&bytes[..bytes.len() - 1]).is_err());
        let wrong = Tensors([("a".to_owned(), tensor("F32", &[2], &[0; 4]))].into());
        assert!(wrong.to_bytes().unwrap_err().to_string().contains("takes 8 bytes, found 4"));
        let unknown = Tensors([("a".to_owned(), tensor("F64", &[0], &[]))].into());
        assert!(unknown.to_bytes().is_err());
    }
}
