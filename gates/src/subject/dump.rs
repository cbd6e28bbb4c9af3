//! `plumb dump`: intermediate values of a forward pass, read from the safetensors file that it writes.

use std::collections::BTreeMap;

use oracles::tensors::Tensors;

use super::Defect;

/// A value of a forward pass: a row a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Tapped {
    /// Values of a row.
    pub width: usize,
    /// All of them, row after row.
    pub values: Vec<f32>,
}

impl Tapped {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// A row; the empty one behind the last.
    pub fn row(&self, index: usize) -> &[f32] {
        let from = index * self.width;
        self.values.get(from..from + self.width).unwrap_or_default()
    }
}

/// Reads every tensor of the file: f32, of two extents.
pub(super) fn read(bytes: &[u8]) -> Result<BTreeMap<String, Tapped>, Defect> {
    let unreadable = |reason: String| Defect::Unreadable(reason);
    let Tensors(file) =
        Tensors::parse(bytes).map_err(|error| unreadable(format!("its dump is {error}")))?;
    let mut tensors = BTreeMap::new();
    for (name, tensor) in file {
        let (&[_, width], "F32", Some(values)) =
            (tensor.form.shape.as_slice(), tensor.form.dtype.as_str(), tensor.floats())
        else {
            let (shape, dtype) = (&tensor.form.shape, &tensor.form.dtype);
            return Err(unreadable(format!(
                "tensor {name} of its dump is {dtype} {shape:?}, expected F32 of two extents"
            )));
        };
        tensors.insert(name, Tapped { width, values });
    }
    Ok(tensors)
}
