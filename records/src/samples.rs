//! Raw samples of a series as Parquet, one row a request: the evidence that every number of its cells is computed from.

use std::fs::File;
use std::io::{self, Cursor};
use std::path::Path;

use polars::prelude::{
    Column, DataFrame, DataType, ParquetCompression, ParquetReader, ParquetWriter, PolarsError,
    SerReader, StatisticsOptions,
};

/// The name under which a record's evidence keeps them; the table `samples` of a query is made of all files of this name.
pub const SAMPLES_FILE: &str = "samples.parquet";

/// Rows of one group, which a reader skips or loads at once.
const GROUP_ROWS: usize = 128 * 1024;

/// One request of one leg.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The leg's name in the plan.
    pub leg: String,
    /// The cell, such as `c8`.
    pub cell: String,
    /// The arm, such as `plumb`.
    pub arm: String,
    /// What the leg is for, such as `pair`, `null` or `control`.
    pub role: String,
    /// The block of legs that are compared.
    pub block: u32,
    /// The leg's place in its block.
    pub slot: u32,
    /// The server's process, counted from 0 for each arm.
    pub session: u32,
    /// The request's place in the leg.
    pub request: u32,
    /// When it was sent, from the leg's beginning.
    pub sent_ns: u64,
    /// Time to first token; `None` where none came.
    pub ttft_ms: Option<f64>,
    /// Time per output token after the first; `None` below two tokens.
    pub tpot_ms: Option<f64>,
    /// From sending to the end; `None` where there was none.
    pub e2e_ms: Option<f64>,
    /// Output tokens as the server counted them; `None` where it did not.
    pub output_tokens: Option<u32>,
    /// Prompt tokens as the server counted them.
    pub prompt_tokens: Option<u32>,
    /// How it ended, such as `complete` or `timed-out`.
    pub end: String,
}

