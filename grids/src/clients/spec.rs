//! `grids/clients/NAME.toml`: which load generators are compared, under which load, by which bounds, and where in its output each
//! says what. Unknown keys are refused, and a bound without `because` does not parse.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ClientsError;
use super::process::Values;
use crate::mock::Mode;
use crate::mock::script::Pace;
use crate::spec::{ArmName, Because, Percent, Positive};

/// A comparison, as its file declares it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// One sentence.
    pub summary: String,
    /// Streams at any time, one level each.
    pub streams: Vec<Positive>,
    /// How often each leg is measured.
    pub rounds: Positive,
    /// Requests of a leg for each stream.
    pub waves: Positive,
    /// Requests of a leg at least: a 99th percentile needs some.
    pub least_requests: Positive,
    /// A leg that takes longer has failed.
    pub deadline_s: Positive,
    /// What the mock does.
    pub load: LoadSpec,
    /// How far from the truth is honest.
    pub honest: HonestSpec,
    /// How aliases are compared.
    pub aliases: AliasesSpec,
    /// The clients by name.
    pub clients: BTreeMap<ArmName, ClientSpec>,
}

/// `[load]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoadSpec {
    /// From the whole request to the first token.
    pub ttft_ms: Positive,
    /// From token to token.
    pub gap_ms: Positive,
    /// Tokens of each prompt.
    pub prompt_tokens: Positive,
    /// Tokens of each answer.
    pub output_tokens: Positive,
}

impl LoadSpec {
    /// As the mock takes it.
    pub fn pace(&self) -> Pace {
        let ns = |ms: Positive| u64::from(ms.0) * crate::load::monotonic::MILLISECOND_NS;
        Pace { ttft_ns: ns(self.ttft_ms), gap_ns: ns(self.gap_ms) }
    }

    /// Events a second that so many streams get while none waits for its client: a stream's tokens over its time.
    pub fn events_per_second(&self, streams: u32) -> f64 {
        let tokens = f64::from(self.output_tokens.0);
        let ms = f64::from(self.ttft_ms.0) + f64::from(self.gap_ms.0) * (tokens - 1.0);
        f64::from(streams) * tokens * 1000.0 / ms
    }
}

/// `[honest]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HonestSpec {
    /// Of the median and the 99th percentile of TTFT.
    pub ttft: Milliseconds,
    /// Of those of the gap.
    pub itl: Milliseconds,
    /// How late the mock itself may be at its 99th percentile; beyond it nothing is said of the client.
    pub mock_late: Milliseconds,
}

/// A bound in milliseconds, with its reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Milliseconds {
    /// At most so far.
    pub ms: f64,
    /// Why.
    pub because: Because,
}

/// `[aliases]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AliasesSpec {
    /// How the mock answers, one run each.
    pub modes: Vec<Mode>,
    /// What it does then.
    pub load: LoadSpec,
    /// Streams at any time.
    pub streams: Positive,
    /// Requests of a run.
    pub requests: Positive,
    /// How far theirs and ours may be apart: so much, or the share, whichever is more.
    pub apart: Apart,
    /// The same for a time from the start of the request, which the client sees earlier than the relay.
    pub apart_from_start: Apart,
}

/// How far two numbers may be apart.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Apart {
    /// In milliseconds.
    pub ms: f64,
    /// In percent of theirs.
    pub percent: Percent,
    /// Why.
    pub because: Because,
}

/// `[clients.NAME]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClientSpec {
    /// Its Python package; none for a client of ours.
    pub package: Option<Package>,
    /// Which of the virtual environments it is in; none for its own name.
    pub environment: Option<ArmName>,
    /// Its command line; see [`Values`] for what stands in braces.
    pub command: Vec<String>,
    /// Environment variables. It starts with these, `PATH` and a `HOME` of its own alone.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// The file under `{out}` that it writes its numbers to, or `stdout`.
    pub result: String,
    /// The exit status by which it says itself that it was at its limit; its numbers are read all the same.
    pub limited_status: Option<i32>,
    /// Where its numbers are.
    pub said: SaidSpec,
    /// What its number of a gap is: nobody else's may be set beside it unread.
    pub itl_is: String,
    /// Modes that it cannot be asked in, and why.
    #[serde(default)]
    pub refuses: BTreeMap<Mode, Because>,
    /// Its numbers that an alias of ours is to give.
    #[serde(default, rename = "alias")]
    pub aliases: Vec<AliasSpec>,
}

/// A Python package of one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// As the index names it.
    pub name: String,
    /// Exactly.
    pub version: String,
}

/// `[clients.NAME.said]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SaidSpec {
    /// Requests that it counts as whole.
    pub completed: Key,
    /// Output tokens a second.
    pub tokens_per_s: Key,
    /// Median TTFT.
    pub ttft_p50: Key,
    /// Its 99th percentile.
    pub ttft_p99: Key,
    /// Median gap.
    pub itl_p50: Key,
    /// Its 99th percentile.
    pub itl_p99: Key,
}

/// Where a number stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// JSON pointer (RFC 6901).
    pub at: String,
    /// Of a time.
    #[serde(default)]
    pub unit: Unit,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// As it stands: milliseconds, a count, a rate.
    #[default]
    Ms,
    /// Nanoseconds.
    Ns,
    /// Seconds.
    S,
}

