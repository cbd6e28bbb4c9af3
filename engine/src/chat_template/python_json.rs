//! `tojson` as transformers defines it: Python's `json.dumps`, with `ensure_ascii` off unless asked for.

use std::fmt::Write;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// How the text is laid out.
struct Layout {
    /// What one level of nesting is indented by; None keeps everything on one line.
    indent: Option<String>,
    between_items: String,
    behind_key: String,
    sort_keys: bool,
    /// Whether every other character is written as its UTF-16 code units.
    ascii: bool,
}

/// The filter, with the arguments that transformers gives it.
#[expect(clippy::needless_pass_by_value, reason = "the template engine hands arguments over")]
pub(super) fn tojson(value: &Value, arguments: Kwargs) -> Result<Value, Error> {
    let ascii = arguments.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    let indent = match arguments.get::<Option<Value>>("indent")?.filter(|indent| !indent.is_none())
    {
        Some(indent) => match indent.as_str() {
            Some(text) => Some(text.to_owned()),
            None => Some(" ".repeat(usize::try_from(indent)?)),
        },
        None => None,
    };
    let separators = arguments.get::<Option<Value>>("separators")?.filter(|pair| !pair.is_none());
    let (between_items, behind_key) = match separators {
        Some(pair) => {
            (pair.get_item_by_index(0)?.to_string(), pair.get_item_by_index(1)?.to_string())
        }
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
    };
    let sort_keys = arguments.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    arguments.assert_all_used()?;
    let mut text = String::new();
    Layout { indent, between_items, behind_key, sort_keys, ascii }.write(value, 0, &mut text)?;
    Ok(Value::from(text))
}

impl Layout {
    fn write(&self, value: &Value, depth: usize, text: &mut String) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => text.push_str("null"),
            ValueKind::Bool => text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => text.push_str(&number(value)),
            ValueKind::String => self.write_string(value.as_str().unwrap_or_default(), text),
            ValueKind::Map => self.write_map(value, depth, text)?,
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.write_all('[', ']', items.len(), depth, text, |index, text| {
                    self.write(&items[index], depth + 1, text)
                })?;
            }
            kind => {
                let fault = format!("tojson: a value of type {kind} has no JSON form");
                return Err(Error::new(ErrorKind::InvalidOperation, fault));
            }
        }
        Ok(())
    }

    fn write_map(&self, map: &Value, depth: usize, text: &mut String) -> Result<(), Error> {
        let mut keys: Vec<Value> = map.try_iter()?.collect();
        if self.sort_keys {
            keys.sort_by_key(ToString::to_string);
        }
        self.write_all('{', '}', keys.len(), depth, text, |index, text| {
            let key = &keys[index];
            self.write_string(&key_text(key), text);
            text.push_str(&self.behind_key);
            self.write(&map.get_item(key)?, depth + 1, text)
        })
    }

    fn write_all(
        &self,
        open: char,
        close: char,
        count: usize,
        depth: usize,
        text: &mut String,
        mut item: impl FnMut(usize, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        text.push(open);
        for index in 0..count {
            if index > 0 {
                text.push_str(&self.between_items);
            }
            self.new_line(depth + 1, text);
            item(index, text)?;
        }
        if count > 0 {
            self.new_line(depth, text);
        }
        text.push(close);
        Ok(())
    }

    /// A string in quotes: quotes, backslashes and control characters are escaped.
    fn write_string(&self, string: &str, text: &mut String) {
        text.push('"');
        for character in string.chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                '\0'..='\u{1f}' => escape(character, text),
                _ if self.ascii && !(' '..='~').contains(&character) => escape(character, text),
                _ => text.push(character),
            }
        }
        text.push('"');
    }

    fn new_line(&self, depth: usize, text: &mut String) {
        if let Some(indent) = &self.indent {
            text.push('\n');
            text.push_str(&indent.repeat(depth));
        }
    }
}

/// A key: JSON has only text ones, Python spells the others in JSON.
fn key_text(key: &Value) -> String {
    match key.kind() {
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.to_owned(),
        ValueKind::None => "null".to_owned(),
        _ => key.to_string(),
    }
}

/// A number as Python writes it: floats always with a point or an exponent, the exponent from 1e16 on and
/// below 1e-4, with a sign and at least two digits.
fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    let Ok(number) = f64::try_from(value.clone()) else { return value.to_string() };
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let scientific = format!("{number:e}");
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{number:?}")
}

/// A character as its UTF-16 code units, in hexadecimal.
fn escape(character: char, text: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\u{unit:04x}");
    }
}
