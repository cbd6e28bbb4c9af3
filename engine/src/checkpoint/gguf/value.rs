//! Metadata values: decoded on demand from the file's bytes.

use std::fmt;

use super::cursor::Cursor;
use super::fault::{GgufFault, Located};

/// The type of a metadata value, under the specification's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// An unsigned 8-bit integer.
    Uint8,
    /// A signed 8-bit integer.
    Int8,
    /// An unsigned 16-bit integer.
    Uint16,
    /// A signed 16-bit integer.
    Int16,
    /// An unsigned 32-bit integer.
    Uint32,
    /// A signed 32-bit integer.
    Int32,
    /// An IEEE single.
    Float32,
    /// One byte, 0 or 1.
    Bool,
    /// A u64 length and UTF-8 bytes.
    String,
    /// An element type, a u64 length and the elements.
    Array,
    /// An unsigned 64-bit integer.
    Uint64,
    /// A signed 64-bit integer.
    Int64,
    /// An IEEE double.
    Float64,
}

/// All value types: the position is the id in the file. The fewest bytes that a value takes.
const VALUE_TYPES: [(ValueType, &str, u64); 13] = [
    (ValueType::Uint8, "uint8", 1),
    (ValueType::Int8, "int8", 1),
    (ValueType::Uint16, "uint16", 2),
    (ValueType::Int16, "int16", 2),
    (ValueType::Uint32, "uint32", 4),
    (ValueType::Int32, "int32", 4),
    (ValueType::Float32, "float32", 4),
    (ValueType::Bool, "bool", 1),
    (ValueType::String, "string", 8),
    (ValueType::Array, "array", 12),
    (ValueType::Uint64, "uint64", 8),
    (ValueType::Int64, "int64", 8),
    (ValueType::Float64, "float64", 8),
];

impl ValueType {
    /// The type with that id in a file.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Located> {
        let start = cursor.position();
        let id = cursor.u32("a value type")?;
        let found = VALUE_TYPES.get(id as usize);
        found
            .map(|&(value_type, ..)| value_type)
            .ok_or(GgufFault::ValueType { found: id }.at(start))
    }

    /// The name in the specification: "uint32", "float32", "string".
    pub fn name(self) -> &'static str {
        VALUE_TYPES[self as usize].1
    }

    fn shortest(self) -> u64 {
        VALUE_TYPES[self as usize].2
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A metadata value.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "each variant is the value of the type of the same name")]
pub enum Value<'a> {
    Uint8(u8),
    Int8(i8),
    Uint16(u16),
    Int16(i16),
    Uint32(u32),
    Int32(i32),
    Float32(f32),
    Bool(bool),
    String(&'a str),
    Array(Array<'a>),
    Uint64(u64),
    Int64(i64),
    Float64(f64),
}

/// An array of values of one type, which is not itself an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Array<'a> {
    element: ValueType,
    length: u64,
    /// The elements as stored.
    bytes: &'a [u8],
}

