//! The verdict of a gate that judges the engine alone.

use super::Judgement;
use crate::kind::alone::{Alone, AloneSamples, Findings};
use crate::rule::{Rule, Word};
use crate::spec::Spec;
use crate::words::count;

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
            (Word::Fail, format!("{summary}; {failed}, first {first}"))
        }
        (None, Some(unseen)) => (Word::NotEstablished, format!("{unseen} ({summary})")),
        (None, None) => (Word::Pass, summary.clone()),
    };
    let judgement = Judgement::bare(word, Vec::new(), reason, compared);
    judgement.with_findings(check.name(), &summary, measurements, Vec::new(), &failures)
}
