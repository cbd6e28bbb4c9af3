//! What can go wrong between a command line and an answer.

use std::path::PathBuf;

use crate::place::PlaceError;
use crate::verbs::VerbError;

/// An oracle did not start, did not become ready, or is not what its pin says.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The registry file has no `[launch]`.
    #[error("oracle {name} cannot be launched: {path} has no [launch]", path = .path.display())]
    NoLaunch {
        /// Registry name.
        name: String,
        /// Its file.
        path: PathBuf,
    },
    /// The oracle cannot load this kind of checkpoint.
    #[error("oracle {oracle} cannot load {path}: expected {expected}", path = .path.display())]
    Checkpoint {
        /// Registry name.
        oracle: String,
        /// What it loads.
        expected: &'static str,
        /// The checkpoint.
        path: PathBuf,
    },
    /// The provisioner and the protocol of the registry file do not go together.
    #[error("oracle {name} cannot be launched: {path}: protocol {protocol} does not go with [{provisioner}]", path = .path.display())]
    Pairing {
        /// Registry name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// The launch table.
        protocol: &'static str,
        /// The provisioner table.
        provisioner: &'static str,
    },
    /// It does not run as it does in production, or does not say.
    #[error("oracle {oracle} does not run as in production: {key} is {found}, expected {expected}; see {log}", log = .log.display())]
    NotProduction {
        /// Registry name.
        oracle: String,
        /// Which property.
        key: String,
        /// What production has.
        expected: String,
        /// What the process says, or `unknown`.
        found: String,
        /// Its log.
        log: PathBuf,
    },
    /// There is no such way of running it.
    #[error("oracle {oracle} cannot be launched with {variant:?}: its protocol has no such way")]
    NoVariant {
        /// Registry name.
        oracle: String,
        /// What was asked for.
        variant: super::Variant,
    },
    /// The interpreter or the container engine is not there any more.
    #[error(transparent)]
    Provision(#[from] crate::provision::ProvisionError),
    /// The port is taken.
    #[error("oracle {oracle}: port {port} on 127.0.0.1 cannot be used")]
    PortInUse {
        /// Registry name.
        oracle: String,
        /// The port; 0 when the system has no free one.
        port: u16,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The executable or its watchdog cannot be started.
    #[error("cannot run {executable}", executable = .executable.display())]
    Spawn {
        /// The server.
        executable: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// No HTTP client can be made.
    #[error("cannot make an HTTP client")]
    Client(#[source] reqwest::Error),
    /// It ended before it answered.
    #[error("oracle {oracle} died while starting: {status}; the end of {log}:\n{tail}", log = .log.display())]
    Died {
        /// Registry name.
        oracle: String,
        /// How it ended.
        status: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// It did not answer in time.
    #[error("oracle {oracle} was not ready after {seconds} s ({last}); the end of {log}:\n{tail}", log = .log.display())]
    NotReady {
        /// Registry name.
        oracle: String,
        /// The time it had.
        seconds: u64,
        /// What the last attempt said.
        last: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// It does not say what is needed about itself.
    #[error("oracle {oracle} does not say its {key}; see {log}", log = .log.display())]
    Silent {
        /// Registry name.
        oracle: String,
        /// What is missing.
        key: String,
        /// Its log.
        log: PathBuf,
    },
    /// It says something else about itself than what was pinned or asked.
    #[error("oracle {oracle}: {key}: expected {expected}, it says {found}; see {log}", log = .log.display())]
    Contradiction {
        /// Registry name.
        oracle: String,
        /// Which property.
        key: String,
        /// The pin or the setting.
        expected: String,
        /// What the process says.
        found: String,
        /// Its log.
        log: PathBuf,
    },
    /// It was ready and did not say who it is.
    #[error(transparent)]
    Verb(#[from] VerbError),
    /// The file system refused.
    #[error(transparent)]
    Place(#[from] PlaceError),
}
