//! What the records say of one gate, seen from the present.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::Present;
use super::moved::{definition_moved, pin_moved};
use crate::metric::Metric;
use crate::record::{OracleSource, Record, VerdictWord};

/// Where a gate stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State<'a> {
    /// There is no spec of that name.
    NotBuilt,
    /// There is a spec and no record.
    NotRun,
    /// Its last judged run broke a validity rule.
    Void(&'a Record),
    /// Its comparison failed: now, or when it last ran.
    Failed(&'a Record),
    /// It measured a ratio, here and now, and says that the floor was not reached.
    BelowFloor(&'a Record),
    /// Its last run does not speak of the present; the text says why.
    Unverified(&'a Record, &'static str),
    /// It passed against an oracle that is no longer the pinned one.
    Superseded(&'a Record),
    /// It ran and could not say.
    NotEstablished(&'a Record),
    /// It passed, here and now.
    Passed(&'a Record),
}

/// The state of `gate`. The records may come in any order.
///
/// A failure at the present source and spec stays one, whatever passed beside it, until a record takes it back: the same code
/// that fails and passes is not code that passes. A skip never counts for anything. A run that was led [`by_hand`] does not
/// count either, whatever its word: it is as if it were not there, so that it neither decides a track nor supersedes another.
pub(super) fn state<'a>(gate: &str, records: &'a [Record], present: &Present) -> State<'a> {
    let Some(spec) = present.specs.get(gate) else {
        return State::NotBuilt;
    };
    let mut runs: Vec<&Record> =
        records.iter().filter(|record| record.gate == gate && by_hand(record).is_none()).collect();
    let wrong = taken_back(&runs);
    runs.retain(|record| !wrong.contains(record.id.as_str()));
    runs.sort_by_key(|record| Reverse((record.started_at, record.id.as_str())));
    let Some(&newest) = runs.first() else {
        return State::NotRun;
    };
    runs.retain(|record| record.verdict.word != VerdictWord::Skipped);
    let Some(&judged) = runs.first() else {
        return State::Unverified(newest, "skipped, nothing was compared");
    };
    let same_source = |record: &Record| record.subject.source_sha256 == present.source_sha256;
    let is_current = |record: &Record| {
        same_source(record)
            && record.spec_sha256 == *spec
            && !checkpoint_moved(record, present)
            && record.inputs_sha256.as_ref() == present.inputs.get(gate)
            && !golden_moved(record, present)
    };
    let current: Vec<&Record> = runs.iter().copied().filter(|record| is_current(record)).collect();
    let failed = current.iter().copied().filter(|record| record.verdict.word == VerdictWord::Fail);
    if let Some(failed) = failed.min_by_key(|record| has_ratio(record)) {
        return if has_ratio(failed) { State::BelowFloor(failed) } else { State::Failed(failed) };
    }
    let last = current.first().copied().unwrap_or(judged);
    match last.verdict.word {
        VerdictWord::Fail if !has_ratio(last) => State::Failed(last),
        VerdictWord::Void => State::Void(last),
        _ if !same_source(last) => State::Unverified(last, "last judged at other sources"),
        _ if last.spec_sha256 != *spec => State::Unverified(last, "last judged under another spec"),
        _ if checkpoint_moved(last, present) => {
            State::Unverified(last, "last judged on a checkpoint that is not the pinned one")
        }
        _ if last.inputs_sha256.as_ref() != present.inputs.get(gate) => {
            State::Unverified(last, "last judged on other inputs, or on inputs it does not name")
        }
        _ if golden_moved(last, present) => State::Unverified(
            last,
            "last judged by another golden, by one it does not name, or by one that was edited",
        ),
        VerdictWord::NotEstablished => State::NotEstablished(last),
        VerdictWord::Pass if last.evidence.is_empty() => {
            State::Unverified(last, "it keeps no evidence, so that nobody can derive it again")
        }
        VerdictWord::Pass if pin_moved(last, present) => State::Superseded(last),
        VerdictWord::Pass if definition_moved(last, present) => State::Unverified(
            last,
            "last judged by an oracle that was defined otherwise, or by one whose definition it does not name",
        ),
        VerdictWord::Pass => State::Passed(last),
        VerdictWord::Fail | VerdictWord::Skipped => State::Unverified(last, "says nothing of now"),
    }
}

/// The record by which `gate` passes at the present, as the open-gaps page has it; why it does not otherwise.
pub fn passing<'a>(
    gate: &str,
    records: &'a [Record],
    present: &Present,
) -> Result<&'a Record, String> {
    let found = state(gate, records, present);
    let why = match found {
        State::Passed(record) => return Ok(record),
        State::NotBuilt => return Err("there is no gate of that name".to_owned()),
        State::NotRun => return Err("not run".to_owned()),
        State::Void(record) => format!("VOID by {}", record.verdict.rules.join(", ")),
        State::Failed(_) => "FAIL".to_owned(),
        State::BelowFloor(_) => "NOT MET".to_owned(),
        State::Unverified(_, reason) => reason.to_owned(),
        State::Superseded(_) => "passed against an oracle that is not the pinned one".to_owned(),
        State::NotEstablished(_) => "NOT ESTABLISHED".to_owned(),
    };
    Err(found.record().map_or_else(|| why.clone(), |record| format!("{why} ({})", record.id)))
}

impl<'a> State<'a> {
    /// The record that gives the state.
    pub(super) fn record(&self) -> Option<&'a Record> {
        match self {
            State::NotBuilt | State::NotRun => None,
            State::Void(record)
            | State::Failed(record)
            | State::BelowFloor(record)
            | State::Unverified(record, _)
            | State::Superseded(record)
            | State::NotEstablished(record)
            | State::Passed(record) => Some(record),
        }
    }

    /// The record, where it is valid at the present.
    pub(super) fn measured(&self) -> Option<&'a Record> {
        match self {
            State::Passed(record) | State::BelowFloor(record) => Some(record),
            _ => None,
        }
    }
}

