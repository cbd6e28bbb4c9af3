//! The tokens of one forward pass.

/// Consecutive tokens of one sequence.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The token ids.
    pub ids: &'a [u32],
    /// The position of the first; the others follow.
    pub first: usize,
    /// Which rows' logits are wanted.
    pub outputs: Outputs,
}

/// Which rows of a batch go through the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// None: only the cache is filled.
    None,
    /// The last one: what comes next.
    Last,
    /// All.
    All,
}