impl<'a> Value<'a> {
    /// Reads and checks a value of that type, arrays to their last element.
    pub(super) fn read(cursor: &mut Cursor<'a>, value_type: ValueType) -> Result<Self, Located> {
        const WHAT: &str = "a value";
        Ok(match value_type {
            ValueType::Uint8 => Self::Uint8(u8::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Int8 => Self::Int8(i8::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Uint16 => Self::Uint16(u16::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Int16 => Self::Int16(i16::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Uint32 => Self::Uint32(u32::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Int32 => Self::Int32(i32::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Float32 => Self::Float32(f32::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Bool => Self::Bool(read_bool(cursor)?),
            ValueType::String => Self::String(cursor.string("a string")?),
            ValueType::Array => Self::Array(Array::read(cursor)?),
            ValueType::Uint64 => Self::Uint64(u64::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Int64 => Self::Int64(i64::from_le_bytes(cursor.array(WHAT)?)),
            ValueType::Float64 => Self::Float64(f64::from_le_bytes(cursor.array(WHAT)?)),
        })
    }

    /// The type's name; for an array with the element type: "array of string".
    pub fn type_name(&self) -> String {
        match self {
            Self::Array(array) => format!("array of {}", array.element),
            scalar => scalar.value_type().to_string(),
        }
    }

    /// The value's type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::Uint8(_) => ValueType::Uint8,
            Self::Int8(_) => ValueType::Int8,
            Self::Uint16(_) => ValueType::Uint16,
            Self::Int16(_) => ValueType::Int16,
            Self::Uint32(_) => ValueType::Uint32,
            Self::Int32(_) => ValueType::Int32,
            Self::Float32(_) => ValueType::Float32,
            Self::Bool(_) => ValueType::Bool,
            Self::String(_) => ValueType::String,
            Self::Array(_) => ValueType::Array,
            Self::Uint64(_) => ValueType::Uint64,
            Self::Int64(_) => ValueType::Int64,
            Self::Float64(_) => ValueType::Float64,
        }
    }
}

impl<'a> Array<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Located> {
        let start = cursor.position();
        let element = ValueType::read(cursor)?;
        if element == ValueType::Array {
            return Err(GgufFault::NestedArray.at(start));
        }
        let length = cursor.count("array elements", element.shortest())?;
        let mut elements = cursor.clone();
        let offset = cursor.position();
        if matches!(element, ValueType::String | ValueType::Bool) {
            for _ in 0..length {
                Value::read(&mut elements, element)?;
            }
        } else {
            elements.take(length * element.shortest(), "an array")?;
        }
        let bytes = cursor.take(elements.position() - offset, "an array")?;
        Ok(Self { element, length, bytes })
    }

    /// The type of every element.
    pub fn element_type(&self) -> ValueType {
        self.element
    }

    /// How many elements there are.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The elements in order, decoded one by one. They were checked when the file was opened: an error
    /// means that the file has changed since.
    pub fn values(&self) -> impl Iterator<Item = Result<Value<'a>, GgufFault>> + use<'a> {
        let Self { element, length, .. } = *self;
        let mut cursor = Cursor::new(self.bytes);
        (0..length).map(move |_| Value::read(&mut cursor, element).map_err(|located| located.fault))
    }
}

fn read_bool(cursor: &mut Cursor<'_>) -> Result<bool, Located> {
    let start = cursor.position();
    match cursor.array("a bool")? {
        [0] => Ok(false),
        [1] => Ok(true),
        [found] => Err(GgufFault::Bool { found }.at(start)),
    }
}

/// A Rust type that a metadata value can be read as. Types match exactly: a file that stores a count as
/// another integer type was written by something else than the converters that this engine knows.
pub trait FromValue<'a>: Sized {
    /// The type's name in messages.
    const EXPECTED: &'static str;

    /// The value as this type; None if it is of another type.
    fn from_value(value: Value<'a>) -> Result<Option<Self>, GgufFault>;
}

/// One line a type: the Rust type, its name, the names of arrays of it, the variant.
macro_rules! from_value {
    ($($rust:ty, $name:literal, $variant:ident;)*) => {$(
        impl<'a> FromValue<'a> for $rust {
            const EXPECTED: &'static str = $name;

            fn from_value(value: Value<'a>) -> Result<Option<Self>, GgufFault> {
                Ok(if let Value::$variant(value) = value { Some(value) } else { None })
            }
        }

        impl<'a> FromValue<'a> for Vec<$rust> {
            const EXPECTED: &'static str = concat!("array of ", $name);

            fn from_value(value: Value<'a>) -> Result<Option<Self>, GgufFault> {
                match value {
                    Value::Array(array) if array.element == ValueType::$variant => {
                        let elements = array.values().map(|element| <$rust>::from_value(element?));
                        elements.collect()
                    }
                    _ => Ok(None),
                }
            }
        }
    )*};
}

from_value! {
    u8, "uint8", Uint8;
    i8, "int8", Int8;
    u16, "uint16", Uint16;
    i16, "int16", Int16;
    u32, "uint32", Uint32;
    i32, "int32", Int32;
    f32, "float32", Float32;
    bool, "bool", Bool;
    &'a str, "string", String;
    u64, "uint64", Uint64;
    i64, "int64", Int64;
    f64, "float64", Float64;
}
