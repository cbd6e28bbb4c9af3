//! The tokens of one forward pass.

/// As many consecutive tokens of each of some sequences: a prompt's part of one, or the next token of several.
///
/// What a row becomes depends on its own sequence alone, and on how many rows of it run together; never on the other
/// sequences.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The token ids, sequence after sequence.
    pub ids: &'a [u32],
    /// The position of each sequence's first token; the others follow.
    pub firsts: &'a [usize],
    /// Which rows' logits are wanted.
    pub outputs: Outputs,
}

impl Batch<'_> {
    /// Rows of each sequence.
    pub fn rows_each(&self) -> usize {
        self.ids.len().checked_div(self.firsts.len()).unwrap_or(0)
    }

    /// The position of every row.
    pub fn positions(&self) -> Vec<usize> {
        let rows = self.rows_each();
        self.firsts.iter().flat_map(|&first| first..first + rows).collect()
    }
}

/// Which rows of a batch go through the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// None: only the cache is filled.
    None,
    /// The last one of each sequence: what comes next.
    Last,
    /// All.
    All,
}

#[cfg(test)]
mod tests {
    use super::{Batch, Outputs};

    #[test]
    fn rows_stand_behind_their_sequences_first() {
        let batch = Batch { ids: &[7, 8, 9, 7], firsts: &[5, 0], outputs: Outputs::Last };
        assert_eq!((batch.rows_each(), batch.positions()), (2, vec![5, 6, 0, 1]));
        let none = Batch { ids: &[], firsts: &[], outputs: Outputs::None };
        assert_eq!((none.rows_each(), none.positions()), (0, vec![]));
    }
}
