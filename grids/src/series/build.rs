//! From a spec to a plan.

use super::order::orders;
use super::plan::{Calibration, Cell, Comparison, Leg, NullArm, Plan, Role};
use crate::spec::{ArmName, NamedSpec, PlanSpec, Positive, Spec};

/// What the client is held against: 200 tokens a second in each stream, more than any arm sends on a machine of a few cores, for as
/// long as an interval around the 99th percentile takes.
const CALIBRATION: Calibration = Calibration { seconds: 3.0, ttft_ms: 20.0, gap_ms: 5.0 };

/// The plan of a spec: for each session and cell every arm once, discarded; then blocks; then the first arm once more.
pub fn build(named: &NamedSpec) -> Plan {
    let spec = &named.spec;
    let (comparisons, null, concurrency) = arms(spec);
    let cells: Vec<Cell> = concurrency
        .iter()
        .map(|count| Cell { id: format!("c{}", count.0), concurrency: count.0 })
        .collect();
    let mut looks: Vec<usize> = spec.plan.looks.iter().map(|look| look.0 as usize).collect();
    looks.push(spec.plan.pairs.0 as usize);
    Plan {
        grid: named.name.clone(),
        spec_sha256: named.sha256.clone(),
        launch: spec.launch.clone(),
        workload: spec.workload.clone(),
        correct: spec.correct.clone(),
        legs: legs(&spec.plan, &running(&comparisons, &null), &cells),
        comparisons,
        null,
        cells,
        axes: spec.axes.clone(),
        controls: spec.controls.clone(),
        sessions: spec.plan.sessions.0,
        attempts: spec.plan.attempts.0,
        spares: spec.plan.spares,
        looks,
        boundary: spec.plan.boundary,
        alpha: spec.plan.alpha.0,
        family: spec.plan.family,
        seed: spec.plan.seed,
        client: Some(CALIBRATION),
        expected_noise: spec.plan.expected_noise.as_ref().map(|noise| noise.percent.0 / 100.0),
    }
}

fn arms(spec: &Spec) -> (Vec<Comparison>, NullArm, &[Positive]) {
    let over = |subject: &ArmName, reference: &ArmName| Comparison {
        reference: reference.0.clone(),
        subject: subject.0.clone(),
    };
    match (&spec.sweep, &spec.ab) {
        (Some(sweep), _) => {
            let all = sweep.against.iter().map(|reference| over(&sweep.subject, reference));
            (all.collect(), NullArm::of(&sweep.null_of), &sweep.concurrency)
        }
        (None, Some(ab)) => {
            (vec![over(&ab.subject, &ab.reference)], NullArm::of(&ab.reference), &ab.concurrency)
        }
        // A spec that was parsed is one of the two.
        (None, None) => (Vec::new(), NullArm { of: String::new(), twin: String::new() }, &[]),
    }
}

/// The arms of a block: references and subjects as they are named, then the twin.
fn running(comparisons: &[Comparison], null: &NullArm) -> Vec<String> {
    let mut arms: Vec<String> = Vec::new();
    let named =
        comparisons.iter().flat_map(|comparison| [&comparison.reference, &comparison.subject]);
    for arm in named.chain([&null.of, &null.twin]) {
        if !arms.contains(arm) {
            arms.push(arm.clone());
        }
    }
    arms
}

fn legs(plan: &PlanSpec, arms: &[String], cells: &[Cell]) -> Vec<Leg> {
    let blocks = plan.pairs.0 as usize / plan.sessions.0 as usize;
    let mut legs = Vec::new();
    for session in 1..=plan.sessions.0 {
        // Ascending in one session and descending in the next: no cell is always the last.
        let mut cells: Vec<(usize, &Cell)> = cells.iter().enumerate().collect();
        if session % 2 == 0 {
            cells.reverse();
        }
        for (index, cell) in cells {
            let seed = plan.seed ^ (u64::from(session) << 32) ^ index as u64;
            // A plan with spares has one session, so that they come after all its blocks.
            let orders = orders(plan.order, arms.len(), blocks + plan.spares as usize, seed);
            let at = Place { session, cell: &cell.id, arms };
            legs.extend((0..arms.len()).map(|arm| at.leg("warm", None, arm, arm, Role::Discarded)));
            for (offset, order) in orders.iter().enumerate() {
                let block = (session as usize - 1) * blocks + offset + 1;
                let name = format!("b{block:03}");
                let all = order.iter().enumerate();
                legs.extend(all.map(|(slot, arm)| {
                    at.leg(&format!("{name}.{}", slot + 1), Some(block), slot, *arm, Role::Measured)
                }));
            }
            let first = orders.first().and_then(|order| order.first()).copied().unwrap_or(0);
            legs.push(at.leg("end", None, 0, first, Role::Terminal));
        }
    }
    legs
}

