//! The verdict of a series: one pure function from the plan and the outcomes of its legs to a word for every axis at every cell.
//!
//! | module | what it decides |
//! |---|---|
//! | [`word`] | the words and their exit statuses |
//! | [`validity`] | which rules stand against a comparison |
//! | [`pairing`] | which runs are compared, and which pairs are discarded |
//! | [`control`] | null arm, controls, first arm at the end, drift and steps |
//! | [`decide`] | from an interval to a word |
//! | [`compared`] | estimates, and why they give no word |
//! | [`next`] | the cheapest next action |
//! | [`planner`] | before the first run: how likely a plan is to find an effect, and how many pairs it takes |
//! | [`standing`] | what voids an arm beyond its legs |
//! | [`text`] | one line each |
//!
//! A broken rule comes before all else, and where one is broken there is no number: [`Judged::Void`] has no place for a ratio.

pub mod compared;
pub mod control;
pub mod decide;
pub mod next;
pub mod pairing;
pub mod planner;
pub mod standing;
pub mod text;
pub mod validity;
pub mod word;

pub use compared::{Compared, Reason};
pub use next::Next;
pub use standing::Standing;
pub use word::Word;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clocks::bound::CLOCK_OFF_PERCENT;
use crate::rule::{Rule, Violation};
use crate::series::{Cell, Comparison, Leg, Outcomes, Plan, Role, spare};
use crate::spec::{Axis, Family};
use crate::statistics::estimate::Insufficient;
use crate::statistics::{look, multiplicity};
use compared::Ready;
use control::Scope;
use validity::{Obstacle, obstacle};

/// What is said of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The grid.
    pub grid: String,
    /// SHA-256 of the plan.
    pub plan_sha256: String,
    /// How many words the plan prints: the family over which its error rate is held.
    pub tests: usize,
    /// The words, in the order of cells, comparisons and axes.
    pub verdicts: Vec<Verdict>,
}

/// What is said of one axis at one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The cell.
    pub cell: String,
    /// The arms.
    pub comparison: Comparison,
    /// The metric of the axis.
    pub metric: String,
    /// What is said.
    pub judged: Judged,
    /// What would be cheapest to do about it.
    pub next: Next,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    /// Rules were broken: no number.
    Void(Vec<Violation>),
    /// An arm is missing: nothing was compared.
    Skipped(Vec<String>),
    /// There is no estimate yet.
    Unestimated(Reason),
    /// It was compared.
    Compared(Box<Compared>),
}

impl Verdict {
    /// The word.
    pub fn word(&self) -> Word {
        match &self.judged {
            Judged::Void(_) => Word::Void,
            Judged::Skipped(_) => Word::Skipped,
            Judged::Unestimated(_) => Word::Inconclusive,
            Judged::Compared(compared) => compared.word,
        }
    }

    /// The rules that were broken, once each.
    pub fn rules(&self) -> Vec<Rule> {
        match &self.judged {
            Judged::Void(broken) => rules(broken),
            Judged::Skipped(_) | Judged::Unestimated(_) | Judged::Compared(_) => Vec::new(),
        }
    }
}

impl Report {
    /// The gravest word; nothing judged is nothing passed. A series of which a part was skipped establishes nothing as a whole: it is
    /// SKIPPED only where nothing was compared at all.
    pub fn word(&self) -> Word {
        let words = || self.verdicts.iter().map(Verdict::word);
        let gravest = words().max_by_key(|word| word.gravity()).unwrap_or(Word::Skipped);
        let is_partly_skipped = words().any(|word| word != Word::Skipped);
        if gravest == Word::Skipped && is_partly_skipped { Word::Inconclusive } else { gravest }
    }
}

/// One axis of one comparison at one cell.
struct Test<'a> {
    cell: &'a Cell,
    comparison: &'a Comparison,
    axis: &'a Axis,
}

/// A test before levels are known.
enum Stage {
    /// Nothing that a level could change.
    Settled(Judged, Next),
    /// The looks that were reached, each by its place among the plan's.
    Ready(Vec<(usize, Ready)>),
}

