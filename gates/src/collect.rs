//! The runner: asks both sides and keeps what they answer. It decides no verdict.

mod alone;
mod consistency;
mod generations;
mod inside;
mod logits;
mod texts;

pub use generations::{prompt, request};
pub use inside::{questions, questions_sha256};
pub use logits::text;
pub use texts::text_prompt;

use std::time::Instant;

use oracles::checkpoint::{Checkpoint, CheckpointError, HubError};
use oracles::golden::Golden;
use oracles::launch::LaunchError;
use oracles::package::PackageError;
use oracles::registry::OracleSpec;
use oracles::verbs::Oracle;
use records::record::OracleSource;

use crate::bench::{Bench, Circumstances, ReferenceInfo};
use crate::chain;
use crate::facts::{AnsweringGolden, Answers, Asked, Pinned};
use crate::judge::Trouble;
use crate::rule::Rule;
use crate::samples::Samples;
use crate::spec::Corpus;
use crate::subject::SubjectError;
use crate::supplies::Wanted;
use crate::validity::{self, Violation};

/// Who answers for the oracle.
pub enum Reference {
    /// A running oracle, with its golden where there is one (it holds the measured noise).
    Live(Box<dyn Oracle>, Option<Golden>),
    /// Answers of an earlier day.
    Golden(Golden),
}

/// Collects all samples of a gate. What is learnt on the way stands in `circumstances`, whatever happens.
pub fn collect(bench: &Bench<'_>, circumstances: &mut Circumstances) -> Result<Samples, Trouble> {
    circumstances.facts = bench.facts.clone();
    circumstances.facts.oracle = bench.oracle.map(Pinned::from);
    circumstances.facts.asked = bench.workload.map(Asked::from);
    if let Some(refusal) = validity::builds(&circumstances.facts).into_iter().next() {
        return Err(Trouble::Void(refusal));
    }
    if let Some(check) = bench.gate.spec.check.alone().first() {
        return alone::collect(bench, check, circumstances);
    }
    if let Some(check) = &bench.gate.spec.check.logits {
        return logits::collect(bench, check, circumstances);
    }
    if let Some(check) = &bench.gate.spec.check.oracle_consistency {
        return consistency::collect(bench, check, circumstances);
    }
    if let Some(check) = bench.gate.spec.check.inside().first() {
        return inside::collect(bench, check, circumstances);
    }
    match &bench.gate.spec.check.tokenizer {
        Some(check) if check.corpus == Corpus::OracleVocabularies => {
            texts::vocabularies(bench, check, circumstances)
        }
        Some(check) => texts::inputs(bench, check, circumstances),
        None => generations::collect(bench, circumstances),
    }
}

/// The checkpoint; a wrong hash voids, an absent one skips.
pub fn checkpoint(
    bench: &Bench<'_>,
    circumstances: &mut Circumstances,
) -> Result<Checkpoint, Trouble> {
    // `spec::parse` demands the key for every kind that comes here.
    let name = bench.gate.spec.checkpoint.as_deref().unwrap_or_default();
    let checkpoint = bench.supplies.checkpoint(name).map_err(|error| trouble(&error))?;
    circumstances.facts.given(&checkpoint);
    circumstances.checkpoint = Some(checkpoint.clone());
    Ok(checkpoint)
}

/// What the engine says of itself with the checkpoint loaded; it owes an answer to `owed` cases.
fn engine(
    bench: &Bench<'_>,
    checkpoint: &Checkpoint,
    owed: usize,
    circumstances: &mut Circumstances,
) -> Result<(), Trouble> {
    let info = bench.subject.info(Some(&checkpoint.path)).map_err(unanswered(owed))?;
    circumstances.facts.loaded = Some(info);
    Ok(())
}

/// Keeps whose answers are compared with.
fn answered_by(reference: ReferenceInfo, circumstances: &mut Circumstances) {
    circumstances.facts.answered_by = Some(reference.identity.clone());
    circumstances.facts.answers = Some(Answers::from(&reference));
    circumstances.facts.noise.clone_from(&reference.noise);
    circumstances.reference = Some(reference);
}

/// The oracle, if it may judge: nothing that another one answers could count, so none is launched.
fn judging<'a>(bench: &'a Bench<'_>) -> Result<&'a OracleSpec, Trouble> {
    let pinned = bench.pinned()?;
    match validity::standing(&Pinned::from(pinned)) {
        Some(violation) => Err(Trouble::Void(violation)),
        None => Ok(pinned),
    }
}

