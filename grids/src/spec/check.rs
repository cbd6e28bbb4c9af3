//! What the keys of a spec demand of each other.

use std::collections::BTreeSet;

use super::{ArmName, Positive, PrefixCache, Spec};
use crate::arm::OURS;
use crate::statistics::estimate::Statistic;
use crate::statistics::{bootstrap, look, session, signed_rank};

/// The first thing that does not fit.
pub fn inconsistency(spec: &Spec) -> Option<String> {
    arms(spec).or_else(|| cells(spec)).or_else(|| axes(spec)).or_else(|| plan(spec))
}

/// A plan that could at best find something grossly worse: too few pairs for the strictest level of its family. A command line may narrow
/// a plan so far, to see that everything runs; a file of the folder may not declare it.
pub(super) fn undecidable(spec: &Spec) -> Option<String> {
    let concurrency = spec.sweep.as_ref().map(|sweep| &sweep.concurrency);
    let cells = concurrency.or(spec.ab.as_ref().map(|ab| &ab.concurrency)).map_or(1, Vec::len);
    let comparisons = spec.sweep.as_ref().map_or(1, |sweep| sweep.against.len());
    let tests = cells * comparisons * spec.axes.len();
    let pairs = spec.plan.pairs.0 as usize;
    let needed = signed_rank::needed(spec.plan.alpha.0 / tests as f64);
    (pairs < needed).then(|| {
        format!(
            "[plan] pairs: {pairs} cannot establish the first of {tests} words, it takes {needed}"
        )
    })
}

/// The arms that the grid names, once each.
pub(super) fn named_arms(spec: &Spec) -> Vec<&ArmName> {
    let sweep = spec
        .sweep
        .iter()
        .flat_map(|sweep| sweep.against.iter().chain([&sweep.subject, &sweep.null_of]));
    let ab = spec.ab.iter().flat_map(|ab| [&ab.reference, &ab.subject]);
    let all: BTreeSet<&ArmName> = sweep.chain(ab).collect();
    all.into_iter().collect()
}

fn arms(spec: &Spec) -> Option<String> {
    match (&spec.sweep, &spec.ab) {
        (Some(_), Some(_)) | (None, None) => {
            return Some("a grid is a [sweep] or an [ab], exactly one of them".to_owned());
        }
        (Some(sweep), None) => {
            let distinct: BTreeSet<_> = sweep.against.iter().collect();
            if sweep.against.is_empty() || distinct.len() < sweep.against.len() {
                return Some("[sweep] against: name at least one arm, each once".to_owned());
            }
            if distinct.contains(&sweep.subject) {
                return Some("[sweep] against: the subject is compared with others".to_owned());
            }
        }
        (None, Some(ab)) if ab.reference == ab.subject => {
            return Some("[ab] reference and subject are one arm".to_owned());
        }
        (None, Some(_)) => {}
    }
    let named = named_arms(spec);
    if let Some(missing) = named.iter().find(|name| !spec.arms.contains_key(**name)) {
        return Some(format!("arm {:?} has no [arms.{}]", missing.0, missing.0));
    }
    let ids = spec.workload.ids;
    if ids.to.0 <= ids.from {
        return Some(format!("[workload] ids: from {} to {} is no choice", ids.from, ids.to.0));
    }
    if let Some(reason) = correct(spec) {
        return Some(reason);
    }
    let unused = spec.arms.keys().find(|name| !named.contains(name))?;
    Some(format!("[arms.{}] is not compared with anything", unused.0))
}

/// Each arm of ours names gates, and no other arm does: an oracle is not certified by itself.
fn correct(spec: &Spec) -> Option<String> {
    let gates = &spec.correct.gates;
    let is_ours = |name: &ArmName| spec.arms.get(name).is_some_and(|arm| arm.engine == OURS);
    if let Some(other) = gates.keys().find(|name| !is_ours(name)) {
        return Some(format!("[correct] gates: {:?} is no arm of our engine", other.0));
    }
    let without = |name: &&ArmName| gates.get(name).is_none_or(Vec::is_empty);
    let unshown = spec.arms.keys().filter(|name| is_ours(name)).find(without)?;
    Some(format!("[correct] gates: nothing would show that {:?} answers right", unshown.0))
}