/// The verdict of a series, from its plan and what became of its legs.
pub fn judge(plan: &Plan, outcomes: &Outcomes) -> Report {
    let tests: Vec<Test<'_>> = tests(plan);
    let plan_sha256 = plan.sha256();
    let mut stages: Vec<Stage> =
        tests.iter().map(|test| stage(plan, &plan_sha256, outcomes, test)).collect();
    let nulls = broken_nulls(plan, outcomes);
    if !nulls.is_empty() {
        // Where equals differ the whole series measures something else.
        for stage in &mut stages {
            add(stage, &nulls);
        }
    }
    let levels = levels(plan, &stages);
    let begun = begun(plan, outcomes);
    let said = tests.iter().zip(stages).zip(levels);
    let said = said.filter(|((test, _), _)| begun.is_empty() || begun.contains(&*test.cell.id));
    let verdicts = said.map(|((test, stage), level)| {
        let (judged, next) = match stage {
            Stage::Settled(judged, next) => (judged, next),
            Stage::Ready(looks) => conclude(plan, &looks, level),
        };
        Verdict {
            cell: test.cell.id.clone(),
            comparison: test.comparison.clone(),
            metric: test.axis.metric.clone(),
            judged,
            next,
        }
    });
    Report {
        grid: plan.grid.clone(),
        plan_sha256,
        tests: plan.tests(),
        verdicts: verdicts.collect(),
    }
}

/// The cells of which a leg has an outcome. Of others nothing is said, once something is said at all: they are for another sitting. The
/// levels of all words are those of the whole plan, whatever was asked of it so far.
pub fn begun<'a>(plan: &'a Plan, outcomes: &Outcomes) -> BTreeSet<&'a str> {
    let legs = plan.legs.iter().filter(|leg| outcomes.contains_key(&leg.id));
    legs.map(|leg| leg.cell.as_str()).collect()
}

fn tests(plan: &Plan) -> Vec<Test<'_>> {
    let comparisons =
        plan.cells.iter().flat_map(|cell| plan.comparisons.iter().map(move |c| (cell, c)));
    comparisons
        .flat_map(|(cell, comparison)| {
            plan.axes.iter().map(move |axis| Test { cell, comparison, axis })
        })
        .collect()
}

/// What can be said of a test before the levels are known.
fn stage(plan: &Plan, plan_sha256: &str, outcomes: &Outcomes, test: &Test<'_>) -> Stage {
    let Test { cell, comparison, axis } = *test;
    match obstacle(plan, plan_sha256, outcomes, &cell.id, comparison, &axis.metric) {
        Some(Obstacle::Void(broken)) => return void(broken),
        Some(Obstacle::Skipped(missing)) => {
            return Stage::Settled(Judged::Skipped(missing.clone()), Next::Provide(missing));
        }
        None => {}
    }
    let mut looks = Vec::new();
    for (place, &up_to) in plan.looks.iter().enumerate() {
        if to_come(plan, outcomes, cell, comparison, up_to) > 0 {
            break;
        }
        let scope = Scope { plan, outcomes, cell: &cell.id, up_to };
        let controls =
            plan.controls.iter().filter_map(|control| scope.control(control, comparison));
        let mut broken: Vec<Violation> = controls.collect();
        let null = scope.null(axis);
        let floor = null.map_or(axis.floor.log(), |null| null.floor);
        broken.extend(scope.terminal(axis, floor));
        if !broken.is_empty() {
            return void(broken);
        }
        let few = Reason::Few(Insufficient::Pairs(3));
        match null.ok_or(few).and_then(|null| Ready::of(&scope, axis, comparison, null)) {
            Ok(ready) => looks.push((place, ready)),
            // Both absolutes of each pair stand; of the comparison nothing is left.
            Err(Reason::Discarded(pairs)) if scope.keeps_none(axis, comparison) => {
                let reason = format!(
                    "the clocks of the arms were apart by more than {CLOCK_OFF_PERCENT} % in each of {pairs} pairs"
                );
                return void(vec![Violation::new(Rule::ClockOff, reason)]);
            }
            Err(reason) => {
                let to_come = to_come(plan, outcomes, cell, comparison, plan.pairs());
                return Stage::Settled(
                    Judged::Unestimated(reason),
                    without_estimate(reason, up_to, to_come),
                );
            }
        }
    }
    if looks.is_empty() {
        let first = plan.looks.first().copied().unwrap_or(0);
        let legs = to_come(plan, outcomes, cell, comparison, first);
        return Stage::Settled(Judged::Unestimated(Reason::NotYet), Next::Run(legs));
    }
    Stage::Ready(looks)
}

/// What to do where pairs give no estimate.
fn without_estimate(reason: Reason, pairs: usize, to_come: usize) -> Next {
    match reason {
        Reason::Discarded(_) => Next::EqualiseClocks,
        _ if to_come > 0 => Next::Run(to_come),
        Reason::Few(Insufficient::Pairs(least)) => {
            Next::MorePairs(least.saturating_sub(pairs).max(2).next_multiple_of(2))
        }
        _ => Next::MorePairs(2),
    }
}

