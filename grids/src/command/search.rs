//! `grid search`

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::load::asking::{
    ClientArguments, ObjectiveArguments, Pace, ServerArguments, WorkArguments,
};
use super::load::probe::{Probed, Probes};
use super::{CommandError, UNDECIDED, VOID};
use crate::load::interrupt;
use crate::metric::goodput::Objectives;
use crate::statistics::boundary::{self, Next, Objective, Probe, judge};
use crate::statistics::wilson;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Over {
    /// Requests in flight
    Concurrency,
    /// Requests a second
    Rate,
}

#[derive(Debug, Args)]
pub(super) struct SearchArguments {
    #[command(flatten)]
    server: ServerArguments,
    /// What is searched
    #[arg(long, value_enum)]
    over: Over,
    /// The first load
    #[arg(long, value_name = "LOAD", default_value_t = 1.0)]
    from: f64,
    /// The highest load that is tried
    #[arg(long, value_name = "LOAD", default_value_t = 1024.0)]
    to: f64,
    /// Share of all requests sent that has to meet the objectives
    #[arg(long, value_name = "SHARE", default_value_t = 0.99)]
    share: f64,
    /// Probability with which the interval of a probe misses
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    alpha: f64,
    /// Ends when the two loads are within this share of the lower
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    bracket: f64,
    /// Loads that are put on the server at most, repeated ones counted
    #[arg(long, value_name = "N", default_value_t = 30)]
    probes: usize,
    #[command(flatten)]
    objectives: ObjectiveArguments,
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
struct Found {
    objectives: Objectives,
    objective: Objective,
    probes: Vec<Probe>,
    outcome: Next,
}

pub(super) fn run(arguments: &SearchArguments) -> Result<u8, CommandError> {
    let objective = objective(arguments)?;
    let objectives = arguments.objectives.objectives();
    if objectives == Objectives::default() {
        return Err(CommandError::Usage("expected at least one --objective".to_owned()));
    }
    let search = Probes {
        target: arguments.server.target()?,
        work: &arguments.work,
        client: &arguments.client,
        objectives,
        stop: interrupt::on_signal()?,
    };
    let mut probes: Vec<Probe> = Vec::new();
    let outcome = loop {
        let next = boundary::next(&objective, &probes);
        let next = if arguments.over == Over::Concurrency { whole(next, &probes) } else { next };
        let Next::Probe(load) = next else { break next };
        let pace = match arguments.over {
            Over::Concurrency => Pace::Concurrency(load as usize),
            Over::Rate => Pace::Rate(load, None),
        };
        match search.run(pace, probes.len() as u64)? {
            Probed::Measured(summary) => {
                let (met, sent) = summary
                    .leg
                    .goodput
                    .map_or((0, summary.sent as u64), |g| (u64::from(g.good), u64::from(g.sent)));
                super::complain(&format!("load {load}: {met} of {sent} met the objectives"));
                probes.push(Probe { load, met, sent });
            }
            Probed::Void(why) => {
                super::complain(&format!("load {load}: INVALID(client_limited): {why}"));
                return Ok(VOID);
            }
            Probed::Interrupted => return Ok(UNDECIDED),
        }
    };
    let found = Found { objectives, objective, probes, outcome };
    if arguments.json {
        super::print_json(&found)?;
    } else {
        super::print(&text(&found))?;
    }
    Ok(match outcome {
        Next::Bracket { meets: Some(_), .. } => 0,
        Next::Bracket { meets: None, .. } => 1,
        Next::Unfinished { .. } | Next::Probe(_) => UNDECIDED,
    })
}

fn objective(arguments: &SearchArguments) -> Result<Objective, CommandError> {
    let SearchArguments { from, to, share, alpha, bracket, probes, .. } = *arguments;
    let refuse = |name: &str, found: f64, expected: &str| {
        Err(CommandError::Usage(format!("--{name} {found}: expected {expected}")))
    };
    for (name, found) in [("share", share), ("alpha", alpha)] {
        if !(found > 0.0 && found < 1.0) {
            return refuse(name, found, "between 0 and 1");
        }
    }
    if !(from > 0.0 && from.is_finite()) {
        return refuse("from", from, "more than 0");
    }
    if !(to >= from && to.is_finite()) {
        return refuse("to", to, "at least --from");
    }
    if !(bracket > 0.0 && bracket.is_finite()) {
        return refuse("bracket", bracket, "more than 0");
    }
    if arguments.over == Over::Concurrency && from.fract() != 0.0 {
        return refuse("from", from, "a whole number of requests in flight");
    }
    Ok(Objective { share, alpha, from, to, bracket, probes })
}

/// The same step where loads are whole numbers: between two that follow each other there is nothing to try.
fn whole(next: Next, probes: &[Probe]) -> Next {
    let Next::Probe(load) = next else { return next };
    let below = load.floor();
    let is_tried = probes.iter().any(|probe| (probe.load - below).abs() < f64::EPSILON);
    if !is_tried || (load - below).abs() < f64::EPSILON {
        return Next::Probe(below);
    }
    let above = probes.iter().map(|probe| probe.load).filter(|tried| *tried > load);
    Next::Bracket { meets: Some(below), misses: above.reduce(f64::min) }
}

fn text(found: &Found) -> String {
    let objective = &found.objective;
    let mut all = super::table(&["load", "sent", "met", "share", "between", "so far"]);
    for (index, probe) in found.probes.iter().enumerate() {
        let Probe { load, met, sent } = *probe;
        // Probes of one load are judged together.
        let own = found.probes[..=index].iter().filter(|other| (other.load - load).abs() < 1e-9);
        let (met_so_far, sent_so_far) =
            own.fold((0, 0), |sum, probe| (sum.0 + probe.met, sum.1 + probe.sent));
        let between = wilson::interval(met, sent, objective.alpha)
            .map_or_else(|| "n/a".to_owned(), |(low, high)| format!("{low:.3} to {high:.3}"));
        all.add_row([
            load.to_string(),
            sent.to_string(),
            met.to_string(),
            format!("{:.3}", met as f64 / sent.max(1) as f64),
            between,
            format!("{:?}", judge(objective, met_so_far, sent_so_far)).to_lowercase(),
        ]);
    }
    let mut text = super::table_text(&all) + "\n";
    let load = |load: Option<f64>| load.map_or_else(|| "none".to_owned(), |load| load.to_string());
    let share = objective.share * 100.0;
    let _ = match found.outcome {
        Next::Bracket { meets: Some(meets), misses: Some(misses) } => {
            writeln!(
                text,
                "{share} % of the requests meet the objectives at {meets}, not at {misses}"
            )
        }
        Next::Bracket { meets: Some(meets), misses: None } => {
            writeln!(
                text,
                "{share} % of the requests meet the objectives at {meets}, the highest that was tried"
            )
        }
        Next::Bracket { meets: None, misses } => {
            writeln!(
                text,
                "not even at {} do {share} % of the requests meet the objectives",
                load(misses)
            )
        }
        Next::Unfinished { meets, misses } => writeln!(
            text,
            "not decided with {} loads: met at {}, not at {}",
            found.probes.len(),
            load(meets),
            load(misses)
        ),
        Next::Probe(_) => Ok(()),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTIVE: Objective =
        Objective { share: 0.9, alpha: 0.05, from: 1.0, to: 64.0, bracket: 0.01, probes: 50 };

    /// All requests meet the objective up to a load of 11 and none above: 1, 2, 4, 8, 16, 12, 10, 11.
    #[test]
    fn whole_loads_end_between_two_neighbours() {
        let mut probes = Vec::new();
        let outcome = loop {
            match whole(boundary::next(&OBJECTIVE, &probes), &probes) {
                Next::Probe(load) => {
                    let met = if load <= 11.0 { 100 } else { 0 };
                    probes.push(Probe { load, met, sent: 100 });
                }
                end => break end,
            }
        };
        assert_eq!(outcome, Next::Bracket { meets: Some(11.0), misses: Some(12.0) });
        let loads: Vec<f64> = probes.iter().map(|probe| probe.load).collect();
        assert_eq!(loads, [1.0, 2.0, 4.0, 8.0, 16.0, 12.0, 10.0, 11.0]);
    }
}
