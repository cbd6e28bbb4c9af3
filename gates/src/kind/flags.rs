//! Kind `inert-flags`: what is accepted and said to change nothing changes nothing; what is unknown or makes no sense is refused
//! with status 2 and a message that names it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::alone::{Exchange, Failure, Findings, broken};
use crate::spec::{Inert, InertFlagsCheck, Refused};
use crate::words::count;

/// The kind's name in specs and records.
pub const NAME: &str = "inert-flags";

/// Status of `plumb` for wrong usage and bad input.
const BAD_INPUT: i32 = 2;

/// What was asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagsSample {
    /// The requests without any of the flags.
    pub baseline: Exchange,
    /// One a spec's inert entry, in its order.
    pub inert: Vec<Exchange>,
    /// One a spec's refused entry, in its order.
    pub refused: Vec<Exchange>,
}

/// What it judges, in words.
pub fn explain(check: &InertFlagsCheck) -> String {
    let inert = check.inert.iter().map(|entry| {
        format!(
            "\n{} changes no byte of an answer, because: {}",
            inert_words(entry),
            entry.because.0
        )
    });
    let refused = check.refused.iter().map(|entry| {
        format!("\n{} is refused with status 2, naming {:?}", refused_words(entry), entry.names)
    });
    let lines: Vec<String> = inert.chain(refused).collect();
    format!("what is accepted in vain, and what is refused aloud:{}", lines.concat())
}

/// The flags or keys of an entry.
fn inert_words(entry: &Inert) -> String {
    let request = (!entry.request.is_empty()).then(|| Value::Object(entry.request.clone()));
    let words =
        [entry.arguments.join(" "), request.map_or_else(String::new, |value| value.to_string())];
    words.join(" ").trim().to_owned()
}

fn refused_words(entry: &Refused) -> String {
    let request = entry.request.clone().unwrap_or_default();
    [entry.arguments.join(" "), request].join(" ").trim().to_owned()
}

/// Every entry against the baseline or against its refusal.
pub fn judge(check: &InertFlagsCheck, sample: &FlagsSample) -> Findings {
    let compared = check.inert.len() + check.refused.len();
    let summary = format!(
        "{} changing nothing, {} to be refused",
        count(check.inert.len(), "flag", "flags"),
        count(check.refused.len(), "input", "inputs")
    );
    let mut failures = broken(&sample.baseline);
    if (sample.inert.len(), sample.refused.len()) != (check.inert.len(), check.refused.len()) {
        failures.push(Failure::new("the list", "was not asked entry for entry"));
    }
    if failures.is_empty() {
        let inert = check.inert.iter().zip(&sample.inert);
        failures.extend(inert.filter_map(|(entry, found)| changed(entry, &sample.baseline, found)));
        let refused = check.refused.iter().zip(&sample.refused);
        failures.extend(refused.filter_map(|(entry, found)| accepted(entry, found)));
    }
    Findings::of(compared, failures, summary)
}

fn changed(entry: &Inert, baseline: &Exchange, found: &Exchange) -> Option<Failure> {
    let what = if found.answer.exit != Some(0) {
        format!("is refused: {}", found.answer.stderr_tail.trim())
    } else if found.answer.stdout == baseline.answer.stdout {
        return None;
    } else {
        let pairs = baseline.answer.stdout.lines().zip(found.answer.stdout.lines());
        let line = pairs.take_while(|(a, b)| a == b).count() + 1;
        format!("changes answer {line}")
    };
    Some(Failure::new(inert_words(entry), what))
}

fn accepted(entry: &Refused, found: &Exchange) -> Option<Failure> {
    let lines =
        found.answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or(Value::Null));
    let lines: Vec<Value> = lines.collect();
    let messages = lines.iter().filter_map(|line| line.pointer("/error/message")?.as_str());
    let is_named =
        messages.chain([found.answer.stderr_tail.as_str()]).any(|text| text.contains(&entry.names));
    let what = if lines.iter().any(|line| line.get("ids").is_some()) {
        "is answered".to_owned()
    } else if found.answer.exit != Some(BAD_INPUT) {
        let status =
            found.answer.exit.map_or("a signal".to_owned(), |code| format!("status {code}"));
        format!("ends with {status}, not {BAD_INPUT}")
    } else if !is_named {
        format!("is refused without a word of {:?}", entry.names)
    } else {
        return None;
    };
    Some(Failure::new(refused_words(entry), what))
}
