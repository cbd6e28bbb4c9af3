//! The verdict of a gate that looks inside the model.

use serde_json::json;

use super::Judgement;
use crate::kind::alone::Failure;
use crate::kind::inside::{InsideFindings, InsideSamples};
use crate::rule::{Rule, Word};
use crate::spec::Spec;
use crate::words::count;

/// Failures shown; the record keeps all of them.
const SHOWN: usize = 8;

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
    let failures = &findings.failures;
    let (word, reason) = match failures.first() {
        Some(first) => {
            let failed = count(failures.len(), "failure", "failures");
            (Word::Fail, format!("{} ({failed}; {})", words(first), findings.summary))
        }
        None => (Word::Pass, findings.summary.clone()),
    };
    let mut judgement = Judgement::bare(word, Vec::new(), reason, findings.compared.max(1));
    judgement.measurements = findings.measurements;
    let value = |failure: &Failure| json!({ "case": failure.case, "what": failure.what });
    judgement.divergences = failures.iter().map(value).collect();
    judgement.report = vec![format!("{kind:<12} {}", findings.summary)];
    judgement.report.extend(table);
    judgement
        .report
        .extend(failures.iter().take(SHOWN).map(|failure| format!("  {}", words(failure))));
    if failures.len() > SHOWN {
        let more = format!("  and {} more, all in the record", failures.len() - SHOWN);
        judgement.report.push(more);
    }
    judgement
}

fn words(failure: &Failure) -> String {
    format!("{}: {}", failure.case, failure.what)
}
