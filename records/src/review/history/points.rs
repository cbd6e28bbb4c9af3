//! Values and words of records in order of time.

use std::collections::BTreeMap;

use super::threshold::Threshold;
use crate::metric::Statistic;
use crate::number::with_unit;
use crate::record::{Record, VerdictWord};
use crate::review::chart::{Axis, Chart, Hue, Layer, Mark, Shape};
use crate::review::page::{Cell, Figure, Table, Tone};

/// One measurement of one gate under one spec on one kind of machine.
pub(super) struct Series {
    pub(super) gate: String,
    /// Metric and statistic.
    pub(super) label: String,
    pub(super) unit: String,
    pub(super) points: Vec<Point>,
    /// Whether no later spec or machine has taken its place.
    pub(super) is_current: bool,
    place: usize,
}

/// One value.
pub(super) struct Point {
    pub(super) value: f64,
    /// From the values before it.
    pub(super) threshold: Option<Threshold>,
    commit: String,
    when: String,
}

/// How the newest value lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Inside,
    Outside,
    TooFew,
}

impl State {
    pub(super) fn cell(self) -> Cell {
        let (text, tone) = match self {
            Self::Inside => ("within", Tone::Good),
            Self::Outside => ("outside", Tone::Open),
            Self::TooFew => ("too few runs", Tone::Plain),
        };
        Cell { text: text.to_owned(), tone: Some(tone), ..Cell::default() }
    }
}

/// All series of these records, which are in order of time.
pub(super) fn series(records: &[&Record]) -> Vec<Series> {
    let mut all: BTreeMap<(String, String, String, String), Vec<Point>> = BTreeMap::new();
    let mut units = BTreeMap::new();
    let standing = records
        .iter()
        .filter(|record| !matches!(record.verdict.word, VerdictWord::Void | VerdictWord::Skipped));
    for record in standing {
        for number in &record.measurements {
            let Some(value) = number.value else { continue };
            let label = match number.statistic {
                Statistic::Single => number.metric.name().to_owned(),
                statistic => format!("{} {}", number.metric.name(), statistic.name()),
            };
            units.insert(label.clone(), number.unit.clone());
            let key = (record.gate.clone(), label, record.spec_sha256.clone(), machine(record));
            let points = all.entry(key).or_default();
            let earlier: Vec<f64> = points.iter().map(|point| point.value).collect();
            points.push(Point {
                value,
                threshold: Threshold::of(&earlier),
                commit: commit(record),
                when: record.opened(),
            });
        }
    }
    let newest = |points: &[Point]| points.last().map(|point| point.when.clone());
    let mut latest: BTreeMap<(String, String), Option<String>> = BTreeMap::new();
    for ((gate, label, _, _), points) in &all {
        let last = latest.entry((gate.clone(), label.clone())).or_default();
        *last = last.take().max(newest(points));
    }
    let series = all.into_iter().enumerate();
    series
        .map(|(place, ((gate, label, _, _), points))| {
            let unit = units.get(&label).cloned().unwrap_or_default();
            let last = latest.get(&(gate.clone(), label.clone())).cloned().flatten();
            let is_current = newest(&points) == last;
            Series { gate, label, unit, points, is_current, place }
        })
        .collect()
}

/// The first digits of the subject's commit, for an axis.
fn commit(record: &Record) -> String {
    let commit = record.subject.commit.as_deref().unwrap_or("unknown");
    commit.get(..7).unwrap_or(commit).to_owned()
}

/// What must be the same for two values to be of one history. The boot need not be.
fn machine(record: &Record) -> String {
    let machine = &record.machine;
    format!("{:?} {:?} {}", machine.cpu_model, machine.logical_cores, record.subject.threads)
}

impl Series {
    pub(super) fn state(&self) -> State {
        match self.points.last().map(|last| (last.value, last.threshold)) {
            Some((value, Some(threshold))) if threshold.holds(value) => State::Inside,
            Some((_, Some(_))) => State::Outside,
            _ => State::TooFew,
        }
    }

    /// How the newest value lies, in words.
    pub(super) fn sentence(&self) -> String {
        let Some(last) = self.points.last() else { return "never measured".to_owned() };
        let value = with_unit(last.value, &self.unit);
        match last.threshold {
            None => {
                format!("{value}, no threshold yet ({} of 5 earlier runs)", self.points.len() - 1)
            }
            Some(threshold) => format!(
                "{value}, {} {} ± {}",
                if threshold.holds(last.value) { "within" } else { "outside" },
                with_unit(threshold.median, &self.unit),
                with_unit(threshold.half_width, &self.unit)
            ),
        }
    }

