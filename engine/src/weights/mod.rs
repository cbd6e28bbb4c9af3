//! The parameters of a model, taken from its checkpoint: each found by its role, checked against the shape
//! that the model needs, and left where it lies in its compressed form.

mod names;

use std::path::PathBuf;

use kernels::Matrix;

use crate::checkpoint::{self, Checkpoint, TensorView};
pub use names::Role;

/// A parameter that does not fit the model.
#[derive(Debug, thiserror::Error)]
pub enum WeightError {
    /// It is missing, or the checkpoint is at fault.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    /// It has another shape than the configuration says.
    #[error("{}: tensor {name:?} has shape {found:?}; the configuration needs {expected:?}", path.display())]
    Shape {
        /// The checkpoint.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its extents, rows first.
        found: Vec<usize>,
        /// The extents that the model needs.
        expected: Vec<usize>,
    },
    /// It is in a format that cannot be used for it.
    #[error("{}: tensor {name:?} cannot be used", path.display())]
    Format {
        /// The checkpoint.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// What the kernels say.
        #[source]
        source: kernels::Error,
    },
    /// Tensors that the model does not use: the family is not what it seems.
    #[error("{}: {} of the tensors are not used by family {family:?}: {}", path.display(), names.len(), first(names))]
    Unused {
        /// The checkpoint.
        path: PathBuf,
        /// The family.
        family: &'static str,
        /// The tensors' names.
        names: Vec<String>,
    },
}

fn first(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ") + more
}

/// Tensors that hold nothing a model computes with, with the reason.
const IGNORED_SUFFIXES: &[(&str, &str)] = &[(
    "rotary_emb.inv_freq",
    "worked out from the configuration, as transformers does since 4.32",
)];

/// How much memory the parameters take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Bytes of the checkpoint's tensors that are used.
    pub tensor_bytes: u64,
    /// Bytes that the parameters take in memory: matrices in place as they are stored, vectors (norms and
    /// biases) as `f32`.
    pub resident_bytes: u64,
    /// Tensors used.
    pub tensors: usize,
}

/// Hands out the parameters of a checkpoint.
#[derive(Debug)]
pub struct Weights<'a> {
    checkpoint: &'a Checkpoint,
    layer: Option<usize>,
    residency: Residency,
}

impl<'a> Weights<'a> {
    /// All parameters of `checkpoint`.
    pub fn new(checkpoint: &'a Checkpoint) -> Self {
        Self { checkpoint, layer: None, residency: Residency::default() }
    }

    /// Roles now mean the parameters of that layer.
    pub fn enter_layer(&mut self, layer: usize) {
        self.layer = Some(layer);
    }

    /// Roles now mean the parameters outside all layers.
    pub fn leave_layers(&mut self) {
        self.layer = None;
    }

    /// The matrix in that role, in place: `rows` outputs of `columns` inputs.
    pub fn matrix(
        &mut self,
        role: Role,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix<'a>, WeightError> {
        let name = self.name(role, "weight");
        let tensor = self.take(&name, &[rows, columns])?;
        self.residency.resident_bytes += tensor.bytes.len() as u64;
        Matrix::new(tensor.format, rows, columns, tensor.bytes)
            .map_err(|source| self.unusable(&name, source))
    }

    /// The weight vector in that role, as `f32`.
    pub fn vector(&mut self, role: Role, width: usize) -> Result<Vec<f32>, WeightError> {
        self.read_vector(&self.name(role, "weight"), width)
    }

    /// The bias in that role, as `f32`.
    pub fn bias(&mut self, role: Role, width: usize) -> Result<Vec<f32>, WeightError> {
        self.read_vector(&self.name(role, "bias"), width)
    }

    /// What was taken; an error if anything is left.
    pub fn finish(self, family: &'static str) -> Result<Residency, WeightError> {
        let ignored =
            |name: &&str| IGNORED_SUFFIXES.iter().any(|(suffix, _)| name.ends_with(suffix));
        let names: Vec<String> = self
            .checkpoint
            .untaken_tensors()
            .into_iter()
            .filter(|name| !ignored(name))
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return Ok(self.residency);
        }
        Err(WeightError::Unused { path: self.checkpoint.path().to_path_buf(), family, names })
    }

    fn name(&self, role: Role, kind: &str) -> String {
        names::tensor_name(self.checkpoint, role, self.layer, kind)
    }

    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorView<'a>, WeightError> {
        let tensor = self.checkpoint.tensor(name)?;
        if tensor.shape != shape {
            return Err(WeightError::Shape {
                path: self.checkpoint.path().to_path_buf(),
                name: name.to_owned(),
                found: tensor.shape.to_vec(),
                expected: shape.to_vec(),
            });
        }
        self.residency.tensor_bytes += tensor.bytes.len() as u64;
        self.residency.tensors += 1;
        Ok(tensor)
    }

    fn read_vector(&mut self, name: &str, width: usize) -> Result<Vec<f32>, WeightError> {
        let tensor = self.take(name, &[width])?;
        let mut values = vec![0.0; width];
        kernels::dequantize_row(tensor.format, tensor.bytes, &mut values)
            .map_err(|source| self.unusable(name, source))?;
        self.residency.resident_bytes += size_of_val(values.as_slice()) as u64;
        Ok(values)
    }

    fn unusable(&self, name: &str, source: kernels::Error) -> WeightError {
        WeightError::Format {
            path: self.checkpoint.path().to_path_buf(),
            name: name.to_owned(),
            source,
        }
    }
}
