//! A series goes on record: its words, and the evidence that every one of them follows from again.
//!
//! | evidence | what it is |
//! |---|---|
//! | `spec.toml` | the grid as its file declares it |
//! | `plan.json` | what was fixed before the first run |
//! | `outcomes.json.gz` | what became of each leg |
//! | `machines.json` | where the legs ran |
//! | `arms.json` | who the arms are |
//! | `correct.json` | the certificates of our arms, or what stands against them |
//! | `answers.json` | how far arms answered the same |
//! | `report.json` | the words |
//! | `requests.json.gz` | every request of every leg that was begun |
//! | `around.json.gz` | clocks and power around every such leg |
//!
//! A series is recorded once. Outcomes are never changed, but skipped legs may come to be run, and gates that were owed may come to pass
//! or to fail; then another record supersedes the first.

use std::collections::BTreeMap;
use std::path::Path;

use records::record::{CheckpointRef, SCHEMA_VERSION, Series, Subject};
use records::sampled::{AROUND, REQUESTS};
use records::{CellVerdict, Machine, Medians, RatioInterval, Record, Store, StoreError, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::arm;
use crate::conduct::samples::Samples;
use crate::correct::{Agreement, Correctness};
use crate::recheck::Kept;
use crate::series::{
    self, Clients, Comparison, Hosts, Known, KnownArms, Lock, LockError, Outcomes, Plan,
};
use crate::spec;
use crate::statistics::median;
use crate::verdict::{self, Compared, Judged, Report, Word, text};

/// The evidence of plans whose client was held against the truth.
pub(crate) const CLIENT: &str = "client.json";
/// The evidence that is compressed.
pub(crate) const OUTCOMES: &str = "outcomes.json.gz";

/// How far two arms answered the same at one cell.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellAnswers {
    /// The cell.
    pub cell: String,
    /// The arms.
    pub comparison: Comparison,
    /// What was compared.
    pub agreement: Agreement,
}

/// Everything that a record of a series is made of.
pub struct Finished<'a> {
    /// The spec's text.
    pub spec: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// What became of its legs.
    pub outcomes: &'a Outcomes,
    /// Where they ran.
    pub hosts: &'a Hosts,
    /// SHA-256 of the program that conducted it.
    pub harness_sha256: &'a str,
    /// Who the arms are.
    pub arms: &'a KnownArms,
    /// What ours have to show.
    pub correctness: &'a Correctness,
    /// What the client was good for.
    pub clients: &'a Clients,
    /// How far they answered the same.
    pub answers: &'a [CellAnswers],
    /// The words.
    pub report: &'a Report,
    /// Request by request, and the machine around the legs. No word rests on them.
    pub samples: &'a Samples,
    /// The command that repeats it.
    pub reproduce: String,
}

/// A series that cannot go on record.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Evidence has no JSON form.
    #[error("{name} cannot be written as JSON")]
    Json {
        /// The evidence.
        name: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Somebody else records it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No machine is known that ran it.
    #[error("nothing says on which machine the legs ran")]
    NoMachine,
    /// A series without an arm of ours has no subject.
    #[error("arm {arm} was never started: nothing to record")]
    NoSubject {
        /// The arm that is judged.
        arm: String,
    },
}

/// What became of a series that was to go on record.
#[derive(Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is on record now, by this id.
    Now(String),
    /// These outcomes were on record already, by this id.
    Before(String),
}

