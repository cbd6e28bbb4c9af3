//! The rules about an oracle's answers to itself: whole answers, really together, really from the cache.

use super::Violation;
use crate::compare;
use crate::kind::oracle_consistency::{Answer, Arm, ConsistencySample};
use crate::rule::Rule;
use crate::spec::{Condition, GenerateSpec, OracleConsistencyCheck};

/// Every rule that a collected sample breaks.
pub fn consistency(
    sample: &ConsistencySample,
    check: &OracleConsistencyCheck,
    generate: &GenerateSpec,
) -> Vec<Violation> {
    let counts = sample.arms.iter().flat_map(|arm| incomplete(arm, &sample.cases, generate));
    let together = sample.arms.iter().filter_map(|arm| one_by_one(arm, check, sample.cases.len()));
    let warm = sample.arms.iter().filter_map(cold);
    counts.chain(together).chain(warm).collect()
}

fn name(arm: &Arm) -> &'static str {
    arm.condition.map_or("alone", Condition::name)
}

/// V-COUNT: every case is answered, and what is ranked is ranked in numbers.
fn incomplete<'a>(
    arm: &'a Arm,
    cases: &'a [String],
    generate: &'a GenerateSpec,
) -> impl Iterator<Item = Violation> + 'a {
    let missing = (arm.answers.len() != cases.len())
        .then(|| format!("{}: {} answers to {} cases", name(arm), arm.answers.len(), cases.len()));
    let broken = cases.iter().zip(&arm.answers).filter_map(|(case, answer)| {
        let what = defect(answer, generate)?;
        Some(format!("{}: the answer to {case} {what}", name(arm)))
    });
    let violation = |reason| Violation { rule: Rule::Count, reason };
    missing.into_iter().chain(broken).map(violation)
}

fn defect(answer: &Answer, generate: &GenerateSpec) -> Option<String> {
    if answer.ids.is_empty() || answer.read.is_empty() {
        return Some("has no token".to_owned());
    }
    let window = generate.top_logprobs.0;
    let bad = answer.read.iter().find(|(_, step)| {
        let numbers = step.top.iter().map(|(_, logprob)| f64::from(*logprob));
        !step.top.is_empty() && (step.top.len() != window || !compare::all_finite(numbers))
    });
    if let Some((position, _)) = bad {
        return Some(format!("has no {window} finite log-probabilities at token {position}"));
    }
    let ranked = answer.read.iter().any(|(_, step)| !step.top.is_empty());
    (!ranked).then(|| "has no ranking at all".to_owned())
}

/// V-CONC: as many requests as were meant to be were in work at once.
fn one_by_one(arm: &Arm, check: &OracleConsistencyCheck, cases: usize) -> Option<Violation> {
    let meant = check.batch.0.min(u32::try_from(cases).unwrap_or(u32::MAX));
    let found = match (arm.condition, arm.at_once) {
        (Some(Condition::Together), found) => found.unwrap_or(0),
        _ => return None,
    };
    (found < meant).then(|| Violation {
        rule: Rule::Concurrency,
        reason: format!("{found} requests were in work at once where {meant} were meant to be"),
    })
}

/// V-CACHE-POLICY: of at least one prompt something came from the cache.
fn cold(arm: &Arm) -> Option<Violation> {
    if arm.condition != Some(Condition::Warm) {
        return None;
    }
    let kept = arm.cached_tokens.as_deref().unwrap_or_default();
    let is_cold = kept.iter().all(|tokens| *tokens == 0);
    is_cold.then(|| Violation {
        rule: Rule::CachePolicy,
        reason: "nothing of any prompt came from the prefix cache: it was asked cold".to_owned(),
    })
}
