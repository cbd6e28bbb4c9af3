//! One view of a tensor, whatever file it comes from.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use kernels::Format;

use super::file_bytes::FileBytes;

/// What a checkpoint's header says of one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name in the file.
    pub name: String,
    /// How its numbers are stored.
    pub format: Format,
    /// Extents, rows first: the last one is contiguous in memory. A linear layer's weight is
    /// `[outputs, inputs]`. GGUF lists extents the other way round; they are reversed on reading.
    pub shape: Vec<usize>,
    /// Where its bytes start, counted from the start of the file that holds it.
    pub offset: u64,
    /// How many bytes it takes.
    pub bytes: u64,
    /// Which of the checkpoint's files holds it.
    pub(super) file: usize,
}

impl Tensor {
    /// How many numbers it holds. Checked not to overflow when the file was opened.
    pub fn elements(&self) -> u64 {
        self.shape.iter().map(|&extent| extent as u64).product()
    }
}

/// A tensor and its bytes.
///
/// The bytes are as stored: little-endian, rows one after another, each row a whole number of blocks of
/// `format`. They start where the file says, which for safetensors need not be a multiple of 4.
#[derive(Debug, Clone, Copy)]
pub struct TensorView<'a> {
    /// Its name in the file.
    pub name: &'a str,
    /// How its numbers are stored.
    pub format: Format,
    /// Extents, rows first (`[outputs, inputs]` for a linear layer's weight).
    pub shape: &'a [usize],
    /// The stored bytes.
    pub bytes: &'a [u8],
}

impl TensorView<'_> {
    /// The contiguous extent: the length of one row. 1 for a scalar.
    pub fn columns(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// How many rows: the product of all extents but the last. 1 for a vector.
    pub fn rows(&self) -> usize {
        self.shape.split_last().map_or(1, |(_, outer)| outer.iter().product())
    }
}

/// The tensors of a checkpoint in file order, found by name, with a note of which were taken.
#[derive(Debug, Default)]
pub(super) struct TensorTable {
    tensors: Vec<Tensor>,
    by_name: HashMap<String, usize>,
    taken: Vec<AtomicBool>,
}

impl TensorTable {
    /// Adds a tensor, or gives back the one that already has its name.
    pub(super) fn insert(&mut self, tensor: Tensor) -> Result<(), &Tensor> {
        if let Some(&earlier) = self.by_name.get(&tensor.name) {
            return Err(&self.tensors[earlier]);
        }
        self.by_name.insert(tensor.name.clone(), self.tensors.len());
        self.tensors.push(tensor);
        self.taken.push(AtomicBool::new(false));
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tensor> {
        self.by_name.get(name).map(|&index| &self.tensors[index])
    }

    /// Finds a tensor and notes that it was taken.
    pub(super) fn take(&self, name: &str) -> Option<&Tensor> {
        let &index = self.by_name.get(name)?;
        self.taken[index].store(true, Ordering::Relaxed);
        Some(&self.tensors[index])
    }

    pub(super) fn all(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The names that `take` was never asked for, in file order.
    pub(super) fn untaken(&self) -> Vec<&str> {
        let pairs = self.tensors.iter().zip(&self.taken);
        pairs
            .filter(|(_, taken)| !taken.load(Ordering::Relaxed))
            .map(|(t, _)| t.name.as_str())
            .collect()
    }
}

/// The view of `tensor` in the files it was read from.
pub(super) fn view<'a>(tensor: &'a Tensor, files: &'a [FileBytes]) -> TensorView<'a> {
    let start = tensor.offset as usize;
    let end = start + tensor.bytes as usize;
    TensorView {
        name: &tensor.name,
        format: tensor.format,
        shape: &tensor.shape,
        bytes: &files[tensor.file].bytes()[start..end],
    }
}
