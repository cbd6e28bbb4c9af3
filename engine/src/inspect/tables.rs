//! The tables of `plumb inspect` for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use super::{MetadataReport, Report, TensorReport, ValueReport};
use crate::checkpoint::gguf::Value;

/// Texts with more characters than this are cut, unless the report is full.
const LONGEST_TEXT: usize = 60;
/// How many elements of an array are shown, unless the report is full.
const SHOWN_ELEMENTS: usize = 4;

/// Writes the report: one line, then metadata, tensors, and totals per format.
pub(super) fn write(report: &Report<'_>, full: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", headline(report))?;
    if !report.metadata.is_empty() {
        writeln!(out, "\n{}", metadata(&report.metadata, full).trim_fmt())?;
    }
    writeln!(out, "\n{}", tensors(&report.tensors).trim_fmt())?;
    writeln!(out, "\n{}", totals(report).trim_fmt())
}

fn headline(report: &Report<'_>) -> String {
    let version = report.version.map(|version| format!(" version {version}")).unwrap_or_default();
    let alignment =
        report.alignment.map(|bytes| format!(", alignment {bytes}")).unwrap_or_default();
    format!("{}{version}{alignment}, {} bytes on disk", report.format, report.file_bytes)
}

fn metadata(rows: &[MetadataReport<'_>], full: bool) -> Table {
    let mut table = table(&["key", "type", "value", "offset", "bytes"], &[3, 4]);
    for row in rows {
        let number =
            |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        table.add_row([
            escaped(row.key),
            row.value_type.clone(),
            value_text(&row.value, full),
            number(row.offset),
            number(row.bytes),
        ]);
    }
    table
}

fn tensors(rows: &[TensorReport<'_>]) -> Table {
    let in_folder = rows.iter().any(|row| row.file.is_some());
    let mut header = vec!["tensor", "format", "shape", "offset", "bytes"];
    header.extend(in_folder.then_some("file"));
    let mut table = table(&header, &[2, 3, 4]);
    for row in rows {
        let extents: Vec<String> = row.shape.iter().map(ToString::to_string).collect();
        let mut cells = vec![
            escaped(row.name),
            row.format.to_owned(),
            extents.join(" x "),
            row.offset.to_string(),
            row.bytes.to_string(),
        ];
        cells.extend(row.file.map(escaped));
        table.add_row(cells);
    }
    table
}

fn totals(report: &Report<'_>) -> Table {
    let mut formats: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for tensor in &report.tensors {
        let (count, parameters, bytes) = formats.entry(tensor.format).or_default();
        *count += 1;
        *parameters += tensor.shape.iter().map(|&extent| extent as u64).product::<u64>();
        *bytes += tensor.bytes;
    }
    let mut table = table(&["format", "tensors", "parameters", "bytes"], &[1, 2, 3]);
    let mut add = |name: &str, count: u64, parameters: u64, bytes: u64| {
        table.add_row([
            name.to_owned(),
            count.to_string(),
            parameters.to_string(),
            bytes.to_string(),
        ]);
    };
    for (format, (count, parameters, bytes)) in formats {
        add(format, count, parameters, bytes);
    }
    add("all", report.tensors.len() as u64, report.parameters, report.tensor_bytes);
    table
}

/// An empty table with these column names, the columns of numbers aligned right.
fn table(header: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn value_text(value: &ValueReport<'_>, full: bool) -> String {
    let list = |values: &[Value<'_>], length: u64| {
        let shown = if full { values.len() } else { values.len().min(SHOWN_ELEMENTS) };
        let mut texts: Vec<String> =
            values[..shown].iter().map(|value| scalar_text(value, full)).collect();
        if (shown as u64) < length {
            texts.push(format!("... {length} in all"));
        }
        format!("[{}]", texts.join(", "))
    };
    match value {
        ValueReport::Scalar(value) => scalar_text(value, full),
        ValueReport::Array(values) => list(values, values.len() as u64),
        ValueReport::Head { length, head } => list(head, *length),
    }
}

fn scalar_text(value: &Value<'_>, full: bool) -> String {
    match value {
        Value::Uint8(value) => value.to_string(),
        Value::Int8(value) => value.to_string(),
        Value::Uint16(value) => value.to_string(),
        Value::Int16(value) => value.to_string(),
        Value::Uint32(value) => value.to_string(),
        Value::Int32(value) => value.to_string(),
        Value::Float32(value) => format!("{value:?}"),
        Value::Bool(value) => value.to_string(),
        Value::Uint64(value) => value.to_string(),
        Value::Int64(value) => value.to_string(),
        Value::Float64(value) => format!("{value:?}"),
        Value::String(text) if full => format!("{text:?}"),
        Value::String(text) => {
            let cut: String = text.chars().take(LONGEST_TEXT).collect();
            let rest = if cut.len() < text.len() { "..." } else { "" };
            format!("{cut:?}{rest}")
        }
        Value::Array(array) => format!("array of {}", array.len()),
    }
}

/// Names come from the file: control characters must not reach the terminal.
fn escaped(name: &str) -> String {
    name.escape_debug().to_string()
}
