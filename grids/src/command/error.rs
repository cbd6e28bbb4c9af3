//! What can go wrong on the command line.

use std::path::PathBuf;

use crate::load::plan::LoadError;
use crate::load::request::TargetError;
use crate::mock::MockError;
use crate::selftest::collect::CollectError;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Nobody takes what is printed.
    #[error("stdout")]
    Stdout(#[source] std::io::Error),
    /// A value has no JSON form.
    #[error("cannot be written as JSON")]
    Json(#[source] serde_json::Error),
    /// Arguments that contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line of a file is not what it should be.
    #[error("{} line {line}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The handler of Ctrl-C cannot be set.
    #[error("the handler of Ctrl-C cannot be set")]
    Interrupt(#[from] ctrlc::Error),
    /// The server's address.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The workspace or the cache.
    #[error(transparent)]
    Home(#[from] oracles::home::HomeError),
    /// A grid's spec.
    #[error(transparent)]
    Spec(#[from] crate::spec::SpecError),
    /// An arm.
    #[error(transparent)]
    Arm(#[from] crate::arm::ArmError),
    /// A series.
    #[error(transparent)]
    Conduct(#[from] crate::conduct::ConductError),
    /// The folder of a series.
    #[error(transparent)]
    State(#[from] crate::series::StateError),
    /// What is known of the arms of a series.
    #[error(transparent)]
    Known(#[from] crate::series::KnownError),
    /// The record of a series.
    #[error(transparent)]
    Recording(#[from] crate::recording::RecordingError),
    /// The store of records.
    #[error(transparent)]
    Store(#[from] records::StoreError),
    /// What records are compared with.
    #[error(transparent)]
    Present(#[from] oracles::present::PresentError),
    /// The scheduler.
    #[error(transparent)]
    Slurm(#[from] crate::slurm::SlurmError),
    /// The load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The shares of a load.
    #[error(transparent)]
    Shard(#[from] super::load::shard::ShardError),
    /// The workload.
    #[error(transparent)]
    Workload(#[from] crate::workload::WorkloadError),
    /// The mock.
    #[error(transparent)]
    Mock(#[from] MockError),
    /// A comparison of clients.
    #[error(transparent)]
    Clients(#[from] crate::clients::ClientsError),
    /// A case of the self-test, or a certificate.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// What a machine says of itself.
    #[error(transparent)]
    Canonical(#[from] std::io::Error),
}
