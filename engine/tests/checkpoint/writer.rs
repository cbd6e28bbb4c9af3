//! Writers of small files that can lie about anything. They know the formats, never the reader.

use std::path::{Path, PathBuf};

use engine::checkpoint::{Error, FileBytes, Gguf, Safetensors};

/// The ids of value types that the tests write.
pub(crate) mod id {
    pub(crate) const UINT8: u32 = 0;
    pub(crate) const UINT16: u32 = 2;
    pub(crate) const UINT32: u32 = 4;
    pub(crate) const INT32: u32 = 5;
    pub(crate) const FLOAT32: u32 = 6;
    pub(crate) const BOOL: u32 = 7;
    pub(crate) const STRING: u32 = 8;
    pub(crate) const ARRAY: u32 = 9;
    pub(crate) const UINT64: u32 = 10;
    pub(crate) const FLOAT64: u32 = 12;
    /// ggml types.
    pub(crate) const F32: u32 = 0;
    pub(crate) const Q4_0: u32 = 2;
}

/// What a GGUF file says, field by field. `build` fills in only what was left open.
#[derive(Debug, Clone)]
pub(crate) struct GgufWriter {
    pub(crate) magic: [u8; 4],
    pub(crate) version: u32,
    pub(crate) tensor_count: Option<u64>,
    pub(crate) key_count: Option<u64>,
    pub(crate) keys: Vec<(Vec<u8>, u32, Vec<u8>)>,
    pub(crate) tensors: Vec<TensorInfo>,
    pub(crate) alignment: usize,
    pub(crate) data: Vec<u8>,
}

/// What a GGUF file says of one tensor.
#[derive(Debug, Clone)]
pub(crate) struct TensorInfo {
    pub(crate) name: Vec<u8>,
    pub(crate) extents: Vec<u64>,
    pub(crate) dimensions: Option<u32>,
    pub(crate) kind: u32,
    pub(crate) offset: u64,
}

impl GgufWriter {
    /// An empty file of version 3.
    pub(crate) fn new() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            tensor_count: None,
            key_count: None,
            keys: Vec::new(),
            tensors: Vec::new(),
            alignment: 32,
            data: Vec::new(),
        }
    }

    /// A small valid file: keys of several types, a Q4_0 and an F32 tensor.
    pub(crate) fn small() -> Self {
        let mut writer = Self::new()
            .key("general.architecture", id::STRING, string(b"llama"))
            .key("llama.block_count", id::UINT32, 2u32.to_le_bytes())
            .key("llama.rope.freq_base", id::FLOAT32, 1e4f32.to_le_bytes())
            .key("tokenizer.ggml.add_bos_token", id::BOOL, [1])
            .key(
                "tokenizer.ggml.tokens",
                id::ARRAY,
                array(id::STRING, 2, [string(b"a"), string(b"bc")].concat()),
            )
            .tensor("blk.0.weight", &[32, 2], id::Q4_0, 0)
            .tensor("norm", &[3], id::F32, 64);
        writer.data = (0..64 + 12).collect();
        writer
    }

    pub(crate) fn key(mut self, key: &str, value_type: u32, value: impl Into<Vec<u8>>) -> Self {
        self.keys.push((key.into(), value_type, value.into()));
        self
    }

    pub(crate) fn tensor(mut self, name: &str, extents: &[u64], kind: u32, offset: u64) -> Self {
        let (name, extents) = (name.into(), extents.to_vec());
        self.tensors.push(TensorInfo { name, extents, dimensions: None, kind, offset });
        self
    }

    /// The header's bytes, without the padding in front of the data.
    pub(crate) fn header(&self) -> Vec<u8> {
        let mut file = self.magic.to_vec();
        file.extend(self.version.to_le_bytes());
        file.extend(self.tensor_count.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        file.extend(self.key_count.unwrap_or(self.keys.len() as u64).to_le_bytes());
        for (key, value_type, value) in &self.keys {
            file.extend(string(key));
            file.extend(value_type.to_le_bytes());
            file.extend(value);
        }
        for tensor in &self.tensors {
            file.extend(string(&tensor.name));
            file.extend(tensor.dimensions.unwrap_or(tensor.extents.len() as u32).to_le_bytes());
            tensor.extents.iter().for_each(|extent| file.extend(extent.to_le_bytes()));
            file.extend(tensor.kind.to_le_bytes());
            file.extend(tensor.offset.to_le_bytes());
        }
        file
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let mut file = self.header();
        file.resize(file.len().next_multiple_of(self.alignment), 0);
        file.extend(&self.data);
        file
    }

    pub(crate) fn open(&self) -> Result<Gguf, Error> {
        open_gguf(self.build())
    }
}

/// A GGUF string: its length and its bytes.
pub(crate) fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

/// A GGUF array of `length` elements, whatever `elements` holds.
pub(crate) fn array(element_type: u32, length: u64, elements: impl AsRef<[u8]>) -> Vec<u8> {
    [&element_type.to_le_bytes()[..], &length.to_le_bytes(), elements.as_ref()].concat()
}

/// A safetensors file with this header, whatever it says.
pub(crate) fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

pub(crate) fn open_gguf(bytes: Vec<u8>) -> Result<Gguf, Error> {
    Gguf::read(FileBytes::from_vec("bad.gguf", bytes))
}

pub(crate) fn open_safetensors(bytes: Vec<u8>) -> Result<Safetensors, Error> {
    Safetensors::read(FileBytes::from_vec("bad.safetensors", bytes))
}

/// A file or folder of the test data.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/checkpoint").join(name)
}
