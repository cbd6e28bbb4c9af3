//! The crate's one error type: a sum of what each part can refuse.

use crate::{checkpoint, golden, home, launch, place, provision, spec, verbs};

/// Shorthand for a result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong between a pin and an oracle's answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace or the cache was not found.
    #[error(transparent)]
    Home(#[from] home::HomeError),
    /// A checkpoint's or an oracle's TOML file is missing or does not parse.
    #[error(transparent)]
    Spec(#[from] spec::SpecError),
    /// A checkpoint could not be fetched, or is not what its pin says.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::CheckpointError),
    /// The file system refused.
    #[error(transparent)]
    Place(#[from] place::PlaceError),
    /// An oracle could not be built, or its installed files differ from its manifest.
    #[error(transparent)]
    Provision(#[from] provision::ProvisionError),
    /// An oracle did not start, did not become ready, or is not what its pin says.
    #[error(transparent)]
    Launch(#[from] launch::LaunchError),
    /// A running oracle did not answer a question.
    #[error(transparent)]
    Verb(#[from] verbs::VerbError),
    /// A golden could not be read or written.
    #[error(transparent)]
    Golden(#[from] golden::GoldenError),
}