/// Samples that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    /// A NaN or an infinity, which is no measurement.
    #[error("sample {row}: {column} is {found}: expected a finite number, or none")]
    NotFinite {
        /// The row, from 0.
        row: usize,
        /// The column.
        column: &'static str,
        /// The value.
        found: f64,
    },
    /// A value that its column cannot hold.
    #[error("sample {row}: {column}: {problem}")]
    Value {
        /// The row, from 0.
        row: usize,
        /// The column.
        column: &'static str,
        /// What was expected.
        problem: &'static str,
    },
    /// The operating system refused the file.
    #[error("cannot be opened")]
    Open(#[source] io::Error),
    /// The file is none of ours.
    #[error("samples: not a Parquet file with the columns of a sample")]
    Parquet(#[source] PolarsError),
}

/// The samples as a Parquet file: the same samples give the same bytes.
pub fn write_samples(samples: &[Sample]) -> Result<Vec<u8>, SamplesError> {
    let mut frame = frame(samples)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .with_statistics(StatisticsOptions::default())
        .with_row_group_size(Some(GROUP_ROWS))
        // One thread writes, so that nothing depends on which of several was first.
        .set_parallel(false)
        .finish(&mut frame)
        .map_err(SamplesError::Parquet)?;
    Ok(bytes)
}

/// Reads what [`write_samples`] wrote.
pub fn read_samples(bytes: &[u8]) -> Result<Vec<Sample>, SamplesError> {
    let frame = ParquetReader::new(Cursor::new(bytes)).finish().map_err(SamplesError::Parquet)?;
    let texts = |name| texts(&frame, name);
    let counts = |name| counts(&frame, name);
    let numbers = |name| numbers(&frame, name);
    let (leg, cell, arm) = (texts("leg")?, texts("cell")?, texts("arm")?);
    let (role, end) = (texts("role")?, texts("end")?);
    let (block, slot) = (counts("block")?, counts("slot")?);
    let (session, request, sent) = (counts("session")?, counts("request")?, counts("sent_ns")?);
    let (ttft, tpot, e2e) = (numbers("ttft_ms")?, numbers("tpot_ms")?, numbers("e2e_ms")?);
    let (output, prompt) = (counts("output_tokens")?, counts("prompt_tokens")?);
    let sample = |row: usize| {
        Ok(Sample {
            leg: text(&leg, row, "leg")?,
            cell: text(&cell, row, "cell")?,
            arm: text(&arm, row, "arm")?,
            role: text(&role, row, "role")?,
            block: count(&block, row, "block")?,
            slot: count(&slot, row, "slot")?,
            session: count(&session, row, "session")?,
            request: count(&request, row, "request")?,
            sent_ns: count(&sent, row, "sent_ns")?,
            ttft_ms: ttft[row],
            tpot_ms: tpot[row],
            e2e_ms: e2e[row],
            output_tokens: output[row].map(|_| count(&output, row, "output_tokens")).transpose()?,
            prompt_tokens: prompt[row].map(|_| count(&prompt, row, "prompt_tokens")).transpose()?,
            end: text(&end, row, "end")?,
        })
    };
    (0..frame.height()).map(sample).collect()
}

/// The rows of a file, as a query reads them: with the columns of a sample and no other.
pub(crate) fn read_frame(path: &Path) -> Result<DataFrame, SamplesError> {
    let file = File::open(path).map_err(SamplesError::Open)?;
    let found = ParquetReader::new(file).finish().map_err(SamplesError::Parquet)?;
    let empty = frame(&[])?;
    let column = |expected: &Column| {
        found.column(expected.name()).and_then(|found| found.cast(expected.dtype()))
    };
    let columns = empty.columns().iter().map(column).collect::<Result<Vec<_>, _>>();
    columns
        .and_then(|columns| DataFrame::new(found.height(), columns))
        .map_err(SamplesError::Parquet)
}

/// The samples as a table. Counts are signed, so that a difference of two may be below zero in a query.
pub(crate) fn frame(samples: &[Sample]) -> Result<DataFrame, SamplesError> {
    for (row, sample) in samples.iter().enumerate() {
        let numbers =
            [("ttft_ms", sample.ttft_ms), ("tpot_ms", sample.tpot_ms), ("e2e_ms", sample.e2e_ms)];
        for (column, value) in numbers {
            if let Some(found) = value.filter(|value| !value.is_finite()) {
                return Err(SamplesError::NotFinite { row, column, found });
            }
        }
        if i64::try_from(sample.sent_ns).is_err() {
            let problem = "expected less than 2^63";
            return Err(SamplesError::Value { row, column: "sent_ns", problem });
        }
    }
    let text = |name: &str, of: fn(&Sample) -> &str| {
        Column::new(name.into(), samples.iter().map(of).collect::<Vec<&str>>())
    };
    let count = |name: &str, of: fn(&Sample) -> i64| {
        Column::new(name.into(), samples.iter().map(of).collect::<Vec<i64>>())
    };
    let maybe = |name: &str, of: fn(&Sample) -> Option<u32>| {
        let values = samples.iter().map(|sample| of(sample).map(i64::from));
        Column::new(name.into(), values.collect::<Vec<Option<i64>>>())
    };
    let number = |name: &str, of: fn(&Sample) -> Option<f64>| {
        Column::new(name.into(), samples.iter().map(of).collect::<Vec<Option<f64>>>())
    };
    DataFrame::new(
        samples.len(),
        vec![
            text("leg", |s| &s.leg),
            text("cell", |s| &s.cell),
            text("arm", |s| &s.arm),
            text("role", |s| &s.role),
            count("block", |s| i64::from(s.block)),
            count("slot", |s| i64::from(s.slot)),
            count("session", |s| i64::from(s.session)),
            count("request", |s| i64::from(s.request)),
            count("sent_ns", |s| s.sent_ns as i64),
            number("ttft_ms", |s| s.ttft_ms),
            number("tpot_ms", |s| s.tpot_ms),
            number("e2e_ms", |s| s.e2e_ms),
            maybe("output_tokens", |s| s.output_tokens),
            maybe("prompt_tokens", |s| s.prompt_tokens),
            text("end", |s| &s.end),
        ],
    )
    .map_err(SamplesError::Parquet)
}

fn texts(frame: &DataFrame, name: &str) -> Result<Vec<Option<String>>, SamplesError> {
    let column = frame.column(name).map_err(SamplesError::Parquet)?;
    let column = column.str().map_err(SamplesError::Parquet)?;
    Ok(column.iter().map(|text| text.map(str::to_owned)).collect())
}

fn counts(frame: &DataFrame, name: &str) -> Result<Vec<Option<i64>>, SamplesError> {
    let column = frame.column(name).map_err(SamplesError::Parquet)?;
    let column = column.strict_cast(&DataType::Int64).map_err(SamplesError::Parquet)?;
    Ok(column.i64().map_err(SamplesError::Parquet)?.iter().collect())
}

fn numbers(frame: &DataFrame, name: &str) -> Result<Vec<Option<f64>>, SamplesError> {
    let column = frame.column(name).map_err(SamplesError::Parquet)?;
    Ok(column.f64().map_err(SamplesError::Parquet)?.iter().collect())
}

fn text(column: &[Option<String>], row: usize, name: &'static str) -> Result<String, SamplesError> {
    let absent = SamplesError::Value { row, column: name, problem: "expected a text" };
    column[row].clone().ok_or(absent)
}

fn count<T: TryFrom<i64>>(
    column: &[Option<i64>],
    row: usize,
    name: &'static str,
) -> Result<T, SamplesError> {
    let problem = "expected a count that its column can hold";
    let absent = SamplesError::Value { row, column: name, problem };
    column[row].and_then(|value| T::try_from(value).ok()).ok_or(absent)
}
