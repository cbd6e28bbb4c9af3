//! Time to first token and time per output token by concurrency, for all arms.

use super::read::Evidence;
use crate::number::digits;
use crate::review::chart::{Axis, Chart, Hue, Layer, Mark, Shape};
use crate::review::median::median;
use crate::review::page::{Block, Cell, Figure, Section, Table};

pub(super) fn section(evidence: &Evidence<'_>) -> Option<Section> {
    let of = [
        ("ttft_ms_p50", "ttft", "Time to first token by concurrency"),
        ("tpot_ms_p50", "tpot", "Time per output token by concurrency"),
    ];
    let figures: Vec<Figure> = of
        .into_iter()
        .filter_map(|(metric, id, title)| figure(evidence, metric, id, title))
        .collect();
    let lead = "Medians over the measured legs of each arm that broke no rule. Absolute values stand even where no ratio is said.";
    (!figures.is_empty()).then(|| {
        Section::new("latency", "Latency by concurrency", Some(lead), vec![Block::Beside(figures)])
    })
}

fn figure(evidence: &Evidence<'_>, metric: &str, id: &str, title: &str) -> Option<Figure> {
    let plan = &evidence.plan;
    let mut table = Table::new(title, &["arm", "in flight#", "median of legs, ms#", "legs#"]);
    let (mut layers, mut all, mut across) = (Vec::new(), Vec::new(), Vec::new());
    for (at, arm) in evidence.arms.iter().enumerate() {
        let mut points = Vec::new();
        for (place, cell) in plan.cells.iter().enumerate() {
            let legs = evidence.runs(place, at);
            let values: Vec<f64> = legs.filter_map(|leg| evidence.value(leg, metric)).collect();
            let Some(median) = median(&values) else { continue };
            points.push((f64::from(cell.concurrency), median));
            table.rows.push(vec![
                Cell::new(arm),
                Cell::new(cell.concurrency.to_string()),
                Cell::new(digits(median)),
                Cell::new(values.len().to_string()),
            ]);
        }
        all.extend(points.iter().map(|point| point.1));
        across.extend(points.iter().map(|point| point.0));
        let dashed = *arm == plan.null.twin;
        let line = Shape::Line { dashed, points: points.clone() };
        layers.push(Layer::new("", Hue::arm(at), line));
        layers.push(Layer::new(arm, Hue::arm(at), Shape::Marks(Mark::arm(at), points)));
    }
    if all.is_empty() {
        return None;
    }
    let highest = all.iter().copied().fold(0.0, f64::max);
    let ends = across
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), at| (low.min(*at), high.max(*at)));
    let names =
        plan.cells.iter().map(|cell| (f64::from(cell.concurrency), cell.concurrency.to_string()));
    let x = Axis {
        label: "requests in flight".to_owned(),
        range: (ends.0 * 0.85, ends.1 * 1.18),
        names: names.collect(),
        is_log: true,
    };
    Some(Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!(
            "Medians of {} arms at {} concurrencies, from 0 to {} ms.",
            evidence.arms.len(),
            plan.cells.len(),
            digits(highest)
        ),
        chart: Chart {
            x,
            y: Axis { range: (0.0, highest * 1.12), ..Axis::around("ms", [], 0.0) },
            layers,
        },
        table,
    })
}
