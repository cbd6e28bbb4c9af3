//! The tables of the kinds that judge the engine alone, without an oracle, and what they demand of the rest of a spec.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{BandMnats, Because, Checks, Positive, Spec};
use crate::kind;
use crate::kind::alone::Alone;

/// `[check.byte-identity]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ByteIdentityCheck {
    /// Thread counts that must give the same bytes; the first one's first answers are what the others are compared with.
    pub threads: Vec<Positive>,
    /// How often each of them answers, in a process of its own.
    pub repeats: Positive,
}

/// `[check.async-identity]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AsyncIdentityCheck {
    /// How many requests are computed together, an arm each; the last one is also asked in the reversed order.
    pub max_sequences: Vec<Positive>,
}

/// `[check.inert-flags]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InertFlagsCheck {
    /// What is accepted and must not change an answer.
    pub inert: Vec<Inert>,
    /// What must be refused.
    pub refused: Vec<Refused>,
}

/// Arguments, or keys of every request, that change nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Inert {
    /// Behind `plumb generate MODEL --json-lines`.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Added to every request.
    #[serde(default)]
    pub request: Map<String, Value>,
    /// Why it changes nothing.
    pub because: Because,
}

impl Inert {
    fn is_empty(&self) -> bool {
        self.arguments.is_empty() && self.request.is_empty()
    }
}

/// Arguments or a request that must end with status 2 and a message that names what is wrong.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Refused {
    /// Behind `plumb generate MODEL --json-lines`.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The only request, as it is; the gate's first one where it is left out.
    pub request: Option<String>,
    /// What the message must contain.
    pub names: String,
}

impl Refused {
    fn asks_for_nothing(&self) -> bool {
        self.names.trim().is_empty() || (self.arguments.is_empty() && self.request.is_none())
    }
}

/// `[check.weights]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WeightsCheck {
    /// Most resident bytes of weights, in percent of the bytes that the tensors take in the file.
    pub resident_percent: u32,
    /// Why so many.
    pub because: Because,
    /// Tensors of the file that the engine does not consume, each with the reason.
    #[serde(default)]
    pub unused: Vec<UnusedTensor>,
}

/// A tensor that stays in the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UnusedTensor {
    /// Its name.
    pub tensor: String,
    /// Why.
    pub because: Because,
}

/// `[check.memory]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemoryCheck {
    /// Largest resident set until the first answer.
    pub load_bytes: u64,
    /// Largest resident set after the first answer.
    pub steady_bytes: u64,
    /// Why these bounds.
    pub because: Because,
}

/// `[check.startup]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StartupCheck {
    /// What counts as ready, and how cold the start is.
    pub readiness: Because,
    /// Processes that are started, one after the other.
    pub repeats: Positive,
    /// The slowest of them must not take longer.
    pub bound_ms: u32,
    /// Busy share of the host just before a start, in percent, beyond which the run is void.
    pub foreign_percent: u32,
    /// Why these bounds.
    pub because: Because,
}

/// `[check.regression]`: every input and its expectation stand in `inputs`, hence without a key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RegressionCheck {}

/// `[check.size-dependence]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SizeDependenceCheck {
    /// Lengths of prompts, in tokens.
    pub lengths: Vec<Positive>,
    /// Tokens of the prompt's end that are run one at a time in the second run.
    pub tail: Positive,
    /// Prompts shorter than this give the same numbers both ways, to the last bit.
    pub exact_below: u32,
    /// Widest gap, in milli-nats, between the first choice of the second run and the token of the first that is a tie.
    pub band_mnats: BandMnats,
    /// Why these bounds.
    pub because: Because,
}

/// `[check.budget]`, beside any other kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BudgetCheck {
    /// Wall time of the whole run.
    pub seconds: Positive,
    /// Why so long.
    pub because: Because,
}

impl Checks {
    /// The kinds that judge the engine alone.
    pub fn alone(&self) -> Vec<Alone<'_>> {
        [
            self.byte_identity.as_ref().map(Alone::ByteIdentity),
            self.async_identity.as_ref().map(Alone::AsyncIdentity),
            self.inert_flags.as_ref().map(Alone::InertFlags),
            self.weights.as_ref().map(Alone::Weights),
            self.memory.as_ref().map(Alone::Memory),
            self.startup.as_ref().map(Alone::Startup),
            self.regression.as_ref().map(Alone::Regression),
            self.size_dependence.as_ref().map(Alone::SizeDependence),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What a kind that judges the engine alone demands of the other keys.
pub(super) fn inconsistency(spec: &Spec) -> Option<&'static str> {
    let alone = spec.check.alone();
    let [check] = alone.as_slice() else {
        let several =
            "[check] has several kinds that judge the engine alone: they are separate gates";
        return (alone.len() > 1).then_some(several);
    };
    if kind::names(spec).len() > 1 + usize::from(spec.check.budget.is_some()) {
        return Some(
            "[check] mixes a kind that judges the engine alone with one that compares with an oracle: separate gates",
        );
    }
    if spec.oracle.is_some() {
        return Some(
            "`oracle` is not asked by this check, which judges the engine alone: take the key away",
        );
    }
    if spec.checkpoint.is_none() {
        return Some("`checkpoint` is needed by this check");
    }
    if check.reads_inputs() != spec.inputs.is_some() {
        return Some("`inputs` belongs to every check but [check.weights], and they need it");
    }
    if check.generates() != spec.generate.is_some() {
        return Some(
            "[generate] belongs to every check but [check.weights] and [check.regression], and they need it",
        );
    }
    empty_list(check)
}

/// A list that would make the comparison vacuous.
fn empty_list(check: &Alone<'_>) -> Option<&'static str> {
    let is_thin = |list: &[Positive], least| {
        list.iter().map(|count| count.0).collect::<BTreeSet<_>>().len() < least
    };
    match check {
        Alone::ByteIdentity(check) if is_thin(&check.threads, 2) => {
            Some("[check.byte-identity] threads names at least two different counts")
        }
        Alone::AsyncIdentity(check) if is_thin(&check.max_sequences, 2) => {
            Some("[check.async-identity] max-sequences names at least two different counts")
        }
        Alone::InertFlags(check) if check.inert.is_empty() || check.refused.is_empty() => {
            Some("[check.inert-flags] lists at least one inert and one refused entry")
        }
        Alone::InertFlags(check) if check.inert.iter().any(Inert::is_empty) => Some(
            "[[check.inert-flags.inert]] names arguments or keys of a request: nothing changes nothing",
        ),
        Alone::InertFlags(check) if check.refused.iter().any(Refused::asks_for_nothing) => Some(
            "[[check.inert-flags.refused]] has arguments or a request, and `names` what the message must contain",
        ),
        Alone::SizeDependence(check) if is_thin(&check.lengths, 2) => {
            Some("[check.size-dependence] lengths names at least two different lengths")
        }
        _ => None,
    }
}
