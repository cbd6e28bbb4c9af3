//! The kinds of comparison, one module each. A kind is a pure function from samples to findings.

pub mod activation_fidelity;
pub mod alone;
pub mod async_identity;
pub mod budget;
pub mod byte_identity;
pub mod comparison;
pub mod flags;
pub mod heeded;
pub mod identity;
pub mod inside;
pub mod layers;
pub mod logits;
pub mod memory;
pub mod near_tie;
pub mod noise_rate;
pub mod op_golden;
pub mod oracle_consistency;
pub mod ranks;
pub mod regression;
pub mod size_dependence;
pub mod startup;
pub mod token_exact;
pub mod tokenizer;
pub mod weights;

use crate::spec::Spec;

/// The names of the kinds that a spec declares, in the order in which they judge.
pub fn names(spec: &Spec) -> Vec<&'static str> {
    let checks = &spec.check;
    [
        checks.tokenizer.as_ref().map(|_| tokenizer::NAME),
        checks.token_exact.as_ref().map(|_| token_exact::NAME),
        checks.near_tie.as_ref().map(|_| near_tie::NAME),
        checks.noise_rate.as_ref().map(|_| noise_rate::NAME),
        checks.oracle_consistency.as_ref().map(|_| oracle_consistency::NAME),
        checks.logits.as_ref().map(|_| logits::NAME),
    ]
    .into_iter()
    .flatten()
    .chain(checks.inside().iter().map(inside::Inside::name))
    .chain(checks.alone().iter().map(alone::Alone::name))
    .chain(checks.budget.as_ref().map(|_| budget::NAME))
    .collect()
}

/// What each declared kind compares, for `gate explain`.
pub fn explain(spec: &Spec) -> Vec<(&'static str, String)> {
    let checks = &spec.check;
    let mut lines = Vec::new();
    if let Some(check) = &checks.tokenizer {
        lines.push((tokenizer::NAME, tokenizer::explain(check)));
    }
    if checks.token_exact.is_some() {
        lines.push((token_exact::NAME, token_exact::EXPLANATION.to_owned()));
    }
    if let Some(check) = &checks.near_tie {
        lines.push((near_tie::NAME, near_tie::explain(check)));
    }
    if let Some(check) = &checks.noise_rate {
        lines.push((noise_rate::NAME, noise_rate::explain(check)));
    }
    if let Some(check) = &checks.oracle_consistency {
        lines.push((oracle_consistency::NAME, oracle_consistency::explain(check)));
    }
    if let Some(check) = &checks.logits {
        lines.push((logits::NAME, logits::explain(check)));
    }
    lines.extend(checks.inside().iter().map(|check| (check.name(), check.explain())));
    lines.extend(checks.alone().iter().map(|check| (check.name(), check.explain())));
    if let Some(check) = &checks.budget {
        lines.push((budget::NAME, budget::explain(check)));
    }
    lines
}