fn cells(spec: &Spec) -> Option<String> {
    let sweep = spec.sweep.as_ref().map(|sweep| &sweep.concurrency);
    let concurrency = sweep.or(spec.ab.as_ref().map(|ab| &ab.concurrency))?;
    if concurrency.is_empty() || !ascends(concurrency) {
        return Some("`concurrency` lists at least one count, ascending".to_owned());
    }
    let workload = &spec.workload;
    let tokens = u64::from(workload.prompt_tokens.0) + u64::from(workload.output_tokens.0);
    let context = u64::from(spec.launch.context.0);
    (tokens > context).then(|| {
        format!("[workload] takes {tokens} tokens a sequence, [launch] context is {context}")
    })
}

fn axes(spec: &Spec) -> Option<String> {
    if spec.axes.is_empty() {
        return Some("nothing is judged: list at least one [[axis]]".to_owned());
    }
    let mut metrics = BTreeSet::new();
    let all = spec.axes.iter().map(|axis| &axis.metric);
    if let Some(twice) =
        all.chain(spec.controls.iter().map(|c| &c.metric)).find(|m| !metrics.insert(*m))
    {
        return Some(format!("metric {twice:?} is listed twice among [[axis]] and [[control]]"));
    }
    spec.axes.iter().find_map(super::Axis::inconsistency)
}

fn plan(spec: &Spec) -> Option<String> {
    let plan = &spec.plan;
    let (pairs, sessions) = (plan.pairs.0 as usize, plan.sessions.0 as usize);
    if sessions > 1 && sessions < session::FEWEST {
        return Some(format!(
            "[plan] sessions: 1, or at least {} for a claim beyond one start of the servers",
            session::FEWEST
        ));
    }
    if !pairs.is_multiple_of(2 * sessions) {
        return Some(format!(
            "[plan] pairs: {pairs} cannot be shared by {sessions} session(s) with as many pairs in each order"
        ));
    }
    if plan.attempts.0 > 1 && spec.launch.prefix_cache != PrefixCache::Off {
        return Some(
            "[plan] attempts: a leg is run again with the same prompts, which takes [launch] prefix-cache = \"off\"".to_owned(),
        );
    }
    if plan.spares > 0 && (sessions > 1 || !plan.looks.is_empty()) {
        return Some("[plan] spares: with one session, and no look before its end".to_owned());
    }
    let odd = spec.axes.iter().find(|axis| axis.statistic == Statistic::Odd);
    if let Some(axis) = odd.filter(|_| pairs < bootstrap::FEWEST) {
        return Some(format!(
            "[[axis]] {}: statistic \"odd\" needs at least {} pairs, [plan] has {pairs}",
            axis.metric,
            bootstrap::FEWEST
        ));
    }
    looks(spec)
}

/// Looks ascend, keep the order balanced and the sessions whole, and each could decide something.
fn looks(spec: &Spec) -> Option<String> {
    let plan = &spec.plan;
    if plan.looks.is_empty() {
        return None;
    }
    let mut at: Vec<usize> = plan.looks.iter().map(|look| look.0 as usize).collect();
    at.push(plan.pairs.0 as usize);
    let Some(levels) = look::levels(plan.boundary, &at, plan.alpha.0) else {
        return Some("[plan] looks ascend and end before `pairs`".to_owned());
    };
    let sessions = plan.sessions.0 as usize;
    let step = if sessions > 1 { plan.pairs.0 as usize / sessions } else { 2 };
    if let Some(off) = at.iter().find(|look| !look.is_multiple_of(step)) {
        return Some(format!(
            "[plan] looks: {off} is no multiple of {step}, where the order is balanced and a session ends"
        ));
    }
    if sessions > 1 {
        let least = session::FEWEST * step;
        return (at[0] < least).then(|| {
            format!("[plan] looks: {} is before the end of session {}", at[0], session::FEWEST)
        });
    }
    let (look, level) =
        at.iter().zip(&levels).find(|(look, level)| signed_rank::needed(**level) > **look)?;
    Some(format!(
        "[plan] looks: {look} pairs can decide nothing at the level {level:.4} of that look; it takes {}",
        signed_rank::needed(*level)
    ))
}

fn ascends(counts: &[Positive]) -> bool {
    counts.windows(2).all(|pair| pair[0].0 < pair[1].0)
}
