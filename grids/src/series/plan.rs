//! The plan of a series: everything that decides what is run and how it is judged, fixed and hashed before the first run.

use serde::{Deserialize, Serialize};

use crate::spec::{ArmName, Axis, Control, CorrectSpec, Family, LaunchSpec, WorkloadSpec};
use crate::statistics::look::Boundary;
use crate::statistics::power;

/// What the name of a null arm ends with; no arm of a spec may.
pub const NULL_ENDING: &str = "-null";

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The grid.
    pub grid: String,
    /// SHA-256 of its spec.
    pub spec_sha256: String,
    /// What every arm is started with.
    pub launch: LaunchSpec,
    /// What every arm is asked.
    pub workload: WorkloadSpec,
    /// The gates that certify each arm of ours.
    pub correct: CorrectSpec,
    /// What is compared with what.
    pub comparisons: Vec<Comparison>,
    /// The arm that runs twice.
    pub null: NullArm,
    /// Where.
    pub cells: Vec<Cell>,
    /// What is judged.
    pub axes: Vec<Axis>,
    /// What shows that the comparison is one.
    pub controls: Vec<Control>,
    /// How often every server is started anew.
    pub sessions: u32,
    /// How often a leg is run at most where the machine alone spoilt it.
    pub attempts: u32,
    /// Blocks at each cell beyond the pairs, run only where pairs were discarded.
    pub spares: u32,
    /// Counts of pairs at which the data are judged, ascending; the last is the end.
    pub looks: Vec<usize>,
    /// How the looks share alpha.
    pub boundary: Boundary,
    /// Two-sided level of significance.
    pub alpha: f64,
    /// Over which family.
    pub family: Family,
    /// Of orders and resampling.
    pub seed: u64,
    /// What the client is held against at each cell, before its legs and after them; `None` in plans of before this was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Calibration>,
    /// The expected standard deviation of ln(metric) from run to run.
    pub expected_noise: Option<f64>,
    /// What is run, in this order.
    pub legs: Vec<Leg>,
}

/// A server of known truth, at the concurrency and the lengths of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// How long it is asked.
    pub seconds: f64,
    /// Milliseconds from the request to the first token.
    pub ttft_ms: f64,
    /// Milliseconds from token to token.
    pub gap_ms: f64,
}

/// Subject over reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The denominator.
    pub reference: String,
    /// The arm that is judged.
    pub subject: String,
}

/// An arm and the same arm once more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NullArm {
    /// The arm.
    pub of: String,
    /// Its twin: the same binary, the same arguments, its own place in every block.
    pub twin: String,
}

impl NullArm {
    /// The twin over the arm.
    pub fn comparison(&self) -> Comparison {
        Comparison { reference: self.of.clone(), subject: self.twin.clone() }
    }
}

/// One point of the grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Its name.
    pub id: String,
    /// Requests in flight.
    pub concurrency: u32,
}

/// What a leg is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The first run of an arm at a cell: discarded, on every arm.
    Discarded,
    /// Judged.
    Measured,
    /// The first arm once more, when everything else is done.
    Terminal,
}

/// One load on one arm at one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// Stable, and part of a file name: `s1.c8.b003.2.plumb`.
    pub id: String,
    /// From 1 on: every server is started anew in each.
    pub session: u32,
    /// The cell's name.
    pub cell: String,
    /// The block from 1 on, counted over all sessions; none for what is not measured in pairs.
    pub block: Option<usize>,
    /// The place in the block, from 0 on.
    pub slot: usize,
    /// The arm, or the null arm's twin.
    pub arm: String,
    /// What it is for.
    pub role: Role,
}

impl Plan {
    /// SHA-256 of the plan's canonical text: what the record carries, and what every outcome on disk names.
    pub fn sha256(&self) -> String {
        // Strings, numbers and lists of them, every number finite: this cannot fail.
        let text = records::canonical::canonical_json(self).unwrap_or_default();
        records::sha256_hex(text.as_bytes())
    }

    /// Pairs of each comparison at each cell.
    pub fn pairs(&self) -> usize {
        self.looks.last().copied().unwrap_or(0)
    }

    /// Whether a leg is of a block that is run only where pairs were discarded.
    pub fn is_spare(&self, leg: &Leg) -> bool {
        leg.block.is_some_and(|block| block > self.pairs())
    }

    /// The least true difference, as a log ratio, that the whole plan shows with a power of 80 %, one comparison taken alone;
    /// `None` where no noise is expected.
    pub fn detectable(&self) -> Option<f64> {
        power::detectable(self.expected_noise?, self.pairs(), self.alpha, power::POWER)
    }

    /// How many words the plan will print: the family over which its error rate is held.
    pub fn tests(&self) -> usize {
        self.cells.len() * self.comparisons.len() * self.axes.len()
    }

    /// The legs of one cell.
    pub fn legs_of<'a>(&'a self, cell: &'a str) -> impl Iterator<Item = &'a Leg> {
        self.legs.iter().filter(move |leg| leg.cell == cell)
    }

    /// Every arm that runs, the twin included, in the order of the plan.
    pub fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<&str> = Vec::new();
        for leg in &self.legs {
            if !arms.contains(&leg.arm.as_str()) {
                arms.push(&leg.arm);
            }
        }
        arms
    }
}

impl NullArm {
    /// The null arm of an arm.
    pub fn of(arm: &ArmName) -> Self {
        Self { of: arm.0.clone(), twin: format!("{}{NULL_ENDING}", arm.0) }
    }
}
