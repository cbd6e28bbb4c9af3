//! Fault: one row of the head is a little longer, that of the token which is most often the first choice.
//!
//! A row that is scaled scales its token's logit behind every position, which is how it is planted: in what the engine dumps.

use std::collections::BTreeMap;

use super::values::change_part;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

const FACTOR: f32 = 1.25;

pub(super) const FAULT: Fault = Fault {
    name: "perturbed-head",
    plants: "one row of the head, a quarter longer: its token's logit behind every position",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "logits", |width, logits| {
        let Some(token) = usual_choice(width, logits) else { return };
        logits.iter_mut().skip(token).step_by(width).for_each(|logit| *logit *= FACTOR);
    });
}

/// The token that is most often the largest of its row.
fn usual_choice(width: usize, logits: &[f32]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for row in logits.chunks_exact(width.max(1)) {
        let choice = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?.0;
        *counts.entry(choice).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(token, _)| token)
}
