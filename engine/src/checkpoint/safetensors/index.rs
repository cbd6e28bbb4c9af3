//! The index of a folder with several safetensors files: which file holds which tensor.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::error::{Error, Place, Subject};
use super::super::file_bytes::FileBytes;
use super::super::tensor::TensorTable;
use super::fault::SafetensorsFault;
use super::header::UniqueKeys;

/// What the index says, checked to name plain files only.
pub(super) struct Index {
    path: PathBuf,
    /// Tensor name and file name, in the order of the index.
    weight_map: Vec<(String, String)>,
}

/// The index file. `metadata` holds `total_size` and notes of the program that wrote it; published
/// indexes disagree on whether a tied tensor counts, so it is not held against the files.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexFile {
    #[serde(rename = "metadata")]
    _metadata: Option<serde_json::Map<String, serde_json::Value>>,
    weight_map: UniqueKeys<String>,
}

impl Index {
    /// Reads the index at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&FileBytes::map(path)?)
    }

    fn parse(file: &FileBytes) -> Result<Self, Error> {
        let parsed: IndexFile = serde_json::from_slice(file.bytes()).map_err(|error| {
            // The message has line and column: an index is written for people, over many lines.
            SafetensorsFault::Json(error)
                .in_file(file, Place { subject: Subject::Index, offset: None })
        })?;
        let index = Self { path: file.path().to_path_buf(), weight_map: parsed.weight_map.0 };
        for (name, shard) in &index.weight_map {
            let plain = !shard.contains(['/', '\\', '\0']) && shard.ends_with(".safetensors");
            if !plain {
                return Err(index.fault(name, SafetensorsFault::ShardName { file: shard.clone() }));
            }
        }
        Ok(index)
    }

    /// The file names, each once, in alphabetical order. All of them must be in `folder`.
    pub(super) fn shards_in(&self, folder: &Path) -> Result<BTreeSet<&str>, Error> {
        let mut shards = BTreeSet::new();
        for (name, shard) in &self.weight_map {
            if shards.insert(shard.as_str()) && !folder.join(shard).is_file() {
                return Err(self.fault(name, SafetensorsFault::NoShard { file: shard.clone() }));
            }
        }
        Ok(shards)
    }

    /// Checks that index and files say the same: every tensor is where the index places it, and the
    /// index lists every tensor.
    pub(super) fn check(&self, files: &[FileBytes], tensors: &TensorTable) -> Result<(), Error> {
        let file_name = |file: usize| files[file].path().file_name().and_then(|name| name.to_str());
        for (name, shard) in &self.weight_map {
            let holder = tensors.get(name).and_then(|tensor| file_name(tensor.file));
            if holder != Some(shard.as_str()) {
                return Err(self.fault(name, SafetensorsFault::NotInShard { file: shard.clone() }));
            }
        }
        let listed: BTreeSet<&str> =
            self.weight_map.iter().map(|(name, _)| name.as_str()).collect();
        match tensors.all().iter().find(|tensor| !listed.contains(tensor.name.as_str())) {
            Some(tensor) => {
                let file = files[tensor.file].path().to_path_buf();
                Err(self.fault(&tensor.name, SafetensorsFault::NotInIndex { file }))
            }
            None => Ok(()),
        }
    }

    fn fault(&self, tensor: &str, fault: SafetensorsFault) -> Error {
        let place = Place { subject: Subject::Tensor(tensor.to_owned()), offset: None };
        Error::Safetensors { path: self.path.clone(), place, fault }
    }
}
