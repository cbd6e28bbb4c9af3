//! The metadata of a GGUF file: keys, typed getters, and which keys were consumed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::error::{Error, Subject};
use super::super::file_bytes::FileBytes;
use super::cursor::Cursor;
use super::fault::{GgufFault, Located};
use super::value::{FromValue, Value, ValueType};

/// The longest key that the specification allows, in bytes.
const LONGEST_KEY: u64 = 65_535;
/// The fewest bytes that a key with its value takes: length, one byte of name, type, one byte of value.
pub(super) const SHORTEST_ENTRY: u64 = 8 + 1 + 4 + 1;

/// One key of a file and where its value is.
#[derive(Debug)]
pub struct Entry {
    key: String,
    value_type: ValueType,
    offset: u64,
    bytes: u64,
    consumed: AtomicBool,
}

impl Entry {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The type of its value.
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Where its value starts, in bytes from the start of the file. The value is what follows the value
    /// type: a string starts with its u64 length, an array with its u32 element type and u64 length.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes its value takes, the lengths included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Every key of a file, in file order.
#[derive(Debug)]
pub(super) struct MetadataTable {
    entries: Vec<Entry>,
    by_key: HashMap<String, usize>,
}

impl MetadataTable {
    /// Reads `count` keys and checks their values.
    pub(super) fn read(
        file: &FileBytes,
        cursor: &mut Cursor<'_>,
        count: u64,
    ) -> Result<Self, Error> {
        let mut table = Self { entries: Vec::new(), by_key: HashMap::new() };
        for number in 0..count {
            let key = cursor
                .name(LONGEST_KEY)
                .map_err(|fault| fault.in_file(file, Subject::KeyNumber(number)))?;
            let entry = read_entry(cursor, key)
                .map_err(|fault| fault.in_file(file, Subject::Key(key.to_owned())))?;
            if let Some(&first) = table.by_key.get(key) {
                let fault = GgufFault::DuplicateKey { first: table.entries[first].offset };
                return Err(fault.at(entry.offset).in_file(file, Subject::Key(entry.key)));
            }
            table.by_key.insert(key.to_owned(), table.entries.len());
            table.entries.push(entry);
        }
        Ok(table)
    }

    /// This table with the file that it describes.
    pub(super) fn of<'a>(&'a self, file: &'a FileBytes) -> Metadata<'a> {
        Metadata { file, table: self }
    }
}

fn read_entry(cursor: &mut Cursor<'_>, key: &str) -> Result<Entry, Located> {
    let value_type = ValueType::read(cursor)?;
    let offset = cursor.position();
    Value::read(cursor, value_type)?;
    let bytes = cursor.position() - offset;
    Ok(Entry { key: key.to_owned(), value_type, offset, bytes, consumed: AtomicBool::new(false) })
}

/// The metadata of an open file. Values are decoded from the mapped bytes each time they are asked for.
///
/// A key is *consumed* once a getter was asked for it, found or not of the type: what
/// [`Metadata::unused`] still lists is what no code has looked at.
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'a> {
    file: &'a FileBytes,
    table: &'a MetadataTable,
}

impl<'a> Metadata<'a> {
    /// The file.
    pub fn path(&self) -> &'a Path {
        self.file.path()
    }

    /// Where the value of `key` starts, in bytes from the start of the file. Asking does not consume it.
    pub fn offset(&self, key: &str) -> Option<u64> {
        self.entry(key).map(Entry::offset)
    }

    /// The value of `key`, which must be there and of the type `T`: `u8` to `u64`, `i8` to `i64`, `f32`,
    /// `f64`, `bool`, `&str`, or a `Vec` of one of these.
    pub fn get<T: FromValue<'a>>(&self, key: &str) -> Result<T, Error> {
        self.find(key)?.ok_or_else(|| Error::MissingKey {
            path: self.file.path().to_path_buf(),
            key: key.to_owned(),
            expected: T::EXPECTED,
        })
    }

    /// The value of `key`, None if the file has no such key. A value of another type is an error.
    pub fn find<T: FromValue<'a>>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(entry) = self.entry(key) else { return Ok(None) };
        entry.consumed.store(true, Ordering::Relaxed);
        let value = self.value(entry)?;
        let found = T::from_value(value).map_err(|fault| self.fault(key, fault))?;
        found.map(Some).ok_or_else(|| {
            let fault = GgufFault::Type { expected: T::EXPECTED, found: value.type_name() };
            self.fault(key, fault)
        })
    }

    /// A required unsigned 32-bit integer.
    pub fn u32(&self, key: &str) -> Result<u32, Error> {
        self.get(key)
    }

    /// A required unsigned 64-bit integer.
    pub fn u64(&self, key: &str) -> Result<u64, Error> {
        self.get(key)
    }

    /// A required single.
    pub fn f32(&self, key: &str) -> Result<f32, Error> {
        self.get(key)
    }

    /// A required bool.
    pub fn bool(&self, key: &str) -> Result<bool, Error> {
        self.get(key)
    }

    /// A required string.
    pub fn str(&self, key: &str) -> Result<&'a str, Error> {
        self.get(key)
    }

    /// A required array of strings: a token list takes one slice a token, no copies of text.
    pub fn str_array(&self, key: &str) -> Result<Vec<&'a str>, Error> {
        self.get(key)
    }

    /// A required array of signed 32-bit integers.
    pub fn i32_array(&self, key: &str) -> Result<Vec<i32>, Error> {
        self.get(key)
    }

    /// A required array of singles.
    pub fn f32_array(&self, key: &str) -> Result<Vec<f32>, Error> {
        self.get(key)
    }

    /// All keys in file order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        self.table.entries.iter().map(|entry| entry.key.as_str())
    }

    /// All keys with the place of their values, in file order.
    pub fn entries(&self) -> &'a [Entry] {
        &self.table.entries
    }

    /// Whether the file has `key`. Asking does not consume it.
    pub fn contains(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// The decoded value of an entry of this file. Looking does not consume it.
    pub fn value(&self, entry: &Entry) -> Result<Value<'a>, Error> {
        let mut cursor = Cursor::at(self.file.bytes(), entry.offset);
        Value::read(&mut cursor, entry.value_type)
            .map_err(|fault| fault.in_file(self.file, Subject::Key(entry.key.clone())))
    }

    /// The keys that no getter was asked for, in file order.
    pub fn unused(&self) -> Vec<&'a str> {
        let unused =
            self.table.entries.iter().filter(|entry| !entry.consumed.load(Ordering::Relaxed));
        unused.map(|entry| entry.key.as_str()).collect()
    }

    /// The error for a fault of the value of `key`, with its place in the file.
    pub(crate) fn fault(&self, key: &str, fault: GgufFault) -> Error {
        let offset = self.offset(key).unwrap_or(0);
        fault.at(offset).in_file(self.file, Subject::Key(key.to_owned()))
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.table.by_key.get(key).map(|&index| &self.table.entries[index])
    }
}
