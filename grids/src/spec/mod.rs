//! `grids/specs/NAME.toml`: which arms are compared, at which cells, by which bounds.
//!
//! Unknown keys are refused and every error points at its line. A grid is a `[sweep]` (one subject against several references) or
//! an `[ab]` (one change). A bound without `because` does not parse.

mod axis;
mod bounds;
mod check;
mod error;

pub use axis::{Axis, Claim, Control, Direction, Expect, Scale};
pub use bounds::{Alpha, ArmName, Because, Bound, Percent, Positive};
pub use check::inconsistency;
pub use error::SpecError;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::statistics::look::Boundary;

/// A grid, as its file declares it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// One sentence for `grid list`.
    pub summary: String,
    /// One subject against several references.
    pub sweep: Option<SweepSpec>,
    /// One change.
    pub ab: Option<AbSpec>,
    /// What every arm is started with.
    pub launch: LaunchSpec,
    /// The arms by name.
    pub arms: BTreeMap<ArmName, ArmSpec>,
    /// What every arm is asked.
    pub workload: WorkloadSpec,
    /// What has to be right before it is fast.
    pub correct: CorrectSpec,
    /// How many pairs, in which order, at which level.
    pub plan: PlanSpec,
    /// What is judged.
    #[serde(rename = "axis")]
    pub axes: Vec<Axis>,
    /// What shows that the comparison is one.
    #[serde(default, rename = "control")]
    pub controls: Vec<Control>,
}

impl Spec {
    /// The verb of `grid` that it is for.
    pub fn verb(&self) -> &'static str {
        if self.sweep.is_some() { "sweep" } else { "ab" }
    }
}

/// `[sweep]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SweepSpec {
    /// The arm that is judged.
    pub subject: ArmName,
    /// The arms that it is compared with.
    pub against: Vec<ArmName>,
    /// The arm that runs twice, as its own null arm.
    pub null_of: ArmName,
    /// Requests in flight, one cell each.
    pub concurrency: Vec<Positive>,
}

/// `[ab]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AbSpec {
    /// A: as it was. It runs twice, as its own null arm.
    pub reference: ArmName,
    /// B: the change.
    pub subject: ArmName,
    /// Requests in flight, one cell each.
    pub concurrency: Vec<Positive>,
}

/// `[launch]`: the same for every arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LaunchSpec {
    /// Name of the pinned checkpoint.
    pub checkpoint: String,
    /// Threads of computation.
    pub threads: Positive,
    /// Tokens of context of one sequence.
    pub context: Positive,
    /// Whether servers may answer from what an earlier request left behind.
    #[serde(default)]
    pub prefix_cache: PrefixCache,
}

/// V-CACHE-POLICY.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrefixCache {
    /// Every prompt is computed: each server says that its cache is off, or that nothing came from it.
    #[default]
    Off,
    /// Each server does as it does by itself.
    On,
}

/// `[arms.NAME]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArmSpec {
    /// `plumb`, or an oracle of the registry.
    pub engine: String,
    /// Another checkpoint than the launch's: the same weights in the container that this engine reads.
    pub checkpoint: Option<String>,
    /// Another binary than the one just built.
    pub binary: Option<PathBuf>,
    /// More arguments of its command line: the switch of an A/B, for example.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// `[workload]`: the same requests, in the same order, for every arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadSpec {
    /// Tokens of a prompt, exactly.
    pub prompt_tokens: Positive,
    /// Tokens of an answer, exactly.
    pub output_tokens: Positive,
    /// Requests of a leg for each one in flight.
    pub waves: Positive,
    /// Requests of a leg at least: a percentile needs so many.
    pub least_requests: Positive,
    /// Of the prompts.
    pub seed: u64,
    /// The token ids that prompts are drawn from: all but special ones, which a server may act upon.
    pub ids: IdRange,
}

/// `[correct]`: V-CORRECT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CorrectSpec {
    /// The gates that must have passed on the sources of each arm of ours, by arm.
    pub gates: BTreeMap<ArmName, Vec<String>>,
}

