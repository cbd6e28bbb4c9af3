//! The tables of a query, made of the records.

use polars::prelude::{Column, DataFrame, IntoLazy, LazyFrame, PlSmallStr, PolarsError, Scalar};

use super::{QueryError, RunSamples};
use crate::record::{CellVerdict, Record};
use crate::samples::{self, Sample, SamplesError};
use crate::store::Kept;

/// A column of texts, one a row.
fn text<T>(rows: &[T], name: &str, of: impl Fn(&T) -> Option<String>) -> Column {
    Column::new(name.into(), rows.iter().map(of).collect::<Vec<Option<String>>>())
}

fn count<T>(rows: &[T], name: &str, of: impl Fn(&T) -> Option<u64>) -> Column {
    let values = rows.iter().map(|row| of(row).and_then(|value| i64::try_from(value).ok()));
    Column::new(name.into(), values.collect::<Vec<Option<i64>>>())
}

fn number<T>(rows: &[T], name: &str, of: impl Fn(&T) -> Option<f64>) -> Column {
    Column::new(name.into(), rows.iter().map(of).collect::<Vec<Option<f64>>>())
}

fn lazy(height: usize, columns: Vec<Column>) -> Result<LazyFrame, PolarsError> {
    Ok(DataFrame::new(height, columns)?.lazy())
}

/// One row a record.
pub(super) fn runs(records: &[Kept]) -> Result<LazyFrame, PolarsError> {
    let text = |name: &str, of: fn(&Record) -> Option<String>| {
        text(records, name, |kept: &Kept| of(&kept.record))
    };
    let count = |name: &str, of: fn(&Record) -> Option<u64>| {
        count(records, name, |kept: &Kept| of(&kept.record))
    };
    lazy(
        records.len(),
        vec![
            text("run", |r| Some(r.id.clone())),
            text("started_at", |r| Some(r.started_at.to_string())),
            text("gate", |r| Some(r.gate.clone())),
            text("kinds", |r| Some(r.kinds.join(", "))),
            text("word", |r| Some(r.verdict.word.as_str().to_owned())),
            text("rules", |r| Some(r.verdict.rules.join(", "))),
            text("reason", |r| Some(r.verdict.reason.clone())),
            count("compared", |r| Some(r.compared)),
            count("duration_ms", |r| Some(r.duration_ms)),
            text("oracle", |r| Some(r.oracle.as_ref()?.name.clone())),
            text("checkpoint", |r| Some(r.checkpoint.as_ref()?.name.clone())),
            text("checkpoint_sha256", |r| Some(r.checkpoint.as_ref()?.sha256.clone())),
            text("subject", |r| Some(r.subject.name.clone())),
            text("version", |r| Some(r.subject.version.clone())),
            text("commit", |r| r.subject.commit.clone()),
            text("source_sha256", |r| Some(r.subject.source_sha256.clone())),
            text("binary_sha256", |r| Some(r.subject.binary_sha256.clone())),
            text("spec_sha256", |r| Some(r.spec_sha256.clone())),
            text("harness_sha256", |r| r.harness_sha256.clone()),
            text("profile", |r| Some(r.subject.profile.clone())),
            count("threads", |r| Some(r.subject.threads.into())),
            text("cpu_model", |r| r.machine.cpu_model.clone()),
            text("kernel", |r| r.machine.kernel.clone()),
            text("boot_id", |r| r.machine.boot_id.clone()),
            text("supersedes", |r| r.supersedes.clone()),
            text("reproduce", |r| Some(r.reproduce.clone())),
        ],
    )
}

/// One row a measurement; one that was not taken has no value.
pub(super) fn measurements(records: &[Kept]) -> Result<LazyFrame, PolarsError> {
    let rows: Vec<_> = records
        .iter()
        .flat_map(|kept| kept.record.measurements.iter().map(|m| (&kept.record, m)))
        .collect();
    lazy(
        rows.len(),
        vec![
            text(&rows, "run", |(r, _)| Some(r.id.clone())),
            text(&rows, "started_at", |(r, _)| Some(r.started_at.to_string())),
            text(&rows, "gate", |(r, _)| Some(r.gate.clone())),
            text(&rows, "word", |(r, _)| Some(r.verdict.word.as_str().to_owned())),
            text(&rows, "metric", |(_, m)| Some(m.metric.name().to_owned())),
            text(&rows, "statistic", |(_, m)| Some(m.statistic.name().to_owned())),
            number(&rows, "value", |(_, m)| m.value),
            text(&rows, "unit", |(_, m)| Some(m.unit.clone())),
            count(&rows, "n", |(_, m)| Some(m.n)),
        ],
    )
}

/// One row a word of a series. `verdict` is the word of the whole record.
pub(super) fn cells(records: &[Kept]) -> Result<LazyFrame, PolarsError> {
    let rows: Vec<(&Record, &CellVerdict)> = records
        .iter()
        .flat_map(|kept| {
            let cells = kept.record.series.iter().flat_map(|series| &series.cells);
            cells.map(|cell| (&kept.record, cell))
        })
        .collect();
    lazy(
        rows.len(),
        vec![
            text(&rows, "run", |(r, _)| Some(r.id.clone())),
            text(&rows, "started_at", |(r, _)| Some(r.started_at.to_string())),
            text(&rows, "gate", |(r, _)| Some(r.gate.clone())),
            text(&rows, "verdict", |(r, _)| Some(r.verdict.word.as_str().to_owned())),
            text(&rows, "cell", |(_, c)| Some(c.cell.clone())),
            count(&rows, "concurrency", |(_, c)| Some(c.concurrency.into())),
            text(&rows, "subject", |(_, c)| Some(c.subject.clone())),
            text(&rows, "reference", |(_, c)| Some(c.reference.clone())),
            text(&rows, "metric", |(_, c)| Some(c.metric.clone())),
            text(&rows, "word", |(_, c)| Some(c.word.clone())),
            number(&rows, "ratio", |(_, c)| Some(c.ratio?.estimate)),
            number(&rows, "low", |(_, c)| Some(c.ratio?.low)),
            number(&rows, "high", |(_, c)| Some(c.ratio?.high)),
            text(&rows, "rules", |(_, c)| Some(c.rules.join(", "))),
            text(&rows, "reason", |(_, c)| Some(c.reason.clone())),
        ],
    )
}

/// One row a request.
pub(super) fn samples(runs: &[RunSamples]) -> Result<LazyFrame, QueryError> {
    let of = |run: &str, gate: &str, rows: &[Sample]| {
        let frame = samples::frame(rows).and_then(|frame| of_record(frame, run, gate));
        frame.map_err(|source| QueryError::Samples { run: run.to_owned(), source })
    };
    let mut all = of("", "", &[])?;
    for RunSamples { run, gate, samples } in runs {
        all.vstack_mut_owned(of(run, gate, samples)?).map_err(QueryError::Tables)?;
    }
    Ok(all.lazy())
}

/// The rows, with whose they are before them.
fn of_record(frame: DataFrame, run: &str, gate: &str) -> Result<DataFrame, SamplesError> {
    let height = frame.height();
    let whose = |name: &str, value: &str| {
        Column::new_scalar(name.into(), Scalar::from(PlSmallStr::from_str(value)), height)
    };
    let mut columns = vec![whose("run", run), whose("gate", gate)];
    columns.extend(frame.into_columns());
    DataFrame::new(height, columns).map_err(SamplesError::Parquet)
}