/// Writes the record of a series, unless these outcomes and words are on record. `folder` is the series', locked meanwhile.
pub fn record(
    store: &Store,
    folder: &Path,
    finished: &Finished<'_>,
) -> Result<Recorded, RecordingError> {
    let Finished { plan, report, .. } = finished;
    let _lock = Lock::take(&folder.join("recording.lock"), &format!("grid {}", plan.grid))?;
    let earlier = earlier(store, finished)?;
    if let Some(same) = earlier.iter().find(|kept| kept.is_same(finished)) {
        return Ok(Recorded::Before(same.id.clone()));
    }
    let outcomes = json(OUTCOMES, finished.outcomes)?;
    let mut draft = store.begin(&plan.grid)?;
    draft.evidence("spec.toml", finished.spec.as_bytes())?;
    draft.evidence("plan.json", json("plan.json", plan)?.as_bytes())?;
    draft.content(OUTCOMES, outcomes.as_bytes())?;
    draft.evidence("machines.json", json("machines.json", finished.hosts)?.as_bytes())?;
    draft.evidence("arms.json", json("arms.json", finished.arms)?.as_bytes())?;
    draft.evidence("correct.json", json("correct.json", finished.correctness)?.as_bytes())?;
    draft.evidence("answers.json", json("answers.json", &finished.answers)?.as_bytes())?;
    if plan.client.is_some() {
        draft.evidence(CLIENT, json(CLIENT, finished.clients)?.as_bytes())?;
    }
    draft.evidence("report.json", json("report.json", report)?.as_bytes())?;
    let Samples { requests, around } = finished.samples;
    draft.content(REQUESTS, json(REQUESTS, requests)?.as_bytes())?;
    draft.content(AROUND, json(AROUND, around)?.as_bytes())?;
    let supersedes = earlier.into_iter().map(|kept| kept.id).max();
    let path = draft.commit(Record { supersedes, ..assembled(finished)? })?;
    let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Recorded::Now(id))
}

/// What is on record of a series already.
struct Earlier {
    id: String,
    outcomes: Outcomes,
    report: Report,
}

impl Earlier {
    /// It says the same of the same.
    fn is_same(&self, finished: &Finished<'_>) -> bool {
        self.outcomes == *finished.outcomes && self.report == *finished.report
    }
}

/// The records of this very series; ids are in the order of time. They are asked for their outcomes, so that a record is known whoever
/// wrote it and whenever its writer was killed: another series of the same plan shares no run with this one. Of a record whose evidence
/// cannot be read nothing is known.
fn earlier(store: &Store, finished: &Finished<'_>) -> Result<Vec<Earlier>, StoreError> {
    let plan_sha256 = &finished.report.plan_sha256;
    let of_plan = |record: &Record| {
        record.series.as_ref().is_some_and(|series| series.plan_sha256 == *plan_sha256)
    };
    let kept = store.read_all()?.into_iter().filter(of_plan).filter_map(|record| {
        let kept = Kept { store, record: &record };
        let (outcomes, report) = (kept.json(OUTCOMES).ok()?, kept.json("report.json").ok()?);
        Some(Earlier { id: record.id.clone(), outcomes, report })
    });
    let shares_a_run = |kept: &Earlier| {
        kept.outcomes.iter().any(|(leg, outcome)| {
            outcome.was_begun() && finished.outcomes.get(leg) == Some(outcome)
        })
    };
    Ok(kept.filter(shares_a_run).collect())
}

/// The record of a series; the store fills in what it knows.
pub fn assembled(finished: &Finished<'_>) -> Result<Record, RecordingError> {
    let Finished { plan, report, arms, .. } = finished;
    let judged = plan.comparisons.first().map_or("", |comparison| &comparison.subject);
    let known = arms.get(judged);
    let known = known.ok_or_else(|| RecordingError::NoSubject { arm: judged.to_owned() })?;
    let machines = machines(finished);
    let machine = machines.first().cloned().ok_or(RecordingError::NoMachine)?;
    let is_compared = |verdict: &&verdict::Verdict| matches!(verdict.judged, Judged::Compared(_));
    let compared = report.verdicts.iter().filter(is_compared).count() as u64;
    Ok(Record {
        schema_version: SCHEMA_VERSION,
        id: String::new(),
        gate: plan.grid.clone(),
        kinds: vec!["grid".to_owned()],
        spec_sha256: plan.spec_sha256.clone(),
        started_at: records::Timestamp::UNIX_EPOCH,
        duration_ms: duration_ms(finished.outcomes),
        subject: subject(judged, known, plan),
        oracle: None,
        checkpoint: Some(CheckpointRef {
            name: known.checkpoint.clone(),
            sha256: known.checkpoint_sha256.clone(),
        }),
        inputs_sha256: None,
        harness_sha256: Some(finished.harness_sha256.to_owned()),
        machine,
        verdict: whole(report),
        compared,
        measurements: Vec::new(),
        divergences: Vec::new(),
        evidence: Vec::new(),
        reproduce: finished.reproduce.clone(),
        supersedes: None,
        resumed_answers: None,
        series: Some(Series {
            plan_sha256: report.plan_sha256.clone(),
            arms: arms.iter().map(|(name, known)| (name.clone(), known.identity.clone())).collect(),
            machines,
            pairs: plan.pairs() as u64,
            is_as_declared: is_as_declared(finished.spec, plan, arms),
            cells: cells(finished),
        }),
    })
}

