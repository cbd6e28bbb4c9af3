//! `grid knee`

use std::fmt::Write as _;

use clap::{ArgGroup, Args};
use serde::Serialize;

use super::load::asking::{ClientArguments, Pace, ServerArguments, WorkArguments};
use super::load::probe::{Probed, Probes, cell};
use super::load::summary::Summary;
use super::{CommandError, UNDECIDED, VOID};
use crate::load::interrupt;
use crate::metric::goodput::Objectives;
use crate::statistics::knee::{self, Knee, knee};

/// A bend is one where a straight line would leave so much by chance once in twenty times at most.
const ALPHA: f64 = 0.05;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("pace").required(true).args(["concurrency", "rate"])))]
pub(super) struct KneeArguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Loads, ascending: so many requests in flight
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    concurrency: Vec<usize>,
    /// Loads, ascending: so many requests a second
    #[arg(long, value_name = "R,R", value_delimiter = ',')]
    rate: Vec<f64>,
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    client: ClientArguments,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Curve {
    points: Vec<Point>,
    /// Of output tokens per second over the load; `None` of fewer than six loads.
    knee: Option<Knee>,
}

#[derive(Debug, Serialize)]
struct Point {
    load: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    void: Option<String>,
    #[serde(flatten)]
    summary: Option<Box<Summary>>,
}

impl Point {
    /// Output tokens per second: while the load was full, where it was.
    fn output(&self) -> Option<f64> {
        let leg = &self.summary.as_ref()?.leg;
        leg.steady.or(leg.full).map(|rates| rates.output)
    }
}

pub(super) fn run(arguments: &KneeArguments) -> Result<u8, CommandError> {
    let paces: Vec<(f64, Pace)> = match &arguments.concurrency[..] {
        [] => arguments.rate.iter().map(|rate| (*rate, Pace::Rate(*rate, None))).collect(),
        all => all.iter().map(|count| (*count as f64, Pace::Concurrency(*count))).collect(),
    };
    if !paces.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        return Err(CommandError::Usage("the loads do not ascend".to_owned()));
    }
    let probes = Probes {
        target: arguments.server.target()?,
        work: &arguments.work,
        client: &arguments.client,
        objectives: Objectives::default(),
        stop: interrupt::on_signal()?,
    };
    let mut points = Vec::new();
    for (again, (load, pace)) in paces.into_iter().enumerate() {
        super::complain(&format!("load {load}"));
        points.push(match probes.run(pace, again as u64)? {
            Probed::Measured(summary) => Point { load, void: None, summary: Some(summary) },
            Probed::Void(why) => Point { load, void: Some(why), summary: None },
            Probed::Interrupted => break,
        });
    }
    let known: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.load, point.output()?))).collect();
    let curve = Curve { knee: knee(&known), points };
    if arguments.json {
        super::print_json(&curve)?;
    } else {
        super::print(&text(&curve))?;
    }
    Ok(status(&curve))
}

fn status(curve: &Curve) -> u8 {
    if curve.points.iter().any(|point| point.void.is_some()) {
        return VOID;
    }
    if curve.knee.is_some_and(|knee| knee.p <= ALPHA) { 0 } else { UNDECIDED }
}

fn text(curve: &Curve) -> String {
    let mut all = super::table(&[
        "load",
        "sent",
        "ok",
        "in flight",
        "output/s",
        "TTFT p50",
        "TTFT p99",
        "TPOT p50",
        "TPOT p99",
    ]);
    for point in &curve.points {
        let load = point.load.to_string();
        let Some(summary) = &point.summary else {
            all.add_row([load, format!("VOID: {}", point.void.as_deref().unwrap_or_default())]);
            continue;
        };
        let leg = &summary.leg;
        let (ttft, tpot) = (leg.latencies.ttft_intended.as_ref(), leg.latencies.tpot.as_ref());
        all.add_row([
            load,
            summary.sent.to_string(),
            summary.ends.ok.to_string(),
            leg.concurrency.mean.map_or_else(|| "n/a".to_owned(), |mean| format!("{mean:.1}")),
            point.output().map_or_else(|| "n/a".to_owned(), |rate| format!("{rate:.1}")),
            cell(ttft, 50.0),
            cell(ttft, 99.0),
            cell(tpot, 50.0),
            cell(tpot, 99.0),
        ]);
    }
    let mut text = super::table_text(&all);
    let _ = match curve.knee {
        None => writeln!(text, "\nno knee is looked for below {} loads", knee::FEWEST),
        Some(Knee { p, .. }) if p > ALPHA => {
            writeln!(text, "\nno knee: one straight line explains it as well (p = {p:.3})")
        }
        Some(Knee { at, before, after, p }) => writeln!(
            text,
            "\nknee at {at:.2}: {before:.2} tokens/s more for each step of the load before it, {after:.2} after it (p = {p:.4})"
        ),
    };
    text
}
