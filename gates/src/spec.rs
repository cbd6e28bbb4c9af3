//! `gates/specs/NAME.toml`: what a gate compares, with whom, on what, and within which bounds.
//!
//! Unknown keys are refused and every error points at its line. One table a kind (`[check.near-tie]`), never tagged
//! or flattened. A tolerance without `because` does not parse.

mod agreement;
mod alone;
mod bounds;
mod consistency;
mod error;
mod inside;
mod logits;

pub use agreement::{
    BandSource, Corpus, Decoding, Exception, NearTieCheck, TokenExactCheck, TokenizerCheck,
};
pub use alone::{
    AsyncIdentityCheck, BudgetCheck, ByteIdentityCheck, Inert, InertFlagsCheck, MemoryCheck,
    Refused, RegressionCheck, SizeDependenceCheck, StartupCheck, UnusedTensor, WeightsCheck,
};
pub use bounds::{BandMnats, Because, FaultName, Positive, Top};
pub use consistency::{Absent, Alpha, Condition, NoiseRateCheck, OracleConsistencyCheck};
pub use error::SpecError;
pub use inside::{
    ActivationType, Band, BandOrigin, Degrees, Edit, FidelityCheck, LayersCheck, OpCase,
    OpGoldenCheck, RelRms, Tolerance, Unit, names_its_inputs,
};
pub use logits::{ChunkTokens, LogitsCheck};

use std::path::{Path, PathBuf};

use oracles::launch::Dtype;
use serde::Deserialize;

/// A gate, as its file declares it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// One sentence for `gate list`.
    pub summary: String,
    /// Whether its proofs are cheap enough for every CI run.
    #[serde(default)]
    pub cheap: bool,
    /// Name of the pinned oracle (`oracles/registry/NAME.toml`); a kind that judges the engine alone has none.
    pub oracle: Option<String>,
    /// Name of the pinned checkpoint (`oracles/checkpoints/NAME.toml`); a corpus that brings its own models has none.
    pub checkpoint: Option<String>,
    /// The numerics profile that the engine must run.
    pub profile: Option<String>,
    /// Workload file, relative to the workspace root, one JSON object a line.
    pub inputs: Option<PathBuf>,
    /// Seconds that one question to the engine may take before it counts as unanswered.
    #[serde(default = "default_budget_seconds")]
    pub budget_seconds: u64,
    /// How both sides generate.
    pub generate: Option<GenerateSpec>,
    /// How the oracle is launched.
    #[serde(default)]
    pub launch: LaunchSpec,
    /// What is compared: one table a kind.
    pub check: Checks,
    /// How goldens are captured.
    #[serde(default)]
    pub capture: CaptureSpec,
    /// The planted faults that must turn this gate red.
    #[serde(default)]
    pub prove: ProveSpec,
}

fn default_budget_seconds() -> u64 {
    900
}

/// How both sides generate: greedy, a fixed number of tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GenerateSpec {
    /// Tokens a prompt, fewer only where both sides end the generation.
    pub max_tokens: Positive,
    /// How many of the most probable tokens are asked for at each step.
    pub top_logprobs: Top,
}

/// The settings of the oracle's process that its bits depend on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LaunchSpec {
    /// Threads of the oracle: with one, attention is never split over threads.
    pub threads: u32,
    /// Context length in tokens.
    pub context: u32,
    /// In what the weights are held and activations are rounded; a GGUF file decides that itself.
    pub dtype: Dtype,
    /// Whether the oracle must run as in production: compiled, fused, and every backend told.
    pub production: bool,
}

impl Default for LaunchSpec {
    fn default() -> Self {
        Self { threads: 1, context: 4096, dtype: Dtype::Bfloat16, production: false }
    }
}

