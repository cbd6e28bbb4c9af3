//! One load of several: run, summarised, and refused where it measured something else than the server.

use std::sync::atomic::AtomicBool;

use super::super::CommandError;
use super::asking::{ClientArguments, Pace, WorkArguments};
use super::summary::{Loaded, Summary, summarise};
use crate::load::request::Target;
use crate::load::run::run;
use crate::metric::distribution::Distribution;
use crate::metric::goodput::Objectives;

/// What every load of a series of loads has in common.
pub(in crate::command) struct Probes<'a> {
    pub(in crate::command) target: Target,
    pub(in crate::command) work: &'a WorkArguments,
    pub(in crate::command) client: &'a ClientArguments,
    pub(in crate::command) objectives: Objectives,
    pub(in crate::command) stop: &'a AtomicBool,
}

/// What came of a load.
pub(in crate::command) enum Probed {
    /// A measurement.
    Measured(Box<Summary>),
    /// The client was at its limit, or its numbers contradict each other: why.
    Void(String),
    /// The user stopped it.
    Interrupted,
}

impl Probes<'_> {
    /// Puts the load on the server; `again` draws other prompts than the loads before it.
    pub(in crate::command) fn run(&self, pace: Pace, again: u64) -> Result<Probed, CommandError> {
        let plan = self.work.plan(&self.target, self.client, pace, again)?;
        let outcome = run(&plan, self.stop)?;
        if outcome.is_interrupted {
            return Ok(Probed::Interrupted);
        }
        let summary = summarise(&plan, Loaded::of(outcome), self.objectives);
        let why = summary.client_limits.iter().chain(&summary.broken).next();
        Ok(match why {
            Some(why) => Probed::Void(why.clone()),
            None => Probed::Measured(Box::new(summary)),
        })
    }
}

/// A percentile as a cell of a table.
pub(in crate::command) fn cell(found: Option<&Distribution>, p: f64) -> String {
    let at = found.and_then(|found| {
        found.percentiles.iter().find(|percentile| percentile.p.total_cmp(&p).is_eq())
    });
    at.map_or_else(|| "n/a".to_owned(), ToString::to_string)
}