/// One number of a tool and one of ours.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AliasSpec {
    /// Where theirs stands.
    pub said: Key,
    /// The name of our series, as in `vllm.itl`.
    pub alias: String,
    /// Which number of it.
    pub statistic: Statistic,
    /// It counts from the start of the request, which the client sees earlier than the relay.
    #[serde(default)]
    pub from_start: bool,
}

/// A number of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Mean, by weight where there are weights.
    Mean,
    /// Median.
    P50,
    /// 99th percentile.
    P99,
}

/// A spec with its name and the digest of its bytes.
#[derive(Debug, Clone)]
pub struct NamedSpec {
    /// File stem.
    pub name: String,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
    /// What it declares.
    pub spec: Spec,
}

/// Reads `grids/clients/NAME.toml`.
pub fn load(root: &Path, name: &str) -> Result<NamedSpec, ClientsError> {
    let shown = PathBuf::from("grids/clients").join(format!("{name}.toml"));
    let text = std::fs::read_to_string(root.join(&shown))
        .map_err(|source| ClientsError::File { path: shown.clone(), source })?;
    let spec = parse(&text).map_err(|message| ClientsError::Spec { path: shown, message })?;
    let sha256 = records::sha256_hex(text.as_bytes());
    Ok(NamedSpec { name: name.to_owned(), sha256, spec })
}

/// Parses a spec; the error says where and what.
pub fn parse(text: &str) -> Result<Spec, String> {
    let spec: Spec =
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    if spec.streams.is_empty() || spec.clients.is_empty() {
        return Err("streams and clients: expected at least one of each".to_owned());
    }
    for (name, client) in &spec.clients {
        if client.command.is_empty() {
            return Err(format!("[clients.{}] command: expected a program", name.0));
        }
        for word in client.command.iter().chain(client.variables.values()) {
            if let Some(unknown) = Values::unknown(word) {
                let expected = Values::NAMES.join(", ");
                return Err(format!(
                    "[clients.{}] {word:?}: no {{{unknown}}}, expected one of {expected}",
                    name.0
                ));
            }
        }
        let known = crate::metric::foreign::all(&[]);
        let unknown =
            client.aliases.iter().find(|alias| known.iter().all(|s| s.name != alias.alias));
        if let Some(AliasSpec { alias, .. }) = unknown {
            return Err(format!("[clients.{}] alias {alias:?}: no series of that name", name.0));
        }
    }
    Ok(spec)
}

impl Spec {
    /// Requests of a leg at this level.
    pub fn requests(&self, streams: u32) -> u32 {
        streams.saturating_mul(self.waves.0).max(self.least_requests.0)
    }

    /// The clients of these names, or all.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<(&str, &ClientSpec)>, ClientsError> {
        let all = || self.clients.iter().map(|(name, client)| (name.0.as_str(), client));
        if let Some(name) = names.iter().find(|name| all().all(|(known, _)| known != name.as_str()))
        {
            let expected = all().map(|(known, _)| known).collect::<Vec<_>>().join(", ");
            return Err(ClientsError::Client { name: name.clone(), expected });
        }
        let is_chosen = |name: &str| names.is_empty() || names.iter().any(|known| known == name);
        Ok(all().filter(|(name, _)| is_chosen(name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../clients/per-core.toml");

    fn with(old: &str, new: &str) -> String {
        assert!(TEXT.contains(old), "{old:?} does not stand in the spec");
        TEXT.replacen(old, new, 1)
    }

    #[test]
    fn the_spec_of_this_tree_parses() {
        let spec = parse(TEXT).unwrap();
        let names: Vec<&str> = spec.clients.keys().map(|name| name.0.as_str()).collect();
        assert_eq!(
            names,
            ["aiperf", "guidellm", "plumbline", "sglang", "sglang-rust", "vllm"],
            "the issue names them"
        );
        // 64 tokens in 20 + 63 x 20 ms: 50 a second of each stream.
        assert!((spec.load.events_per_second(256) - 12_800.0).abs() < 1e-9);
        assert_eq!((spec.requests(1), spec.requests(1024)), (64, 2048));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert!(refused(&with("rounds = ", "round = ")).contains("unknown field `round`"));
        assert!(
            refused(&with("\"{streams}\"", "\"{stream}\""))
                .contains("no {stream}, expected one of")
        );
        assert!(
            refused(&with("alias = \"vllm.itl\"", "alias = \"vllm.gap\"")).contains("vllm.gap")
        );
        assert!(refused(&with("[honest]", "[honest]\nttft-ms = 4")).contains("ttft-ms"));
    }

    #[test]
    fn a_client_that_is_not_there_is_an_error() {
        let spec = parse(TEXT).unwrap();
        assert_eq!(spec.chosen(&["vllm".to_owned()]).unwrap().len(), 1);
        assert_eq!(spec.chosen(&[]).unwrap().len(), 6);
        assert!(spec.chosen(&["wrk".to_owned()]).unwrap_err().to_string().contains("wrk"));
    }
}
