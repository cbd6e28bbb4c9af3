//! Writes GGUF files that hold only metadata (GGUF specification, version 3).

use std::io::Write;

use serde_json::Value;
use tempfile::NamedTempFile;

/// A GGUF file with these keys and no tensors. Whole numbers become uint32 (int32 in arrays), other numbers
/// float32; an array takes the type of its first element.
pub(crate) fn write(metadata: &[(String, Value)]) -> NamedTempFile {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        string(key, &mut bytes);
        entry(value, &mut bytes);
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    let mut file = tempfile::Builder::new().suffix(".gguf").tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    file
}

fn entry(value: &Value, bytes: &mut Vec<u8>) {
    bytes.extend(kind(value, false).to_le_bytes());
    match value {
        Value::Array(elements) => {
            let element = elements.first().map_or(8, |first| kind(first, true));
            bytes.extend(element.to_le_bytes());
            bytes.extend((elements.len() as u64).to_le_bytes());
            for value in elements {
                plain(value, element, bytes);
            }
        }
        _ => plain(value, kind(value, false), bytes),
    }
}

/// The id of a value's type in the file.
fn kind(value: &Value, in_array: bool) -> u32 {
    match value {
        Value::Bool(_) => 7,
        Value::String(_) => 8,
        Value::Array(_) => 9,
        Value::Number(number) if number.is_f64() => 6,
        _ if in_array => 5,
        _ => 4,
    }
}

fn plain(value: &Value, kind: u32, bytes: &mut Vec<u8>) {
    match kind {
        4 | 5 => bytes.extend((value.as_i64().unwrap_or(0) as i32).to_le_bytes()),
        6 => bytes.extend((value.as_f64().unwrap_or(0.0) as f32).to_le_bytes()),
        7 => bytes.push(u8::from(value.as_bool().unwrap_or(false))),
        _ => string(value.as_str().unwrap_or(""), bytes),
    }
}

fn string(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
