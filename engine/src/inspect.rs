//! `plumb inspect`: what a checkpoint holds, as JSON for programs or as tables for people.

mod tables;

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::checkpoint::gguf::{Metadata, Value};
use crate::checkpoint::{Checkpoint, Error, Safetensors, Tensor};

/// Arrays with more elements than this are summarised.
const LONGEST_ARRAY: u64 = 16;

/// The arguments of `plumb inspect`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A GGUF file, a safetensors file, or a folder of safetensors files
    pub file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print every element of arrays, and texts whole
    #[arg(long)]
    pub full: bool,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The checkpoint is bad.
    #[error(transparent)]
    Checkpoint(#[from] Error),
    /// The report could not be written.
    #[error("cannot write the report: {0}")]
    Output(#[from] io::Error),
    /// The report could not be written as JSON.
    #[error("cannot write the report as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Opens the file and writes the report on it to `out`.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), InspectError> {
    let checkpoint = Checkpoint::open(&arguments.file)?;
    let report = report(&checkpoint, arguments.full)?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        tables::write(&report, arguments.full, out)?;
    }
    Ok(out.flush()?)
}

/// Everything that the headers of a checkpoint say.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    /// "gguf" or "safetensors".
    pub format: &'static str,
    /// The version of the GGUF format; None for safetensors, which have none.
    pub version: Option<u32>,
    /// The alignment of tensor data in bytes; None for safetensors.
    pub alignment: Option<u32>,
    /// The size on disk of all tensor files.
    pub file_bytes: u64,
    /// The metadata in file order.
    pub metadata: Vec<MetadataReport<'a>>,
    /// The tensors in file order.
    pub tensors: Vec<TensorReport<'a>>,
    /// How many numbers all tensors hold.
    pub parameters: u64,
    /// How many bytes all tensors take.
    pub tensor_bytes: u64,
}

/// One metadata key.
#[derive(Debug, Serialize)]
pub struct MetadataReport<'a> {
    /// The key.
    pub key: &'a str,
    /// The type, under the specification's name; for an array with the type of its elements.
    #[serde(rename = "type")]
    pub value_type: String,
    /// The value.
    pub value: ValueReport<'a>,
    /// Where the encoded value starts in the file (a string with its length first, an array with its
    /// element type); None for safetensors, where it is text inside the JSON header.
    pub offset: Option<u64>,
    /// How many bytes the encoded value takes; None for safetensors.
    pub bytes: Option<u64>,
}

/// One tensor.
#[derive(Debug, Serialize)]
pub struct TensorReport<'a> {
    /// The name.
    pub name: &'a str,
    /// The storage format, such as "Q4_1".
    pub format: &'static str,
    /// The extents in the order of the file: GGUF lists the contiguous one first, safetensors last.
    pub shape: Vec<usize>,
    /// Where its bytes start, from the start of the file that holds it.
    pub offset: u64,
    /// How many bytes it takes.
    pub bytes: u64,
    /// The name of the file that holds it, where a folder has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a str>,
}

/// A metadata value as it is reported.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueReport<'a> {
    /// A value that is no array.
    Scalar(Value<'a>),
    /// An array with all its elements.
    Array(Vec<Value<'a>>),
    /// An array that is summarised: `{"length", "head"}`.
    Head {
        /// How many elements the array has.
        length: u64,
        /// The first of them.
        head: Vec<Value<'a>>,
    },
}

/// The report on an open checkpoint. `full` keeps every element of arrays.
pub fn report(checkpoint: &Checkpoint, full: bool) -> Result<Report<'_>, Error> {
    let (format, version, alignment, metadata) = match checkpoint {
        Checkpoint::Gguf(gguf) => {
            let metadata = gguf_metadata(gguf.metadata(), full)?;
            ("gguf", Some(gguf.version()), Some(gguf.alignment()), metadata)
        }
        Checkpoint::Safetensors(safetensors) => ("safetensors", None, None, notes(safetensors)),
    };
    Ok(Report {
        format,
        version,
        alignment,
        file_bytes: checkpoint.file_bytes(),
        metadata,
        tensors: checkpoint
            .contents()
            .iter()
            .map(|tensor| one_tensor(checkpoint, tensor))
            .collect(),
        parameters: checkpoint.parameters(),
        tensor_bytes: checkpoint.tensor_bytes(),
    })
}

