//! The verdict of a generation gate: strict equality, or every divergence a near tie.

use records::metric::{Measurement, Metric, Statistic};
use serde_json::{Value, json};

use super::Judgement;
use super::texts::difference_words;
use crate::compare;
use crate::kind::near_tie::{self, Adjudication, ForcedOutcome, Reading};
use crate::kind::ranks::RankTable;
use crate::kind::token_exact::{self, CaseOutcome, Divergence};
use crate::rule::{Rule, Word};
use crate::samples::GenerationSample;
use crate::spec::NearTieCheck;
use crate::subject::Defect;
use crate::words::count;

/// One case, judged by every kind that the spec declares.
struct JudgedCase<'a> {
    sample: &'a GenerationSample,
    outcome: CaseOutcome,
    adjudication: Option<Adjudication>,
    forced: Option<Result<ForcedOutcome, Defect>>,
}

/// How many cases came out how.
#[derive(Default)]
struct Tally {
    exact: usize,
    ties: usize,
    diverged: usize,
    prompts: usize,
    broken: usize,
    flips_outside: usize,
    inconsistent: usize,
}

impl Tally {
    fn failures(&self) -> usize {
        self.diverged + self.prompts + self.broken + self.flips_outside + self.inconsistent
    }
}

pub(super) fn judge(samples: &[GenerationSample], near_tie: Option<&NearTieCheck>) -> Judgement {
    let cases: Vec<JudgedCase<'_>> =
        samples.iter().map(|sample| judge_case(sample, near_tie)).collect();
    if cases.is_empty() {
        let reason = "there is no case: nothing was compared".to_owned();
        return Judgement::bare(Word::Skipped, vec![Rule::Skip], reason, 0);
    }
    let tally = tally(&cases, near_tie);
    let ranks = ranks(&cases);
    let word = if tally.failures() == 0 { Word::Pass } else { Word::Fail };
    let broken = cases.iter().any(|case| matches!(case.outcome, CaseOutcome::Broken(_)));
    let rules = if broken { vec![Rule::Failed] } else { Vec::new() };
    let reason = reason(&cases, &tally, near_tie);
    let mut judgement = Judgement::bare(word, rules, reason, cases.len() as u64);
    judgement.measurements = measurements(&cases, &tally, &ranks);
    judgement.divergences = cases.iter().filter_map(value).collect();
    judgement.report = report(&cases, &tally, near_tie, &ranks);
    judgement
}

fn judge_case<'a>(sample: &'a GenerationSample, near_tie: Option<&NearTieCheck>) -> JudgedCase<'a> {
    let outcome = token_exact::judge(sample);
    let adjudication = match (&outcome, near_tie) {
        (CaseOutcome::Diverged(divergence), Some(check)) => {
            Some(near_tie::adjudicate(sample, *divergence, check))
        }
        _ => None,
    };
    let forced = sample.forced.as_ref().map(|forced| match forced {
        Ok(forced) => near_tie::judge_forced(sample, forced),
        Err(defect) => Err(defect.clone()),
    });
    JudgedCase { sample, outcome, adjudication, forced }
}