/// The ids of the runs that others take back.
fn taken_back<'a>(runs: &[&'a Record]) -> HashSet<&'a str> {
    let by_id: HashMap<&str, &Record> =
        runs.iter().map(|record| (record.id.as_str(), *record)).collect();
    let wrong = runs.iter().filter_map(|correction| {
        let named: &'a Record = by_id.get(correction.supersedes.as_deref()?)?;
        takes_back(correction, named).then_some(named.id.as_str())
    });
    wrong.collect()
}

/// Whether a record takes back another of its gate that it names as wrong, so that the other's word and numbers are none.
///
/// One that compared does. One that found no number (VOID, NOT ESTABLISHED) takes a claim back and puts nothing in its place; a
/// failure it leaves standing, or a broken rule would take a failure off the record, unless both are the same series judged
/// twice, of which nothing was run anew. A skip found nothing, and what was led by hand decides nothing.
pub fn takes_back(correction: &Record, record: &Record) -> bool {
    let names =
        correction.supersedes.as_ref() == Some(&record.id) && correction.gate == record.gate;
    let both = correction.series.as_ref().zip(record.series.as_ref());
    let is_judged_twice = both.is_some_and(|(again, first)| again.plan_sha256 == first.plan_sha256);
    names
        && by_hand(correction).is_none()
        && match correction.verdict.word {
            VerdictWord::Pass | VerdictWord::Fail => true,
            VerdictWord::Void | VerdictWord::NotEstablished => {
                record.verdict.word != VerdictWord::Fail || is_judged_twice
            }
            VerdictWord::Skipped => false,
        }
}

/// How a run was led by hand, if it was: its binary was named with `--plumb` instead of built from the tree, so that what it was
/// made of is its own word alone; its oracle with `--oracle` instead of by the spec; or its series is not the one that the spec
/// declares.
pub(crate) fn by_hand(record: &Record) -> Option<&'static str> {
    let info = |key: &str| record.subject.info.get(key).and_then(serde_json::Value::as_str);
    if info("found_by") == Some("--plumb") || info("compared_with") == Some("--oracle") {
        return Some("named by hand");
    }
    let is_declared = record.series.as_ref().is_none_or(|series| series.is_as_declared);
    (!is_declared).then_some("narrowed by hand")
}

/// A record with a ratio is about speed or bytes: its FAIL means "below the floor", not "wrong".
fn has_ratio(record: &Record) -> bool {
    record.measurements.iter().any(|measurement| measurement.metric == Metric::Ratio)
}

/// Whether the checkpoint of a record is no longer the one that is pinned. One that is not declared is not the pinned one.
fn checkpoint_moved(record: &Record, present: &Present) -> bool {
    record
        .checkpoint
        .as_ref()
        .is_some_and(|used| present.checkpoints.get(&used.name) != Some(&used.sha256))
}

/// Whether the golden that a record names is not the one that is kept. A record that was judged by a golden names it.
fn golden_moved(record: &Record, present: &Present) -> bool {
    let kept = present.goldens.get(&record.gate);
    record.oracle.as_ref().is_some_and(|oracle| match &oracle.golden_sha256 {
        Some(named) => kept != Some(named),
        None => oracle.source == OracleSource::Golden && kept.is_some(),
    })
}