fn one_tensor<'a>(checkpoint: &'a Checkpoint, tensor: &'a Tensor) -> TensorReport<'a> {
    let mut shape = tensor.shape.clone();
    if matches!(checkpoint, Checkpoint::Gguf(_)) {
        shape.reverse();
    }
    let file = checkpoint.file_of(tensor);
    let within_folder = file != checkpoint.path();
    TensorReport {
        name: &tensor.name,
        format: tensor.format.name(),
        shape,
        offset: tensor.offset,
        bytes: tensor.bytes,
        file: if within_folder { file.file_name().and_then(|name| name.to_str()) } else { None },
    }
}

fn gguf_metadata(metadata: Metadata<'_>, full: bool) -> Result<Vec<MetadataReport<'_>>, Error> {
    let mut reports = Vec::new();
    for entry in metadata.entries() {
        let value = metadata.value(entry)?;
        reports.push(MetadataReport {
            key: entry.key(),
            value_type: value.type_name(),
            value: value_report(value, full).map_err(|fault| metadata.fault(entry.key(), fault))?,
            offset: Some(entry.offset()),
            bytes: Some(entry.bytes()),
        });
    }
    Ok(reports)
}

fn value_report(
    value: Value<'_>,
    full: bool,
) -> Result<ValueReport<'_>, crate::checkpoint::gguf::GgufFault> {
    let Value::Array(array) = value else { return Ok(ValueReport::Scalar(value)) };
    if full || array.len() <= LONGEST_ARRAY {
        return Ok(ValueReport::Array(array.values().collect::<Result<_, _>>()?));
    }
    let head = array.values().take(LONGEST_ARRAY as usize).collect::<Result<_, _>>()?;
    Ok(ValueReport::Head { length: array.len(), head })
}

fn notes(safetensors: &Safetensors) -> Vec<MetadataReport<'_>> {
    let pairs = safetensors.notes().iter();
    pairs
        .map(|(key, text)| {
            let value = Value::String(text);
            let (value_type, value) = (value.type_name(), ValueReport::Scalar(value));
            MetadataReport { key, value_type, value, offset: None, bytes: None }
        })
        .collect()
}

impl Serialize for ValueReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scalar(value) => Scalar(value).serialize(serializer),
            Self::Array(values) => serializer.collect_seq(values.iter().map(Scalar)),
            Self::Head { length, head } => {
                let mut summary = serializer.serialize_struct("Head", 2)?;
                summary.serialize_field("length", length)?;
                summary.serialize_field("head", &head.iter().map(Scalar).collect::<Vec<_>>())?;
                summary.end()
            }
        }
    }
}

/// A value that is no array. JSON has no literal for NaN and the infinities: they become text.
struct Scalar<'a>(&'a Value<'a>);

impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self.0 {
            Value::Uint8(value) => serializer.serialize_u8(value),
            Value::Int8(value) => serializer.serialize_i8(value),
            Value::Uint16(value) => serializer.serialize_u16(value),
            Value::Int16(value) => serializer.serialize_i16(value),
            Value::Uint32(value) => serializer.serialize_u32(value),
            Value::Int32(value) => serializer.serialize_i32(value),
            Value::Float32(value) if value.is_finite() => serializer.serialize_f32(value),
            Value::Float32(value) => serializer.collect_str(&value),
            Value::Bool(value) => serializer.serialize_bool(value),
            Value::String(value) => serializer.serialize_str(value),
            Value::Uint64(value) => serializer.serialize_u64(value),
            Value::Int64(value) => serializer.serialize_i64(value),
            Value::Float64(value) if value.is_finite() => serializer.serialize_f64(value),
            Value::Float64(value) => serializer.collect_str(&value),
            // Arrays of arrays are refused on opening.
            Value::Array(array) => {
                serializer.collect_str(&format_args!("array of {}", array.len()))
            }
        }
    }
}
