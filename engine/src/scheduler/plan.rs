//! The rows of one step.

use super::RequestId;

/// How a request's rows run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Rows of a prompt, as one piece.
    Together(usize),
    /// Rows of generated tokens, each as if alone.
    Single(usize),
}

/// The rows of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Whose.
    pub id: RequestId,
    /// The position of the first row.
    pub first: usize,
    /// How many, and how they run.
    pub rows: Rows,
    /// Whether the last row's logits choose the next token.
    pub samples: bool,
    /// Whether the logits of the prompt's rows are wanted too.
    pub all_logits: bool,
}

/// What to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    works: Vec<Work>,
    budget: usize,
}

impl Rows {
    /// How many.
    pub fn count(self) -> usize {
        match self {
            Self::Together(rows) | Self::Single(rows) => rows,
        }
    }
}

impl Plan {
    pub(super) fn new(budget: usize) -> Self {
        Self { works: Vec::new(), budget }
    }

    /// The rows of each request that has any.
    pub fn works(&self) -> &[Work] {
        &self.works
    }

    /// Rows of all requests.
    pub fn rows(&self) -> usize {
        self.works.iter().map(|work| work.rows.count()).sum()
    }

    /// What is left of the budget.
    pub(super) fn budget(&self) -> usize {
        self.budget
    }

    pub(super) fn add(&mut self, work: Work) {
        self.budget -= work.rows.count();
        self.works.push(work);
    }

    /// Takes back what was planned for a request.
    pub(super) fn withdraw(&mut self, id: RequestId) {
        let withdrawn = self.works.extract_if(.., |work| work.id == id);
        self.budget += withdrawn.map(|work| work.rows.count()).sum::<usize>();
    }
}
