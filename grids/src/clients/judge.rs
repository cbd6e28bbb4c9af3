//! What a client said, beside the truth. Pure functions.

use std::collections::BTreeMap;

use serde::Serialize;

use super::leg::{Leg, Outcome};
use super::said::Said;
use super::spec::Spec;
use crate::statistics::median;

/// What is to be said of a leg.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Every number is within its bound of the truth.
    Honest,
    /// These are not.
    Off(Vec<String>),
    /// The mock itself was late by so many milliseconds at the 99th percentile: nothing is said of the client.
    MockLate(f64),
    /// There are no numbers, for this reason.
    Failed(String),
}

/// The word of a leg. A number passes only as `distance <= bound`, so that one that is none fails.
pub fn word(spec: &Spec, leg: &Leg) -> Word {
    let said = match &leg.outcome {
        Outcome::Measured(said) => said,
        Outcome::Failed(why) => return Word::Failed(why.clone()),
    };
    match leg.served.late.p99_ns.map(|ns| ns as f64 / 1e6) {
        Some(late) if late <= spec.honest.mock_late.ms => {}
        late => return Word::MockLate(late.unwrap_or(f64::NAN)),
    }
    let (ttft, gap) = (f64::from(spec.load.ttft_ms.0), f64::from(spec.load.gap_ms.0));
    let off: Vec<String> = [
        ("TTFT p50", said.ttft_ms_p50, ttft, spec.honest.ttft.ms),
        ("TTFT p99", said.ttft_ms_p99, ttft, spec.honest.ttft.ms),
        ("ITL p50", said.itl_ms_p50, gap, spec.honest.itl.ms),
        ("ITL p99", said.itl_ms_p99, gap, spec.honest.itl.ms),
    ]
    .into_iter()
    .filter(|(_, said, truth, bound)| !is_within((said - truth).abs(), *bound))
    .map(|(name, said, truth, bound)| {
        format!("{name} {said:.1} ms, the truth is {truth} ms, at most {bound} ms off are allowed")
    })
    .collect();
    if off.is_empty() { Word::Honest } else { Word::Off(off) }
}

/// No number is within a bound.
fn is_within(distance: f64, bound: f64) -> bool {
    distance <= bound
}

/// A number over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl Spread {
    /// Of the values; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            median: median(values)?,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
        })
    }
}

/// A client at a level, over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Streams at any time.
    pub streams: u32,
    /// The client.
    pub client: String,
    /// It is not installed, for this reason; then there is nothing else.
    pub skipped: Option<String>,
    /// Legs that were run.
    pub legs: usize,
    /// Legs of each word, in the order of the rounds.
    pub words: Vec<Word>,
    /// Legs of which it said itself that it was at its limit.
    pub says_limited: usize,
    /// TTFT as it said, in milliseconds, over the legs that have numbers; so the next three.
    pub ttft_ms_p50: Option<Spread>,
    /// Its 99th percentile.
    pub ttft_ms_p99: Option<Spread>,
    /// The gap as it said, by its own rule.
    pub itl_ms_p50: Option<Spread>,
    /// Its 99th percentile.
    pub itl_ms_p99: Option<Spread>,
    /// Events a second that the mock sent it.
    pub events_per_s: Option<Spread>,
    /// Those as a share of what so many streams get while none waits for its client.
    pub load_share: Option<f64>,
    /// How late the mock was at its 99th percentile, in milliseconds.
    pub mock_late_ms_p99: Option<Spread>,
}

impl Row {
    /// Legs with an honest word.
    pub fn honest(&self) -> usize {
        self.words.iter().filter(|word| **word == Word::Honest).count()
    }
}

/// All rows: level by level, every client that was asked for.
pub fn rows(
    spec: &Spec,
    clients: &[&str],
    streams: &[u32],
    legs: &[Leg],
    skipped: &BTreeMap<String, String>,
) -> Vec<Row> {
    let row = |streams: u32, client: &str| {
        let of = |leg: &&Leg| leg.id.streams == streams && leg.id.client == client;
        let legs: Vec<&Leg> = legs.iter().filter(of).collect();
        row(spec, streams, client, &legs, skipped.get(client).cloned())
    };
    let level = |&streams: &u32| clients.iter().map(move |&client| (streams, client));
    streams.iter().flat_map(level).map(|(streams, client)| row(streams, client)).collect()
}

