//! What a gate takes from outside: the checkpoint, the oracle or its golden, the vocabularies.
//!
//! A trait, so that the whole of `gate` is tested with supplies from files.

use std::path::PathBuf;
use std::sync::Arc;

use oracles::checkpoint::{self, Checkpoint, CheckpointSpec};
use oracles::golden::Golden;
use oracles::golden::tensors::TensorGolden;
use oracles::launch::{self, LaunchSettings, Variant};
use oracles::provision;
use oracles::registry::OracleSpec;
use oracles::verbs::Oracle;
use oracles::{Home, Progress};

use crate::journal::{Journal, JournaledOracle};
use crate::spec::LaunchSpec;

/// Whose answers the run is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The oracle where it is provisioned, else its golden.
    Either,
    /// The oracle, provisioned first if need be.
    Live,
    /// The golden.
    Golden,
}

/// How an oracle is launched to be compared with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Requests that it may have in work at once.
    pub sequences: u32,
    /// What is otherwise than in the pinned launch.
    pub variant: Variant,
}

impl Default for Way {
    fn default() -> Self {
        Self { sequences: 1, variant: Variant::Pinned }
    }
}

/// Where a gate's inputs come from.
pub trait Supplies {
    /// The checkpoint, fetched when it is not resident.
    fn checkpoint(&self, name: &str) -> oracles::Result<Checkpoint>;

    /// A running oracle; `None` when it is not provisioned and `provision` does not ask for that.
    fn oracle(
        &self,
        checkpoint: &Checkpoint,
        provision: bool,
    ) -> oracles::Result<Option<Box<dyn Oracle>>>;

    /// Like [`Supplies::oracle`], launched in some way; of supplies that know only the pinned one there is no other.
    fn launched(
        &self,
        checkpoint: &Checkpoint,
        way: Way,
        provision: bool,
    ) -> oracles::Result<Option<Box<dyn Oracle>>> {
        if way == Way::default() { self.oracle(checkpoint, provision) } else { Ok(None) }
    }

    /// The oracle's golden for this gate, verified by its hashes.
    fn golden(&self) -> oracles::Result<Option<Golden>>;

    /// The same of a gate whose golden is of tensors.
    fn tensor_golden(&self) -> oracles::Result<Option<TensorGolden>> {
        Ok(None)
    }

    /// The folder of the vocabularies in the oracle's source; `None` when it is not provisioned and `provision` does not
    /// ask for that.
    fn vocabularies(&self, provision: bool) -> oracles::Result<Option<PathBuf>>;
}

/// Supplies from the workspace, the cache and the network.
pub struct HomeSupplies<'a> {
    /// Workspace and cache.
    pub home: &'a Home,
    /// The gate.
    pub gate: &'a str,
    /// Its pinned oracle; `None` where the engine is judged alone.
    pub oracle: Option<&'a OracleSpec>,
    /// How the oracle is launched.
    pub launch: &'a LaunchSpec,
    /// Where progress is shown.
    pub progress: Progress,
    /// What the oracle answered so far; none where nothing is remembered.
    pub journal: Option<Arc<Journal>>,
}

impl HomeSupplies<'_> {
    fn provisioned(&self, provision: bool) -> oracles::Result<Option<provision::Provisioned>> {
        let Some(oracle) = self.oracle else { return Ok(None) };
        if provision {
            return provision::provision(self.home, oracle, self.progress).map(Some);
        }
        provision::provisioned(self.home, oracle, self.progress)
    }
}

impl Supplies for HomeSupplies<'_> {
    fn checkpoint(&self, name: &str) -> oracles::Result<Checkpoint> {
        let spec = CheckpointSpec::load(self.home, name)?;
        match checkpoint::resident(self.home, &spec)? {
            Some(checkpoint) => Ok(checkpoint),
            None => checkpoint::fetch(self.home, &spec, self.progress),
        }
    }

    fn oracle(
        &self,
        checkpoint: &Checkpoint,
        provision: bool,
    ) -> oracles::Result<Option<Box<dyn Oracle>>> {
        let oracle = self.launched(checkpoint, Way::default(), provision)?;
        Ok(match (&self.journal, oracle) {
            (Some(journal), Some(oracle)) => {
                Some(Box::new(JournaledOracle::new(oracle, Arc::clone(journal))))
            }
            (_, oracle) => oracle,
        })
    }

    fn launched(
        &self,
        checkpoint: &Checkpoint,
        way: Way,
        provision: bool,
    ) -> oracles::Result<Option<Box<dyn Oracle>>> {
        let Some(provisioned) = self.provisioned(provision)? else { return Ok(None) };
        let settings = LaunchSettings {
            threads: self.launch.threads,
            context: self.launch.context,
            dtype: self.launch.dtype,
            sequences: way.sequences,
            variant: way.variant,
            ..LaunchSettings::default()
        };
        let server = launch::launch(self.home, &provisioned, checkpoint, &settings, self.progress)?;
        Ok(Some(Box::new(server)))
    }

    fn golden(&self) -> oracles::Result<Option<Golden>> {
        match self.oracle {
            Some(oracle) => Golden::read(self.home, &oracle.name, self.gate),
            None => Ok(None),
        }
    }

    fn tensor_golden(&self) -> oracles::Result<Option<TensorGolden>> {
        match self.oracle {
            Some(oracle) => TensorGolden::read(self.home, &oracle.name, self.gate),
            None => Ok(None),
        }
    }

    fn vocabularies(&self, provision: bool) -> oracles::Result<Option<PathBuf>> {
        Ok(self.provisioned(provision)?.map(|provisioned| provisioned.vocabularies_dir()))
    }
}