fn tally(cases: &[JudgedCase<'_>], near_tie: Option<&NearTieCheck>) -> Tally {
    let mut tally = Tally::default();
    for case in cases {
        match &case.outcome {
            CaseOutcome::Exact => tally.exact += 1,
            CaseOutcome::Prompt(_) => tally.prompts += 1,
            CaseOutcome::Broken(_) => tally.broken += 1,
            CaseOutcome::Diverged(_) if case.adjudication.is_some_and(|a| a.tie) => tally.ties += 1,
            CaseOutcome::Diverged(_) => tally.diverged += 1,
        }
        match &case.forced {
            Some(Ok(forced)) => {
                let outside = near_tie.is_some_and(|check| {
                    forced.flips.iter().any(|flip| !flip.reading.is_tie(check))
                });
                tally.flips_outside += usize::from(outside);
                tally.inconsistent += usize::from(!is_consistent(&case.outcome, forced));
            }
            Some(Err(_)) if !matches!(case.outcome, CaseOutcome::Broken(_)) => tally.broken += 1,
            _ => {}
        }
    }
    tally
}

/// Until the first divergence both runs of the subject have the same prefix, so they must choose the same.
fn is_consistent(outcome: &CaseOutcome, forced: &ForcedOutcome) -> bool {
    let first = forced.flips.first().map(|flip| flip.divergence);
    match outcome {
        CaseOutcome::Exact => first.is_none(),
        CaseOutcome::Diverged(divergence) => first == Some(*divergence),
        CaseOutcome::Prompt(_) | CaseOutcome::Broken(_) => true,
    }
}

fn ranks(cases: &[JudgedCase<'_>]) -> RankTable {
    let mut table = RankTable::default();
    for case in cases {
        if let (Some(Ok(forced)), Some(Ok(_))) = (&case.sample.forced, &case.forced) {
            table.add(&case.sample.reference.steps, forced);
        }
    }
    table
}

fn reason(cases: &[JudgedCase<'_>], tally: &Tally, near_tie: Option<&NearTieCheck>) -> String {
    let total = cases.len();
    let mut parts = vec![format!("{}/{total} exact", tally.exact)];
    let mut add = |n: usize, one: &str, many: &str| {
        if n > 0 {
            parts.push(count(n, one, many));
        }
    };
    match near_tie {
        Some(check) => {
            let band = format!("{} milli-nats", check.band_mnats.0);
            let ties = format!("({} of {band})", widest_words(cases, true));
            add(tally.ties, &format!("near tie {ties}"), &format!("near ties {ties}"));
            let beyond = format!("beyond the band of {band} ({})", widest_words(cases, false));
            add(tally.diverged, &format!("diverges {beyond}"), &format!("diverge {beyond}"));
        }
        None => add(tally.diverged, "diverges", "diverge"),
    }
    add(tally.prompts, "with another prompt", "with another prompt");
    add(tally.broken, "without a usable answer", "without a usable answer");
    let forced = "the band when forced along the oracle's ids";
    add(tally.flips_outside, &format!("leaves {forced}"), &format!("leave {forced}"));
    let otherwise = "otherwise when forced along the same prefix";
    add(tally.inconsistent, &format!("chooses {otherwise}"), &format!("choose {otherwise}"));
    parts.join(", ")
}

/// The widest gap of the ties, or of the divergences that are none.
fn widest_words(cases: &[JudgedCase<'_>], ties: bool) -> String {
    let of = || adjudications(cases).filter(|adjudication| adjudication.tie == ties);
    let widest = compare::largest(of().filter_map(|adjudication| adjudication.decoded.gap_mnats));
    let outside = of().filter(|adjudication| adjudication.decoded.gap_mnats.is_none()).count();
    let mut words: Vec<String> = widest.map(|gap| format!("widest {gap:.1}")).into_iter().collect();
    if outside > 0 {
        words.push(format!("{outside} outside the oracle's window"));
    }
    words.join(", ")
}

/// The widest gap among all first divergences; `None` without one, NaN if one has no number.
fn widest_gap(cases: &[JudgedCase<'_>]) -> Option<f64> {
    compare::largest(adjudications(cases).filter_map(|adjudication| adjudication.decoded.gap_mnats))
}

fn adjudications<'a>(cases: &'a [JudgedCase<'_>]) -> impl Iterator<Item = &'a Adjudication> {
    cases.iter().filter_map(|case| case.adjudication.as_ref())
}

fn measurements(cases: &[JudgedCase<'_>], tally: &Tally, ranks: &RankTable) -> Vec<Measurement> {
    let shared: usize = cases.iter().map(|case| shared_tokens(case)).sum();
    let compared: usize = cases.iter().map(|case| case.sample.reference.ids.len()).sum();
    let mut all = vec![
        Measurement::count(Metric::ExactCases, tally.exact as u64),
        Measurement::count(Metric::Divergences, (tally.ties + tally.diverged) as u64),
        Measurement::count(Metric::NearTies, tally.ties as u64),
        Measurement::count(Metric::ExactTokens, shared as u64),
        Measurement::count(Metric::ComparedTokens, compared as u64),
    ];
    let gaps = adjudications(cases).filter(|a| a.decoded.gap_mnats.is_some()).count() as u64;
    all.push(maximum(Metric::GapMnats, widest_gap(cases), gaps));
    if ranks.positions() > 0 {
        let flips = (ranks.positions() - ranks.first) as u64;
        let positions = ranks.positions() as u64;
        all.push(Measurement::count(Metric::ForcedFlips, flips));
        all.push(maximum(Metric::LogprobDifferenceMnats, ranks.chosen_difference_mnats, positions));
    }
    all
}

/// The largest of `n` samples. A value that is no number was not measured, and leaves no count behind.
fn maximum(metric: Metric, value: Option<f64>, n: u64) -> Measurement {
    let value = value.filter(|value| value.is_finite());
    Measurement::new(metric, Statistic::Max, if value.is_some() { n } else { 0 }, value)
}

/// Generated tokens before the first divergence.
fn shared_tokens(case: &JudgedCase<'_>) -> usize {
    match &case.outcome {
        CaseOutcome::Exact => case.sample.reference.ids.len(),
        CaseOutcome::Diverged(divergence) => divergence.index,
        CaseOutcome::Prompt(_) | CaseOutcome::Broken(_) => 0,
    }
}

fn value(case: &JudgedCase<'_>) -> Option<Value> {
    let id = &case.sample.reference.id;
    let reading =
        |reading: &Reading| json!({ "rank": reading.rank, "gap_mnats": reading.gap_mnats });
    match &case.outcome {
        CaseOutcome::Exact => None,
        CaseOutcome::Prompt(difference) => {
            Some(json!({ "case": id, "what": difference_words(difference) }))
        }
        CaseOutcome::Broken(defect) => Some(json!({ "case": id, "what": defect.to_string() })),
        CaseOutcome::Diverged(divergence) => Some(json!({
            "case": id,
            "index": divergence.index,
            "ours": divergence.found,
            "oracle": divergence.expected,
            "decoded": case.adjudication.as_ref().map(|a| reading(&a.decoded)),
            "reread": case.adjudication.as_ref().and_then(|a| a.reread.as_ref()).map(reading),
            "tie": case.adjudication.map(|a| a.tie),
        })),
    }
}

fn report(
    cases: &[JudgedCase<'_>],
    tally: &Tally,
    near_tie: Option<&NearTieCheck>,
    ranks: &RankTable,
) -> Vec<String> {
    let tokens: usize = cases.iter().map(|case| case.sample.reference.ids.len()).sum();
    let mut lines = vec![format!(
        "token-exact  {}/{} exact, {} in all",
        tally.exact,
        cases.len(),
        count(tokens, "token", "tokens")
    )];
    lines.extend(cases.iter().filter_map(case_line));
    if let Some(check) = near_tie {
        let divergences = tally.ties + tally.diverged;
        lines.push(match divergences {
            0 => "near-tie     no divergence to adjudicate".to_owned(),
            _ => format!(
                "near-tie     {} of {} inside {} milli-nats",
                tally.ties,
                count(divergences, "divergence", "divergences"),
                check.band_mnats.0
            ),
        });
        lines.extend(cases.iter().flat_map(|case| forced_lines(case, check)));
    }
    if ranks.positions() > 0 {
        lines.extend(rank_lines(ranks));
    }
    lines
}

fn rank_lines(ranks: &RankTable) -> [String; 2] {
    let mnats = |value: Option<f64>| value.map_or("not measured".to_owned(), |v| format!("{v:.3}"));
    [
        format!(
            "ranks        ours under the oracle's, forced: first {}, second {}, lower {}, outside {} (not reported {})",
            ranks.first, ranks.second, ranks.lower, ranks.outside, ranks.unreported
        ),
        format!(
            "logprobs     largest difference {} milli-nats (chosen token), {} (whole window)",
            mnats(ranks.chosen_difference_mnats),
            mnats(ranks.window_difference_mnats)
        ),
    ]
}

fn case_line(case: &JudgedCase<'_>) -> Option<String> {
    let id = &case.sample.reference.id;
    match &case.outcome {
        CaseOutcome::Exact => None,
        CaseOutcome::Prompt(difference) => Some(format!("  {id} {}", difference_words(difference))),
        CaseOutcome::Broken(defect) => Some(format!("  {id} {defect}")),
        CaseOutcome::Diverged(divergence) => {
            let adjudication = case.adjudication.as_ref().map_or(String::new(), adjudicated);
            Some(format!("  {id} {}{adjudication}", parting(case.sample, *divergence)))
        }
    }
}

/// Where two generations part, with the pieces of text that they part in.
fn parting(sample: &GenerationSample, divergence: Divergence) -> String {
    let Divergence { index, found, expected } = divergence;
    let ours = sample.subject.as_ref().map_or("", |subject| subject.text.as_str());
    let theirs = sample.reference.text.as_str();
    let at = ours
        .char_indices()
        .zip(theirs.chars())
        .find(|((_, a), b)| a != b)
        .map_or(ours.len().min(theirs.len()), |((at, _), _)| at);
    let before: String = ours.get(..at).unwrap_or_default().chars().rev().take(24).collect();
    let before: String = before.chars().rev().collect();
    let after =
        |text: &str| -> String { text.get(at..).unwrap_or_default().chars().take(16).collect() };
    format!(
        "parts at token {index} after {before:?}: ours {found} {:?}, oracle {expected} {:?}",
        after(ours),
        after(theirs)
    )
}

fn adjudicated(adjudication: &Adjudication) -> String {
    let words = |reading: &Reading| match (reading.rank, reading.gap_mnats) {
        (Some(rank), Some(gap)) => format!("rank {rank}, gap {gap:.3} milli-nats"),
        _ => "outside the oracle's window".to_owned(),
    };
    let reread = adjudication
        .reread
        .as_ref()
        .map_or(String::new(), |reading| format!(", read again: {}", words(reading)));
    let verdict = if adjudication.tie { "tie" } else { "no tie" };
    format!("; {}{reread}: {verdict}", words(&adjudication.decoded))
}

/// Flips of the forced run that are not the first divergence, which has its own line.
fn forced_lines(case: &JudgedCase<'_>, check: &NearTieCheck) -> Vec<String> {
    let id = &case.sample.reference.id;
    let forced = match &case.forced {
        Some(Ok(forced)) => forced,
        Some(Err(defect)) => return vec![format!("  {id} forced: {defect}")],
        None => return Vec::new(),
    };
    let mut lines = Vec::new();
    if !is_consistent(&case.outcome, forced) {
        lines.push(format!("  {id} forced: the engine chooses otherwise on the same prefix"));
    }
    let first = match &case.outcome {
        CaseOutcome::Diverged(divergence) => Some(*divergence),
        _ => None,
    };
    for flip in forced.flips.iter().filter(|flip| Some(flip.divergence) != first) {
        let adjudication =
            Adjudication { decoded: flip.reading, reread: None, tie: flip.reading.is_tie(check) };
        lines.push(format!(
            "  {id} forced, token {}: ours {}, oracle {}{}",
            flip.divergence.index,
            flip.divergence.found,
            flip.divergence.expected,
            adjudicated(&adjudication)
        ));
    }
    lines
}