fn row(spec: &Spec, streams: u32, client: &str, legs: &[&Leg], skipped: Option<String>) -> Row {
    let measured: Vec<(&Leg, &Said)> = legs
        .iter()
        .filter_map(|leg| match &leg.outcome {
            Outcome::Measured(said) => Some((*leg, said)),
            Outcome::Failed(_) => None,
        })
        .collect();
    let of = |number: fn(&Said) -> f64| {
        Spread::of(&measured.iter().map(|(_, said)| number(said)).collect::<Vec<_>>())
    };
    let mocks = |number: fn(&Leg) -> Option<f64>| {
        Spread::of(&measured.iter().filter_map(|(leg, _)| number(leg)).collect::<Vec<_>>())
    };
    let events_per_s = mocks(|leg| leg.served.events_per_second);
    Row {
        streams,
        client: client.to_owned(),
        skipped,
        legs: legs.len(),
        words: legs.iter().map(|leg| word(spec, leg)).collect(),
        says_limited: legs.iter().filter(|leg| leg.says_limited).count(),
        ttft_ms_p50: of(|said| said.ttft_ms_p50),
        ttft_ms_p99: of(|said| said.ttft_ms_p99),
        itl_ms_p50: of(|said| said.itl_ms_p50),
        itl_ms_p99: of(|said| said.itl_ms_p99),
        events_per_s,
        load_share: events_per_s.map(|spread| spread.median / spec.load.events_per_second(streams)),
        mock_late_ms_p99: mocks(|leg| leg.served.late.p99_ns.map(|ns| ns as f64 / 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::series::LegId;
    use crate::clients::spec::parse;
    use crate::load::account::SpanSummary;
    use crate::mock::Served;

    fn spec() -> Spec {
        parse(include_str!("../../clients/per-core.toml")).unwrap()
    }

    fn leg(round: u32, numbers: [f64; 4], late_ns: u64) -> Leg {
        let [ttft_ms_p50, ttft_ms_p99, itl_ms_p50, itl_ms_p99] = numbers;
        let late =
            SpanSummary { n: 9, p50_ns: Some(1), p99_ns: Some(late_ns), max_ns: Some(late_ns) };
        Leg {
            id: LegId { client: "vllm".to_owned(), streams: 16, round },
            requests: 64,
            outcome: Outcome::Measured(Said {
                completed: 64.0,
                tokens_per_s: 800.0,
                ttft_ms_p50,
                ttft_ms_p99,
                itl_ms_p50,
                itl_ms_p99,
            }),
            says_limited: false,
            served: Served {
                requests: 64,
                completed: 64,
                left: 0,
                refused: 0,
                open: 0,
                events: 4096,
                events_per_second: Some(400.0 * f64::from(round)),
                late,
                busy_share: 0.1,
            },
            seconds: Some(9.0),
        }
    }

    /// The bounds of the issue: 5 ms of TTFT, 1.5 ms of a gap; the truth is 20 ms of both.
    #[test]
    fn bounds_hold_at_both_percentiles_and_both_sides() {
        let of = |numbers| word(&spec(), &leg(1, numbers, 1000));
        assert_eq!(of([20.0, 25.0, 18.5, 21.5]), Word::Honest);
        for numbers in [
            [20.0, 25.1, 20.0, 20.0],
            [14.9, 20.0, 20.0, 20.0],
            [20.0, 20.0, 0.003, 20.0],
            [20.0, 20.0, 20.0, 21.6],
            [20.0, f64::NAN, 20.0, 20.0],
        ] {
            assert!(matches!(of(numbers), Word::Off(off) if off.len() == 1), "{numbers:?}");
        }
    }

    #[test]
    fn a_mock_that_was_late_says_nothing_of_the_client() {
        let late = leg(1, [20.0; 4], 9_000_000);
        assert!(matches!(word(&spec(), &late), Word::MockLate(ms) if (ms - 9.0).abs() < 1e-9));
        let mut failed = leg(1, [20.0; 4], 1000);
        failed.outcome = Outcome::Failed("it ended with status 1".to_owned());
        assert_eq!(word(&spec(), &failed), Word::Failed("it ended with status 1".to_owned()));
    }

    #[test]
    fn rows_have_medians_of_what_was_measured_and_nothing_of_the_rest() {
        let mut failed = leg(3, [90.0; 4], 1000);
        failed.outcome = Outcome::Failed("no".to_owned());
        let legs = [leg(1, [20.0; 4], 1000), leg(2, [24.0, 30.0, 20.0, 20.0], 1000), failed];
        let skipped = BTreeMap::from([("aiperf".to_owned(), "not installed".to_owned())]);
        let rows = rows(&spec(), &["vllm", "aiperf"], &[16], &legs, &skipped);
        let [vllm, aiperf] = &rows[..] else { panic!("two rows") };
        assert_eq!(vllm.ttft_ms_p50, Some(Spread { median: 22.0, min: 20.0, max: 24.0 }));
        assert_eq!((vllm.legs, vllm.honest()), (3, 1));
        // 600 of the 16 x 50 that there could be.
        assert!((vllm.load_share.unwrap() - 0.75).abs() < 1e-9);
        assert_eq!((aiperf.legs, aiperf.ttft_ms_p50), (0, None));
        assert_eq!(aiperf.skipped.as_deref(), Some("not installed"));
    }
}