/// The kinds of comparison, at most one table each.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Checks {
    /// Token ids of texts.
    pub tokenizer: Option<TokenizerCheck>,
    /// Generated ids, strictly equal.
    pub token_exact: Option<TokenExactCheck>,
    /// Divergences within the oracle's own uncertainty.
    pub near_tie: Option<NearTieCheck>,
    /// Whole distributions along a text.
    pub logits: Option<LogitsCheck>,
    /// Not more flips than the oracle's own.
    pub noise_rate: Option<NoiseRateCheck>,
    /// The oracle against itself.
    pub oracle_consistency: Option<OracleConsistencyCheck>,
    /// Values inside the model, layer by layer.
    pub layers: Option<LayersCheck>,
    /// The residual stream, beside a known difference.
    pub activation_fidelity: Option<FidelityCheck>,
    /// Single operations.
    pub op_golden: Option<OpGoldenCheck>,
    /// The same requests, the same bytes.
    pub byte_identity: Option<ByteIdentityCheck>,
    /// Together as alone.
    pub async_identity: Option<AsyncIdentityCheck>,
    /// What changes nothing, and what is refused.
    pub inert_flags: Option<InertFlagsCheck>,
    /// Every tensor accounted for, none expanded.
    pub weights: Option<WeightsCheck>,
    /// Resident set while loading and afterwards.
    pub memory: Option<MemoryCheck>,
    /// From the start to the first answer.
    pub startup: Option<StartupCheck>,
    /// Inputs that once failed.
    pub regression: Option<RegressionCheck>,
    /// The same at several lengths.
    pub size_dependence: Option<SizeDependenceCheck>,
    /// Wall time of the whole run, beside any other kind.
    pub budget: Option<BudgetCheck>,
}

/// `[capture]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CaptureSpec {
    /// How often the oracle answers everything; all answers must be identical.
    pub repeats: Positive,
    /// Positions a prompt at which its spread is measured by evaluating the shared prefix again in one batch.
    pub noise_positions: usize,
}

impl Default for CaptureSpec {
    fn default() -> Self {
        Self { repeats: Positive(3), noise_positions: 4 }
    }
}

/// `[prove]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ProveSpec {
    /// Ids of the cases that the faults are tried on; empty means all of them.
    pub cases: Vec<String>,
    /// Names of the faults (`gate explain` lists what each plants).
    pub faults: Vec<FaultName>,
}

impl Spec {
    /// Whether the engine's choices are compared with an oracle's.
    pub fn compares_choices(&self) -> bool {
        self.check.token_exact.is_some()
    }

    /// Whether the engine is asked: a gate about an oracle alone does without it.
    pub fn asks_engine(&self) -> bool {
        self.check.oracle_consistency.is_none()
    }
}

/// A spec together with its name and the digest of its bytes.
#[derive(Debug, Clone)]
pub struct NamedSpec {
    /// File stem.
    pub name: String,
    /// SHA-256 of the file, in hex: the record carries it, so that a spec edited later is seen.
    pub sha256: String,
    /// The file: kept beside the record, so that its verdict can be derived again.
    pub text: String,
    /// What it declares.
    pub spec: Spec,
}

/// Folder of the specs under the workspace root.
pub fn folder(root: &Path) -> PathBuf {
    root.join("gates").join("specs")
}

/// The names of all gates, sorted.
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

/// Reads and checks one gate's spec.
pub fn load(root: &Path, name: &str) -> Result<NamedSpec, SpecError> {
    let shown = PathBuf::from("gates/specs").join(format!("{name}.toml"));
    let path = root.join(&shown);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(SpecError::Unknown { name: name.to_owned(), path: shown });
        }
        Err(source) => return Err(SpecError::Read { path: shown, source }),
    };
    let spec = parse(&text, &shown)?;
    Ok(NamedSpec {
        name: name.to_owned(),
        sha256: oracles::digest::sha256_bytes(text.as_bytes()),
        text,
        spec,
    })
}

/// Parses a spec; `shown` is how messages name the file.
pub fn parse(text: &str, shown: &Path) -> Result<Spec, SpecError> {
    let spec: Spec = toml::from_str(text).map_err(|error| SpecError::Parse {
        path: shown.to_owned(),
        message: error.to_string().trim_end().to_owned(),
    })?;
    match inconsistency(&spec) {
        Some(message) => Err(SpecError::Inconsistent { path: shown.to_owned(), message }),
        None => Ok(spec),
    }
}

/// What one key demands of another.
fn inconsistency(spec: &Spec) -> Option<&'static str> {
    if let Some(check) = &spec.check.oracle_consistency {
        return consistency::inconsistency(spec, check);
    }
    if !spec.check.alone().is_empty() {
        alone::inconsistency(spec)
    } else if !spec.check.inside().is_empty() {
        inside::inconsistency(spec)
    } else if spec.check.logits.is_some() {
        logits::inconsistency(spec)
    } else {
        agreement::inconsistency(spec)
    }
}
