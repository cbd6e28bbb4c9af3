//! The validity rules, each one function with its id. All are asked and all that are broken are reported.

mod all;
mod consistency;
mod inside;
mod launch;
mod production;
mod scores;

pub use all::{all, builds};
pub use consistency::consistency;
pub use inside::sampled;
pub use launch::launch;
pub use production::{in_production, production};
pub use scores::scores;

use oracles::golden::{GoldenCheckpoint, GoldenManifest, Noise};
use oracles::registry::Standing;
use oracles::verbs::{Identity, Step};
use serde::{Deserialize, Serialize};

use crate::compare;
use crate::facts::{Asked, Build, EngineBuild, Pinned};
use crate::rule::Rule;
use crate::spec::{BandSource, GenerateSpec, NearTieCheck, StartupCheck};
use crate::subject::{FoundBy, Info, is_whole};

/// A broken rule, with what was expected, what was found, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// The sentence.
    pub reason: String,
}

#[expect(clippy::unnecessary_wraps, reason = "every rule answers an Option, and ends with this")]
fn violation(rule: Rule, reason: String) -> Option<Violation> {
    Some(Violation { rule, reason })
}

pub use records::short;

/// V-DIRTY: the binary carries the digest of the sources it was built from, and they must be this tree's.
///
/// `tree` is `None` outside a clone. A binary that was named by hand is not refused: its record says so and decides nothing.
pub fn dirty(engine: &EngineBuild) -> Option<Violation> {
    let EngineBuild { embedded, tree, found_by } = engine;
    if *found_by == FoundBy::Flag || tree.as_ref() == Some(embedded) {
        return None;
    }
    let reason = match tree {
        Some(tree) => format!(
            "the binary was not built from this tree: it embeds source digest {}, the tree has {}; \
             run `cargo build --release --package engine`, or name the binary with --plumb",
            short(embedded),
            short(tree)
        ),
        None => "there is no source tree here to compare the binary with: run inside the clone, or name the binary \
                 with --plumb"
            .to_owned(),
    };
    violation(Rule::Dirty, reason)
}

/// V-DIRTY: this program carries the digest of the sources it was built from, and they must be this tree's.
///
/// `tree` is `None` where there are no sources of a harness to compare with, as outside a clone.
pub fn harness(build: &Build) -> Option<Violation> {
    let Build { embedded, tree } = build;
    let tree = tree.as_ref()?;
    if embedded.as_ref() == Some(tree) {
        return None;
    }
    violation(
        Rule::Dirty,
        format!(
            "this `gate` was not built from this tree: it embeds harness digest {}, the tree has {}; run it as \
             `cargo gate`, which builds it",
            embedded.as_deref().map_or("none", short),
            short(tree)
        ),
    )
}

/// V-GOLDEN: what lies in the folder of a gate's golden was captured for that gate from that oracle.
pub fn golden(golden: &GoldenManifest, gate: &str, oracle: &str) -> Option<Violation> {
    if golden.gate == gate && golden.oracle.name == oracle {
        return None;
    }
    violation(
        Rule::Golden,
        format!(
            "the golden kept for {gate} was captured for gate {} from {}: {}",
            golden.gate,
            golden.oracle.name,
            mend_golden(gate)
        ),
    )
}

/// What to do about a golden that is not what was captured.
pub fn mend_golden(gate: &str) -> String {
    format!("restore it from version control, or capture it again with `gate capture {gate}`")
}

/// V-DIRTY: the binary names the same sources with the model loaded as without.
pub fn same_sources(first: &EngineBuild, loaded: &Info) -> Option<Violation> {
    if first.embedded == loaded.source_sha256 {
        return None;
    }
    violation(
        Rule::Dirty,
        format!(
            "the binary embeds source digest {} without a model and {} with one: was it replaced meanwhile?",
            short(&first.embedded),
            short(&loaded.source_sha256)
        ),
    )
}

/// V-PROFILE: a gate names the profile it judges, and that is the one in effect. Asked for is not run.
pub fn profile(named: Option<&str>, loaded: &Info) -> Option<Violation> {
    let named = named?;
    if loaded.profile.as_deref() == Some(named) {
        return None;
    }
    violation(
        Rule::Profile,
        format!(
            "the gate judges profile {named}, the engine says that it runs {}",
            loaded.profile.as_deref().unwrap_or("none")
        ),
    )
}

/// V-PIN: whoever answered was built from the pinned source package.
pub fn pin(identity: &Identity, oracle: &Pinned) -> Option<Violation> {
    let package = &oracle.declared.package;
    if identity.name == oracle.name
        && identity.version == package.version
        && identity.source_sha256 == package.archive_sha256
    {
        return None;
    }
    violation(
        Rule::Pin,
        format!(
            "pinned is {} {} (source {}), the answers are from {} {} (source {}): capture the golden again or \
             provision the pinned oracle",
            oracle.name,
            package.version,
            short(&package.archive_sha256),
            identity.name,
            identity.version,
            short(&identity.source_sha256)
        ),
    )
}

/// V-PIN: an oracle that can never bind, or may not judge yet, decides nothing.
pub fn standing(oracle: &Pinned) -> Option<Violation> {
    let debt = || {
        let debt = oracle.declared.gateable.debt.as_ref()?;
        violation(Rule::Pin, format!("oracle {} may not judge yet: {debt}", oracle.name))
    };
    identified(oracle).or_else(debt)
}

