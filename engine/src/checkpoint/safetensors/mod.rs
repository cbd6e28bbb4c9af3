//! Safetensors files, alone or as the shards of a folder.
//!
//! ```text
//! header length u64 | header: JSON, name -> { dtype, shape, data_offsets } | the tensors' bytes
//! ```
//! The crate `safetensors` defines dtypes and their sizes. The header is read here, because the crate
//! lets the last of two equal names win and does not say which tensor is wrong.

mod fault;
mod header;
mod index;

use std::path::{Path, PathBuf};

pub use fault::SafetensorsFault;

use super::error::{Error, Subject};
use super::file_bytes::FileBytes;
use super::tensor::TensorTable;
use index::Index;

/// The file name of a folder's only file.
const SINGLE: &str = "model.safetensors";
/// The file name of the index of a folder with several files.
const INDEX: &str = "model.safetensors.index.json";

/// An open safetensors file or folder.
#[derive(Debug)]
pub struct Safetensors {
    path: PathBuf,
    files: Vec<FileBytes>,
    notes: Vec<(String, String)>,
    tensors: TensorTable,
}

impl Safetensors {
    /// Reads and checks the header of one file; no tensor's bytes are touched.
    pub fn read(file: FileBytes) -> Result<Self, Error> {
        let path = file.path().to_path_buf();
        let mut open = Self::empty(path);
        open.add(file)?;
        Ok(open)
    }

    /// Opens the checkpoint of a folder: `model.safetensors`, or the files that
    /// `model.safetensors.index.json` lists. A folder with both is refused.
    pub fn open_folder(path: &Path) -> Result<Self, Error> {
        let (single, index) = (path.join(SINGLE), path.join(INDEX));
        match (single.exists(), index.exists()) {
            (true, false) => {
                let mut open = Self::empty(path.to_path_buf());
                open.add(FileBytes::map(&single)?)?;
                Ok(open)
            }
            (false, true) => Self::open_shards(path, &Index::read(&index)?),
            (true, true) => Err(Error::AmbiguousFolder { path: path.to_path_buf() }),
            (false, false) => {
                let found = "it is a folder without safetensors".to_owned();
                Err(Error::NotACheckpoint { path: path.to_path_buf(), found })
            }
        }
    }

    fn open_shards(path: &Path, index: &Index) -> Result<Self, Error> {
        let mut open = Self::empty(path.to_path_buf());
        for shard in index.shards_in(path)? {
            open.add(FileBytes::map(&path.join(shard))?)?;
        }
        index.check(&open.files, &open.tensors)?;
        Ok(open)
    }

    fn empty(path: PathBuf) -> Self {
        let (files, notes) = (Vec::new(), Vec::new());
        Self { path, files, notes, tensors: TensorTable::default() }
    }

    /// Adds the tensors of one more file.
    fn add(&mut self, file: FileBytes) -> Result<(), Error> {
        let header = header::read(&file, self.files.len())?;
        for tensor in header.tensors {
            let (name, offset) = (tensor.name.clone(), tensor.offset);
            if let Err(earlier) = self.tensors.insert(tensor) {
                let first = self.files[earlier.file].path().to_path_buf();
                let fault = SafetensorsFault::DuplicateTensor { first };
                return Err(fault.in_file(&file, Subject::Tensor(name).at(offset)));
            }
        }
        self.notes.extend(header.notes);
        self.files.push(file);
        Ok(())
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The free-form text pairs of `__metadata__`, file by file in file order.
    pub fn notes(&self) -> &[(String, String)] {
        &self.notes
    }

    pub(super) fn table(&self) -> &TensorTable {
        &self.tensors
    }

    pub(super) fn files(&self) -> &[FileBytes] {
        &self.files
    }
}
