//! Rows of activations between two operations.

/// `rows` rows of `width` values, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    values: Vec<f32>,
    width: usize,
}

impl Hidden {
    /// Rows of zeros.
    pub fn zeros(rows: usize, width: usize) -> Self {
        Self { values: vec![0.0; rows * width], width }
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

    /// All values, to be written.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The last of every `each` rows.
    #[must_use]
    pub fn last_of_each(&self, each: usize) -> Self {
        let sequences = self.values.chunks_exact((each * self.width).max(1));
        let values = sequences.flat_map(|rows| &rows[rows.len() - self.width..]).copied().collect();
        Self { values, width: self.width }
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
