//! Rows of activations between two operations.

/// `rows` rows of `width` values, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    values: Vec<f32>,
    width: usize,
    /// The values before they were rounded to the model's type, for a next operation that is fused with the one that made them.
    unrounded: Option<Vec<f32>>,
}

impl Hidden {
    /// Rows of zeros.
    pub fn zeros(rows: usize, width: usize) -> Self {
        Self { values: vec![0.0; rows * width], width, unrounded: None }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Values in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, to be written; what they were before they were rounded is forgotten.
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.unrounded = None;
        &mut self.values
    }

    /// Keeps what the values were before they were rounded.
    #[must_use]
    pub fn with_unrounded(self, unrounded: Vec<f32>) -> Self {
        Self { unrounded: Some(unrounded), ..self }
    }

    /// The values as a fused operation sees them: before they were rounded, where that was kept.
    pub fn fused(&self) -> &[f32] {
        self.unrounded.as_deref().unwrap_or(&self.values)
    }

    /// The last of every `each` rows.
    #[must_use]
    pub fn last_of_each(&self, each: usize) -> Self {
        let last = |values: &Vec<f32>| {
            let sequences = values.chunks_exact((each * self.width).max(1));
            sequences.flat_map(|rows| &rows[rows.len() - self.width..]).copied().collect()
        };
        let unrounded = self.unrounded.as_ref().map(last);
        Self { values: last(&self.values), width: self.width, unrounded }
    }

    /// Row `index`.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..][..self.width]
    }

    /// The values, row after row.
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }
}
