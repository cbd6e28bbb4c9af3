//! Keys and values: where they are kept, and which blocks belong to whom.
//!
//! A [`Store`] holds the rows of all sequences in blocks of equal size. A sequence knows its rows by a block table. Which blocks
//! are free, shared or remembered is [`Blocks`]' affair, which holds no rows; so the two can be reasoned about, and tested, apart.

mod block_size;
mod blocks;
mod budget;
mod chain;
mod free_list;
mod memory;
mod store;

pub use block_size::BlockSize;
pub use blocks::{Blocks, CacheCounts};
pub use budget::{Budget, BudgetError, KvShape, Need};
pub use chain::{BlockHash, Chain};
pub use memory::available_memory;
pub use store::{CacheFormat, LayerCache, Plane, Store};