/// Token ids, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdRange {
    /// The first.
    pub from: u32,
    /// The last.
    pub to: Positive,
}

/// In which order the arms of a block run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockOrder {
    /// Forwards and backwards in turn: A B B A.
    #[default]
    Abba,
    /// A seeded permutation and its reverse, in seeded order: no arm always has the same neighbours.
    Balanced,
}

/// How an error rate is shared among cells and axes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Holm: no wrong word among all of them, with probability 1 - alpha.
    #[default]
    Gate,
    /// Benjamini-Hochberg: a share of alpha of the words may be wrong.
    Explore,
}

/// `[plan]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanSpec {
    /// Pairs of each comparison at each cell, over all sessions.
    pub pairs: Positive,
    /// How often every server is started anew: 1, or 3 and more for a claim beyond one start.
    #[serde(default = "one")]
    pub sessions: Positive,
    /// In which order.
    #[serde(default)]
    pub order: BlockOrder,
    /// Blocks at each cell beyond these, each run only where pairs before it were discarded because clocks were apart.
    #[serde(default)]
    pub spares: u32,
    /// How often a leg is run at most where the machine alone spoilt it (V-CLOCK-SPREAD, V-CONTEND).
    #[serde(default = "one")]
    pub attempts: Positive,
    /// Of orders and resampling.
    pub seed: u64,
    /// Two-sided level of significance.
    pub alpha: Alpha,
    /// Over which family.
    #[serde(default)]
    pub family: Family,
    /// Counts of pairs before the last at which the data may be judged.
    #[serde(default)]
    pub looks: Vec<Positive>,
    /// How the looks share alpha.
    #[serde(default)]
    pub boundary: Boundary,
    /// The standard deviation from run to run that is expected: what the plan's detectable effect is computed from.
    pub expected_noise: Option<Bound>,
}

fn one() -> Positive {
    Positive(1)
}

/// A spec together with its name and the digest of its bytes.
#[derive(Debug, Clone)]
pub struct NamedSpec {
    /// File stem.
    pub name: String,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
    /// The file: kept beside the record.
    pub text: String,
    /// What it declares.
    pub spec: Spec,
}

/// Folder of the specs under the workspace root.
pub fn folder(root: &Path) -> PathBuf {
    root.join("grids").join("specs")
}

/// The names of all grids, sorted.
pub fn names(root: &Path) -> Result<Vec<String>, SpecError> {
    let path = folder(root);
    let failed = |source| SpecError::Read { path: path.clone(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|extension| extension == "toml") {
            names.extend(file.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// Reads and checks one grid's spec.
pub fn load(root: &Path, name: &str) -> Result<NamedSpec, SpecError> {
    let shown = PathBuf::from("grids/specs").join(format!("{name}.toml"));
    match std::fs::read_to_string(root.join(&shown)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(SpecError::Unknown { name: name.to_owned(), path: shown })
        }
        Err(source) => Err(SpecError::Read { path: shown, source }),
        Ok(text) => {
            let named = named(name, text, &shown)?;
            match check::undecidable(&named.spec) {
                Some(message) => Err(SpecError::Inconsistent { path: shown, message }),
                None => Ok(named),
            }
        }
    }
}

/// A spec that was read; `shown` is how messages name its file.
pub fn named(name: &str, text: String, shown: &Path) -> Result<NamedSpec, SpecError> {
    let spec = parse(&text, shown)?;
    let sha256 = records::sha256_hex(text.as_bytes());
    Ok(NamedSpec { name: name.to_owned(), sha256, text, spec })
}

/// Parses a spec; `shown` is how messages name the file.
pub fn parse(text: &str, shown: &Path) -> Result<Spec, SpecError> {
    let spec: Spec = toml::from_str(text).map_err(|error| SpecError::Parse {
        path: shown.to_owned(),
        message: error.to_string().trim_end().to_owned(),
    })?;
    match check::inconsistency(&spec) {
        Some(message) => Err(SpecError::Inconsistent { path: shown.to_owned(), message }),
        None => Ok(spec),
    }
}

#[cfg(test)]
mod tests;
