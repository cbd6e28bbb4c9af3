//! A model: a checkpoint's configuration and parameters, wired and checked.

use std::sync::Arc;

use kernels::Pool;

use crate::checkpoint::Checkpoint;
use crate::config::{ConfigError, ModelConfig};
use crate::layers::Decoder;
use crate::numerics::{Profile, ProfileError};
use crate::runner::Runner;
use crate::weights::{Residency, WeightError, Weights};

/// A checkpoint that cannot be run, and why.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Its configuration is at fault.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its parameters are.
    #[error(transparent)]
    Weights(#[from] WeightError),
    /// The profile cannot compute it.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// A model that is ready to run. It borrows the checkpoint, whose blocks it computes on in place.
#[derive(Debug)]
pub struct Model<'a> {
    checkpoint: &'a Checkpoint,
    config: ModelConfig,
    decoder: Decoder<'a>,
    residency: Residency,
    profile: Profile,
    pool: Arc<Pool>,
}

impl<'a> Model<'a> {
    /// Reads the configuration, takes every parameter, and makes sure that none is left over.
    pub fn load(
        checkpoint: &'a Checkpoint,
        profile: Profile,
        pool: Arc<Pool>,
    ) -> Result<Self, ModelError> {
        let config = ModelConfig::read(checkpoint)?;
        let mut weights = Weights::new(checkpoint);
        let decoder = (config.family.build)(&config, &mut weights)?;
        let residency = weights.finish(config.family.name)?;
        // Asked once here, so that a profile that does not fit is an error of loading.
        profile.numerics(checkpoint, &config, Arc::clone(&pool))?;
        Ok(Self { checkpoint, config, decoder, residency, profile, pool })
    }

    /// Its shape.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Its layers.
    pub fn decoder(&self) -> &Decoder<'a> {
        &self.decoder
    }

    /// The memory that its parameters take.
    pub fn residency(&self) -> Residency {
        self.residency
    }

    /// The profile that computes it.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The threads that compute it.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A runner of sequences of up to `max_context` tokens.
    pub fn runner(&self, max_context: usize) -> Result<Runner<'_>, ModelError> {
        let numerics =
            self.profile.numerics(self.checkpoint, &self.config, Arc::clone(&self.pool))?;
        Ok(Runner::new(&self.decoder, &self.config, numerics, max_context))
    }
}
