//! The verdict of a gate that looks inside the model.

use super::Judgement;
use crate::kind::alone::Findings;
use crate::kind::inside::{InsideFindings, InsideSamples};
use crate::rule::{Rule, Word};
use crate::spec::Spec;
use crate::words::count;

pub(super) fn judge(spec: &Spec, samples: &InsideSamples) -> Judgement {
    let checks = spec.check.inside();
    let judged = checks.first().and_then(|check| Some((check.name(), check.judge(samples)?)));
    match judged {
        Some((kind, found))
            if found.findings.compared > 0 || !found.findings.failures.is_empty() =>
        {
            verdict(kind, found)
        }
        _ => {
            let reason = "nothing of this kind was collected: nothing was judged".to_owned();
            Judgement::bare(Word::Skipped, vec![Rule::Skip], reason, 0)
        }
    }
}

fn verdict(kind: &str, InsideFindings { findings, table }: InsideFindings) -> Judgement {
    let Findings { compared, failures, summary, measurements, .. } = findings;
    let (word, reason) = match failures.first() {
        Some(first) => {
            let failed = count(failures.len(), "failure", "failures");
            (Word::Fail, format!("{first} ({failed}; {summary})"))
        }
        None => (Word::Pass, summary.clone()),
    };
    let judgement = Judgement::bare(word, Vec::new(), reason, compared.max(1));
    judgement.with_findings(kind, &summary, measurements, table, &failures)
}
