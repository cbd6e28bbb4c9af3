//! What a page about a run needs and only the judge knows: the verdict derived once more, every rule with its inputs, the cases.
//!
//! Nothing here decides anything. The rules are asked by the functions that voided the run, the word comes from the judge, and
//! what a record says otherwise is told before any word.

mod cases;
mod order;
mod rules;

use records::record::Record;
use records::review::page::{Cell, Table};
use records::review::run::Findings;
use records::store::{External, Store};

use crate::evidence::EvidenceError;
use crate::judge::{self, Asked, Judgement};
use crate::kind;
use crate::recheck::{self, Again, RecheckError};
use crate::rule::Word;
use crate::samples::Samples;
use crate::spec::Spec;

/// Asks the judge again, with the evidence of `record` alone.
pub fn findings(store: &Store, record: &Record) -> Result<Findings, RecheckError> {
    let again = match recheck::judged_again(store, record) {
        Ok(again) => again,
        Err(RecheckError::Evidence(EvidenceError::Missing { name, .. })) => {
            return Ok(underived(record, name));
        }
        Err(error) => return Err(error),
    };
    let differences = again.compared(record).differences;
    let Again { kept, spec, judgement } = again;
    let mut findings = Findings {
        asked: spec.summary.clone(),
        next: next(record, &spec, &judgement),
        rules: rules::asked(&spec, &kept.facts, &kept.collected),
        order: order::order(&judgement, &kept.collected),
        checks: Some(checks(&spec)),
        report: judgement.report.clone(),
        differences,
        ..Findings::default()
    };
    match &kept.collected {
        Ok(Samples::Generations(samples)) => {
            findings.cases = Some(cases::generations(samples, spec.check.near_tie.as_ref()));
        }
        Ok(Samples::Logits(chunks)) => findings.distribution = Some(cases::positions(chunks)),
        _ => {}
    }
    Ok(findings)
}

/// Of a record that was written before its evidence was kept.
fn underived(record: &Record, name: &str) -> Findings {
    Findings {
        underived: Some(format!(
            "This record keeps no {name}: it was written before verdicts could be derived again. The word is what was \
             recorded then."
        )),
        next: format!("`cargo gate run {}` leaves a record that can be derived again", record.gate),
        ..Findings::default()
    }
}

/// Of a record some of whose evidence lies outside git, and not on this machine.
pub fn absent(store: &Store, names: &[String]) -> Findings {
    let names = names.join(", ");
    let folder = store.external().map_or(store.dir(), External::path).display();
    Findings {
        underived: Some(format!(
            "Not on this machine: {names}. Nothing was derived again; the word is what was recorded."
        )),
        next: format!("with {names} under its SHA-256 in {folder} the page derives the word again"),
        ..Findings::default()
    }
}

/// What would change the word; of a pass, what would make it lapse or turn.
fn next(record: &Record, spec: &Spec, judgement: &Judgement) -> String {
    let asked = if spec.asks_engine() { Asked::Engine } else { Asked::Oracle };
    if let Some(next) = judge::next(&record.gate, asked, judgement) {
        return next;
    }
    let turns = match (&spec.check.near_tie, &spec.check.logits) {
        (Some(check), _) => format!(
            "One case that parts from the oracle by more than {} milli-nats turns it to FAIL; ",
            check.band_mnats.0
        ),
        (None, Some(_)) => "A mean divergence, a share of equal choices or a rank beyond its bound turns it to FAIL; ".to_owned(),
        (None, None) => "One difference beyond the bounds of the spec turns it to FAIL; ".to_owned(),
    };
    let pins = if record.oracle.is_some() {
        "sources, spec, checkpoint, oracle or golden"
    } else {
        "sources, spec or checkpoint"
    };
    format!("{turns}a change of {pins} lets it lapse until the gate is run again.")
}

/// What each kind compares, with its bounds.
fn checks(spec: &Spec) -> Table {
    let mut table = Table::new(
        "What is compared, and within which bounds",
        &["kind", "what passes", "because"],
    );
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (kind, text) in kind::explain(spec) {
        // A kind with several bounds gives each its own reason, in its place.
        let single = Some(&text).filter(|text| text.matches("because:").count() == 1);
        let (passes, because) =
            single.and_then(|text| text.split_once("because:")).unwrap_or((&text, "–"));
        table.rows.push(vec![Cell::code(kind), Cell::new(line(passes)), Cell::new(line(because))]);
    }
    table
}

/// The word as the order of questions gives it.
fn is(judgement: &Judgement, word: Word) -> bool {
    judgement.word == word
}
