//! `gates/specs/NAME.toml`: what a gate compares, with whom, on what, and within which bounds.
//!
//! Unknown keys are refused and every error points at its line. One table a kind (`[check.near-tie]`), never tagged
//! or flattened. A tolerance without `because` does not parse.

mod alone;

pub use alone::{
    AsyncIdentityCheck, BudgetCheck, ByteIdentityCheck, Inert, InertFlagsCheck, MemoryCheck,
    Refused, RegressionCheck, SizeDependenceCheck, StartupCheck, UnusedTensor, WeightsCheck,
};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::rule::{BAND_CEILING_MNATS, TOP_CEILING};

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
}

impl Default for LaunchSpec {
    fn default() -> Self {
        Self { threads: 1, context: 4096 }
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

/// `[check.tokenizer]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenizerCheck {
    /// Where the texts come from.
    pub corpus: Corpus,
    /// Vocabularies that decode to the text behind one space, each with the reason.
    #[serde(default)]
    pub spaced: Vec<Exception>,
    /// Vocabularies of which decoding does not give the text back, each with the reason.
    #[serde(default)]
    pub lossy: Vec<Exception>,
}

/// What decoding a text's ids must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decoding {
    /// The text.
    Exact,
    /// A space and the text.
    Spaced,
    /// Anything: the vocabulary does not keep the text.
    Lossy,
}

impl TokenizerCheck {
    /// What decoding must give in a vocabulary.
    pub fn decoding(&self, vocabulary: &str) -> Decoding {
        let named = |exception: &Exception| exception.vocabulary == vocabulary;
        if self.lossy.iter().any(named) {
            Decoding::Lossy
        } else if self.spaced.iter().any(named) {
            Decoding::Spaced
        } else {
            Decoding::Exact
        }
    }
}

/// Where the texts of a tokenizer gate come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Corpus {
    /// The spec's `inputs`, answered by the oracle or its golden.
    Inputs,
    /// The vocabularies and their tests that the oracle's pinned source carries.
    OracleVocabularies,
}

/// A vocabulary that is decoded otherwise.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Exception {
    /// Its name in the corpus.
    pub vocabulary: String,
    /// Why.
    pub because: Because,
}

/// `[check.token-exact]`: strict, hence without a key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenExactCheck {}

/// `[check.near-tie]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NearTieCheck {
    /// Widest gap, in the oracle's milli-nats, between its first choice and ours that counts as a tie.
    pub band_mnats: BandMnats,
    /// Our token must stand among this many of the oracle's most probable.
    pub top: Top,
    /// What the band was derived from.
    pub source: BandSource,
    /// Why this band.
    pub because: Because,
}

/// What a near-tie band may be derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandSource {
    /// The oracle's own spread, as its golden has it measured; a wider band voids the run.
    OracleNoise,
    /// One to two units in the last place of a bf16 logit.
    Bf16Ulp,
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

/// A count of at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Positive(pub u32);

impl TryFrom<u32> for Positive {
    type Error = &'static str;
    fn try_from(value: u32) -> Result<Self, Self::Error> {
        if value == 0 { Err("must be at least 1") } else { Ok(Self(value)) }
    }
}

/// A window of the oracle's ranking, 1 to [`TOP_CEILING`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "usize")]
pub struct Top(pub usize);

impl TryFrom<usize> for Top {
    type Error = String;
    fn try_from(value: usize) -> Result<Self, Self::Error> {
        if (1..=TOP_CEILING).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("must be 1 to {TOP_CEILING}, the window the oracle answers"))
        }
    }
}

/// A near-tie band in milli-nats, above 0 and at most [`BAND_CEILING_MNATS`].
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub struct BandMnats(pub f64);

impl TryFrom<f64> for BandMnats {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if value > 0.0 && value <= BAND_CEILING_MNATS {
            Ok(Self(value))
        } else {
            Err(format!(
                "a band is above 0 and at most {BAND_CEILING_MNATS} milli-nats, two ulp of a bf16 logit"
            ))
        }
    }
}

/// The reason of a tolerance; a blank one is none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Because(pub String);

impl TryFrom<String> for Because {
    type Error = &'static str;
    fn try_from(value: String) -> Result<Self, Self::Error> {
        if value.trim().is_empty() {
            Err("says where the tolerance comes from; it cannot be blank")
        } else {
            Ok(Self(value))
        }
    }
}

/// The name of a planted fault, checked against the registry in [`crate::fault`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FaultName(pub String);

impl TryFrom<String> for FaultName {
    type Error = String;
    fn try_from(value: String) -> Result<Self, Self::Error> {
        if crate::fault::by_name(&value).is_some() {
            return Ok(Self(value));
        }
        let known: Vec<&str> = crate::fault::ALL.iter().map(|fault| fault.name).collect();
        Err(format!("unknown fault `{value}`; known are {}", known.join(", ")))
    }
}

/// Why a spec could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// No file of that name.
    #[error("no gate named `{name}`: {path} does not exist (`gate list` names them all)")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Where its spec would be.
        path: PathBuf,
    },
    /// The file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The spec.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a spec; the message carries line, column and caret.
    #[error("{path}: {message}")]
    Parse {
        /// The spec, relative to the workspace root.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// The parts of the spec do not fit together.
    #[error("{path}: {message}")]
    Inconsistent {
        /// The spec, relative to the workspace root.
        path: PathBuf,
        /// Which keys, and what to do.
        message: &'static str,
    },
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
    let checks = &spec.check;
    if !checks.alone().is_empty() {
        return alone::inconsistency(spec);
    }
    let generates = checks.token_exact.is_some() || checks.near_tie.is_some();
    let from_inputs = checks.tokenizer.as_ref().is_some_and(|check| check.corpus == Corpus::Inputs);
    if checks.tokenizer.is_none() && !generates {
        return Some("[check] is empty: name at least one kind, such as [check.token-exact]");
    }
    if checks.tokenizer.is_some() && generates {
        return Some("[check.tokenizer] stands alone: texts and generations are separate gates");
    }
    if checks.near_tie.is_some() && checks.token_exact.is_none() {
        return Some(
            "[check.near-tie] adjudicates the divergences of [check.token-exact]: add that table",
        );
    }
    if spec.oracle.is_none() {
        return Some("`oracle` is needed by this check: name a file of oracles/registry");
    }
    if generates != spec.generate.is_some() {
        return Some("[generate] belongs to token-exact and near-tie, and they need it");
    }
    if (generates || from_inputs) && (spec.inputs.is_none() || spec.checkpoint.is_none()) {
        return Some("`inputs` and `checkpoint` are needed by this check");
    }
    let window = spec.generate.as_ref().map(|generate| generate.top_logprobs.0);
    if let (Some(check), Some(window)) = (&checks.near_tie, window)
        && check.top.0 > window
    {
        return Some(
            "[check.near-tie] top is wider than [generate] top-logprobs: the oracle is not asked for that many",
        );
    }
    None
}
