//! Two descriptions of a program side by side, with what differs marked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::page::{Block, Cell, Fold, Table};

/// A value as lines of `path = text`: objects are followed, lists of plain values are one text.
pub fn flat(value: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    flatten("", value, &mut all);
    all
}

fn flatten(path: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                flatten(&below(key), value, all);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (place, value) in items.iter().enumerate() {
                flatten(&below(&place.to_string()), value, all);
            }
        }
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().map(plain).collect();
            all.insert(path.to_owned(), texts.join(" "));
        }
        other => drop(all.insert(path.to_owned(), plain(other))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

/// One row of a comparison.
pub struct Line {
    /// What is said.
    pub label: &'static str,
    /// By the left side.
    pub left: Option<String>,
    /// By the right side.
    pub right: Option<String>,
    /// Whether both should say the same: two programs never have one version.
    pub is_comparable: bool,
}

/// A table of two sides; what differs is marked.
pub fn beside(caption: &str, names: [&str; 2], lines: &[Line]) -> Table {
    let mut table = Table::new(caption, &["", names[0], names[1], "same?"]);
    for Line { label, left, right, is_comparable } in lines {
        let differs = *is_comparable && left != right;
        let cell = |text: &Option<String>| Cell {
            text: text.clone().unwrap_or_else(|| "not said".to_owned()),
            code: text.is_some(),
            differs,
            ..Cell::default()
        };
        let same = match (is_comparable, differs) {
            (false, _) => "",
            (true, true) => "differs",
            (true, false) => "same",
        };
        let same = Cell { text: same.to_owned(), differs, ..Cell::default() };
        table.rows.push(vec![Cell::new(*label), cell(left), cell(right), same]);
    }
    table
}

/// What arms of one kind say of themselves: what differs in a table, what is the same on demand.
pub fn arms(arms: &BTreeMap<String, Value>) -> Vec<Block> {
    let said: Vec<(&String, BTreeMap<String, String>)> =
        arms.iter().map(|(name, value)| (name, flat(value))).collect();
    let keys: BTreeSet<&String> = said.iter().flat_map(|(_, said)| said.keys()).collect();
    let header: Vec<&str> =
        std::iter::once("").chain(said.iter().map(|(name, _)| name.as_str())).collect();
    let mut differing = Table::new("What the arms say differently of themselves", &header);
    let mut same = Table::new("What all arms say alike", &["", "all arms"]);
    for key in keys {
        let values: Vec<Option<&String>> = said.iter().map(|(_, said)| said.get(key)).collect();
        let alike = values.windows(2).all(|pair| pair[0] == pair[1]);
        if alike {
            let value = values.first().copied().flatten().cloned().unwrap_or_default();
            same.rows.push(vec![Cell::new(key), Cell::code(value)]);
            continue;
        }
        let cell = |value: Option<&String>| Cell {
            text: value.map_or_else(|| "not said".to_owned(), ToString::to_string),
            code: value.is_some(),
            differs: true,
            ..Cell::default()
        };
        differing.rows.push(
            std::iter::once(Cell::new(key)).chain(values.iter().copied().map(cell)).collect(),
        );
    }
    let mut blocks = Vec::new();
    if differing.rows.is_empty() {
        blocks.push(Block::Text("All arms say the same of themselves.".to_owned()));
    } else {
        blocks.push(Block::Table(differing));
    }
    if !same.rows.is_empty() {
        blocks.push(Fold::closed(
            format!("{} values that all arms say alike", same.rows.len()),
            vec![Block::Table(same)],
        ));
    }
    blocks
}
