//! The verdict of a gate that judges the engine alone.

use serde_json::json;

use super::Judgement;
use crate::kind::alone::{Alone, AloneSamples, Failure, Findings};
use crate::rule::{Rule, Word};
use crate::spec::Spec;
use crate::words::count;

/// Failures shown; the record keeps all of them.
const SHOWN: usize = 8;

pub(super) fn judge(spec: &Spec, samples: &AloneSamples) -> Judgement {
    let checks = spec.check.alone();
    let judged = checks.first().and_then(|check| Some((check, check.judge(samples)?)));
    match judged {
        Some((check, findings)) if findings.compared > 0 => verdict(check, findings),
        _ => {
            let reason = "nothing of this kind was collected: nothing was judged".to_owned();
            Judgement::bare(Word::Skipped, vec![Rule::Skip], reason, 0)
        }
    }
}

/// A failure outranks what could not be seen: it was seen.
fn verdict(check: &Alone<'_>, findings: Findings) -> Judgement {
    let Findings { compared, failures, unseen, summary, measurements } = findings;
    let (word, reason) = match (failures.first(), unseen) {
        (Some(first), _) => {
            let failed = count(failures.len(), "failure", "failures");
            (Word::Fail, format!("{summary}; {failed}, first {}", words(first)))
        }
        (None, Some(unseen)) => (Word::NotEstablished, format!("{unseen} ({summary})")),
        (None, None) => (Word::Pass, summary.clone()),
    };
    let mut judgement = Judgement::bare(word, Vec::new(), reason, compared);
    judgement.measurements = measurements;
    let value = |failure: &Failure| json!({ "case": failure.case, "what": failure.what });
    judgement.divergences = failures.iter().map(value).collect();
    judgement.report = vec![format!("{:<12} {summary}", check.name())];
    let shown = failures.iter().take(SHOWN).map(|failure| format!("  {}", words(failure)));
    judgement.report.extend(shown);
    if failures.len() > SHOWN {
        let more = format!("  and {} more, all in the record", failures.len() - SHOWN);
        judgement.report.push(more);
    }
    judgement
}

fn words(failure: &Failure) -> String {
    format!("{}: {}", failure.case, failure.what)
}