/// The live oracle or its golden.
pub fn reference(
    bench: &Bench<'_>,
    checkpoint: &Checkpoint,
    circumstances: &mut Circumstances,
) -> Result<Reference, Trouble> {
    let pinned = judging(bench)?;
    let reference = choose(bench, pinned, checkpoint)?;
    let golden = match &reference {
        Reference::Live(_, golden) => golden.as_ref(),
        Reference::Golden(golden) => Some(golden),
    };
    let noise = golden.and_then(|golden| golden.manifest.noise.clone());
    // Beside a live oracle a golden without noise says nothing.
    let named = matches!(reference, Reference::Golden(_)) || noise.is_some();
    let golden_sha256 = golden.filter(|_| named).map(|golden| golden.sha256.clone());
    let (source, captured_at, identity) = match &reference {
        Reference::Live(oracle, _) => (OracleSource::Live, None, oracle.identity().clone()),
        Reference::Golden(Golden { manifest, cases, .. }) => {
            circumstances.facts.golden = Some(AnsweringGolden {
                manifest: manifest.clone(),
                cases: cases.iter().map(|case| case.id.clone()).collect(),
            });
            let captured_at = Some(manifest.captured_at.clone());
            (OracleSource::Golden, captured_at, manifest.oracle.clone())
        }
    };
    let info = ReferenceInfo { source, captured_at, identity, golden_sha256, noise };
    answered_by(info, circumstances);
    Ok(reference)
}

fn choose(
    bench: &Bench<'_>,
    pinned: &OracleSpec,
    checkpoint: &Checkpoint,
) -> Result<Reference, Trouble> {
    let golden = || bench.supplies.golden().map_err(|error| golden_trouble(bench, &error));
    if bench.wanted != Wanted::Golden {
        let provision = bench.wanted == Wanted::Live;
        let oracle = bench.supplies.oracle(checkpoint, provision);
        if let Some(oracle) = oracle.map_err(|error| trouble(&error))? {
            return Ok(Reference::Live(oracle, golden()?));
        }
    }
    match golden()? {
        Some(golden) => Ok(Reference::Golden(golden)),
        None => Err(Trouble::Skip(without_golden(bench, pinned))),
    }
}

/// A golden that is there and cannot be used, whatever is wrong with it.
fn golden_trouble(bench: &Bench<'_>, error: &oracles::Error) -> Trouble {
    let mend = validity::mend_golden(&bench.gate.name);
    let reason = format!("{}; {mend}", chain::of(error));
    Trouble::Void(Violation { rule: Rule::Golden, reason })
}

/// What to do without a golden.
fn without_golden(bench: &Bench<'_>, pinned: &OracleSpec) -> String {
    let (oracle, gate) = (&pinned.name, &bench.gate.name);
    if bench.wanted == Wanted::Golden {
        return format!("there is no golden of {oracle} for this gate: `gate capture {gate}`");
    }
    format!(
        "there is no golden of {oracle} for this gate, and {oracle} is not provisioned: `gate oracle provision {oracle}`, \
         or `gate run {gate} --live`"
    )
}

/// What an error of the oracles' side means for the run.
pub fn trouble(error: &oracles::Error) -> Trouble {
    use oracles::Error;
    let reason = chain::of(error);
    match error {
        Error::Golden(_) => Trouble::Void(Violation { rule: Rule::Golden, reason }),
        Error::Checkpoint(
            CheckpointError::Hash { .. }
            | CheckpointError::Bytes { .. }
            | CheckpointError::Hub(HubError::Pin { .. })
            | CheckpointError::Package(PackageError::Hash { .. }),
        ) => Trouble::Void(Violation { rule: Rule::Checkpoint, reason }),
        Error::Launch(LaunchError::Contradiction { .. }) => {
            Trouble::Void(Violation { rule: Rule::Pin, reason })
        }
        // Nothing was asked: something is not here, or the pair cannot work.
        Error::Launch(LaunchError::Checkpoint { .. })
        | Error::Checkpoint(_)
        | Error::Spec(_)
        | Error::Home(_) => Trouble::Skip(reason),
        Error::Provision(_) | Error::Launch(_) | Error::Verb(_) | Error::Place(_) => {
            Trouble::NotEstablished(reason)
        }
    }
}

/// The subject owes an answer to `asked` cases.
pub fn unanswered(asked: usize) -> impl Fn(SubjectError) -> Trouble {
    move |error| Trouble::Subject { asked: asked as u64, reason: chain::of(&error) }
}

/// Milliseconds since `started`.
pub fn elapsed_ms(started: Instant) -> u64 {
    started.elapsed().as_millis() as u64
}
