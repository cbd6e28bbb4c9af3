//! Kind `weights`: every tensor of the file is consumed or listed, its bytes follow from its format and shape, and what is kept in
//! memory is not more than a bound.
//!
//! A silent expansion of compressed blocks passes every gate on tokens; here it is red.

use records::metric::{Measurement, Metric, Statistic};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::alone::{Exchange, Failure, Findings};
use crate::spec::WeightsCheck;
use crate::subject::{Inspection, StoredTensor};
use crate::words::count;

/// The kind's name in specs and records.
pub const NAME: &str = "weights";

/// What the engine says about the checkpoint, and what the file itself says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsSample {
    /// `plumb info MODEL --json`
    pub info: Exchange,
    /// `plumb inspect MODEL --json`
    pub inspection: Exchange,
    /// Size of the checkpoint's tensor files on disk, in bytes.
    pub disk_bytes: u64,
    /// The number of tensors in the header of a GGUF file, read by the gate; `None` for other formats.
    pub header_tensors: Option<u64>,
}

/// What it judges, in words.
pub fn explain(check: &WeightsCheck) -> String {
    let unused = check.unused.iter();
    let unused: Vec<String> = unused
        .map(|entry| format!("\n{} is not consumed, because: {}", entry.tensor, entry.because.0))
        .collect();
    format!(
        "every tensor of the file is consumed or listed; parameters and bytes follow from formats and shapes, tensors lie one \
         behind the other up to the end of the file, and at most {} % of their bytes are resident, because: {}{}",
        check.resident_percent,
        check.because.0,
        unused.concat()
    )
}

/// `plumb info MODEL --json`, as far as weights go.
#[derive(Debug, Deserialize)]
struct ModelReport {
    parameters: u64,
    tensors: u64,
    resident_bytes: u64,
    file_bytes: u64,
    tensor_bytes: u64,
}

/// The totals of `plumb inspect FILE --json`.
#[derive(Debug, Deserialize)]
struct Totals {
    file_bytes: u64,
    alignment: Option<u64>,
    parameters: u64,
    tensor_bytes: u64,
}

/// The engine's two reports against each other, against the file and against arithmetic.
pub fn judge(check: &WeightsCheck, sample: &WeightsSample) -> Findings {
    let (report, inspection, totals) = match read(sample) {
        Ok(read) => read,
        Err(failure) => return Findings::of(1, vec![failure], "no tensor was counted".to_owned()),
    };
    let mut failures: Vec<Failure> = inspection.tensors.iter().filter_map(misfit).collect();
    let parameters = inspection.tensors.iter().map(elements).sum();
    let bytes: u64 = inspection.tensors.iter().map(|tensor| tensor.bytes).sum();
    let listed = listed(check, &inspection, &mut failures);
    let expected = [
        ("tensors consumed and listed", report.tensors + listed, inspection.tensors.len() as u64),
        ("parameters of `plumb info`", report.parameters, parameters),
        ("parameters of `plumb inspect`", totals.parameters, parameters),
        ("tensor bytes of `plumb info`", report.tensor_bytes, bytes),
        ("tensor bytes of `plumb inspect`", totals.tensor_bytes, bytes),
        ("file bytes of `plumb info`", report.file_bytes, sample.disk_bytes),
        ("file bytes of `plumb inspect`", totals.file_bytes, sample.disk_bytes),
        (
            "tensors of `plumb inspect`",
            inspection.tensors.len() as u64,
            sample.header_tensors.unwrap_or(inspection.tensors.len() as u64),
        ),
    ];
    let differ = expected.into_iter().filter(|(_, found, expected)| found != expected);
    failures.extend(differ.map(|(case, found, expected)| {
        Failure::new(case, format!("are {found} where {expected} are expected"))
    }));
    failures.extend(layout(&inspection.tensors, &totals));
    failures.extend(resident(check, report.resident_bytes, bytes));
    let summary = format!(
        "{}, {parameters} parameters, {bytes} bytes, {} of them resident",
        count(inspection.tensors.len(), "tensor", "tensors"),
        report.resident_bytes
    );
    let mut findings = Findings::of(inspection.tensors.len(), failures, summary);
    let value = Some(report.resident_bytes as f64);
    findings.measurements =
        vec![Measurement::new(Metric::ResidentBytes, Statistic::Single, 1, value)];
    findings
}

