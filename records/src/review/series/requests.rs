//! Every request: TTFT, TPOT and E2E of all arms at a cell, as shares at or below a value.

use super::read::Evidence;
use crate::review::chart::{Axis, Chart, Hue, Layer, Shape};
use crate::review::ecdf;
use crate::review::page::{Block, Cell, Figure, Fold, Section, Table, Tone};
use crate::sampled::{REQUESTS, Request};

/// Cells whose plots are open from the start.
const OPEN: usize = 1;

/// A time of a request: its short name, what it is, and how it is read, in milliseconds.
type Time = (&'static str, &'static str, fn(&Request) -> Option<f64>);

const TIMES: [Time; 3] = [
    ("ttft", "Time to first token", |request| Some(request.ttft_ns? as f64 / 1e6)),
    ("tpot", "Time per output token", |request| Some(request.tpot_ns? / 1e6)),
    ("e2e", "End to end, to the last token", |request| Some(request.e2e_ns? as f64 / 1e6)),
];

pub(super) fn section(evidence: &Evidence<'_>) -> Section {
    let lead = "Every request that ended well, of the measured legs that broke no rule, all legs of an arm together. Requests of one leg are not \
                independent: the words rest on legs, not on these.";
    let section = |lead, blocks| Section::new("requests", "Request by request", lead, blocks);
    if let Err(absence) = &evidence.requests {
        let told = format!("n/a ({}).", absence.told(REQUESTS));
        return section(None, vec![Block::Note(Tone::Plain, told)]);
    }
    let mut blocks = Vec::new();
    for (place, cell) in evidence.plan.cells.iter().enumerate() {
        let figures: Vec<Figure> =
            TIMES.iter().filter_map(|time| figure(evidence, place, *time)).collect();
        if !figures.is_empty() {
            let summary = format!("{}: {} in flight", cell.id, cell.concurrency);
            let blocks_of = vec![Block::Beside(figures)];
            blocks.push(Block::Fold(Fold { summary, open: place < OPEN, blocks: blocks_of }));
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::Text("No request of a leg that broke no rule ended well.".to_owned()));
    }
    section(Some(lead), blocks)
}

fn figure(evidence: &Evidence<'_>, place: usize, (short, long, read): Time) -> Option<Figure> {
    let heads: Vec<&str> = ["arm", "legs#", "requests#"].into_iter().chain(ecdf::HEADS).collect();
    let mut table = Table::new(&format!("{long}, ms"), &heads);
    let cell = &evidence.plan.cells[place].id;
    let (mut layers, mut ends) = (Vec::new(), Vec::new());
    for (at, arm) in evidence.arms.iter().enumerate() {
        let (legs, mut values) = values(evidence, (place, at), read);
        values.sort_unstable_by(f64::total_cmp);
        let Some(spread) = ecdf::spread(&values) else { continue };
        let counts = [Cell::new(arm), Cell::count(legs), Cell::count(values.len())];
        table.rows.push(counts.into_iter().chain(spread).collect());
        let dashed = *arm == evidence.plan.null.twin;
        let line = Shape::Line { dashed, points: ecdf::steps(&values) };
        layers.push(Layer::new(arm, Hue::arm(at), line));
        ends.extend([values[0], values[values.len() - 1]]);
    }
    (!layers.is_empty()).then(|| Figure {
        id: format!("requests-{cell}-{short}"),
        title: format!("{long} at {cell}"),
        description: "The share of requests of each arm at or below a value; arms that are the same lie on each other.".to_owned(),
        chart: Chart {
            x: Axis::around(&format!("{short}, ms"), ends, 0.05),
            y: Axis { range: (0.0, 1.0), ..Axis::around("share of requests", [], 0.0) },
            layers,
        },
        table,
    })
}

/// How many legs of an arm at a cell count, and a time of all their requests that ended well.
fn values(
    evidence: &Evidence<'_>,
    (cell, arm): (usize, usize),
    read: fn(&Request) -> Option<f64>,
) -> (usize, Vec<f64>) {
    let (mut legs, mut values) = (0, Vec::new());
    for leg in evidence.runs(cell, arm).filter(|leg| evidence.counts(leg)) {
        let found = evidence.requests.as_ref().ok().and_then(|all| all.get(&*leg.id));
        let Some(requests) = found else { continue };
        legs += 1;
        let good = requests.iter().filter(|request| request.is_ok());
        values.extend(good.filter_map(read).filter(|ms| ms.is_finite()));
    }
    (legs, values)
}
