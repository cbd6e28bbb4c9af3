//! Whole distributions along a text.

/// A piece of a text with the distributions behind its second half, as llama-perplexity scores one.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredChunk {
    /// Its ids, as they were evaluated.
    pub ids: Vec<u32>,
    /// Natural-log probabilities of the whole vocabulary behind each position from [`Self::first_scored`] on, but the last.
    pub rows: Vec<Vec<f32>>,
}

impl ScoredChunk {
    /// The first position that is scored: what comes before is its context.
    pub fn first_scored(&self) -> usize {
        self.ids.len() / 2
    }
}
