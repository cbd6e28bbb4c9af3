//! The machine around and under the legs, sample by sample: spins of the core before and after each, SM clock and power of GPUs
//! meanwhile; under each plot, when which arm's load ran.

use std::collections::BTreeMap;

use super::read::Evidence;
use crate::number::digits;
use crate::review::chart::{Axis, Chart, Hue, Layer, Mark, Shape};
use crate::review::median::median;
use crate::review::page::{Block, Cell, Figure, Table, Tone};
use crate::sampled::{AROUND, Around, GpuSample, Sampled};

/// Minutes since the series began, and a value.
type Point = (f64, f64);

/// A GPU's place as its driver counts, and its model where that is known.
type Card<'e> = (u32, &'e str);

/// The legs that were sampled, in the order of the plan.
struct Legs<'e> {
    arms: &'e [String],
    sampled: Vec<Leg<'e>>,
}

/// One of them.
struct Leg<'e> {
    id: &'e str,
    /// The place of its arm.
    arm: usize,
    around: &'e Sampled,
}

pub(super) fn blocks(evidence: &Evidence<'_>) -> Vec<Block> {
    let around = match &evidence.around {
        Ok(around) => around,
        Err(absence) => {
            let told =
                format!("Samples under the legs, and power: n/a ({}).", absence.told(AROUND));
            return vec![Block::Note(Tone::Plain, told)];
        }
    };
    let legs = Legs::of(evidence, around);
    let mut blocks: Vec<Block> = legs.spins().into_iter().collect();
    let gpus = [
        legs.gpus("sm-clock", "SM clock under the legs", "MHz", |sample| {
            sample.sm_mhz.map(f64::from)
        }),
        legs.gpus("power", "Power under the legs", "W", |sample| sample.power_w),
    ];
    if gpus.iter().all(Option::is_none) {
        let told = "SM clock and power: n/a (no GPU samples).".to_owned();
        blocks.push(Block::Note(Tone::Plain, told));
    }
    blocks.extend(gpus.into_iter().flatten());
    blocks
}

impl<'e> Legs<'e> {
    fn of(evidence: &'e Evidence<'_>, around: &'e Around) -> Self {
        let sampled = evidence.legs.iter().filter_map(|leg| {
            Some(Leg { id: &leg.id, arm: leg.arm, around: around.get(&*leg.id)? })
        });
        Self { arms: &evidence.arms, sampled: sampled.collect() }
    }

    /// The spins before and after each leg, by arm, in steps per microsecond.
    fn spins(&self) -> Option<Block> {
        let mut points: Vec<Vec<Point>> = vec![Vec::new(); self.arms.len()];
        let mut table = Table::new(
            "Spins around each leg, steps per µs",
            &["leg", "arm", "load, s#", "samples#", "least#", "mean#", "largest#", "spread, %#"],
        );
        for leg in &self.sampled {
            let samples = leg.spins();
            if samples.is_empty() {
                continue;
            }
            let load = Cell::new(digits(leg.around.ended_s - leg.around.began_s));
            table.push(|| {
                let head = [Cell::code(leg.id), Cell::new(&self.arms[leg.arm]), load];
                let heights = samples.iter().map(|sample| sample.1);
                head.into_iter().chain(extent(heights)).chain([leg.spread()]).collect()
            });
            points[leg.arm].extend(samples);
        }
        let named = self.arms.iter().enumerate().zip(points).filter(|(_, all)| !all.is_empty());
        let layers = named.map(|((at, arm), points)| {
            Layer::new(&format!("{arm}: spin"), Hue::arm(at), Shape::Marks(Mark::arm(at), points))
        });
        let description = format!(
            "The core's clock by a chain of dependent operations, a mark a tenth of a second, before and after the load of each of {} legs: \
             while it runs the core is the load's. The bars at the foot are the loads, an arm a line. A leg whose samples spread by \
             more than 5 % is run again or is void.",
            table.rows.len()
        );
        let layers = layers.collect();
        self.figure(
            ("spins", "Core clock around the legs", "spin steps per µs"),
            description,
            layers,
            table,
        )
    }

