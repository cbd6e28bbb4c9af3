//! Checkpoints: GGUF files, and safetensors files or folders, read through one view.
//!
//! A file is mapped, never copied, and believed in nothing: every count, length, offset and shape is
//! checked against the file before it is used, so that a checkpoint that opens can be walked without
//! another check. Errors name the file, the key or tensor, and the byte.
//!
//! Mapped files must not be truncated or rewritten in place while they are open: see [`FileBytes`].

mod error;
mod file_bytes;
pub mod gguf;
pub mod safetensors;
mod tensor;

use std::path::Path;

pub use error::{Error, Place, Subject};
pub use file_bytes::FileBytes;
pub use gguf::Gguf;
pub use safetensors::Safetensors;
pub use tensor::{Tensor, TensorView};

use tensor::TensorTable;

/// An open checkpoint.
#[derive(Debug)]
pub enum Checkpoint {
    /// One GGUF file: tensors and metadata.
    Gguf(Gguf),
    /// One safetensors file, or a folder with one or several.
    Safetensors(Safetensors),
}

impl Checkpoint {
    /// Opens the checkpoint at `path`: a GGUF file (known by its magic or its name), a `.safetensors`
    /// file, or a folder with `model.safetensors` or `model.safetensors.index.json`.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path.is_dir() {
            return Safetensors::open_folder(path).map(Self::Safetensors);
        }
        let file = FileBytes::map(path)?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension == Some("gguf") || file.bytes().starts_with(&gguf::MAGIC) {
            return Gguf::read(file).map(Self::Gguf);
        }
        if extension == Some("safetensors") {
            return Safetensors::read(file).map(Self::Safetensors);
        }
        let found = format!(
            "the file starts with the bytes {:?}",
            String::from_utf8_lossy(&file.bytes()[..file.bytes().len().min(4)])
        );
        Err(Error::NotACheckpoint { path: path.to_path_buf(), found })
    }

    /// The file or folder that was opened.
    pub fn path(&self) -> &Path {
        match self {
            Self::Gguf(gguf) => gguf.path(),
            Self::Safetensors(safetensors) => safetensors.path(),
        }
    }

    /// The size on disk of all its tensor files, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.files().iter().map(FileBytes::len).sum()
    }

    /// The tensor of that name, noted as taken; an error that names it when there is none.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'_>, Error> {
        self.find(name).ok_or_else(|| Error::MissingTensor {
            path: self.path().to_path_buf(),
            name: name.to_owned(),
        })
    }

    /// The tensor of that name if there is one, noted as taken.
    pub fn find(&self, name: &str) -> Option<TensorView<'_>> {
        self.table().take(name).map(|tensor| tensor::view(tensor, self.files()))
    }

    /// All tensors in file order. Walking them takes none.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = TensorView<'_>> {
        self.table().all().iter().map(|tensor| tensor::view(tensor, self.files()))
    }

    /// What the headers say of all tensors, in file order.
    pub fn contents(&self) -> &[Tensor] {
        self.table().all()
    }

    /// The file that holds `tensor` of this checkpoint: the path itself, or one file of the folder.
    pub fn file_of(&self, tensor: &Tensor) -> &Path {
        self.files()[tensor.file].path()
    }

    /// The names of the tensors that were never taken, in file order: a loader must have none left.
    pub fn untaken_tensors(&self) -> Vec<&str> {
        self.table().untaken()
    }

    /// How many numbers all tensors hold.
    pub fn parameters(&self) -> u64 {
        self.table().all().iter().map(Tensor::elements).sum()
    }

    /// How many bytes all tensors take: what is resident once every page was touched.
    pub fn tensor_bytes(&self) -> u64 {
        self.table().all().iter().map(|tensor| tensor.bytes).sum()
    }

    fn table(&self) -> &TensorTable {
        match self {
            Self::Gguf(gguf) => gguf.table(),
            Self::Safetensors(safetensors) => safetensors.table(),
        }
    }

    fn files(&self) -> &[FileBytes] {
        match self {
            Self::Gguf(gguf) => gguf.files(),
            Self::Safetensors(safetensors) => safetensors.files(),
        }
    }
}