struct Place<'a> {
    session: u32,
    cell: &'a str,
    arms: &'a [String],
}

impl Place<'_> {
    fn leg(&self, part: &str, block: Option<usize>, slot: usize, arm: usize, role: Role) -> Leg {
        let arm = self.arms[arm].clone();
        let id = format!("s{}.{}.{part}.{arm}", self.session, self.cell);
        Leg { id, session: self.session, cell: self.cell.to_owned(), block, slot, arm, role }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::spec::named;

    fn sweep(change: &[(&str, &str)]) -> Plan {
        let mut text = include_str!("../../specs/cpu-sweep.toml").to_owned();
        for (old, new) in change {
            text = text.replacen(old, new, 1);
        }
        build(&named("cpu-sweep", text, Path::new("cpu-sweep.toml")).unwrap())
    }

    #[test]
    fn the_legs_of_one_cell_in_their_order() {
        let plan = sweep(&[
            ("pairs = 12\nspares = 8", "pairs = 4\nspares = 2"),
            ("[1, 2, 4, 8, 16, 32]", "[8]"),
        ]);
        let ids: Vec<&str> = plan.legs.iter().map(|leg| leg.id.as_str()).collect();
        insta::assert_snapshot!(ids.join("\n"));
    }

    #[test]
    fn every_arm_is_discarded_once_a_cell_and_session_and_then_balanced() {
        let plan = sweep(&[
            ("pairs = 12\nspares = 8", "pairs = 12\nsessions = 3\norder = \"balanced\""),
            ("order = \"abba\"", ""),
        ]);
        let ids: BTreeSet<&str> = plan.legs.iter().map(|leg| leg.id.as_str()).collect();
        assert_eq!(ids.len(), plan.legs.len(), "ids are distinct");
        assert_eq!(plan.legs.len(), 3 * 6 * (4 + 4 * 4 + 1));
        assert_eq!(plan.arms(), ["llama-cpp", "plumb", "vllm-cpu", "plumb-null"]);
        assert_eq!((plan.pairs(), plan.tests()), (12, 6 * 2 * 3));
        for cell in &plan.cells {
            for arm in plan.arms() {
                let own = |role| {
                    plan.legs_of(&cell.id).filter(|leg| leg.arm == arm && leg.role == role).count()
                };
                assert_eq!((own(Role::Discarded), own(Role::Measured)), (3, 12));
            }
        }
    }

    /// The hash is of everything: a bound, a seed, the order.
    #[test]
    fn the_hash_moves_with_everything() {
        let plan = sweep(&[]);
        assert_eq!(plan.sha256(), sweep(&[]).sha256());
        let mut hashes = BTreeSet::from([plan.sha256()]);
        for change in [
            ("percent = 3.0", "percent = 3.5"),
            ("seed = 1\nalpha", "seed = 2\nalpha"),
            ("order = \"abba\"", "order = \"balanced\""),
            ("waves = 2", "waves = 3"),
        ] {
            assert!(hashes.insert(sweep(&[change]).sha256()), "{change:?}");
        }
    }

    /// 10 pairs at 1 %: 1.4 %, as harnesses of this field state it.
    #[test]
    fn the_detectable_effect_is_stated_before() {
        let found = sweep(&[("pairs = 12", "pairs = 10")]).detectable().unwrap();
        assert!((100.0 * found - 1.41).abs() < 0.005, "{found}");
    }
}
