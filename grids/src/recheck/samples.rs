//! Whether the samples that a record keeps are those that its outcomes were derived from.

use records::sampled::{Around, Request, Requests};

use crate::series::{Clock, Ended, Outcomes};

/// The largest relative difference of a mean that was taken over the same numbers, in milliseconds then and in nanoseconds now.
const SAME: f64 = 1e-9;

/// A metric of an outcome, and the time of a request that it is the mean of, in milliseconds.
type Mean = (&'static str, fn(&Request) -> Option<f64>);

const MEANS: [Mean; 3] = [
    ("ttft_ms_mean", |request| Some(request.ttft_ns? as f64 / 1e6)),
    ("tpot_ms_mean", |request| Some(request.tpot_ns? / 1e6)),
    ("e2e_ms_mean", |request| Some(request.e2e_ns? as f64 / 1e6)),
];

/// What requests say otherwise than the outcomes, a sentence each.
pub(super) fn of_requests(requests: &Requests, outcomes: &Outcomes) -> Vec<String> {
    let mut found = strangers(requests.keys(), outcomes);
    for (leg, outcome) in outcomes {
        let (Ended::Measured(metrics), Some(requests)) = (&outcome.ended, requests.get(leg)) else {
            continue;
        };
        for (metric, read) in MEANS {
            let good = requests.iter().filter(|request| request.is_ok());
            let sampled = mean(&good.filter_map(read).collect::<Vec<_>>());
            if !is_same(sampled, metrics.get(metric).copied()) {
                found.push(format!("{leg}: {metric}"));
            }
        }
    }
    found
}

/// What clocks say otherwise than the outcomes. Where a GPU was seen its busy clock may be the one that decided, so that spins are not
/// asked.
pub(super) fn of_clocks(around: &Around, outcomes: &Outcomes) -> Vec<String> {
    let mut found = strangers(around.keys(), outcomes);
    for (leg, sampled) in around.iter().filter(|(_, sampled)| sampled.gpus.is_empty()) {
        let Some(outcome) = outcomes.get(leg) else { continue };
        let steps = sampled.spins.iter().flat_map(|spin| &spin.step_ns);
        let sampled = mean(&steps.map(|step_ns| 1e3 / step_ns).collect::<Vec<_>>());
        let recorded = outcome.clock.map(|Clock { mean, .. }| mean);
        if recorded.is_some() && !is_same(sampled, recorded) {
            found.push(format!("{leg}: clock"));
        }
    }
    found
}

/// Legs that have samples and no outcome.
fn strangers<'a>(legs: impl Iterator<Item = &'a String>, outcomes: &Outcomes) -> Vec<String> {
    let strangers = legs.filter(|leg| !outcomes.contains_key(*leg));
    strangers.map(|leg| format!("{leg}: no such leg")).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Both are absent, or near each other; what is no number is near nothing.
fn is_same(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => (one - other).abs() <= SAME * other.abs(),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use records::sampled::{Sampled, Spin};

    use super::*;
    use crate::verdict::fixture::{AB, Model, ab, simulate};

    const LEG: &str = "leg";

    /// Requests of 10 and 30 ms, one of 1 ms that failed, and a core that makes 500 and 1,000 steps a microsecond.
    fn series() -> (Requests, Around, Outcomes) {
        let request = |ms: u64, end: &str| Request {
            request: 0,
            sent_ns: 0,
            ttft_ns: Some(ms * 1_000_000),
            tpot_ns: None,
            e2e_ns: None,
            prompt_tokens: None,
            output_tokens: None,
            end: end.to_owned(),
        };
        let requests = vec![request(10, "ok"), request(1, "short"), request(30, "ok")];
        let spin = Spin { until_s: 1.5, each_ms: 100, step_ns: vec![2.0, 1.0] };
        let sampled =
            Sampled { at_s: 0.0, began_s: 1.5, ended_s: 2.0, spins: vec![spin], gpus: vec![] };
        let mut outcome = simulate(&ab(&AB), &Model::default(), 1).into_values().next().unwrap();
        outcome.ended = Ended::Measured(BTreeMap::from([(
            "ttft_ms_mean".to_owned(),
            f64::midpoint(10.0, 30.0),
        )]));
        outcome.clock = Some(Clock { mean: f64::midpoint(500.0, 1000.0), median: 750.0 });
        (
            Requests::from([(LEG.to_owned(), requests)]),
            Around::from([(LEG.to_owned(), sampled)]),
            Outcomes::from([(LEG.to_owned(), outcome)]),
        )
    }

    #[test]
    fn the_means_of_the_samples_are_the_outcomes() {
        let (mut requests, mut around, mut outcomes) = series();
        assert_eq!(of_requests(&requests, &outcomes), Vec::<String>::new());
        assert_eq!(of_clocks(&around, &outcomes), Vec::<String>::new());
        requests.get_mut(LEG).unwrap()[0].ttft_ns = Some(10_000_100);
        around.get_mut(LEG).unwrap().spins[0].step_ns[0] = 2.000_01;
        assert_eq!(of_requests(&requests, &outcomes), ["leg: ttft_ms_mean"]);
        assert_eq!(of_clocks(&around, &outcomes), ["leg: clock"]);
        outcomes.clear();
        assert_eq!(of_requests(&requests, &outcomes), ["leg: no such leg"]);
    }
}
