//! How far one matrix lies from another: what is kept of both once they were compared.

use serde::{Deserialize, Serialize};

use crate::compare::nan_of_null;

/// Elements that are kept of a comparison.
const WORST_KEPT: usize = 3;

/// Rows of equal width, one a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Elements of a row, above 0.
    pub width: usize,
    /// All elements, row after row.
    pub values: Vec<f32>,
}

/// Sums over one row, in `f64`: every distance and every angle follows from them. Where a value was no finite number they are none
/// either, and stay so in the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSums {
    /// Of `(got - want)^2`.
    #[serde(deserialize_with = "nan_of_null")]
    pub error: f64,
    /// Of `want^2`.
    #[serde(deserialize_with = "nan_of_null")]
    pub want: f64,
    /// Of `got^2`.
    #[serde(deserialize_with = "nan_of_null")]
    pub got: f64,
    /// Of `got * want`.
    #[serde(deserialize_with = "nan_of_null")]
    pub dot: f64,
}

/// An element that lies far off; `None` where it is no finite number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Its row.
    pub row: usize,
    /// Its place in the row.
    pub column: usize,
    /// Ours.
    pub got: Option<f64>,
    /// The oracle's.
    pub want: Option<f64>,
}

/// What is kept of two matrices of one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub width: usize,
    /// Elements of ours that are no finite numbers.
    pub not_finite: u64,
    /// Relative root mean square of the difference over all rows; `None` where it is no number.
    pub rel_rms: Option<f64>,
    /// The row where it is largest, and how large it is there; `None` where it is no number in some row.
    pub worst_row: Option<(usize, f64)>,
    /// The factor that brings ours closest to the oracle's, and the relative root mean square that is left then.
    pub rescaled: Option<(f64, f64)>,
    /// The elements that differ most.
    pub worst: Vec<Element>,
}

impl Rows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl RowSums {
    /// The sums of one row.
    fn of(got: &[f32], want: &[f32]) -> Self {
        let pairs = got.iter().zip(want).map(|(got, want)| (f64::from(*got), f64::from(*want)));
        pairs.fold(Self::NONE, |sums, (got, want)| {
            let error = (got - want) * (got - want);
            sums.plus(Self { error, want: want * want, got: got * got, dot: got * want })
        })
    }

    /// Of nothing.
    pub const NONE: Self = Self { error: 0.0, want: 0.0, got: 0.0, dot: 0.0 };

    /// The sums of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            error: self.error + other.error,
            want: self.want + other.want,
            got: self.got + other.got,
            dot: self.dot + other.dot,
        }
    }

    /// Relative root mean square of the difference; 0 where both are 0, `None` where it is no finite number.
    pub fn rel_rms(&self) -> Option<f64> {
        if self.error + self.want <= 0.0 {
            return Some(0.0);
        }
        finite((self.error / self.want).sqrt())
    }

    /// The cosine of the angle between both; `None` where one of them is 0 or no number.
    pub fn cosine(&self) -> Option<f64> {
        finite(self.dot / (self.got.sqrt() * self.want.sqrt()))
            .map(|cosine| cosine.clamp(-1.0, 1.0))
    }

    /// The angle between both, in degrees: from the distance of the unit vectors, because a cosine near 1 has lost it.
    pub fn degrees(&self) -> Option<f64> {
        let (got, want) = (self.got.sqrt(), self.want.sqrt());
        let chord = (self.error - (got - want) * (got - want)).max(0.0) / (got * want);
        finite(2.0 * (chord.sqrt() / 2.0).clamp(0.0, 1.0).asin().to_degrees())
    }

    /// The factor that brings ours closest to the oracle's, and the relative root mean square that is left then.
    pub fn rescaled(&self) -> Option<(f64, f64)> {
        let factor = finite(self.dot / self.got)?;
        // Of the right triangle with the oracle's as hypotenuse.
        let sine = self.degrees()?.to_radians().sin();
        Some((factor, sine))
    }
}

/// The sums of every row of two matrices of one shape.
pub fn row_sums(got: &Rows, want: &Rows) -> Vec<RowSums> {
    let rows = got.values.chunks(got.width.max(1)).zip(want.values.chunks(want.width.max(1)));
    rows.map(|(got, want)| RowSums::of(got, want)).collect()
}

/// Compares two matrices of one shape.
pub fn compare(got: &Rows, want: &Rows) -> Comparison {
    let rows = row_sums(got, want);
    let all = rows.iter().copied().fold(RowSums::NONE, RowSums::plus);
    Comparison {
        rows: rows.len(),
        width: got.width,
        not_finite: got.values.iter().filter(|value| !value.is_finite()).count() as u64,
        rel_rms: all.rel_rms(),
        worst_row: worst_row(&rows),
        rescaled: all.rescaled(),
        worst: worst(got, want, |got, want| (got - want).abs()),
    }
}

