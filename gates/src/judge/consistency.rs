//! The verdict on an oracle that is compared with itself, and what its record means for those who are compared with it.

use records::metric::{Measurement, Metric, Statistic};
use serde_json::json;

use super::Judgement;
use crate::compare;
use crate::kind::noise_rate::{Share, can_tell, fisher_exact, needed_cases};
use crate::kind::oracle_consistency::{
    self, ConsistencySample, Findings, Pair, Precedent, Precedents,
};
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

/// What the records of the oracle mean for a comparison with it: they are told beside our numbers; nothing strict stands against
/// an oracle that contradicts itself, nor passes against one of which nobody knows; ours must not flip more often than it does.
pub(super) fn beside(
    mut judgement: Judgement,
    spec: &Spec,
    precedents: Option<&Precedents>,
) -> Judgement {
    let nothing = Precedents::default();
    let precedents = precedents.unwrap_or(&nothing);
    let Precedents { contradiction, measure, .. } = precedents;
    let mut told: Vec<&Precedent> = contradiction.iter().chain(measure).collect();
    told.dedup_by_key(|precedent| &precedent.record);
    judgement
        .report
        .extend(told.iter().map(|one| format!("consistency  {}", precedent_words(one))));
    let checks = &spec.check;
    if let Some(check) = &checks.noise_rate {
        judgement = rate(judgement, check, precedents);
    }
    let is_strict = checks.token_exact.is_some() && checks.near_tie.is_none();
    if !is_strict {
        return judgement;
    }
    // What the engine did not answer has failed whoever is right.
    if let Some(precedent) = contradiction.as_ref().filter(|_| judgement.rules.is_empty()) {
        let why = format!(
            "{} contradicts itself ({}): nothing strict can be said against it",
            precedent.oracle, precedent.record
        );
        return not_established(judgement, &why);
    }
    // A difference that was seen is not taken back because somebody has not looked at the oracle.
    if measure.is_none() && judgement.word == Word::Pass {
        return not_established(
            judgement,
            &unknown(precedents, "whether the oracle agrees with itself"),
        );
    }
    judgement
}

fn not_established(mut judgement: Judgement, why: &str) -> Judgement {
    judgement.word = Word::NotEstablished;
    judgement.reason = format!("{why}; {}", judgement.reason);
    judgement
}

/// That `what` is not on record, why the newest record about it does not count, and which gate to run.
fn unknown(precedents: &Precedents, what: &str) -> String {
    let passed_over = precedents.passed_over.first().map(|passed_over| {
        format!(" ({} does not count: {})", passed_over.record, passed_over.why)
    });
    let next = match precedents.gates.first() {
        Some(gate) => format!("run `cargo gate run {gate}` first"),
        None => {
            "no gate compares it with itself on this checkpoint as it is launched here, add one"
                .to_owned()
        }
    };
    format!("{what} is not on record{}: {next}", passed_over.unwrap_or_default())
}

fn precedent_words(precedent: &Precedent) -> String {
    let absent: Vec<&str> = precedent.absent.iter().map(|(which, _)| which.name()).collect();
    let without =
        if absent.is_empty() { String::new() } else { format!(", without {}", absent.join(", ")) };
    format!(
        "{} against itself: {}/{} prompts, {} of {} choices, {}{without} ({})",
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
fn rate(mut judgement: Judgement, check: &NoiseRateCheck, precedents: &Precedents) -> Judgement {
    if judgement.word != Word::Pass {
        return judgement;
    }
    let flips = judgement.measurements.iter().find(|number| number.metric == Metric::Divergences);
    let flipped = flips.and_then(|number| number.value).map(|value| value as u64);
    let ours = flipped.map(|flipped| Share { flipped, of: judgement.compared });
    let theirs = precedents.measure.as_ref();
    let theirs = theirs.map(|measure| Share { flipped: measure.flipped, of: measure.cases });
    let Some((ours, theirs)) = ours.zip(theirs) else {
        return not_established(judgement, &unknown(precedents, "the oracle's own rate"));
    };
    let alpha = check.alpha.0;
    let probability = fisher_exact(ours, theirs);
    let words = format!(
        "{}/{} prompts leave the oracle, {}/{} leave itself",
        ours.flipped, ours.of, theirs.flipped, theirs.of
    );
    let shown = probability.map_or("no probability".to_owned(), |p| format!("p = {p:.4}"));
    judgement.report.push(format!("noise-rate   {words}: {shown}, alpha {alpha}"));
    // Not significant is: alpha is at most the probability. No probability is no pass.
    if !probability.is_some_and(|p| compare::within(alpha - p, 0.0)) {
        judgement.word = Word::Fail;
        judgement.reason =
            format!("more often than the oracle itself: {words} ({shown}); {}", judgement.reason);
    } else if !can_tell(ours.of, theirs, alpha) {
        let needed = needed_cases(theirs, alpha);
        let needed = needed.map_or("no number of prompts would do".to_owned(), |cases| {
            format!("it needs {} on both sides", prompts(cases as usize))
        });
        let why = format!(
            "too few to tell the engine's rate from the oracle's at alpha {alpha}: {words}; {needed}"
        );
        return not_established(judgement, &why);
    }
    judgement
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec;

    const RATE: &str = "[check.token-exact]\n\
        [check.near-tie]\nband-mnats = 125\ntop = 2\nsource = \"bf16-ulp\"\nbecause = \"b\"\n\
        [check.noise-rate]\nalpha = 0.05\nbecause = \"b\"\n";

    /// A comparison of which so many prompts are near ties, beside an oracle that flipped so often.
    fn judged(ours: (u64, u64), theirs: (u64, u64)) -> Judgement {
        let head = "summary = \"x\"\noracle = \"o\"\ncheckpoint = \"c\"\ninputs = \"i\"\n\
            [generate]\nmax-tokens = 4\ntop-logprobs = 2\n";
        let spec = spec::parse(&format!("{head}{RATE}"), Path::new("it.toml")).unwrap();
        let mut judgement = Judgement::bare(Word::Pass, Vec::new(), "ties".into(), ours.1);
        judgement.measurements = vec![Measurement::count(Metric::Divergences, ours.0)];
        let mut precedents = Precedents::of_a_silent_oracle("o", theirs.1);
        if let Some(measure) = &mut precedents.measure {
            measure.flipped = theirs.0;
        }
        beside(judgement, &spec, Some(&precedents))
    }

    #[test]
    fn a_rate_that_could_hardly_have_been_told_is_not_established() {
        // p = 2/31: by itself not significant, and only all 30 would have been.
        let few = judged((29, 30), (0, 1));
        assert_eq!(few.word, Word::NotEstablished);
        assert!(few.reason.contains("it needs 8 prompts on both sides; ties"), "{}", few.reason);
        assert_eq!(judged((0, 30), (0, 1)).word, Word::NotEstablished);
        assert_eq!(judged((30, 30), (0, 1)).word, Word::Fail);
        let always = judged((30, 30), (30, 30));
        assert_eq!(always.word, Word::NotEstablished);
        assert!(always.reason.contains("no number of prompts would do"), "{}", always.reason);
        // As the spec of the default checkpoint has it: beside one of 30 six are chance, seven are not.
        assert_eq!(judged((0, 30), (1, 30)).word, Word::Pass);
        assert_eq!(judged((6, 30), (1, 30)).word, Word::Pass);
        assert_eq!(judged((7, 30), (1, 30)).word, Word::Fail);
    }
}