    /// A quantity of every GPU under the legs; none where no sample has it.
    fn gpus(
        &self,
        id: &str,
        title: &str,
        unit: &str,
        read: impl Fn(&GpuSample) -> Option<f64>,
    ) -> Option<Block> {
        let mut cards: BTreeMap<Card<'_>, Vec<Point>> = BTreeMap::new();
        let mut table = Table::new(
            &format!("{title}, {unit}"),
            &["leg", "arm", "GPU#", "samples#", "least#", "mean#", "largest#"],
        );
        let gpus =
            self.sampled.iter().flat_map(|leg| leg.around.gpus.iter().map(move |gpu| (leg, gpu)));
        for (leg, gpu) in gpus {
            let told = gpu.samples.iter().filter_map(|sample| {
                let value = read(sample).filter(|value| value.is_finite())?;
                Some((leg.minute(sample.at_s), value))
            });
            let points: Vec<Point> = told.collect();
            if points.is_empty() {
                continue;
            }
            table.push(|| {
                let place = Cell::new(gpu.index.to_string());
                let head = [Cell::code(leg.id), Cell::new(&self.arms[leg.arm]), place];
                let heights = points.iter().map(|point| point.1);
                head.into_iter().chain(extent(heights)).collect()
            });
            let name = gpu.name.as_deref().unwrap_or("unnamed");
            cards.entry((gpu.index, name)).or_default().extend(points);
        }
        let layers = cards.into_iter().enumerate().map(|(at, ((index, name), points))| {
            let marks = Shape::Marks(Mark::arm(at), points);
            Layer::new(&format!("GPU {index}, {name}"), Hue::arm(at), marks)
        });
        let description = format!(
            "Ten samples a second while the load of each of {} legs ran. The bars at the foot are the loads, an arm a line.",
            self.sampled.len()
        );
        let layers = layers.collect();
        self.figure((id, title, unit), description, layers, table)
    }

    /// The layers over the loads; none where there is no layer.
    fn figure(
        &self,
        (id, title, unit): (&str, &str, &str),
        description: String,
        mut layers: Vec<Layer>,
        table: Table,
    ) -> Option<Block> {
        let marks = layers.iter().filter_map(|layer| match &layer.shape {
            Shape::Marks(_, points) => Some(points),
            _ => None,
        });
        let points = marks.flatten();
        points.clone().next()?;
        let loads = self.sampled.iter().flat_map(|leg| <[f64; 2]>::from(leg.load()));
        let minutes = points.clone().map(|point| point.0).chain(loads);
        let x = Axis::around("minutes since the series began", minutes, 0.02);
        let mut y = Axis::around(unit, points.map(|point| point.1), 0.08);
        layers.extend(self.loads(&mut y));
        let (id, title) = (id.to_owned(), title.to_owned());
        let chart = Chart { x, y, layers };
        Some(Block::Figure(Box::new(Figure { id, title, description, chart, table })))
    }

    /// When the loads of each arm ran, each arm at a height of its own below everything else, for which the axis makes room.
    fn loads(&self, y: &mut Axis) -> Vec<Layer> {
        let (foot, step) = (y.range.0, (y.range.1 - y.range.0) * 0.05);
        y.range.0 -= step * (self.arms.len() as f64 + 0.5);
        let layer = |(at, arm): (usize, &String)| {
            let height = foot - step * (at as f64 + 0.5);
            let spans = self.sampled.iter().filter(|leg| leg.arm == at).map(Leg::load);
            let spans = Shape::Spans(height, spans.collect());
            Layer::new(&format!("{arm}: load"), Hue::arm(at), spans)
        };
        self.arms.iter().enumerate().map(layer).collect()
    }
}

impl Leg<'_> {
    /// Minutes of the series, from seconds of the leg.
    fn minute(&self, at_s: f64) -> f64 {
        (self.around.at_s + at_s) / 60.0
    }

    /// When its load began and ended, in minutes.
    fn load(&self) -> (f64, f64) {
        (self.minute(self.around.began_s), self.minute(self.around.ended_s))
    }

    /// Its spins in steps per microsecond, each where it began.
    fn spins(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for spin in &self.around.spins {
            for (place, step_ns) in spin.step_ns.iter().enumerate() {
                let left = (spin.step_ns.len() - place) as f64 * spin.each_ms as f64 / 1e3;
                points.push((self.minute(spin.until_s - left), 1e3 / step_ns));
            }
        }
        points.retain(|point| point.1.is_finite());
        points
    }

    /// (max - min) / median of its spins, in percent, as V-CLOCK-SPREAD has it: of the nanoseconds of a step.
    fn spread(&self) -> Cell {
        let steps = || self.around.spins.iter().flat_map(|spin| spin.step_ns.iter().copied());
        let least = steps().fold(f64::INFINITY, f64::min);
        let largest = steps().fold(f64::NEG_INFINITY, f64::max);
        let median = median(&steps().collect::<Vec<_>>());
        median.map_or_else(Cell::default, |median| {
            Cell::new(format!("{:.2}", 100.0 * (largest - least) / median))
        })
    }
}

/// Samples, least, mean and largest of some values.
fn extent(values: impl Iterator<Item = f64> + Clone) -> [Cell; 4] {
    let count = values.clone().count();
    let mean = values.clone().sum::<f64>() / count as f64;
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let largest = values.fold(f64::NEG_INFINITY, f64::max);
    let [least, mean, largest] = [least, mean, largest].map(|value| Cell::new(digits(value)));
    [Cell::count(count), least, mean, largest]
}
