//! Cells on other machines, by a scheduler that is there already: one job array of `sbatch`, one element an allocation, each of which
//! conducts its share of the cells into the folder of the series, which all machines have to see. Nothing here decides what runs
//! where; what an element did not come to stays without an outcome, and the same command goes on with it.
//!
//! | module | what it does |
//! |---|---|
//! | [`share`] | which cells are whose |
//! | [`script`] | the script of an allocation, and the flags of `sbatch` |
//! | [`queue`] | what `squeue` says of the array |
//! | [`watch`] | whether an array has ended, from answers that may fail to come |
//! | [`mod@array`] | submits, waits, cancels |

pub mod array;
pub mod queue;
pub mod script;
pub mod share;
pub mod watch;

pub use array::{Array, SlurmError};
pub use share::Share;
pub use watch::Watch;

/// The value of `--on`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition(pub String);

impl std::str::FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix("slurm:").filter(|name| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        });
        name.map(|name| Self(name.to_owned()))
            .ok_or_else(|| format!("{text:?}: expected slurm:PARTITION"))
    }
}
