//! What byte-identity and async-identity have in common: the same requests, asked in several ways, answered with the same bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::alone::{Exchange, Failure, Findings, broken, lines_by_id, request_ids};
use super::heeded;
use crate::words::count;

/// One way of asking.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// What is different about it.
    pub name: String,
    /// Its process.
    pub exchange: Exchange,
}

/// The answers that every arm is compared with, and the arms.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentitySample {
    /// Processes that answer each request once.
    pub baseline: Vec<Exchange>,
    /// The other ways.
    pub arms: Vec<Arm>,
}

/// Each arm answers each request with the line of the baseline, in the order of its requests.
pub fn judge(sample: &IdentitySample) -> Findings {
    let mut failures: Vec<Failure> = sample.baseline.iter().flat_map(broken).collect();
    let ignored = sample.baseline.iter().filter_map(heeded::fault);
    failures.extend(ignored.map(|what| Failure::new("baseline", what)));
    let lines: BTreeMap<String, &str> = sample.baseline.iter().flat_map(first_lines).collect();
    let requests = sample.baseline.iter().map(|exchange| request_ids(exchange).len()).sum();
    if failures.is_empty() {
        failures.extend(sample.arms.iter().flat_map(|arm| differences(&lines, arm)));
    }
    let compared = requests * sample.arms.len();
    let summary = format!(
        "{} x {}, {compared} answers compared byte for byte",
        count(requests, "request", "requests"),
        count(sample.arms.len(), "arm", "arms")
    );
    Findings::of(compared, failures, summary)
}

/// The line of each request; there is one, or [`broken`] has said so.
fn first_lines(exchange: &Exchange) -> Vec<(String, &str)> {
    let lines = lines_by_id(exchange).into_iter();
    lines.filter_map(|(id, lines)| Some((id?, *lines.first()?))).collect()
}

fn differences(baseline: &BTreeMap<String, &str>, arm: &Arm) -> Vec<Failure> {
    let exchange = &arm.exchange;
    let case = |id: &str| format!("{id}, {}", arm.name);
    let asked = request_ids(exchange);
    if exchange.answer.exit != Some(0) {
        let status = exchange.answer.exit.map_or("a signal".to_owned(), |code| code.to_string());
        let what = format!("ended with status {status}: {}", exchange.answer.stderr_tail.trim());
        return vec![Failure::new(&arm.name, what)];
    }
    let found: Vec<&str> = exchange.answer.stdout.lines().collect();
    if found.len() != asked.len() {
        let what = format!("has {} answer lines to {} requests", found.len(), asked.len());
        return vec![Failure::new(&arm.name, what)];
    }
    let ignored = heeded::fault(exchange).map(|what| Failure::new(&arm.name, what));
    let pairs = asked.iter().zip(found);
    let differing = pairs.filter_map(|(id, found)| match baseline.get(id) {
        Some(expected) if *expected == found => None,
        Some(expected) => Some(Failure::new(case(id), parting(expected, found))),
        None => Some(Failure::new(case(id), "was not asked of the baseline")),
    });
    ignored.into_iter().chain(differing).collect()
}

/// Where two lines part, with a little of both.
fn parting(expected: &str, found: &str) -> String {
    let at = expected.bytes().zip(found.bytes()).position(|(a, b)| a != b);
    let at = at.unwrap_or(expected.len().min(found.len()));
    let shown = |text: &str| -> String {
        let from = (0..=at).rev().find(|from| text.is_char_boundary(*from)).unwrap_or(0);
        text[from..].chars().take(24).collect()
    };
    format!("parts at byte {at}: {:?}, where the baseline has {:?}", shown(found), shown(expected))
}
