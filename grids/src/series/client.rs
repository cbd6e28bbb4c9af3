//! What the client was good for at each cell: `FOLDER/client/CELL.before.json` and `….after.json`, held against a server of known truth
//! before the cell's first leg and after its last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::{Calibration, Cell, Plan, Role};
use super::state::{StateError, publish};
use super::{Outcome, Outcomes};
use crate::rule::{Rule, Violation};

/// Which of a cell's two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the first leg.
    Before,
    /// After the last.
    After,
}

/// How far the client was from the truth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// The truth.
    pub truth: Calibration,
    /// Requests sent.
    pub sent: usize,
    /// Events with content a second.
    pub events_per_s: Option<f64>,
    /// First tokens off the truth, 99th percentile. The way to the server and the server's own lateness are in it.
    pub ttft_off_ms_p99: Option<f64>,
    /// Gaps off the truth, 99th percentile.
    pub gap_off_ms_p99: Option<f64>,
    /// Why the client is not to be trusted at this load; empty if it is.
    pub invalid: Vec<String>,
}

/// A cell's two, as far as they were done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Before its first leg.
    pub before: Option<Calibrated>,
    /// After its last.
    pub after: Option<Calibrated>,
}

/// By cell.
pub type Clients = BTreeMap<String, Client>;

impl When {
    fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

impl Client {
    /// The larger error of first tokens and of gaps, in milliseconds at the 99th percentile; `None` where one is not known.
    pub fn error_ms(&self) -> Option<(f64, f64)> {
        let both = [self.before.as_ref()?, self.after.as_ref()?];
        let worst = |of: fn(&Calibrated) -> Option<f64>| {
            let [one, two] = both.map(of);
            Some(one?.max(two?))
        };
        Some((worst(|client| client.ttft_off_ms_p99)?, worst(|client| client.gap_off_ms_p99)?))
    }
}

fn path(folder: &Path, cell: &str, when: When) -> PathBuf {
    folder.join("client").join(format!("{cell}.{}.json", when.name()))
}

/// Keeps it; whoever was first stays.
pub fn keep(
    folder: &Path,
    cell: &str,
    when: When,
    calibrated: &Calibrated,
) -> Result<(), StateError> {
    let path = path(folder, cell, when);
    // Numbers, strings and lists of them: this cannot fail.
    publish(&path, &serde_json::to_vec(calibrated).unwrap_or_default()).map(drop)
}

/// What is kept of the plan's cells; a file that is none counts as missing, as a killed writer may have left it.
pub fn read(folder: &Path, plan: &Plan) -> Clients {
    let one = |cell: &str, when| {
        let bytes = std::fs::read(path(folder, cell, when)).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    let of = |cell: &Cell| Client {
        before: one(&cell.id, When::Before),
        after: one(&cell.id, When::After),
    };
    let cells = plan.cells.iter().filter(|_| plan.client.is_some());
    cells.map(|cell| (cell.id.clone(), of(cell))).collect()
}

/// What stands against a cell because of the client (V-CLIENT): it was not held against the truth, or was too far from it. What comes after
/// the last leg is asked for once that leg has an outcome.
pub fn against(plan: &Plan, outcomes: &Outcomes, clients: &Clients, cell: &str) -> Vec<Violation> {
    let Some(truth) = plan.client else { return Vec::new() };
    let begun = |of: &dyn Fn(Role) -> bool| {
        let legs = plan.legs_of(cell).filter(|leg| of(leg.role));
        legs.filter_map(|leg| outcomes.get(&leg.id)).any(Outcome::was_begun)
    };
    if !begun(&|_| true) {
        return Vec::new();
    }
    let ended = begun(&|role| role == Role::Terminal);
    let none = Client::default();
    let client = clients.get(cell).unwrap_or(&none);
    let mut broken = Vec::new();
    for (found, when, is_due) in
        [(&client.before, When::Before, true), (&client.after, When::After, ended)]
    {
        let when = when.name();
        let mut tell = |reason: String| broken.push(Violation::new(Rule::Client, reason));
        match found {
            None if is_due => {
                tell(format!(
                    "the client was not held against the truth {when} the legs of {cell}"
                ));
            }
            None => {}
            Some(found) if found.truth != truth => {
                tell(format!(
                    "{when} the legs of {cell} the client was held against another truth"
                ));
            }
            Some(found) => {
                for why in &found.invalid {
                    tell(format!(
                        "{when} the legs of {cell}, against a server of known truth: {why}"
                    ));
                }
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Ended;
    use crate::verdict::fixture;

    fn good(plan: &Plan) -> Calibrated {
        fixture::clients(plan).remove(&plan.cells[0].id).unwrap().before.unwrap()
    }

    fn told(plan: &Plan, outcomes: &Outcomes, client: &Client) -> Vec<String> {
        let cell = plan.cells[0].id.clone();
        let clients = [(cell.clone(), client.clone())].into();
        let found = against(plan, outcomes, &clients, &cell);
        assert!(found.iter().all(|broken| broken.rule == Rule::Client));
        found.into_iter().map(|broken| broken.reason).collect()
    }

    #[test]
    fn a_cell_needs_both_and_both_good() {
        let (plan, outcomes) = fixture::measured();
        let good = good(&plan);
        let both = Client { before: Some(good.clone()), after: Some(good.clone()) };
        assert_eq!(told(&plan, &outcomes, &both), [""; 0]);
        assert_eq!(both.error_ms(), Some((0.25, 0.125)));
        let early = Client { after: None, ..both.clone() };
        assert_eq!(told(&plan, &outcomes, &early).len(), 1, "the last leg has ended");
        assert_eq!(early.error_ms(), None);
        let limited = Calibrated { invalid: vec!["late".to_owned()], ..good.clone() };
        let limited = Client { before: Some(limited), ..both.clone() };
        assert!(told(&plan, &outcomes, &limited)[0].ends_with("known truth: late"));
        let slower = Calibration { gap_ms: 1000.0, ..good.truth };
        let other = Calibrated { truth: slower, ..good };
        let other = Client { before: Some(other), ..both };
        assert!(told(&plan, &outcomes, &other)[0].ends_with("another truth"));
        assert_eq!(told(&plan, &outcomes, &Client::default()).len(), 2);
    }

    /// Nothing was begun, or the last leg is still to come, or the plan is one of before there were calibrations.
    #[test]
    fn what_is_not_due_is_not_missed() {
        let (mut plan, mut outcomes) = fixture::measured();
        let before = Client { before: Some(good(&plan)), after: None };
        let last = plan.legs.iter().find(|leg| leg.role == Role::Terminal).unwrap().id.clone();
        outcomes.remove(&last);
        assert_eq!(told(&plan, &outcomes, &before), [""; 0]);
        for outcome in outcomes.values_mut() {
            outcome.ended = Ended::Skipped("it".to_owned());
        }
        assert_eq!(told(&plan, &outcomes, &Client::default()), [""; 0]);
        let (_, outcomes) = fixture::measured();
        plan.client = None;
        assert_eq!(told(&plan, &outcomes, &Client::default()), [""; 0]);
    }

    #[test]
    fn what_is_kept_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (plan, _) = fixture::measured();
        let cell = &plan.cells[0].id;
        keep(folder.path(), cell, When::After, &good(&plan)).unwrap();
        let read = read(folder.path(), &plan);
        assert_eq!(read[cell], Client { before: None, after: Some(good(&plan)) });
        assert_eq!(read.len(), plan.cells.len());
    }
}
