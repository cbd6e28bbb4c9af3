//! Listening to intermediate values of a forward pass, by name, and putting others in their place.

use std::collections::BTreeMap;

use crate::hidden::Hidden;

/// Which values are kept, and the values: rows of successive batches are joined.
///
/// Names: `embed`, `layer.N` (the residual stream after layer `N`), `norm`, `logits`, and inside a layer
/// `layer.N.attention_norm`, `query` and `key` (after rotation), `value`, `attended`, `attention`,
/// `middle` (the residual stream between), `mlp_norm`, `gate`, `up`, `gated`, `mlp`.
#[derive(Debug, Default)]
pub struct Taps {
    wanted: Vec<String>,
    kept: BTreeMap<String, Tapped>,
    given: BTreeMap<String, Given>,
}

/// A value that was listened to: rows of `width` values.
#[derive(Clone, Debug, PartialEq)]
pub struct Tapped {
    /// Values in a row.
    pub width: usize,
    /// The values, row after row.
    pub values: Vec<f32>,
}

/// A value that takes the place of the one that is computed.
#[derive(Debug)]
struct Given {
    value: Tapped,
    /// How many of its values were taken.
    taken: usize,
    /// The width of the computed value, where it is another.
    misfit: Option<usize>,
}

/// A given value that could not take the place of a computed one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GivenFault {
    /// There is no such value.
    #[error("the model has no value named {name:?}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Its rows have another width.
    #[error("{name:?} has rows of {expected} values, and {found} were given")]
    Width {
        /// The name.
        name: String,
        /// Values in a row of the model.
        expected: usize,
        /// Values in a row that was given.
        found: usize,
    },
    /// It has not a row for each token.
    #[error("{name:?} has {expected} rows, and {found} were given")]
    Rows {
        /// The name.
        name: String,
        /// Rows that were computed.
        expected: usize,
        /// Rows that were given.
        found: usize,
    },
}

impl Taps {
    /// Nobody listens.
    pub fn none() -> Self {
        Self::default()
    }

    /// Keeps the values of these names. A name that ends in `*` stands for all that start so.
    pub fn on(wanted: Vec<String>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Puts each of these values in the place of the computed one of its name once that has been kept, so that
    /// what follows is computed from it.
    #[must_use]
    pub fn giving(self, given: BTreeMap<String, Tapped>) -> Self {
        let given = given.into_iter();
        let given = given.map(|(name, value)| (name, Given { value, taken: 0, misfit: None }));
        Self { given: given.collect(), ..self }
    }

    /// Keeps `hidden` if its name is wanted, and replaces it if another was given.
    pub fn record(&mut self, name: &str, hidden: &mut Hidden) {
        if self.wants(name) {
            let tapped = self.kept.entry(name.to_owned());
            let tapped =
                tapped.or_insert_with(|| Tapped { width: hidden.width(), values: Vec::new() });
            tapped.values.extend_from_slice(hidden.values());
        }
        if let Some(given) = self.given.get_mut(name) {
            given.replace(hidden);
        }
    }

    /// The same for the residual stream after a layer.
    pub fn record_layer(&mut self, layer: usize, hidden: &mut Hidden) {
        if !self.is_idle() {
            self.record(&format!("layer.{layer}"), hidden);
        }
    }

    /// The same for a value inside a layer.
    pub fn record_in_layer(&mut self, layer: usize, name: &str, hidden: &mut Hidden) {
        if !self.is_idle() {
            self.record(&format!("layer.{layer}.{name}"), hidden);
        }
    }

    /// What was kept, by name.
    pub fn into_kept(self) -> BTreeMap<String, Tapped> {
        self.kept
    }

    /// The wanted names for which no value came.
    pub fn unmet(&self) -> Vec<&str> {
        let met = |pattern: &str| self.kept.keys().any(|name| matches(pattern, name));
        self.wanted.iter().map(String::as_str).filter(|pattern| !met(pattern)).collect()
    }

    /// The first given value that did not take the place of a whole computed one, after all tokens were run.
    pub fn given_fault(&self) -> Option<GivenFault> {
        self.given.iter().find_map(|(name, given)| given.fault(name))
    }

    fn is_idle(&self) -> bool {
        self.wanted.is_empty() && self.given.is_empty()
    }

    fn wants(&self, name: &str) -> bool {
        self.wanted.iter().any(|pattern| matches(pattern, name))
    }
}

impl Given {
    /// Takes the next rows. What does not fit is left as it is, and told by [`Given::fault`].
    fn replace(&mut self, hidden: &mut Hidden) {
        if hidden.width() != self.value.width {
            self.misfit = Some(hidden.width());
            return;
        }
        let size = hidden.values().len();
        if let Some(values) = self.value.values.get(self.taken..self.taken + size) {
            hidden.values_mut().copy_from_slice(values);
        }
        self.taken += size;
    }

    fn fault(&self, name: &str) -> Option<GivenFault> {
        let (name, width) = (name.to_owned(), self.value.width);
        if let Some(expected) = self.misfit {
            return Some(GivenFault::Width { name, expected, found: width });
        }
        if self.taken == 0 {
            return Some(GivenFault::Unknown { name });
        }
        let [expected, found] = [self.taken, self.value.values.len()].map(|size| size / width);
        (expected != found).then_some(GivenFault::Rows { name, expected, found })
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{GivenFault, Tapped, Taps};
    use crate::hidden::Hidden;

    fn given(width: usize, values: &[f32]) -> BTreeMap<String, Tapped> {
        [("layer.1".to_owned(), Tapped { width, values: values.to_vec() })].into()
    }

    /// Two rows of two values, computed as zeros.
    fn run(taps: &mut Taps) -> Vec<f32> {
        let mut rows = Hidden::zeros(1, 2);
        taps.record_layer(1, &mut rows);
        let mut more = Hidden::zeros(1, 2);
        taps.record_layer(1, &mut more);
        [rows.into_values(), more.into_values()].concat()
    }

    #[test]
    fn a_given_value_takes_the_place_of_the_computed_one_which_is_kept() {
        let mut taps = Taps::on(vec!["layer.*".to_owned()]).giving(given(2, &[1.0, 2.0, 3.0, 4.0]));
        assert_eq!(run(&mut taps), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(taps.given_fault(), None);
        assert_eq!(taps.into_kept()["layer.1"].values, [0.0; 4]);
    }

    #[test]
    fn a_given_value_that_does_not_fit_is_told() {
        let fault = |width, values: &[f32]| {
            let mut taps = Taps::none().giving(given(width, values));
            run(&mut taps);
            taps.given_fault()
        };
        let name = "layer.1".to_owned();
        let width = GivenFault::Width { name: name.clone(), expected: 2, found: 3 };
        assert_eq!(fault(3, &[0.0; 6]), Some(width));
        let rows = |found| GivenFault::Rows { name: name.clone(), expected: 2, found };
        assert_eq!(fault(2, &[0.0; 2]), Some(rows(1)));
        assert_eq!(fault(2, &[0.0; 6]), Some(rows(3)));
        let unknown = GivenFault::Unknown { name: name.clone() };
        assert_eq!(Taps::none().giving(given(2, &[0.0; 4])).given_fault(), Some(unknown));
    }
}