/// V-PIN: nothing is known of an oracle that runs elsewhere, and so nothing of what it says of itself binds.
pub fn identified(oracle: &Pinned) -> Option<Violation> {
    if oracle.declared.standing() != Standing::Directional {
        return None;
    }
    violation(
        Rule::Pin,
        format!(
            "oracle {} runs elsewhere and pins nothing: a comparison with it is directional at most",
            oracle.name
        ),
    )
}

/// V-CKPT: a golden was taken on the very bytes that the subject is given.
pub fn checkpoint(golden: &GoldenManifest, checkpoint: &GoldenCheckpoint) -> Option<Violation> {
    if golden.checkpoint.sha256 == checkpoint.sha256 {
        return None;
    }
    violation(
        Rule::Checkpoint,
        format!(
            "the golden was captured on {} with sha256 {}, here is {} with {}",
            golden.checkpoint.name,
            short(&golden.checkpoint.sha256),
            checkpoint.name,
            short(&checkpoint.sha256)
        ),
    )
}

/// V-CONTEND: nothing else kept the host busy just before any of the starts that are timed.
pub fn contended(
    check: &StartupCheck,
    busy: impl Iterator<Item = Option<f64>>,
) -> Option<Violation> {
    let allowed = f64::from(check.foreign_percent);
    let busiest =
        busy.enumerate().find(|(_, busy)| !busy.is_some_and(|busy| compare::within(busy, allowed)));
    let (index, busy) = busiest?;
    let busy = busy.map_or("unknown".to_owned(), |busy| format!("{busy:.0} %"));
    violation(
        Rule::Contend,
        format!(
            "the host's load just before start {} was {busy}, {allowed} % are allowed: run it on a quiet host",
            index + 1
        ),
    )
}

/// V-WORKLOAD: a golden answered these very inputs.
pub fn workload(golden: &GoldenManifest, asked: &Asked) -> Option<Violation> {
    if golden.prompts_sha256 == asked.sha256 {
        return None;
    }
    violation(
        Rule::Workload,
        format!(
            "the golden answered inputs with sha256 {}, the spec's inputs have {}: capture it again",
            short(&golden.prompts_sha256),
            short(&asked.sha256)
        ),
    )
}

/// V-WORKLOAD: every case has exactly one reference answer.
pub fn cases(answered: &[&str], asked: &Asked) -> Option<Violation> {
    let asked: Vec<&str> = asked.cases.iter().map(String::as_str).collect();
    if asked == answered {
        return None;
    }
    let missing: Vec<&str> = asked.iter().filter(|id| !answered.contains(*id)).copied().collect();
    violation(
        Rule::Workload,
        format!(
            "{} cases were asked and {} answered by the oracle (missing: {})",
            asked.len(),
            answered.len(),
            if missing.is_empty() {
                "none, the order differs".to_owned()
            } else {
                missing.join(", ")
            }
        ),
    )
}

/// V-COUNT: a reference answer has all its tokens, its choice is the first of its ranking, and its numbers are numbers.
pub fn count(
    reference: &oracles::golden::GoldenCase,
    generate: &GenerateSpec,
) -> Option<Violation> {
    let (asked, found) = (generate.max_tokens.0 as usize, reference.ids.len());
    let reason = if !is_whole(reference.finish_reason, found, asked) {
        format!("has {found} tokens where {asked} were asked for")
    } else if reference.steps.len() != found {
        format!("has {} steps for {found} tokens", reference.steps.len())
    } else if reference.steps.iter().all(|step| step.top.is_empty()) {
        "has no ranking at all".to_owned()
    } else {
        let window = generate.top_logprobs.0;
        let mut steps = reference.steps.iter().zip(&reference.ids);
        let step = steps.position(|(step, id)| !is_greedy_step(step, *id, window))?;
        format!(
            "has no usable ranking at token {step}: expected {window} finite log-probabilities, its own token's the largest"
        )
    };
    violation(Rule::Count, format!("the oracle's answer to {} {reason}", reference.id))
}

fn is_greedy_step(step: &Step, id: u32, window: usize) -> bool {
    if step.logprob.is_none() && step.top.is_empty() {
        // Not reported, hence no ranking: a divergence here can only fail.
        return step.id == id;
    }
    let finite = compare::all_finite(step.top.iter().map(|entry| f64::from(entry.1)));
    let best = step.top.first().map(|entry| f64::from(entry.1));
    let chosen = step.top.iter().find(|entry| entry.0 == id).map(|entry| f64::from(entry.1));
    match (best, chosen) {
        (Some(best), Some(chosen)) => {
            finite
                && step.top.len() == window
                && step.id == id
                && compare::within(best - chosen, 0.0)
        }
        _ => false,
    }
}

/// V-BAND: a band that cites the oracle's noise is not wider than the noise that was measured.
pub fn band(check: &NearTieCheck, noise: Option<&Noise>) -> Option<Violation> {
    if check.source != BandSource::OracleNoise {
        return None;
    }
    match noise.map(|noise| noise.logprob_difference_max_mnats) {
        Some(noise) if compare::within(check.band_mnats.0, noise) => None,
        Some(noise) => violation(
            Rule::Band,
            format!(
                "the band of {} milli-nats is wider than the oracle's own spread of {noise:.3} that it cites",
                check.band_mnats.0
            ),
        ),
        None => violation(
            Rule::Band,
            "the band cites the oracle's own spread, and no golden has measured it: run `gate capture`".to_owned(),
        ),
    }
}
