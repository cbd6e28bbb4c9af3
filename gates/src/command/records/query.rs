//! `gate records query SQL`

use super::{CommandError, Context, QueryArguments};

/// Without polars there is nothing that runs a query: the command that builds it and asks again.
#[cfg(not(feature = "query"))]
pub(super) fn query(_: &Context, arguments: &QueryArguments) -> Result<u8, CommandError> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let mut words = vec![quoted(&arguments.sql)];
    words.extend(arguments.json.then(|| "--json".to_owned()));
    words.extend(arguments.csv.then(|| "--csv".to_owned()));
    words.extend(arguments.store.as_deref().map(|folder| format!("--store {}", quoted(folder))));
    Err(CommandError::NoQueries(words.join(" ")))
}

#[cfg(feature = "query")]
pub(super) use with_polars::query;

#[cfg(feature = "query")]
mod with_polars {
    use records::number::significant;
    use records::query::{RunSamples, Table, Value, reads_samples};
    use records::samples::SamplesError;
    use records::{Kept, Store, StoreError};
    use serde_json::{Map, json};

    use super::{CommandError, Context, QueryArguments};
    use crate::command::aligned::Aligned;
    use crate::command::{print, terminal_width};

    /// Digits of a number in a table; JSON and CSV have them all.
    const DIGITS: u32 = 6;

    pub(in super::super) fn query(
        context: &Context,
        arguments: &QueryArguments,
    ) -> Result<u8, CommandError> {
        let store = super::super::store(context, arguments.store.as_deref())?;
        let records = store.read_kept()?;
        let samples = match reads_samples(&arguments.sql) {
            true => samples(context, &store, &records)?,
            false => Vec::new(),
        };
        let table = records::query::query(&records, &samples, &arguments.sql)?;
        let text = if arguments.json {
            json_lines(&table)
        } else if arguments.csv {
            csv(&table)
        } else {
            aligned(&table)
        };
        print(&text)?;
        Ok(0)
    }

    /// The samples of every record that keeps some; what is not on this machine is told.
    fn samples(
        context: &Context,
        store: &Store,
        records: &[Kept],
    ) -> Result<Vec<RunSamples>, CommandError> {
        let mut all = Vec::new();
        for record in records.iter().map(|kept| &kept.record) {
            match records::samples::of_record(store, record) {
                Ok(None) => {}
                Ok(Some(samples)) => {
                    let (run, gate) = (record.id.clone(), record.gate.clone());
                    all.push(RunSamples { run, gate, samples });
                }
                Err(SamplesError::Store(StoreError::Absent { name, .. })) => {
                    let told =
                        format!("{name} of {} is absent, and not in the table samples", record.id);
                    context.progress.note(&told);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(all)
    }

    fn plain(value: &Value, digits: Option<u32>) -> String {
        match (value, digits) {
            (Value::Null, _) => String::new(),
            (Value::Bool(value), _) => value.to_string(),
            (Value::Int(value), _) => value.to_string(),
            (Value::Float(value), Some(digits)) => significant(*value, digits),
            (Value::Float(value), None) => value.to_string(),
            (Value::Text(text), _) => text.clone(),
        }
    }

    fn aligned(table: &Table) -> String {
        let is_number = |column: &usize| {
            let mut values = table.rows.iter().map(|row| &row[*column]);
            values.all(|value| matches!(value, Value::Null | Value::Int(_) | Value::Float(_)))
        };
        let head: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        let numbers: Vec<usize> = (0..head.len()).filter(is_number).collect();
        let mut lines = Aligned::new(&head).right(numbers);
        for row in &table.rows {
            let cell = |value: &Value| match value {
                Value::Null => "-".to_owned(),
                value => plain(value, Some(DIGITS)),
            };
            lines.row(row.iter().map(cell));
        }
        lines.text("", terminal_width())
    }

    /// One object a line, so that a long result can be read in pieces.
    fn json_lines(table: &Table) -> String {
        let json = |value: &Value| match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => json!(value),
            Value::Int(value) => {
                i64::try_from(*value).map_or_else(|_| json!(value.to_string()), |v| json!(v))
            }
            Value::Float(value) => json!(value),
            Value::Text(text) => json!(text),
        };
        let line = |row: &Vec<Value>| {
            let fields: Map<String, serde_json::Value> =
                table.columns.iter().cloned().zip(row.iter().map(json)).collect();
            format!("{}\n", serde_json::Value::Object(fields))
        };
        table.rows.iter().map(line).collect()
    }

    /// RFC 4180, with a line feed at the end of a line; what is null is empty.
    fn csv(table: &Table) -> String {
        let quoted = |text: String| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text
            }
        };
        let line =
            |cells: Vec<String>| cells.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        let rows = table.rows.iter().map(|row| row.iter().map(|v| plain(v, None)).collect());
        std::iter::once(table.columns.clone()).chain(rows).map(line).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_table_as_lines_of_text_json_and_csv() {
            let table = Table {
                columns: vec!["gate".into(), "ratio".into(), "n".into()],
                rows: vec![
                    vec![Value::Text("a, \"b\"".into()), Value::Float(1.0 / 3.0), Value::Int(10)],
                    vec![Value::Text("c".into()), Value::Null, Value::Int(9)],
                ],
            };
            assert_eq!(
                aligned(&table),
                "gate       ratio   n\na, \"b\"  0.333333  10\nc              -   9\n"
            );
            assert_eq!(csv(&table), "gate,ratio,n\n\"a, \"\"b\"\"\",0.3333333333333333,10\nc,,9\n");
            assert_eq!(
                json_lines(&table),
                "{\"gate\":\"a, \\\"b\\\"\",\"ratio\":0.3333333333333333,\"n\":10}\n{\"gate\":\"c\",\"ratio\":null,\"n\":9}\n"
            );
        }
    }
}
