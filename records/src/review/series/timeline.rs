//! The clock under the legs, in order of time.

use std::collections::BTreeMap;

use super::around;
use super::read::Evidence;
use crate::number::digits;
use crate::review::chart::{Axis, Chart, Hue, Layer, Mark, Shape};
use crate::review::page::{Block, Cell, Figure, Section, Table};

/// The mean clock of a leg: minutes since the series began, and the clock.
type Point = (f64, f64);

pub(super) fn section(evidence: &Evidence<'_>) -> Section {
    let block = figure(evidence, &by_arm(evidence)).unwrap_or_else(|| {
        Block::Text("No clock was seen while the legs ran: none is drawn, and no ratio is corrected by one.".to_owned())
    });
    let mut blocks = vec![block];
    blocks.extend(around::blocks(evidence));
    let lead = "Every leg in order of time, whichever arm ran. One that broke a rule is marked at the foot and has no value.";
    Section::new("clocks", "Clock and power under the legs", Some(lead), blocks)
}

/// The points of every arm, in the order of arms.
fn by_arm(evidence: &Evidence<'_>) -> Vec<Vec<Point>> {
    let mut arms = vec![Vec::new(); evidence.arms.len()];
    for leg in &evidence.legs {
        let Some(outcome) = &leg.outcome else { continue };
        let clock = outcome.clock.filter(|_| outcome.broke().is_none());
        arms[leg.arm].extend(clock.map(|clock| (outcome.at_s / 60.0, clock.mean)));
    }
    arms
}

/// When legs that broke a rule began, in minutes, by the rules.
fn broken(evidence: &Evidence<'_>) -> BTreeMap<String, Vec<f64>> {
    let mut broken: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for outcome in evidence.legs.iter().filter_map(|leg| leg.outcome.as_ref()) {
        if let Some(rules) = outcome.broke() {
            broken.entry(rules).or_default().push(outcome.at_s / 60.0);
        }
    }
    broken
}

fn figure(evidence: &Evidence<'_>, arms: &[Vec<Point>]) -> Option<Block> {
    let title = "Mean clock of each leg";
    let all: Vec<Point> = arms.iter().flatten().copied().collect();
    let lowest = all.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let highest = all.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    if all.is_empty() {
        return None;
    }
    let mut table = Table::new(title, &["arm", "values#", "least#", "mean#", "largest#"]);
    let mut layers = Vec::new();
    for (at, (arm, points)) in evidence.arms.iter().zip(arms).enumerate() {
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
        layers.push(Layer::new(arm, Hue::arm(at), Shape::Marks(Mark::arm(at), points.clone())));
    }
    let y = Axis::around(
        "mean busy clock, MHz or spin steps per µs",
        all.iter().map(|point| point.1),
        0.12,
    );
    let broken = broken(evidence);
    let told = |(rules, minutes): (&String, &Vec<f64>)| {
        format!(" Legs without a value, {rules}: {}.", minutes.len())
    };
    let told: String = broken.iter().map(told).collect();
    let foot = y.range.0 + (y.range.1 - y.range.0) * 0.03;
    for (rules, minutes) in &broken {
        let marks = minutes.iter().map(|minute| (*minute, foot)).collect();
        let name = format!("{rules}: no value");
        layers.push(Layer::new(&name, Hue::Orange, Shape::Marks(Mark::Bar, marks)));
    }
    Some(Block::Figure(Box::new(Figure {
        id: "clock".to_owned(),
        title: title.to_owned(),
        description: format!(
            "{} legs, from {} to {}. A pair whose arms lie more than 1 % apart here is a DISCARD.{told}",
            all.len(),
            digits(lowest),
            digits(highest)
        ),
        chart: Chart {
            x: Axis::around(
                "minutes since the series began",
                all.iter().map(|point| point.0).chain(broken.into_values().flatten()),
                0.02,
            ),
            y,
            layers,
        },
        table,
    })))
}