/// The machines that ran a leg, in the order of the plan; one that the folder does not know is not among them.
fn machines(finished: &Finished<'_>) -> Vec<Machine> {
    let mut names: Vec<&str> = Vec::new();
    for outcome in finished.plan.legs.iter().filter_map(|leg| finished.outcomes.get(&leg.id)) {
        if outcome.was_begun() && !names.contains(&outcome.machine.as_str()) {
            names.push(&outcome.machine);
        }
    }
    let known = |name: &str| finished.hosts.get(name).map(|host| host.machine.clone());
    names.into_iter().filter_map(known).collect()
}

/// The gravest word of all, the rules of all, and how often each word was said.
fn whole(report: &Report) -> Verdict {
    let mut rules: Vec<String> = report
        .verdicts
        .iter()
        .flat_map(verdict::Verdict::rules)
        .map(|rule| rule.id().to_owned())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    let said = |word: Word| report.verdicts.iter().filter(|v| v.word() == word).count();
    let counts = Word::ALL.into_iter().map(|word| (word, said(word)));
    let counts: Vec<String> =
        counts.filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
    let (words, all) = (report.verdicts.len(), report.tests);
    let of_all = if words == all { String::new() } else { format!(" of {all}") };
    let reason = format!("{words} words{of_all}: {}", counts.join(", "));
    Verdict { word: report.word().recorded(), rules, reason }
}

fn cells(finished: &Finished<'_>) -> Vec<CellVerdict> {
    let concurrency: BTreeMap<&str, u32> =
        finished.plan.cells.iter().map(|cell| (cell.id.as_str(), cell.concurrency)).collect();
    let cell = |verdict: &verdict::Verdict| {
        let compared = match &verdict.judged {
            Judged::Compared(compared) => Some(&**compared),
            Judged::Void(_) | Judged::Skipped(_) | Judged::Unestimated(_) => None,
        };
        let answers = finished.answers.iter().find(|answers| {
            answers.cell == verdict.cell && answers.comparison == verdict.comparison
        });
        CellVerdict {
            cell: verdict.cell.clone(),
            concurrency: concurrency.get(verdict.cell.as_str()).copied().unwrap_or(0),
            subject: verdict.comparison.subject.clone(),
            reference: verdict.comparison.reference.clone(),
            metric: verdict.metric.clone(),
            word: verdict.word().name().to_owned(),
            ratio: compared.and_then(ratio),
            medians: compared.and_then(medians),
            answers: answers.map(|answers| answers.agreement.text()),
            rules: verdict.rules().iter().map(|rule| rule.id().to_owned()).collect(),
            reason: text::line(verdict),
        }
    };
    finished.report.verdicts.iter().map(cell).collect()
}

/// The estimate with the interval that decides; `None` where that interval does not hold the estimate, as when cycles and time say
/// another thing.
fn ratio(compared: &Compared) -> Option<RatioInterval> {
    let (low, high) = (compared.deciding.lower.exp(), compared.deciding.upper.exp());
    let estimate = compared.ratio();
    let is_interval = low <= estimate && estimate <= high && high.is_finite() && low > 0.0;
    is_interval.then_some(RatioInterval { estimate, low, high })
}

fn medians(compared: &Compared) -> Option<Medians> {
    let (reference, subject): (Vec<f64>, Vec<f64>) =
        compared.described.values.iter().copied().unzip();
    Some(Medians { subject: median(&subject)?, reference: median(&reference)? })
}

/// The engine as it described itself; what an oracle as subject does not say stays empty.
fn subject(name: &str, known: &Known, plan: &Plan) -> Subject {
    let info = known.identity.get("info").unwrap_or(&known.identity);
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    Subject {
        name: name.to_owned(),
        version: text(info, "version"),
        commit: info.get("commit").and_then(Value::as_str).map(str::to_owned),
        source_sha256: text(info, "source_sha256"),
        binary_sha256: text(&known.identity, "binary_sha256"),
        profile: text(info, "profile"),
        threads: plan.launch.threads.0,
        info: info.clone(),
    }
}

