//! Why a command did not come to a verdict.

use std::path::PathBuf;

use records::StoreError;

use crate::capture::CaptureError;
use crate::evidence::EvidenceError;
use crate::interrupt::Interrupted;
use crate::prove::ProveError;
use crate::recheck::RecheckError;
use crate::rule::{EXIT_ERROR, Word, exit_status};
use crate::run::RunError;
use crate::spec::SpecError;
use crate::subject::{SubjectBuildError, SubjectError};
use crate::workload::WorkloadError;

/// A usage, spec or program error.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The Ctrl-C handler could not be installed, so nothing was started.
    #[error("cannot install the Ctrl-C handler")]
    Handler(#[from] ctrlc::Error),
    /// A gate's spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A gate's inputs.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Home, registry, checkpoints, goldens.
    #[error(transparent)]
    Oracles(#[from] oracles::Error),
    /// There is no binary to judge.
    #[error(transparent)]
    Build(#[from] SubjectBuildError),
    /// The binary does not even say what it is.
    #[error("the engine does not say what it is")]
    Subject(#[from] SubjectError),
    /// The run left no record.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The golden was not captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The faults were not tried.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// What a run was answered so far.
    #[error(transparent)]
    Journal(#[from] crate::journal::JournalError),
    /// The record store.
    #[error(transparent)]
    Store(#[from] records::store::StoreError),
    /// The tracks.
    #[error(transparent)]
    Tracks(#[from] records::gap::TrackError),
    /// The page of the open gaps.
    #[error(transparent)]
    Page(#[from] records::gap::PageError),
    /// What records are compared with.
    #[error(transparent)]
    Present(#[from] oracles::present::PresentError),
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// There is no record of that id.
    #[error("no record has the id {0}: `gate records list` names them all")]
    NoRecord(String),
    /// The gate is compared with nobody.
    #[error("--oracle: gate {0} judges the engine alone and is compared with no oracle")]
    NothingToCross(String),
    /// One id for several gates.
    #[error(
        "--supersedes {0} with several gates: a record is corrected by one run of its own gate"
    )]
    SupersedesSeveral(String),
    /// The record is of another gate.
    #[error("--supersedes {id}: that record is of gate {found}, this run is of {gate}")]
    SupersedesOther {
        /// The record.
        id: String,
        /// Its gate.
        found: String,
        /// The gate that is run.
        gate: String,
    },
    /// A verdict cannot be derived again.
    #[error(transparent)]
    Recheck(#[from] RecheckError),
    /// Records or their evidence are missing or changed, or were left half done.
    #[error("the record store is damaged:\n{0}")]
    Damaged(String),
    /// Evidence that is kept outside git is not on this machine.
    #[error("{0}")]
    Absent(String),
    /// No record of that name, or several.
    #[error(transparent)]
    Find(#[from] records::FindError),
    /// A query without a result.
    #[cfg(feature = "query")]
    #[error(transparent)]
    Query(#[from] records::query::QueryError),
    /// Samples that are not what a series keeps.
    #[cfg(feature = "query")]
    #[error(transparent)]
    Samples(#[from] records::samples::SamplesError),
    /// This program was built without polars.
    #[cfg(not(feature = "query"))]
    #[error(
        "this program was built without Parquet, which takes long to build. With it:\n\n    \
         cargo run --release -p gates --features query --bin gate -- records samples {0}"
    )]
    NoParquet(String),
    /// This program was built without polars.
    #[cfg(not(feature = "query"))]
    #[error(
        "this program was built without SQL, which takes long to build. With it:\n\n    cargo query {0}"
    )]
    NoQueries(String),
    /// The page of an earlier state of the tree.
    #[error("cannot read {page} at {revision}: {problem}")]
    Base {
        /// The revision as given.
        revision: String,
        /// The page.
        page: &'static str,
        /// What git said.
        problem: String,
    },
    /// The job summary.
    #[error("cannot write the summary {path}")]
    Summary {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The inputs of a spec.
    #[error("cannot read the inputs {path}")]
    Inputs {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The oracle pins nothing.
    #[error("oracle {0} runs elsewhere and pins nothing: no golden can be captured from it")]
    Directional(String),
    /// The checkpoint cannot be got, so nothing was compared.
    #[error("{0}")]
    Skipped(String),
    /// A place for evidence is taken (V-OVERWRITE).
    #[error(
        "V-OVERWRITE: {0} exists; evidence is never overwritten, name another folder with --keep"
    )]
    Overwrite(PathBuf),
    /// The folder for --keep.
    #[error("cannot write {path}")]
    Keep {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// No record of that gate.
    #[error("no record is of gate {0}: `gate records list` names them all")]
    NoRun(String),
    /// Neither a record nor a track.
    #[error(
        "{0} begins no record's id and is no track: `gate records list` names the records, open-gaps.toml the tracks; \
         the newest record of a gate is latest:GATE"
    )]
    NotReviewed(String),
    /// More than one record.
    #[error(
        "{name} begins the ids of {count} records, from {first} to {last}: give more of it, or latest:GATE"
    )]
    Several {
        /// What was given.
        name: String,
        /// How many.
        count: usize,
        /// The oldest.
        first: String,
        /// The newest.
        last: String,
    },
    /// A file that was asked for.
    #[cfg(feature = "query")]
    #[error("cannot write {path}")]
    Out {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A page for people.
    #[error("cannot write the page {path}")]
    ReviewPage {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The page's server.
    #[error("cannot serve the page on loopback")]
    Serve(#[source] std::io::Error),
    /// Standard output is gone.
    #[error("cannot write to standard output")]
    Stdout(#[source] std::io::Error),
}

impl CommandError {
    /// The exit status.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Recheck(RecheckError::Evidence(
                EvidenceError::Missing { .. } | EvidenceError::Store(StoreError::Absent { .. }),
            ))
            | Self::Absent(_)
            | Self::Skipped(_) => exit_status(Word::Skipped),
            #[cfg(feature = "query")]
            Self::Samples(records::samples::SamplesError::Store(StoreError::Absent { .. })) => {
                exit_status(Word::Skipped)
            }
            #[cfg(feature = "query")]
            Self::Samples(_) => exit_status(Word::Void),
            Self::Overwrite(_) | Self::Damaged(_) | Self::Recheck(_) | Self::Directional(_) => {
                exit_status(Word::Void)
            }
            _ => EXIT_ERROR,
        }
    }

    /// Whether the user asked to stop.
    pub fn is_interrupt(&self) -> bool {
        matches!(
            self,
            Self::Interrupted(_)
                | Self::Run(RunError::Interrupted(_))
                | Self::Capture(CaptureError::Interrupted(_))
                | Self::Prove(ProveError::Interrupted(_))
        )
    }
}
