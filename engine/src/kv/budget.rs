//! How many blocks a memory budget holds, worked out before anything is allocated and told with its arithmetic.

use std::fmt;

use super::{BlockSize, CacheFormat};

/// What a model keeps of each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvShape {
    /// Its layers.
    pub layers: usize,
    /// Values of one layer's keys, or of its values.
    pub width: usize,
    /// How a value is kept.
    pub format: CacheFormat,
}

/// What is asked of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The longest sequence, in tokens.
    pub max_model_len: usize,
    /// Whether a shorter one will do where the budget does not hold that.
    pub shorten: bool,
    /// Sequences at once.
    pub sequences: usize,
}

/// The cache that was decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What each token takes.
    pub shape: KvShape,
    /// The positions of a block.
    pub size: BlockSize,
    /// How many blocks.
    pub blocks: usize,
    /// The longest sequence that is served.
    pub max_model_len: usize,
}

/// A budget that does not hold what is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a sequence of {max_model_len} tokens takes {needed_blocks} blocks of {block_bytes} bytes = {}, but the key-value cache \
     may take {} = {blocks} blocks = {fitting} tokens; raise --kv-cache-memory, or lower --max-model-len to at most {fitting}",
    Bytes(needed_blocks * block_bytes), Bytes(*memory)
)]
pub struct BudgetError {
    /// The longest sequence asked for.
    pub max_model_len: usize,
    /// The blocks it takes.
    pub needed_blocks: u64,
    /// The bytes of a block.
    pub block_bytes: u64,
    /// The budget, in bytes.
    pub memory: u64,
    /// The blocks that it holds.
    pub blocks: u64,
    /// The tokens that they hold.
    pub fitting: u64,
}

/// A number of bytes, for people.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes(pub(crate) u64);

impl KvShape {
    /// Bytes of one token in all layers.
    pub fn token_bytes(self) -> u64 {
        (self.layers * 2 * self.width * self.format.bytes()) as u64
    }

    /// Bytes of one block.
    pub fn block_bytes(self, size: BlockSize) -> u64 {
        self.token_bytes() * size.positions() as u64
    }

    /// Bytes that `need` takes at most.
    pub fn bytes_for(self, size: BlockSize, need: Need) -> u64 {
        let blocks = size.blocks_for(need.max_model_len).saturating_mul(need.sequences);
        self.block_bytes(size).saturating_mul(blocks as u64)
    }
}

impl Budget {
    /// The cache of at most `memory` bytes; an error where one sequence of the asked length does not fit.
    pub fn plan(
        shape: KvShape,
        size: BlockSize,
        memory: u64,
        need: Need,
    ) -> Result<Self, BudgetError> {
        let block_bytes = shape.block_bytes(size).max(1);
        let blocks = (memory / block_bytes).min(u64::from(u32::MAX - 1));
        let fitting = blocks * size.positions() as u64;
        let needed_blocks = size.blocks_for(need.max_model_len) as u64;
        let max_model_len = match needed_blocks <= blocks {
            true => need.max_model_len,
            false if need.shorten && blocks > 0 => fitting as usize,
            false => {
                let max_model_len = need.max_model_len;
                return Err(BudgetError {
                    max_model_len,
                    needed_blocks,
                    block_bytes,
                    memory,
                    blocks,
                    fitting,
                });
            }
        };
        Ok(Self { shape, size, blocks: blocks as usize, max_model_len })
    }

    /// Bytes of the whole cache.
    pub fn bytes(&self) -> u64 {
        self.shape.block_bytes(self.size) * self.blocks as u64
    }

    /// Tokens that the cache holds.
    pub fn tokens(&self) -> usize {
        self.blocks * self.size.positions()
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KvShape { layers, width, format } = self.shape;
        write!(
            f,
            "{layers} layers x 2 x {width} values x {} bytes ({}) = {} bytes a token; x {} positions = {} bytes a block; \
             {} blocks = {} = {} tokens = {:.1} sequences of {}",
            format.bytes(),
            format.name(),
            self.shape.token_bytes(),
            self.size.positions(),
            self.shape.block_bytes(self.size),
            self.blocks,
            Bytes(self.bytes()),
            self.tokens(),
            self.tokens() as f64 / self.max_model_len.max(1) as f64,
            self.max_model_len,
        )
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut unit) = (self.0 as f64, "bytes");
        for larger in ["KiB", "MiB", "GiB"] {
            if value >= 1024.0 {
                (value, unit) = (value / 1024.0, larger);
            }
        }
        match unit {
            "bytes" => write!(f, "{} bytes", self.0),
            unit => write!(f, "{value:.1} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, KvShape, Need};
    use crate::kv::{BlockSize, CacheFormat};

    /// SmolLM2-135M: 30 layers x 2 x 192 values x 2 bytes = 23040 bytes a token, by hand.
    const SHAPE: KvShape = KvShape { layers: 30, width: 192, format: CacheFormat::F16 };

    #[test]
    fn a_budget_holds_whole_blocks() {
        let need = Need { max_model_len: 64, shorten: false, sequences: 4 };
        let budget = Budget::plan(SHAPE, BlockSize::DEFAULT, 23_040 * 16 * 5 + 7, need).unwrap();
        assert_eq!((budget.blocks, budget.tokens(), budget.bytes()), (5, 80, 23_040 * 80));
        assert_eq!(SHAPE.bytes_for(BlockSize::DEFAULT, need), 23_040 * 256);
        let told = budget.to_string();
        assert!(
            told.contains("23040 bytes a token") && told.contains("1.2 sequences of 64"),
            "{told}"
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_arithmetic_or_shortened() {
        let need = Need { max_model_len: 100, shorten: false, sequences: 1 };
        let memory = 23_040 * 16 * 5;
        let error = Budget::plan(SHAPE, BlockSize::DEFAULT, memory, need).unwrap_err();
        assert_eq!((error.needed_blocks, error.blocks, error.fitting), (7, 5, 80));
        assert!(error.to_string().contains("at most 80"), "{error}");
        let shorter = Need { shorten: true, ..need };
        let budget = Budget::plan(SHAPE, BlockSize::DEFAULT, memory, shorter).unwrap();
        assert_eq!(budget.max_model_len, 80);
        assert!(Budget::plan(SHAPE, BlockSize::DEFAULT, 7, shorter).is_err());
    }
}
