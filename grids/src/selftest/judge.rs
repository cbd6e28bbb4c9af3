//! Whether what came of a case is what is known of it.

use super::case::{Case, Sending};
use super::collect::Collected;
use super::expected::{Expected, Kinds, expected};
use crate::load::trace::{End, EventKind, Trace};
use crate::metric::ends::Ends;
use crate::metric::latency::{Latency, gaps};
use crate::metric::stream::{arrivals, tokens_seen};
use crate::mock::Mode;

/// By how much the median of what is measured may exceed the truth: of a first token, which takes the way to the mock and back.
pub const TTFT_NS: u64 = 5_000_000;
/// The same of a gap, either way.
pub const GAP_NS: u64 = 1_500_000;
/// By how much the slower slot's gaps may differ from 1 % more, in thousandths.
pub const SLOT_PER_MILLE: f64 = 3.0;

/// What is wrong with what came of a case; empty if nothing is.
pub fn judge(case: &Case, collected: &Collected) -> Vec<String> {
    let mut findings = ends_and_counts(case, collected);
    if findings.is_empty() {
        findings = times(case, collected);
    }
    findings
}

/// Ends, events, tokens, texts: all that does not hang on the clock.
pub fn ends_and_counts(case: &Case, collected: &Collected) -> Vec<String> {
    let traces = &collected.traces;
    let mut findings = Vec::new();
    let mut seen: Vec<u32> = traces.iter().map(|trace| trace.request).collect();
    seen.sort_unstable();
    let wanted: Vec<u32> = (0..case.requests).collect();
    if seen != wanted || collected.sent != traces.len() {
        let (sent, ended) = (collected.sent, traces.len());
        findings.push(format!("{} requests: {sent} sent, {ended} ended", case.requests));
    }
    if case.mode == Mode::ConnectionLimit {
        let ends = Ends::of(traces);
        let completed = collected.completed;
        if ends.ok as u64 != completed || ends.connection == 0 || completed == 0 {
            findings.push(format!("{completed} answers were completed, {ends:?}"));
        }
    }
    for trace in traces {
        if let Some(finding) = differs(&expected(case, trace), trace) {
            findings.push(format!("request {}: {finding}", trace.request));
        }
    }
    findings.extend(collected.outputs.iter().filter_map(|output| {
        let trace = traces.iter().find(|trace| trace.request == output.request)?;
        let expected = expected(case, trace);
        let text = expected.text?;
        let is_as_said = output.said.text() == Some(text) && output.said.ids() == expected.ids;
        (!is_as_said).then(|| format!("request {}: what was said differs", output.request))
    }));
    findings
}

fn differs(expected: &Expected, trace: &Trace) -> Option<String> {
    let same_end = match (&expected.end, &trace.end) {
        (End::Connection(_), End::Connection(_)) => true,
        (wanted, found) => wanted == found,
    };
    if !same_end {
        return Some(format!("ended {:?}, expected {:?}", trace.end, expected.end));
    }
    let kinds = kinds(trace);
    if expected.kinds.is_some_and(|wanted| wanted != kinds) {
        return Some(format!("{kinds:?}, expected {:?}", expected.kinds));
    }
    let (seen, said) = (tokens_seen(trace), trace.usage.map(|usage| usage.completion_tokens));
    if expected.seen.is_some_and(|wanted| wanted != seen) || expected.said != said {
        let (wanted, told) = (expected.seen, expected.said);
        return Some(format!("{seen} tokens, {said:?} said; expected {wanted:?}, {told:?}"));
    }
    (trace.tokens_by != expected.tokens_by)
        .then(|| format!("tokens by {:?}, expected {:?}", trace.tokens_by, expected.tokens_by))
}

fn kinds(trace: &Trace) -> Kinds {
    let mut kinds = Kinds::default();
    for event in &trace.events {
        *match event.kind {
            EventKind::Content => &mut kinds.content,
            EventKind::Empty => &mut kinds.empty,
            EventKind::Usage => &mut kinds.usage,
            EventKind::Done => &mut kinds.done,
            EventKind::Error => &mut kinds.error,
            EventKind::Comment => &mut kinds.comment,
        } += 1;
    }
    kinds
}

/// First tokens, gaps, slots. The mock's own lateness is no error of the client.
fn times(case: &Case, collected: &Collected) -> Vec<String> {
    let late = collected.mock_late_ns;
    let mut findings = Vec::new();
    let mut excess: Vec<i64> = Vec::new();
    // One list a gap's place, so that a long gap in the middle is compared with its like.
    let mut errors: Vec<Vec<i64>> = Vec::new();
    for trace in &collected.traces {
        let expected = expected(case, trace);
        let found = Latency::of(trace).ttft_token_ns;
        if let Some((wanted, found)) = expected.ttft_ns.zip(found) {
            if found < wanted {
                findings.push(format!("request {}: first token before it left", trace.request));
            }
            excess.push(found as i64 - wanted as i64);
        }
        let found = arrivals(trace).map(|all| gaps(&all)).unwrap_or_default();
        for (place, (wanted, found)) in expected.gaps_ns.iter().zip(found).enumerate() {
            errors.resize_with(errors.len().max(place + 1), Vec::new);
            errors[place].push(found as i64 - *wanted as i64);
        }
    }
    if let Some(excess) = median(&mut excess).filter(|excess| *excess > (TTFT_NS + late) as i64) {
        findings.push(format!("first tokens are {} late", in_ms(excess)));
    }
    for (place, errors) in errors.iter_mut().enumerate() {
        if let Some(error) = median(errors).filter(|error| error.unsigned_abs() > GAP_NS + late) {
            findings.push(format!("gap {} is {} off", place + 1, in_ms(error)));
        }
    }
    if case.mode == Mode::Slot {
        findings.extend(slot(&collected.traces));
    }
    if let Sending::Open(every_ns) = case.sending {
        let is_planned = |trace: &&Trace| trace.intended_ns != u64::from(trace.request) * every_ns;
        if let Some(trace) = collected.traces.iter().find(is_planned) {
            findings.push(format!("request {}: not when it was planned", trace.request));
        }
    }
    findings
}

/// The slower slot is 1 % slower.
fn slot(traces: &[Trace]) -> Option<String> {
    let spread = |odd: u32| {
        let of_slot = traces.iter().filter(|trace| trace.request % 2 == odd);
        let mut spreads: Vec<i64> = of_slot
            .filter_map(|trace| {
                let all = arrivals(trace)?;
                Some((all.last()?.at_ns - all.first()?.at_ns) as i64)
            })
            .collect();
        median(&mut spreads)
    };
    let (even, odd) = spread(0).zip(spread(1))?;
    let per_mille = (odd as f64 / even as f64 - 1.0) * 1000.0;
    let is_close = (per_mille - 10.0).abs() <= SLOT_PER_MILLE;
    (!is_close).then(|| format!("the slower slot is {per_mille:.1} thousandths slower, not 10"))
}

fn median(values: &mut [i64]) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn in_ms(ns: i64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}