/// How many legs of a comparison, its null arm included, are still to be run up to a block.
fn to_come(
    plan: &Plan,
    outcomes: &Outcomes,
    cell: &Cell,
    comparison: &Comparison,
    up_to: usize,
) -> usize {
    let arms = [&comparison.reference, &comparison.subject, &plan.null.of, &plan.null.twin];
    let null = plan.null.comparison();
    let is_lacked = |leg: &Leg| {
        [comparison, &null].iter().any(|of| spare::lacks_pairs(plan, outcomes, leg, of))
    };
    let is_end = up_to == plan.pairs();
    plan.legs_of(&cell.id)
        .filter(|leg| leg.role == Role::Measured && arms.contains(&&leg.arm))
        .filter(|leg| !outcomes.contains_key(&leg.id))
        .filter(|leg| leg.block.is_some_and(|block| block <= up_to) || (is_end && is_lacked(leg)))
        .count()
}

/// V-NULL of the whole series, at the last look that each cell has reached.
fn broken_nulls(plan: &Plan, outcomes: &Outcomes) -> Vec<Violation> {
    let null = plan.null.comparison();
    let mut broken = Vec::new();
    for cell in &plan.cells {
        let reached =
            plan.looks.iter().rev().find(|look| to_come(plan, outcomes, cell, &null, **look) == 0);
        let Some(&up_to) = reached else { continue };
        let scope = Scope { plan, outcomes, cell: &cell.id, up_to };
        let found = plan.axes.iter().filter_map(|axis| scope.null_arm(axis, &scope.null(axis)?));
        broken.extend(found);
    }
    broken
}

fn void(broken: Vec<Violation>) -> Stage {
    let (judged, next) = voided(broken);
    Stage::Settled(judged, next)
}

/// What is said, and to be done, where rules were broken.
fn voided(broken: Vec<Violation>) -> (Judged, Next) {
    let next = Next::Mend(rules(&broken));
    (Judged::Void(broken), next)
}

/// Every rule that is broken once `more` are, whatever was said before; `None` where nothing was compared, which stays so.
fn with_more(judged: &mut Judged, more: &[Violation]) -> Option<Vec<Violation>> {
    let own = match judged {
        Judged::Skipped(_) => return None,
        Judged::Void(broken) => std::mem::take(broken),
        Judged::Unestimated(_) | Judged::Compared(_) => Vec::new(),
    };
    Some(own.into_iter().chain(more.iter().cloned()).collect())
}

/// Adds broken rules to a stage.
fn add(stage: &mut Stage, more: &[Violation]) {
    let all = match stage {
        Stage::Settled(judged, _) => with_more(judged, more),
        Stage::Ready(_) => Some(more.to_vec()),
    };
    if let Some(broken) = all {
        *stage = void(broken);
    }
}

fn rules(broken: &[Violation]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = broken.iter().map(|found| found.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// The level of each test: by the family's procedure over the levels at which each would first have a word. With looks before the
/// end, whose procedure would need the level of a whole sequence, alpha is shared evenly.
fn levels(plan: &Plan, stages: &[Stage]) -> Vec<f64> {
    let count = plan.tests().max(1);
    if plan.looks.len() > 1 || count == 1 {
        return vec![plan.alpha / count as f64; stages.len()];
    }
    let decisive = |stage: &Stage| match stage {
        Stage::Ready(looks) => looks.last().map_or(1.0, |(_, ready)| ready.decisive_level()),
        Stage::Settled(..) => 1.0,
    };
    let decisive: Vec<f64> = stages.iter().map(decisive).collect();
    match plan.family {
        Family::Gate => multiplicity::holm_levels(&decisive, plan.alpha),
        Family::Explore => {
            vec![multiplicity::benjamini_hochberg_level(&decisive, plan.alpha); stages.len()]
        }
    }
}

/// The first look that has a word, or the last that was reached.
fn conclude(plan: &Plan, looks: &[(usize, Ready)], level: f64) -> (Judged, Next) {
    let shared = look::levels(plan.boundary, &plan.looks, level);
    let at = |(place, ready): &(usize, Ready)| {
        let own = shared.as_ref().and_then(|levels| levels.get(*place)).copied();
        ready.at(own.unwrap_or(f64::NAN))
    };
    let concluded: Vec<_> = looks.iter().map(at).collect();
    let first = concluded.iter().position(|(compared, _)| compared.word.is_established());
    let chosen = first.or(concluded.len().checked_sub(1));
    match chosen.and_then(|index| concluded.into_iter().nth(index)) {
        Some((compared, next)) => (Judged::Compared(Box::new(compared)), next),
        None => (Judged::Unestimated(Reason::NotYet), Next::Run(0)),
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
