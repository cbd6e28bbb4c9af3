//! The kinds of comparison, one module each. A kind is a pure function from samples to findings.

pub mod alone;
pub mod async_identity;
pub mod budget;
pub mod byte_identity;
pub mod flags;
pub mod identity;
pub mod logits;
pub mod memory;
pub mod near_tie;
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
    ]
    .into_iter()
    .flatten()
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
    lines.extend(checks.alone().iter().map(|check| (check.name(), check.explain())));
    if let Some(check) = &checks.budget {
        lines.push((budget::NAME, budget::explain(check)));
    }
    lines
}
