//! SQL over the store: every record, measurement, cell and raw sample as a row of a table.

mod tables;

use polars::prelude::{AnyValue, Column, DataType, LazyFrame, PolarsError};
use polars::sql::SQLContext;

use crate::samples::{Sample, SamplesError};
use crate::store::Kept;

/// The samples of one record.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSamples {
    /// The record's id.
    pub run: String,
    /// Its grid.
    pub gate: String,
    /// Its requests.
    pub samples: Vec<Sample>,
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing was measured, or there is no such thing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number.
    Float(f64),
    /// A text, and anything else as its text.
    Text(String),
}

/// The result of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, each with a value a column.
    pub rows: Vec<Vec<Value>>,
}

/// A query without a result.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The tables could not be made of the records.
    #[error("cannot make the tables of a query")]
    Tables(#[source] PolarsError),
    /// Samples that are no measurements.
    #[error("samples of {run}")]
    Samples {
        /// The record.
        run: String,
        /// What is wrong with it.
        #[source]
        source: SamplesError,
    },
    /// The SQL, or what it does.
    #[error("the query has no result: {}\n\nThe tables and their columns:\n{tables}", first_line(.problem))]
    Sql {
        /// What polars said. Not the source: its first line is told, and the rest is a plan.
        problem: PolarsError,
        /// The tables with their columns, a line each.
        tables: String,
    },
}

/// Polars adds a backtrace of its plan, which says nothing to who wrote the query.
fn first_line(error: &PolarsError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Whether a query may read the table `samples`: they are many, and no other query waits for them.
pub fn reads_samples(sql: &str) -> bool {
    sql.to_ascii_lowercase().contains("samples")
}

/// Runs SQL over the tables `runs`, `measurements`, `cells` and `samples`.
pub fn query(records: &[Kept], samples: &[RunSamples], sql: &str) -> Result<Table, QueryError> {
    let samples = if reads_samples(sql) { samples } else { &[] };
    let tables: Vec<(&str, LazyFrame)> = vec![
        ("runs", tables::runs(records).map_err(QueryError::Tables)?),
        ("measurements", tables::measurements(records).map_err(QueryError::Tables)?),
        ("cells", tables::cells(records).map_err(QueryError::Tables)?),
        ("samples", tables::samples(samples)?),
    ];
    let mut context = SQLContext::new();
    for (name, table) in &tables {
        context.register(name, table.clone());
    }
    let outcome = context.execute(sql).and_then(LazyFrame::collect);
    let frame =
        outcome.map_err(|problem| QueryError::Sql { problem, tables: described(tables) })?;
    let columns = frame.columns();
    let names = columns.iter().map(|column| column.name().to_string()).collect();
    let rows = (0..frame.height()).map(|row| columns.iter().map(|c| value(c, row)).collect());
    Ok(Table { columns: names, rows: rows.collect() })
}

/// The tables and their columns, a line each.
fn described(tables: Vec<(&str, LazyFrame)>) -> String {
    let line = |(name, mut table): (&str, LazyFrame)| {
        let columns = table.collect_schema().map(|schema| {
            schema.iter_names().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        });
        format!("  {name}: {}", columns.unwrap_or_default())
    };
    tables.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn value(column: &Column, row: usize) -> Value {
    match column.get(row) {
        Err(_) | Ok(AnyValue::Null) => Value::Null,
        Ok(AnyValue::Boolean(value)) => Value::Bool(value),
        Ok(AnyValue::String(text)) => Value::Text(text.to_owned()),
        Ok(AnyValue::StringOwned(text)) => Value::Text(text.to_string()),
        Ok(AnyValue::Float64(value)) => Value::Float(value),
        Ok(AnyValue::Float32(value)) => Value::Float(f64::from(value)),
        Ok(other) => match other.extract::<i128>() {
            Some(whole) if column.dtype().is_integer() => Value::Int(whole),
            _ => Value::Text(as_text(column, row, &other)),
        },
    }
}

/// A date, a span or a list: as polars writes it.
fn as_text(column: &Column, row: usize, value: &AnyValue<'_>) -> String {
    let text = column.slice(row as i64, 1).cast(&DataType::String).ok();
    let text = text.and_then(|text| Some(text.str().ok()?.get(0)?.to_owned()));
    text.unwrap_or_else(|| format!("{value:?}"))
}