/// Whether a series is the one that its spec declares: its plan is the spec's, and no engine of ours was named by hand.
fn is_as_declared(spec: &str, plan: &Plan, arms: &KnownArms) -> bool {
    let declared = spec::named(&plan.grid, spec.to_owned(), Path::new(&plan.grid));
    let is_by_hand = |known: &Known| known.identity.get("info").is_some_and(arm::is_by_hand);
    // Whether the client was held against the truth is the program's doing, not the spec's.
    let built = declared.map(|spec| Plan { client: plan.client, ..series::build(&spec) });
    built.is_ok_and(|built| built == *plan) && !arms.values().any(is_by_hand)
}

/// From the first leg to the beginning of the last.
fn duration_ms(outcomes: &Outcomes) -> u64 {
    let times = outcomes.values().map(|outcome| outcome.at_s);
    (1e3 * times.fold(0.0, f64::max)) as u64
}

fn json(name: &'static str, value: &impl Serialize) -> Result<String, RecordingError> {
    records::canonical::canonical_json(value)
        .map_err(|source| RecordingError::Json { name, source })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::recheck::{RecheckError, recheck};
    use crate::rule::{Rule, Violation};
    use crate::series::Host;
    use crate::verdict::fixture::{self, AB, Ab, Model, ab, ab_text, simulate};

    /// A series whose legs are done, and a store.
    struct Series {
        root: tempfile::TempDir,
        store: Store,
        spec: String,
        plan: Plan,
        outcomes: Outcomes,
        hosts: Hosts,
        arms: KnownArms,
        correctness: Correctness,
        clients: Clients,
    }

    fn sha256() -> String {
        "a".repeat(64)
    }

    fn series() -> Series {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path().join("records")).unwrap();
        let spec = ab_text(&AB);
        let plan = ab(&AB);
        let outcomes = simulate(&plan, &Model { noise: 0.001, ..Model::default() }, 1);
        let known = Known {
            engine: "plumb".to_owned(),
            identity: json!({
                "binary_sha256": sha256(),
                "info": { "version": "1", "source_sha256": sha256(), "profile": "own" },
            }),
            checkpoint: "tiny".to_owned(),
            checkpoint_sha256: sha256(),
            arguments: vec![],
            ready_ms: 1,
        };
        let mut host = Host::capture();
        host.machine.cpu_model = Some("the machine of the legs".to_owned());
        let hosts = Hosts::from([("m".to_owned(), host)]);
        let arms = KnownArms::from(["a", "b"].map(|arm| (arm.to_owned(), known.clone())));
        let correctness = Correctness::default();
        let clients = fixture::clients(&plan);
        Series { root, store, spec, plan, outcomes, hosts, arms, correctness, clients }
    }

    impl Series {
        fn recorded(&self) -> Result<Recorded, RecordingError> {
            let report = verdict::judge(&self.plan, &self.outcomes)
                .under(&self.plan, &self.correctness.standing)
                .measured_by(&self.plan, &self.outcomes, &self.clients);
            let finished = Finished {
                spec: &self.spec,
                plan: &self.plan,
                outcomes: &self.outcomes,
                hosts: &self.hosts,
                harness_sha256: &sha256(),
                arms: &self.arms,
                correctness: &self.correctness,
                clients: &self.clients,
                answers: &[],
                report: &report,
                samples: &Samples::default(),
                reproduce: String::new(),
            };
            record(&self.store, self.root.path(), &finished)
        }

        /// The record that is new.
        fn new_record(&self) -> Record {
            let Recorded::Now(id) = self.recorded().unwrap() else { panic!("recorded before") };
            self.store.read_all().unwrap().into_iter().find(|record| record.id == id).unwrap()
        }
    }

    /// Where the legs ran is what the record says, whoever writes it; and the same outcomes are recorded once.
    #[test]
    fn a_series_is_recorded_once_by_the_machines_that_ran_it() {
        let mut series = series();
        let hosts = std::mem::take(&mut series.hosts);
        let refused = series.recorded();
        assert!(matches!(refused, Err(RecordingError::NoMachine)), "{refused:?}");
        series.hosts = hosts;
        let first = series.new_record();
        assert_eq!(series.recorded().unwrap(), Recorded::Before(first.id.clone()));
        assert_eq!(first.machine.cpu_model.as_deref(), Some("the machine of the legs"));
        assert_eq!(first.series.as_ref().unwrap().machines.len(), 1);
        assert_eq!(first.harness_sha256, Some(sha256()));
        series.outcomes.values_mut().next().unwrap().at_s += 1.0;
        let second = series.new_record();
        assert_eq!(series.store.read_all().unwrap().len(), 2);
        assert_eq!(second.supersedes, Some(first.id));
    }

    /// Nothing but the store says that a series is on record: a writer that was killed after it leaves no second one. Another series of
    /// the same plan shares no run with it, and supersedes nothing.
    #[test]
    fn a_series_is_known_by_its_runs() {
        let mut series = series();
        let first = series.new_record();
        std::fs::remove_file(series.root.path().join("recording.lock")).unwrap();
        assert_eq!(series.recorded().unwrap(), Recorded::Before(first.id));
        series.outcomes.values_mut().for_each(|own| own.at_s += 1.0);
        assert_eq!(series.new_record().supersedes, None);
    }

    /// The same legs, and a gate that fails meanwhile.
    #[test]
    fn other_words_of_the_same_outcomes_are_recorded_too() {
        let mut series = series();
        let first = series.new_record();
        let owed = Violation::new(Rule::Correct, "b: its gate fails");
        series.correctness.standing.insert("b".to_owned(), vec![owed]);
        let second = series.new_record();
        assert_eq!(second.supersedes, Some(first.id));
        assert_eq!(second.verdict.word, records::VerdictWord::Void);
        assert_eq!(series.recorded().unwrap(), Recorded::Before(second.id));
    }

    /// As of a gate's, so that no page takes its numbers for ours; and whether a series is the declared one is derived, not taken.
    #[test]
    fn the_record_of_a_binary_named_by_hand_says_so() {
        let mut series = series();
        let first = series.new_record();
        assert!(first.series.as_ref().unwrap().is_as_declared);
        series.outcomes.values_mut().next().unwrap().at_s += 1.0;
        let info = series.arms.get_mut("a").unwrap().identity["info"].as_object_mut().unwrap();
        info.insert("found_by".to_owned(), arm::BY_HAND.into());
        let by_hand = series.new_record();
        assert!(!by_hand.series.as_ref().unwrap().is_as_declared);
        assert_eq!(recheck(&series.store, &by_hand).unwrap().differences, Vec::<String>::new());
        let mut claimed = by_hand;
        claimed.series.as_mut().unwrap().is_as_declared = true;
        let again = recheck(&series.store, &claimed).unwrap();
        assert_eq!(again.differences, ["series: not as the evidence gives it"]);
    }

    /// A plan with fewer pairs than its spec is another series.
    #[test]
    fn a_narrowed_series_is_not_the_declared_one() {
        let mut series = series();
        series.spec = ab_text(&Ab { pairs: 12, ..AB });
        series.plan.spec_sha256 = records::sha256_hex(series.spec.as_bytes());
        let sha256 = series.plan.sha256();
        series.outcomes.values_mut().for_each(|own| own.plan_sha256.clone_from(&sha256));
        assert!(!series.new_record().series.unwrap().is_as_declared);
    }

    /// From the evidence alone the same comes again; another ratio or an edited byte does not.
    #[test]
    fn the_words_follow_from_the_evidence() {
        let series = series();
        let record = series.new_record();
        let again = recheck(&series.store, &record).unwrap();
        assert_eq!(again.differences, Vec::<String>::new());
        assert!(again.derived.starts_with(record.verdict.word.as_str()), "{}", again.derived);
        let mut better = record.clone();
        better.series.as_mut().unwrap().cells[0].ratio = None;
        let again = recheck(&series.store, &better).unwrap();
        assert_eq!(again.differences, ["series: not as the evidence gives it"]);
        let report = record.evidence.iter().find(|entry| entry.name == "report.json").unwrap();
        let path = series.store.evidence_file(report);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen('1', "2", 1)).unwrap();
        let damaged = recheck(&series.store, &record);
        assert!(matches!(damaged, Err(RecheckError::Store(_))), "{damaged:?}");
    }
}
