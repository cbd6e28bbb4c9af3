//! The verdict on an oracle that is compared with itself, and what its record means for those who are compared with it.

use records::metric::{Measurement, Metric, Statistic};
use serde_json::json;

use super::Judgement;
use crate::compare;
use crate::kind::noise_rate::{Share, fisher_exact};
use crate::kind::oracle_consistency::{self, ConsistencySample, Findings, Pair, Precedent};
use crate::rule::{Rule, Word};
use crate::spec::{NoiseRateCheck, OracleConsistencyCheck, Spec};
use crate::words::count;

/// Flips shown of each pair; the record keeps all of them.
const SHOWN: usize = 3;

/// The verdict on the oracle: any other choice fails it, and what could not be seen establishes nothing.
pub(super) fn judge(
    check: Option<&OracleConsistencyCheck>,
    sample: &ConsistencySample,
) -> Judgement {
    let Some(check) = check.filter(|_| !sample.cases.is_empty()) else {
        let reason = "nothing of this kind was collected: nothing was judged".to_owned();
        return Judgement::bare(Word::Skipped, vec![Rule::Skip], reason, 0);
    };
    let findings = oracle_consistency::judge(check, sample);
    let (word, reason) = verdict(&findings);
    let mut judgement = Judgement::bare(word, Vec::new(), reason, findings.cases as u64);
    judgement.measurements = measurements(&findings);
    judgement.divergences = divergences(&findings);
    judgement.report = report(check, &findings);
    judgement
}

fn verdict(findings: &Findings) -> (Word, String) {
    let cases = findings.cases;
    let seen = findings.pairs.iter().filter(|pair| pair.of.0.is_none()).count();
    let seen = format!("{} over {}", count(seen, "condition", "conditions"), prompts(cases));
    let noise = mnats(findings.largest_mnats());
    // Two conditions that both differ from the first arm differ from each other because of that.
    let (first, others): (Vec<&Pair>, Vec<&Pair>) =
        findings.broken().partition(|pair| pair.of.0.is_none());
    let broken = if first.is_empty() { others } else { first };
    let broken: Vec<String> = broken.into_iter().map(broken_words).collect();
    if !broken.is_empty() {
        let reason =
            format!("the oracle contradicts itself: {} ({seen}, {noise})", broken.join(", "));
        return (Word::Fail, reason);
    }
    if !findings.unseen.is_empty() {
        let unseen: Vec<String> =
            findings.unseen.iter().map(|(which, why)| format!("{which}: {why}")).collect();
        return (Word::NotEstablished, format!("not seen: {} ({seen})", unseen.join("; ")));
    }
    (Word::Pass, format!("the oracle agrees with itself: {seen}, {noise}"))
}

fn prompts(cases: usize) -> String {
    count(cases, "prompt", "prompts")
}

/// What is wrong with a pair that does not agree.
fn broken_words(pair: &Pair) -> String {
    if pair.flips.is_empty() {
        format!("{} with other numbers", pair.name())
    } else {
        format!("{} {}/{} prompts", pair.name(), pair.flipped(), pair.cases)
    }
}

fn mnats(largest: Option<f64>) -> String {
    largest.map_or("no log-probability compared".to_owned(), |largest| {
        format!("largest difference {largest:.3} milli-nats")
    })
}

fn measurements(findings: &Findings) -> Vec<Measurement> {
    let choices: usize = findings.pairs.iter().map(|pair| pair.choices).sum();
    let flips: usize = findings.pairs.iter().map(|pair| pair.flips.len()).sum();
    let flipped = findings.worst().map_or(0, Pair::flipped);
    let largest = findings.largest_mnats().filter(|largest| largest.is_finite());
    let n = if largest.is_some() { choices as u64 } else { 0 };
    vec![
        Measurement::count(Metric::SelfFlippedCases, flipped as u64),
        Measurement::count(Metric::SelfChoices, choices as u64),
        Measurement::count(Metric::SelfFlips, flips as u64),
        Measurement::new(Metric::SelfDifferenceMnats, Statistic::Max, n, largest),
    ]
}

fn divergences(findings: &Findings) -> Vec<serde_json::Value> {
    let of = |pair: &Pair| {
        let name = pair.name();
        let flips = pair.flips.iter().map(move |flip| {
            json!({
                "conditions": name,
                "case": flip.case,
                "index": flip.position,
                "first": flip.choices.0,
                "second": flip.choices.1,
            })
        });
        flips.collect::<Vec<_>>()
    };
    findings.pairs.iter().flat_map(of).collect()
}