fn read(sample: &WeightsSample) -> Result<(ModelReport, Inspection, Totals), Failure> {
    let info = json(&sample.info)?;
    let model = info.get("model").cloned().unwrap_or(Value::Null);
    let inspection = json(&sample.inspection)?;
    let unreadable = |exchange: &Exchange| {
        let verb = exchange.question.verb.as_str();
        move |error: serde_json::Error| Failure::new(format!("`plumb {verb}`"), error.to_string())
    };
    Ok((
        serde_json::from_value(model).map_err(unreadable(&sample.info))?,
        Inspection::deserialize(&inspection).map_err(unreadable(&sample.inspection))?,
        Totals::deserialize(&inspection).map_err(unreadable(&sample.inspection))?,
    ))
}

fn json(exchange: &Exchange) -> Result<Value, Failure> {
    let case = format!("`plumb {}`", exchange.question.verb.as_str());
    if exchange.answer.exit != Some(0) {
        return Err(Failure::new(case, format!("failed: {}", exchange.answer.stderr_tail.trim())));
    }
    serde_json::from_str(&exchange.answer.stdout)
        .map_err(|error| Failure::new(case, error.to_string()))
}

/// How many listed tensors the file has. One that it has not is a failure: the list would hide another one.
fn listed(check: &WeightsCheck, inspection: &Inspection, failures: &mut Vec<Failure>) -> u64 {
    let has = |name: &str| inspection.tensors.iter().any(|tensor| tensor.name == name);
    let absent = check.unused.iter().filter(|entry| !has(&entry.tensor));
    failures
        .extend(absent.map(|entry| Failure::new(&entry.tensor, "is listed and not in the file")));
    check.unused.iter().filter(|entry| has(&entry.tensor)).count() as u64
}

fn elements(tensor: &StoredTensor) -> u64 {
    tensor.shape.iter().fold(1, |product: u64, size| product.saturating_mul(*size))
}

/// A tensor whose bytes are not what its format and shape give.
fn misfit(tensor: &StoredTensor) -> Option<Failure> {
    let Some((block, bytes)) = block(&tensor.format) else {
        let what = format!("has format {}, whose blocks the gate does not know", tensor.format);
        return Some(Failure::new(&tensor.name, what));
    };
    let elements = elements(tensor);
    let expected = (elements / block).saturating_mul(bytes);
    let what = if !elements.is_multiple_of(block) {
        format!("has {elements} elements, no multiple of the block of {block}")
    } else if tensor.bytes != expected {
        format!(
            "has {} bytes where {elements} elements of {} take {expected}",
            tensor.bytes, tensor.format
        )
    } else {
        return None;
    };
    Some(Failure::new(&tensor.name, what))
}

/// Elements and bytes of a block (the block structures of ggml, `ggml-common.h`).
fn block(format: &str) -> Option<(u64, u64)> {
    Some(match format {
        "F32" => (1, 4),
        "F16" | "BF16" => (1, 2),
        "Q4_0" => (32, 18),
        "Q4_1" => (32, 20),
        "Q5_0" => (32, 22),
        "Q5_1" => (32, 24),
        "Q8_0" => (32, 34),
        "Q2_K" => (256, 84),
        "Q3_K" => (256, 110),
        "Q4_K" => (256, 144),
        "Q5_K" => (256, 176),
        "Q6_K" => (256, 210),
        _ => return None,
    })
}

/// Tensors of one file lie one behind the other, with no more than the alignment between them and behind the last.
fn layout(tensors: &[StoredTensor], totals: &Totals) -> Option<Failure> {
    // Without an alignment there are several files, or offsets that follow other rules.
    let alignment = totals.alignment?;
    let mut tensors: Vec<&StoredTensor> = tensors.iter().collect();
    tensors.sort_by_key(|tensor| tensor.offset);
    let starts = tensors.iter().skip(1).map(|tensor| tensor.offset).chain([totals.file_bytes]);
    tensors.iter().zip(starts).find_map(|(tensor, next)| {
        let end = tensor.offset.saturating_add(tensor.bytes);
        let fits = end <= next && next - end < alignment;
        let what = format!("ends at byte {end}, what follows begins at {next}");
        (!fits).then(|| Failure::new(&tensor.name, what))
    })
}

/// Weights are resident, and within the bound.
fn resident(check: &WeightsCheck, resident: u64, bytes: u64) -> Option<Failure> {
    let most = u128::from(bytes) * u128::from(check.resident_percent) / 100;
    if resident > 0 && u128::from(resident) <= most {
        return None;
    }
    let what = format!("are {resident}, where {bytes} are in the file and {most} are allowed");
    Some(Failure::new("resident bytes", what))
}