    /// A point in numbers.
    fn row(&self, point: &Point) -> Vec<Cell> {
        let value = |value| with_unit(value, &self.unit);
        let expected = point.threshold.map_or_else(
            || "no threshold".to_owned(),
            |found| format!("{} ± {}", value(found.median), value(found.half_width)),
        );
        let when = Cell::new(&point.when);
        vec![when, Cell::code(&point.commit), Cell::new(value(point.value)), Cell::new(expected)]
    }

    pub(super) fn figure(&self) -> Figure {
        let at = |place: usize, value: f64| (place as f64, value);
        let values: Vec<(f64, f64)> =
            self.points.iter().enumerate().map(|(place, point)| at(place, point.value)).collect();
        let outside = self.points.iter().enumerate().filter(|(_, point)| {
            point.threshold.is_some_and(|threshold| !threshold.holds(point.value))
        });
        let outside: Vec<(f64, f64)> =
            outside.map(|(place, point)| at(place, point.value)).collect();
        let edge = |sign: f64| -> Vec<(f64, f64)> {
            let points = self.points.iter().enumerate();
            points
                .filter_map(|(place, point)| {
                    point.threshold.map(|found| at(place, found.median + sign * found.half_width))
                })
                .collect()
        };
        let (low, high) = (edge(-1.0), edge(1.0));
        let heights = values.iter().chain(&low).chain(&high).map(|point| point.1);
        let label = if self.unit == "1" {
            self.label.clone()
        } else {
            format!("{}, {}", self.label, self.unit)
        };
        let y = Axis::around(&label, heights, 0.15);
        let x = Axis::named(
            "commit, oldest first",
            self.points.iter().map(|point| point.commit.clone()),
        );
        let mut layers = Vec::new();
        if !low.is_empty() {
            layers.push(Layer::new(
                "threshold",
                Hue::Faint,
                Shape::Line { dashed: true, points: low },
            ));
            layers.push(Layer::new("", Hue::Faint, Shape::Line { dashed: true, points: high }));
        }
        layers.push(Layer::new(
            "",
            Hue::Blue,
            Shape::Line { dashed: false, points: values.clone() },
        ));
        layers.push(Layer::new("value", Hue::Blue, Shape::Marks(Mark::Dot, values)));
        if !outside.is_empty() {
            layers.push(Layer::new("outside", Hue::Vermilion, Shape::Marks(Mark::Cross, outside)));
        }
        let mut table = Table::new(&self.label, &["when, UTC", "commit", "value#", "expected#"]);
        for point in &self.points {
            table.push(|| self.row(point));
        }
        Figure {
            id: format!("n{}", self.place),
            title: format!("{} of {}", self.label, self.gate),
            description: format!("{} runs; the newest is {}.", self.points.len(), self.sentence()),
            chart: Chart { x, y, layers },
            table,
        }
    }
}

/// The words of gates over time: one row a gate, one mark a record.
pub(super) fn words(gates: &[String], records: &[&Record]) -> Option<Figure> {
    if records.len() < 2 {
        return None;
    }
    let rows: Vec<&String> = gates
        .iter()
        .rev()
        .filter(|gate| records.iter().any(|record| record.gate == **gate))
        .collect();
    let marks = |words: &[VerdictWord]| -> Vec<(f64, f64)> {
        let found =
            records.iter().enumerate().filter(|(_, record)| words.contains(&record.verdict.word));
        found
            .filter_map(|(place, record)| {
                let row = rows.iter().position(|gate| **gate == record.gate)?;
                Some((place as f64, row as f64))
            })
            .collect()
    };
    let groups = [
        ("PASS", Hue::Green, Mark::Dot, vec![VerdictWord::Pass]),
        ("FAIL", Hue::Vermilion, Mark::Cross, vec![VerdictWord::Fail]),
        (
            "VOID, NOT ESTABLISHED, SKIPPED",
            Hue::Purple,
            Mark::Bar,
            vec![VerdictWord::Void, VerdictWord::NotEstablished, VerdictWord::Skipped],
        ),
    ];
    let mut layers = Vec::new();
    for (name, hue, mark, words) in groups {
        let points = marks(&words);
        if !points.is_empty() {
            layers.push(Layer::new(name, hue, Shape::Marks(mark, points)));
        }
    }
    let x = Axis::named("commit, oldest first", records.iter().map(|record| commit(record)));
    let passed = records.iter().filter(|record| record.verdict.word == VerdictWord::Pass).count();
    let mut table = Table::new("Words in order of time", &["when, UTC", "gate", "word"]);
    for record in records {
        table.push(|| {
            vec![
                Cell::new(record.opened()),
                Cell::code(&record.gate),
                Cell::word(record.verdict.word.as_str()),
            ]
        });
    }
    Some(Figure {
        id: "words".to_owned(),
        title: "What the gates said".to_owned(),
        description: format!("{} records, {passed} of them PASS.", records.len()),
        chart: Chart { x, y: Axis::named("", rows.iter().map(|gate| (*gate).clone())), layers },
        table,
    })
}