fn report(check: &OracleConsistencyCheck, findings: &Findings) -> Vec<String> {
    let mut lines = Vec::new();
    for pair in &findings.pairs {
        lines.push(format!(
            "{:<20} {}/{} prompts differ, {} of {} choices, {}",
            pair.name(),
            pair.flipped(),
            pair.cases,
            pair.flips.len(),
            pair.choices,
            mnats(pair.largest_mnats)
        ));
        lines.extend(pair.flips.iter().take(SHOWN).map(|flip| {
            let id = |id: Option<u32>| id.map_or("nothing".to_owned(), |id| id.to_string());
            format!(
                "  {} parts at token {}: {} and {}",
                flip.case,
                flip.position,
                id(flip.choices.0),
                id(flip.choices.1)
            )
        }));
    }
    for (condition, reason) in &findings.unseen {
        lines.push(format!("{condition:<20} not seen: {reason}"));
    }
    for absent in &check.absent {
        lines.push(format!("{:<20} not applicable: {}", absent.condition, absent.because.0));
    }
    lines
}

/// What the oracle's record means for a comparison with it: it is told beside our numbers, nothing strict stands against an
/// oracle that contradicts itself, and ours must not flip more often than it does.
pub(super) fn beside(
    mut judgement: Judgement,
    spec: &Spec,
    precedent: Option<&Precedent>,
) -> Judgement {
    let checks = &spec.check;
    if let Some(precedent) = precedent {
        judgement.report.push(format!("consistency  {}", precedent_words(precedent)));
    }
    if let Some(check) = &checks.noise_rate {
        judgement = rate(judgement, check, precedent);
    }
    let is_strict = checks.token_exact.is_some() && checks.near_tie.is_none();
    let contradicted = precedent.filter(|precedent| precedent.word == Word::Fail);
    // What the engine did not answer has failed whoever is right.
    if let Some(precedent) = contradicted.filter(|_| is_strict && judgement.rules.is_empty()) {
        judgement.word = Word::NotEstablished;
        judgement.reason = format!(
            "{} contradicts itself ({}): nothing strict can be said against it; {}",
            precedent.oracle, precedent.record, judgement.reason
        );
    }
    judgement
}

fn precedent_words(precedent: &Precedent) -> String {
    format!(
        "{} against itself: {}/{} prompts, {} of {} choices, {} ({})",
        precedent.oracle,
        precedent.flipped,
        precedent.cases,
        precedent.flips,
        precedent.choices,
        mnats(precedent.largest_mnats),
        precedent.record
    )
}

/// Judges the rate at which ours left the oracle. A comparison that failed already stays as it is.
fn rate(
    mut judgement: Judgement,
    check: &NoiseRateCheck,
    precedent: Option<&Precedent>,
) -> Judgement {
    if judgement.word != Word::Pass {
        return judgement;
    }
    let flips = judgement.measurements.iter().find(|number| number.metric == Metric::Divergences);
    let flipped = flips.and_then(|number| number.value).map(|value| value as u64);
    let share = flipped.map(|flipped| Share { flipped, of: judgement.compared });
    let Some((ours, theirs)) = share
        .zip(precedent.map(|precedent| Share { flipped: precedent.flipped, of: precedent.cases }))
    else {
        judgement.word = Word::NotEstablished;
        judgement.reason = format!(
            "the oracle's own rate is not on record: run its oracle-consistency gate first; {}",
            judgement.reason
        );
        return judgement;
    };
    let probability = fisher_exact(ours, theirs);
    let words = format!(
        "{}/{} prompts leave the oracle, {}/{} leave itself",
        ours.flipped, ours.of, theirs.flipped, theirs.of
    );
    let shown = probability.map_or("no probability".to_owned(), |p| format!("p = {p:.4}"));
    judgement.report.push(format!("noise-rate   {words}: {shown}, alpha {}", check.alpha.0));
    // Not significant is: alpha is at most the probability. No probability is no pass.
    if !probability.is_some_and(|p| compare::within(check.alpha.0 - p, 0.0)) {
        judgement.word = Word::Fail;
        judgement.reason =
            format!("more often than the oracle itself: {words} ({shown}); {}", judgement.reason);
    }
    judgement
}