fn worst_row(rows: &[RowSums]) -> Option<(usize, f64)> {
    let mut worst = None;
    for (index, row) in rows.iter().enumerate() {
        let distance = row.rel_rms()?;
        if worst.is_none_or(|(_, largest)| distance > largest) {
            worst = Some((index, distance));
        }
    }
    worst
}

/// The elements of the largest `distance`, those that differ; what is no number is farthest of all.
pub fn worst(got: &Rows, want: &Rows, distance: impl Fn(f64, f64) -> f64) -> Vec<Element> {
    let mut elements: Vec<(f64, usize)> = Vec::new();
    for (index, (got, want)) in got.values.iter().zip(&want.values).enumerate() {
        if got.to_bits() == want.to_bits() {
            continue;
        }
        let far = distance(f64::from(*got), f64::from(*want));
        let far = if far.is_nan() { f64::INFINITY } else { far };
        elements.push((far, index));
        if elements.len() > 64 {
            keep_worst(&mut elements);
        }
    }
    keep_worst(&mut elements);
    let element = |(_, index): (f64, usize)| Element {
        row: index / got.width.max(1),
        column: index % got.width.max(1),
        got: finite(f64::from(got.values[index])),
        want: finite(f64::from(want.values[index])),
    };
    elements.into_iter().map(element).collect()
}

fn keep_worst(elements: &mut Vec<(f64, usize)>) {
    elements.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    elements.truncate(WORST_KEPT);
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::within;

    fn rows(width: usize, values: &[f32]) -> Rows {
        Rows { width, values: values.to_vec() }
    }

    fn near(found: Option<f64>, expected: f64) {
        assert!(within((found.unwrap() - expected).abs(), 1e-9), "{found:?} is not {expected}");
    }

    /// `[3, 4]` against `[3, 5]`: a difference of 1 over a length of the root of 34.
    #[test]
    fn a_distance_is_relative_to_the_oracle() {
        let found = compare(&rows(2, &[3.0, 4.0, 1.0, 1.0]), &rows(2, &[3.0, 5.0, 1.0, 1.0]));
        near(found.rel_rms, 1.0 / 36.0_f64.sqrt());
        let (row, distance) = found.worst_row.unwrap();
        assert_eq!(row, 0);
        near(Some(distance), 1.0 / 34.0_f64.sqrt());
        assert_eq!(found.worst.len(), 1);
        assert_eq!((found.worst[0].row, found.worst[0].column), (0, 1));
    }

    /// A quarter turn, and one by a millionth of a degree, which its cosine cannot tell from none.
    #[test]
    fn angles_are_in_degrees() {
        let angle =
            |got: &[f32], want: &[f32]| row_sums(&rows(2, got), &rows(2, want))[0].degrees();
        near(angle(&[0.0, 2.0], &[1.0, 0.0]), 90.0);
        near(angle(&[1.0, 0.0], &[1.0, 0.0]), 0.0);
        let small = angle(&[1.0, 1e-6], &[1.0, 0.0]).unwrap();
        assert!(within((small / 1e-6_f64.to_degrees() - 1.0).abs(), 1e-6), "{small}");
        assert_eq!(angle(&[0.0, 0.0], &[1.0, 0.0]), None);
    }

    /// Ours is 1.25 times the oracle's: times 0.8 it is the oracle's.
    #[test]
    fn a_scale_is_found() {
        let got: Vec<f32> = [1.0_f32, 2.0, -4.0].iter().map(|value| value * 1.25).collect();
        let found = compare(&rows(3, &got), &rows(3, &[1.0, 2.0, -4.0]));
        near(found.rel_rms, 0.25);
        let (factor, left) = found.rescaled.unwrap();
        near(Some(factor), 0.8);
        assert!(within(left, 1e-7), "{left}");
    }

    #[test]
    fn what_is_no_number_has_no_distance_and_is_shown_first() {
        let found = compare(&rows(2, &[f32::NAN, 9.0]), &rows(2, &[1.0, 2.0]));
        assert_eq!((found.rel_rms, found.worst_row, found.not_finite), (None, None, 1));
        assert_eq!((found.worst[0].column, found.worst[0].got), (0, None));
        let zero = compare(&rows(1, &[1.0]), &rows(1, &[0.0]));
        assert_eq!((zero.rel_rms, zero.worst_row), (None, None));
        assert_eq!(compare(&rows(1, &[0.0]), &rows(1, &[0.0])).rel_rms, Some(0.0));
    }
}
