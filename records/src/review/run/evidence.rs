//! The files behind a record: named, hashed, one click away, and the small ones on the page itself.

use crate::number::bytes;
use crate::record::Record;
use crate::review::page::{Block, Cell, Fold, Section, Table};

/// Text of at most this length stands on the page.
const EMBEDDED: usize = 32 << 10;

/// A file of evidence, verified by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name in the record.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What leads from the page to it.
    pub href: String,
}

impl File {
    /// The file of that name.
    pub fn named<'f>(files: &'f [Self], name: &str) -> Option<&'f Self> {
        files.iter().find(|file| file.name == name)
    }
}

pub(super) fn section(record: &Record, files: &[File], base: &str) -> Section {
    let mut blocks = listed(record, files, base);
    for file in files.iter().filter(|file| file.bytes.len() <= EMBEDDED) {
        if let Some(text) = readable(file) {
            blocks.push(Fold::closed(file.name.clone(), vec![Block::Code(text)]));
        }
    }
    let lead = "Every file that is here was read and matched with its hash for this page.";
    Section::new("evidence", "Evidence", Some(lead), blocks)
}

/// The command that derives the word again.
pub(super) fn derived_by(record: &Record) -> String {
    let program = if record.series.is_some() { "grid" } else { "gate" };
    format!("{program} recheck {}", record.id)
}

/// The files by name and hash, without what is in them.
pub(super) fn listed(record: &Record, files: &[File], base: &str) -> Vec<Block> {
    let mut table = Table::new("Evidence", &["file", "size#", "SHA-256"]);
    for entry in &record.evidence {
        let name = Cell::code(&entry.name);
        let (name, size) = match File::named(files, &entry.name) {
            Some(file) => (name.to(&file.href), bytes(entry.bytes as f64)),
            None => (name, format!("{}, not on this machine", bytes(entry.bytes as f64))),
        };
        table.rows.push(vec![name, Cell::new(size), Cell::code(&entry.sha256)]);
    }
    let mut blocks = Vec::new();
    if table.rows.is_empty() {
        blocks.push(Block::Text("This record keeps no evidence.".to_owned()));
    } else {
        blocks.push(Block::Table(table));
    }
    let path = format!("runs/{}.json", record.id);
    blocks.push(Block::Facts(vec![
        ("record".to_owned(), Cell::code(&path).to(format!("{base}{path}"))),
        ("derive again".to_owned(), Cell::code(derived_by(record))),
    ]));
    blocks
}

/// The text of a file that is one; JSON on one line is laid out.
fn readable(file: &File) -> Option<String> {
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let is_json = std::path::Path::new(&file.name).extension().is_some_and(|end| end == "json");
    let value = is_json.then(|| serde_json::from_str::<serde_json::Value>(text).ok()).flatten();
    Some(value.map_or_else(|| text.to_owned(), |value| format!("{value:#}")))
}
