//! What differs between two records, field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

/// A field that is not the same in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Its path, such as `subject.binary_sha256` or `measurements.ttft_ms median`.
    pub field: String,
    /// Its value in the first record; `None` where it has no such field.
    pub a: Option<Value>,
    /// Its value in the second.
    pub b: Option<Value>,
    /// Second over first, where both are numbers and the first is not 0.
    pub ratio: Option<f64>,
}

/// Fields of a moment: two runs of the same thing differ in them, and are the same all the same.
const MOMENT: [&str; 6] = [
    "id",
    "started_at",
    "duration_ms",
    "machine.load",
    "machine.memory_available_bytes",
    "machine.cpu_pressure_percent",
];

/// Lists whose entries have names of their own; by these, and not by their place, are two entries one.
const NAMED: [(&str, &[&str]); 4] = [
    ("measurements", &["metric", "statistic"]),
    ("evidence", &["name"]),
    ("divergences", &["id"]),
    ("cells", &["cell", "subject", "reference", "metric"]),
];

/// The differences of two records as they are kept, in the order of the fields' paths; a moment's own fields are left out.
pub fn differences(a: &Value, b: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(a), Some(b), &mut found);
    found
}

fn compare(path: &str, a: Option<&Value>, b: Option<&Value>, found: &mut Vec<Difference>) {
    if a == b || MOMENT.contains(&path) {
        return;
    }
    match (a, b) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => compare_keys(path, a, b, found),
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            compare_keys(path, &by_name(path, a), &by_name(path, b), found);
        }
        _ => {
            let number = |value: Option<&Value>| value.and_then(Value::as_f64);
            let ratio = number(b).zip(number(a)).map(|(b, a)| b / a).filter(|r| r.is_finite());
            let field = path.to_owned();
            found.push(Difference { field, a: a.cloned(), b: b.cloned(), ratio });
        }
    }
}

fn compare_keys(
    path: &str,
    a: &Map<String, Value>,
    b: &Map<String, Value>,
    found: &mut Vec<Difference>,
) {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys {
        let field = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        compare(&field, a.get(key), b.get(key), found);
    }
}

/// The entries of a list by their names, or by their places where they have none or share one.
fn by_name(path: &str, entries: &[Value]) -> Map<String, Value> {
    let list = path.rsplit('.').next().unwrap_or(path);
    let keys = NAMED.iter().find(|(name, _)| *name == list).map(|(_, keys)| *keys);
    let name = |entry: &Value| -> Option<String> {
        let parts = keys?.iter().map(|key| entry.get(key).and_then(Value::as_str));
        Some(parts.collect::<Option<Vec<_>>>()?.join(" "))
    };
    let named: Option<BTreeMap<String, Value>> =
        entries.iter().map(|entry| Some((name(entry)?, entry.clone()))).collect();
    if let Some(named) = named.filter(|named| named.len() == entries.len()) {
        return named.into_iter().collect();
    }
    // Places have as many digits as the last, so that their order as text is their order.
    let digits = entries.len().saturating_sub(1).to_string().len();
    let place = |(index, entry): (usize, &Value)| (format!("{index:0digits$}"), entry.clone());
    entries.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_named_and_numbers_have_their_ratio() {
        let a = json!({
            "id": "a", "started_at": "x", "spec_sha256": "1", "machine": {"load": 1, "kernel": "6"},
            "verdict": {"word": "PASS", "rules": []},
            "measurements": [
                {"metric": "ttft_ms", "statistic": "median", "value": 50.0},
                {"metric": "rank", "statistic": "max", "value": null},
            ],
        });
        let b = json!({
            "id": "b", "started_at": "y", "spec_sha256": "2", "machine": {"load": 9, "kernel": "6"},
            "verdict": {"word": "VOID", "rules": ["V-CLOCK-OFF"]},
            "measurements": [
                {"metric": "rank", "statistic": "max", "value": 0},
                {"metric": "ttft_ms", "statistic": "median", "value": 40.0},
            ],
        });
        let found = differences(&a, &b);
        let ratio: Vec<(&str, Option<f64>)> =
            found.iter().map(|d| (d.field.as_str(), d.ratio)).collect();
        assert_eq!(
            ratio,
            [
                ("measurements.rank max.value", None),
                ("measurements.ttft_ms median.value", Some(0.8)),
                ("spec_sha256", None),
                ("verdict.rules.0", None),
                ("verdict.word", None),
            ]
        );
        assert_eq!(found[0].a, Some(Value::Null), "null is kept apart from a field that is absent");
        assert_eq!(found[3].a, None);
        assert_eq!(differences(&a, &a), []);
    }

    #[test]
    fn entries_that_share_a_name_are_compared_by_place() {
        let list = |values: &[i64]| {
            let entry = |v: &i64| json!({"metric": "rank", "statistic": "max", "value": v});
            json!({"measurements": values.iter().map(entry).collect::<Vec<_>>()})
        };
        let found = differences(&list(&[1, 2]), &list(&[1, 3, 4]));
        let fields: Vec<&str> = found.iter().map(|d| d.field.as_str()).collect();
        assert_eq!(fields, ["measurements.1.value", "measurements.2"]);
    }
}
