//! Clock and power under the legs, in order of time.

use super::read::Evidence;
use crate::review::chart::{Axis, Chart, Hue, Layer, Mark, Shape};
use crate::review::number::digits;
use crate::review::page::{Block, Cell, Figure, Section, Table};

/// A value of a leg: when, what.
type Point = (f64, f64);

pub(super) fn section(evidence: &Evidence) -> Section {
    let mut blocks = Vec::new();
    let clock = by_arm(evidence, |_, at_s, clock| clock.map(|clock| vec![(at_s / 60.0, clock)]));
    blocks.extend(figure(
        evidence,
        &clock,
        ["clock", "Clock under the legs", "mean busy clock, MHz or spin steps per µs"],
        "A pair whose arms lie more than 1 % apart here is a DISCARD.",
    ));
    let power = by_arm(evidence, |leg, at_s, _| {
        let window = evidence.windows.get(leg)?;
        let samples = window.gpus.iter().flat_map(|gpu| &gpu.samples);
        let point = |at_ns: u64, mw: f64| ((at_s + at_ns as f64 / 1e9) / 60.0, mw / 1000.0);
        Some(samples.filter_map(|sample| Some(point(sample.at_ns, sample.power_mw?))).collect())
    });
    blocks.extend(figure(
        evidence,
        &power,
        ["power", "Power under the legs", "power of a GPU, W"],
        "Samples within the legs' own windows.",
    ));
    if blocks.is_empty() {
        blocks.push(Block::Text("No clock was seen while the legs ran: none is drawn, and no ratio is corrected by one.".to_owned()));
    }
    Section::new(
        "clocks",
        "Clock and power",
        Some("Every leg in order of time, whichever arm ran."),
        blocks,
    )
}

/// The points of every arm, in the order of arms.
fn by_arm(
    evidence: &Evidence,
    of: impl Fn(&str, f64, Option<f64>) -> Option<Vec<Point>>,
) -> Vec<Vec<Point>> {
    let points = |arm: &str| {
        let legs = evidence.plan.legs.iter().filter(|leg| leg.arm == arm);
        let found = legs.filter_map(|leg| {
            let outcome = evidence.outcomes.get(&leg.id)?;
            of(&leg.id, outcome.at_s, outcome.clock.as_ref().map(|clock| clock.mean))
        });
        found.flatten().collect()
    };
    evidence.plan.arms().into_iter().map(points).collect()
}

fn figure(
    evidence: &Evidence,
    arms: &[Vec<Point>],
    [id, title, label]: [&str; 3],
    told: &str,
) -> Option<Block> {
    let all: Vec<Point> = arms.iter().flatten().copied().collect();
    let lowest = all.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let highest = all.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    if all.is_empty() {
        return None;
    }
    let mut table = Table::new(title, &["arm", "values#", "least#", "mean#", "largest#"]);
    let mut layers = Vec::new();
    for (at, (arm, points)) in evidence.plan.arms().into_iter().zip(arms).enumerate() {
        if points.is_empty() {
            continue;
        }
        let heights = || points.iter().map(|point| point.1);
        let number = |value: f64| Cell::new(digits(value));
        table.rows.push(vec![
            Cell::new(arm),
            Cell::new(points.len().to_string()),
            number(heights().fold(f64::INFINITY, f64::min)),
            number(heights().sum::<f64>() / points.len() as f64),
            number(heights().fold(f64::NEG_INFINITY, f64::max)),
        ]);
        let shape = Shape::Marks(Mark::arm(at), points.clone());
        layers.push(Layer { name: arm.to_owned(), hue: Hue::arm(at), shape });
    }
    Some(Block::Figure(Box::new(Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!(
            "{} values, from {} to {}. {told}",
            all.len(),
            digits(lowest),
            digits(highest)
        ),
        chart: Chart {
            x: Axis::around(
                "minutes since the series began",
                all.iter().map(|point| point.0),
                0.02,
            ),
            y: Axis::around(label, all.iter().map(|point| point.1), 0.12),
            layers,
        },
        table,
    })))
}
