//! The requests of a series as rows, and rows as Parquet. They are derived from its evidence, `plan.json` and `requests.json.gz`: the same
//! record gives the same rows, and the same rows give the same bytes.

use std::io::Cursor;

use polars::prelude::{
    Column, DataFrame, DataType, ParquetCompression, ParquetReader, ParquetWriter, PolarsError,
    SerReader, StatisticsOptions,
};
use serde::Deserialize;

use crate::record::Record;
use crate::sampled::{REQUESTS, Request, Requests};
use crate::store::{Store, StoreError};

/// The evidence that says of which cell and arm a leg is.
const PLAN: &str = "plan.json";

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
    /// What the leg is for: `discarded`, `measured` or `terminal`.
    pub role: String,
    /// The block of legs that are compared, from 1 on; `None` of a leg that is in none.
    pub block: Option<u32>,
    /// The leg's place in its block.
    pub slot: u32,
    /// The session, from 1 on: every server is started anew in each.
    pub session: u32,
    /// The request's place in the leg.
    pub request: u32,
    /// When it was sent, from the leg's beginning.
    pub sent_ns: u64,
    /// Time to first token; `None` where none came.
    pub ttft_ms: Option<f64>,
    /// Time per output token after the first; `None` below two tokens.
    pub tpot_ms: Option<f64>,
    /// From sending to the last token; `None` where none came.
    pub e2e_ms: Option<f64>,
    /// Output tokens as the server counted them; `None` where it did not.
    pub output_tokens: Option<u32>,
    /// Prompt tokens as the server counted them.
    pub prompt_tokens: Option<u32>,
    /// How it ended: `ok`, or what went wrong.
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
    /// The evidence is not there, or is not what was written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The evidence is whole and is not what a series keeps.
    #[error("{name} of {record}")]
    Evidence {
        /// The record.
        record: String,
        /// The file.
        name: &'static str,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Samples of a leg that is not in the plan.
    #[error("{REQUESTS} of {record} has leg {leg:?}, which is not in its plan")]
    Leg {
        /// The record.
        record: String,
        /// The leg.
        leg: String,
    },
    /// The file is none of ours.
    #[error("samples: not a Parquet file with the columns of a sample")]
    Parquet(#[source] PolarsError),
}

/// What of the plan goes into every row.
#[derive(Deserialize)]
struct Plan {
    legs: Vec<Leg>,
}

#[derive(Deserialize)]
struct Leg {
    id: String,
    session: u32,
    cell: String,
    block: Option<u32>,
    slot: u32,
    arm: String,
    role: String,
}

/// The rows of a record, in the order of its plan, each file verified by its hash; `None` where it keeps no requests.
pub fn of_record(store: &Store, record: &Record) -> Result<Option<Vec<Sample>>, SamplesError> {
    let content = |name: &'static str| {
        let entry = record.evidence.iter().find(|entry| entry.name == name);
        entry.map(|entry| store.content(entry)).transpose()
    };
    let (Some(plan), Some(requests)) = (content(PLAN)?, content(REQUESTS)?) else {
        return Ok(None);
    };
    let failed =
        |name| move |source| SamplesError::Evidence { record: record.id.clone(), name, source };
    let plan: Plan = serde_json::from_slice(&plan).map_err(failed(PLAN))?;
    let mut requests: Requests = serde_json::from_slice(&requests).map_err(failed(REQUESTS))?;
    let mut rows = Vec::new();
    for leg in &plan.legs {
        rows.extend(requests.remove(&leg.id).into_iter().flatten().map(|one| row(leg, &one)));
    }
    match requests.into_keys().next() {
        Some(leg) => Err(SamplesError::Leg { record: record.id.clone(), leg }),
        None => Ok(Some(rows)),
    }
}

fn row(leg: &Leg, request: &Request) -> Sample {
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    Sample {
        leg: leg.id.clone(),
        cell: leg.cell.clone(),
        arm: leg.arm.clone(),
        role: leg.role.clone(),
        block: leg.block,
        slot: leg.slot,
        session: leg.session,
        request: request.request,
        sent_ns: request.sent_ns,
        ttft_ms: ms(request.ttft_ns),
        tpot_ms: request.tpot_ns.map(|ns| ns / 1e6),
        e2e_ms: ms(request.e2e_ns),
        output_tokens: request.output_tokens,
        prompt_tokens: request.prompt_tokens,
        end: request.end.clone(),
    }
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
            block: block[row].map(|_| count(&block, row, "block")).transpose()?,
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
            maybe("block", |s| s.block),
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
