//! `gate run NAME`: the data path, in one function.
//!
//! The record is opened before anything is measured and appended whatever the verdict; only Ctrl-C and a store that cannot
//! be written leave none.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use oracles::Home;
use oracles::golden::Noise;
use records::machine::Machine;
use records::record::Record;
use records::store::{External, Store, StoreError};

use crate::bench::{Bench, Circumstances};
use crate::facts::Prepared;
use crate::interrupt::{self, Interrupted};
use crate::journal::Journal;
use crate::judge::{Judgement, Trouble};
use crate::portable::Places;
use crate::samples::Samples;
use crate::{collect, evidence, judge, precedents, recording, report};

/// Where a run leaves what it found.
#[derive(Debug, Clone)]
pub struct Destination<'a> {
    /// Folder of the record store.
    pub records: &'a Path,
    /// The workspace and the cache, which a record names no path of.
    pub home: &'a Home,
    /// The engine's binary where it was named by hand, which a record does not name the place of either.
    pub plumb: Option<&'a Path>,
    /// The record that this one corrects.
    pub supersedes: Option<String>,
    /// The command that repeats the run.
    pub reproduce: String,
    /// File for both sides' whole rankings, which must not exist.
    pub keep: Option<PathBuf>,
}

/// A run that is on record.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The record as it was written, its id included.
    pub record: Record,
    /// Its file.
    pub path: PathBuf,
    /// Lines for a person, the verdict last.
    pub report: Vec<String>,
    /// The cheapest thing that would change the verdict; nothing where it passed.
    pub next: Option<String>,
    /// How far the oracle is from itself, where its golden has it measured.
    pub noise: Option<Noise>,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rankings cannot be kept.
    #[error("cannot write {path}")]
    Keep {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Runs one gate and appends its record.
pub fn run(bench: &Bench<'_>, destination: &Destination<'_>) -> Result<Finished, RunError> {
    let store = Store::open(destination.records)?
        .with_external(External::folder(destination.home.evidence_dir()));
    let mut draft = store.begin(&bench.gate.name)?;
    let machine = Machine::capture();
    let started = Instant::now();
    let mut circumstances = Circumstances::default();
    let collected = collect::collect(bench, &mut circumstances);
    interrupt::check()?;
    let spec = &bench.gate.spec;
    let replayed = bench.journal.map(Journal::replayed).unwrap_or_default();
    let elapsed = circumstances.answers_ms() + replayed.ms;
    let precedents = precedents::on_record(bench, &circumstances, &store, destination.home)?;
    let prepared = Prepared::of(bench, destination.home);
    circumstances.facts.prepared = Some(prepared.clone());
    let facts = &circumstances.facts;
    let judgement = judge::judge(spec, &collected, facts, precedents.as_ref()).timed(spec, elapsed);
    let elapsed = spec.check.budget.is_some().then_some(elapsed);
    let places = Places { home: destination.home, plumb: destination.plumb };
    for file in evidence::of(&bench.gate.text, &collected, facts, elapsed, precedents.as_ref()) {
        draft.evidence(file.name, &file.bytes(|text| places.portable(text)))?;
    }
    keep(destination, &collected)?;
    let draft_record = recording::assemble(
        bench,
        destination,
        &circumstances,
        &judgement,
        &prepared,
        recording::Clock { machine, started_at: draft.started_at(), duration: started.elapsed() },
    );
    // Evidence takes its time; a run that was stopped meanwhile is none.
    interrupt::check()?;
    let path = draft.commit(places.portable_record(draft_record))?;
    let record = records::store::read_record(&path)?;
    Ok(finished(bench, record, path, &judgement, &circumstances))
}

fn keep(
    destination: &Destination<'_>,
    collected: &Result<Samples, Trouble>,
) -> Result<(), RunError> {
    let (Some(path), Ok(Samples::Generations(samples))) = (&destination.keep, collected) else {
        return Ok(());
    };
    let failed = |source| RunError::Keep { path: path.clone(), source };
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(evidence::whole(samples).as_bytes()).map_err(failed)
}

fn finished(
    bench: &Bench<'_>,
    record: Record,
    path: PathBuf,
    judgement: &Judgement,
    circumstances: &Circumstances,
) -> Finished {
    let asked =
        if bench.gate.spec.asks_engine() { judge::Asked::Engine } else { judge::Asked::Oracle };
    let next = judge::next(&bench.gate.name, asked, judgement);
    let report = report::lines(&record, &path, judgement, circumstances, next.as_deref());
    let noise = circumstances.reference.as_ref().and_then(|reference| reference.noise.clone());
    Finished { record, path, report, next, noise }
}
