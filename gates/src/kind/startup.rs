//! Kind `startup`: from the start of a process to its first answered request, within a bound. A budget, not a comparison of speed.

use records::metric::{Measurement, Metric, Statistic};
use serde::{Deserialize, Serialize};

use super::alone::{Exchange, Failure, Findings, broken};
use crate::compare;
use crate::spec::StartupCheck;

/// The kind's name in specs and records.
pub const NAME: &str = "startup";

/// Processes started one after the other, each asked one request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartupSample {
    /// In their order.
    pub starts: Vec<Exchange>,
}

/// What it judges, in words.
pub fn explain(check: &StartupCheck) -> String {
    format!(
        "{} processes, started one after the other: the slowest is ready within {} ms, because: {}. Ready means: {}. V-CONTEND \
         voids a run on a host that was busy for more than {} % just before a start",
        check.repeats.0, check.bound_ms, check.because.0, check.readiness.0, check.foreign_percent
    )
}

/// The slowest start against the bound.
pub fn judge(check: &StartupCheck, sample: &StartupSample) -> Findings {
    let mut failures: Vec<Failure> = sample.starts.iter().flat_map(broken).collect();
    let times: Vec<Option<f64>> =
        sample.starts.iter().map(|start| start.answer.watch.lines_ms.first().copied()).collect();
    let bound = f64::from(check.bound_ms);
    let beyond = times.iter().enumerate().filter_map(|(index, time)| Some((index, (*time)?)));
    failures.extend(beyond.filter(|(_, time)| !compare::within(*time, bound)).map(
        |(index, time)| {
            Failure::new(
                format!("start {}", index + 1),
                format!("took {time:.0} ms, {bound} are allowed"),
            )
        },
    ));
    let mut seen: Vec<f64> =
        times.iter().copied().flatten().filter(|time| time.is_finite()).collect();
    seen.sort_by(f64::total_cmp);
    let summary = match (seen.first(), median(&seen), seen.last()) {
        (Some(least), Some(median), Some(most)) => format!(
            "{} starts: median {median:.0} ms, {least:.0} to {most:.0}, {bound} allowed",
            seen.len()
        ),
        _ => "no start was timed".to_owned(),
    };
    let mut findings = Findings::of(sample.starts.len(), failures, summary);
    if seen.len() < check.repeats.0 as usize {
        findings.unseen = Some(format!("{} of {} starts were timed", seen.len(), check.repeats.0));
    }
    let value =
        |statistic, value| Measurement::new(Metric::StartupMs, statistic, seen.len() as u64, value);
    findings.measurements = vec![
        value(Statistic::Min, seen.first().copied()),
        value(Statistic::Median, median(&seen)),
        value(Statistic::Max, seen.last().copied()),
    ];
    findings
}

/// The middle of sorted values; the mean of the two middle ones for an even count.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::alone::exchange;
    use crate::spec::{Because, Positive};

    fn judged(times: &[Option<f64>]) -> Findings {
        let start = |time: &Option<f64>| {
            let mut exchange = exchange(&["one"]);
            exchange.answer.watch.lines_ms.extend(*time);
            exchange
        };
        let because = Because("a test".to_owned());
        let check = StartupCheck {
            readiness: because.clone(),
            repeats: Positive(times.len() as u32),
            bound_ms: 100,
            foreign_percent: 25,
            because,
        };
        judge(&check, &StartupSample { starts: times.iter().map(start).collect() })
    }

    #[test]
    fn the_slowest_start_is_bounded_and_the_middle_told() {
        let findings = judged(&[Some(100.0), Some(20.0), Some(40.0), Some(30.0)]);
        assert_eq!((findings.failures, findings.unseen), (Vec::new(), None));
        let values: Vec<_> = findings.measurements.iter().map(|time| time.value).collect();
        assert_eq!(values, [Some(20.0), Some(35.0), Some(100.0)]);
        assert_eq!(judged(&[Some(20.0), Some(100.5)]).failures[0].case, "start 2");
        assert_eq!(judged(&[Some(f64::NAN)]).failures.len(), 1);
    }

    #[test]
    fn a_start_that_was_not_timed_is_not_established() {
        assert_eq!(judged(&[Some(20.0), None]).unseen.unwrap(), "1 of 2 starts were timed");
        assert!(judged(&[None]).measurements.iter().all(|time| time.validate() == Ok(())));
    }
}
