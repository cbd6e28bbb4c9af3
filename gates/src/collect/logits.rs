//! Collecting whole distributions: the oracle's along the text of the inputs, then the subject's on the same ids.

use std::time::Instant;

use oracles::verbs::{Oracle, ScoredChunk};

use super::{Reference, checkpoint, elapsed_ms, engine, reference, trouble, unanswered};
use crate::bench::{Bench, Circumstances};
use crate::judge::Trouble;
use crate::kind::logits::{self, LogitChunk};
use crate::samples::Samples;
use crate::spec::LogitsCheck;
use crate::subject::{Defect, SubjectError};
use crate::validity;
use crate::workload::{Input, Workload};

/// The value that both sides are compared in.
const TAP: &str = "logits";

pub(super) fn collect(
    bench: &Bench<'_>,
    check: &LogitsCheck,
    circumstances: &mut Circumstances,
) -> Result<Samples, Trouble> {
    let Some(workload) = bench.workload else {
        return Err(Trouble::Skip("the gate has no inputs".to_owned()));
    };
    let checkpoint = checkpoint(bench, circumstances)?;
    let Reference::Live(mut oracle, _) = reference(bench, &checkpoint, circumstances)? else {
        let reason = "a golden keeps no whole distributions, and the oracle is not provisioned";
        return Err(Trouble::Skip(reason.to_owned()));
    };
    let started = Instant::now();
    let scored = score(oracle.as_mut(), workload, check)?;
    circumstances.oracle_ms = Some(elapsed_ms(started));
    circumstances.facts.found.extend(validity::scores(&scored, check.context.0 as usize));
    // What it holds in memory is not needed any more.
    drop(oracle);
    let started = Instant::now();
    let owed = scored.iter().map(|chunk| chunk.rows.len()).sum();
    engine(bench, &checkpoint, owed, circumstances)?;
    let mut stage = bench.progress.steps("plumb dump", Some(scored.len() as u64));
    let mut chunks = Vec::with_capacity(scored.len());
    for scored in &scored {
        crate::interrupt::check().map_err(|_| Trouble::NotEstablished("interrupted".to_owned()))?;
        let chunk = ask(bench, &checkpoint.path, scored).map_err(unanswered(owed))?;
        chunks.push(chunk);
        stage.advance(1);
    }
    circumstances.subject_ms = Some(elapsed_ms(started));
    Ok(Samples::Logits(chunks))
}

fn score(
    oracle: &mut dyn Oracle,
    workload: &Workload,
    check: &LogitsCheck,
) -> Result<Vec<ScoredChunk>, Trouble> {
    let scored = oracle.score(&text(workload), check.context.0 as usize);
    let scored = scored.map_err(|error| trouble(&error.into()))?;
    if scored.is_empty() {
        let context = check.context.0;
        let reason = format!("the inputs' text fills no chunk of {context} tokens");
        return Err(Trouble::Skip(reason));
    }
    Ok(scored)
}

/// The texts of the inputs, one behind the other. Conversations are left out: their ids depend on a template.
pub fn text(workload: &Workload) -> String {
    let texts = workload.cases.iter().filter_map(|case| match &case.input {
        Input::Text { text, .. } => Some(text.as_str()),
        Input::Messages(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The subject's answer to one chunk.
fn ask(
    bench: &Bench<'_>,
    model: &std::path::Path,
    scored: &ScoredChunk,
) -> Result<LogitChunk, SubjectError> {
    let dump = bench.subject.dump(model, &scored.ids, &[TAP])?;
    let missing = || Defect::Unreadable(format!("its dump holds no {TAP}"));
    let tapped = dump.and_then(|mut values| values.remove(TAP).ok_or_else(missing));
    Ok(logits::chunk(scored, tapped))
}
