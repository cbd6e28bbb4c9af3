//! Where a curve bends: two straight segments, each by least squares, at the split that leaves the least.
//!
//! It is a knee only if two lines explain more than one by more than chance: an F test with 3 more parameters (intercept, slope,
//! split), as G. C. Chow, Econometrica 28 (1960) 591-605, with one degree of freedom for the split.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Fewest points.
pub const FEWEST: usize = 6;
/// Points of a segment at least.
const SEGMENT: usize = 2;

/// Two segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Where they meet; the middle of the gap between them if they meet outside of it.
    pub at: f64,
    /// Slope before.
    pub before: f64,
    /// Slope after.
    pub after: f64,
    /// p-value of "one straight line".
    pub p: f64,
}

/// A straight line and the squares it leaves.
#[derive(Clone, Copy)]
struct Line {
    intercept: f64,
    slope: f64,
    squares: f64,
}

/// Of (load, response) points with ascending loads; `None` of fewer than [`FEWEST`], of no number, and of loads that do not ascend.
pub fn knee(points: &[(f64, f64)]) -> Option<Knee> {
    let is_usable = points.iter().all(|(x, y)| x.is_finite() && y.is_finite())
        && points.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if points.len() < FEWEST || !is_usable {
        return None;
    }
    let one = line(points);
    let splits = SEGMENT..=points.len() - SEGMENT;
    let (split, left, right) = splits
        .map(|split| (split, line(&points[..split]), line(&points[split..])))
        .min_by(|a, b| (a.1.squares + a.2.squares).total_cmp(&(b.1.squares + b.2.squares)))?;
    let gap = (points[split - 1].0, points[split].0);
    let meeting = (right.intercept - left.intercept) / (left.slope - right.slope);
    let at =
        if meeting >= gap.0 && meeting <= gap.1 { meeting } else { f64::midpoint(gap.0, gap.1) };
    let p = chow(one.squares, left.squares + right.squares, points.len());
    Some(Knee { at, before: left.slope, after: right.slope, p })
}

fn line(points: &[(f64, f64)]) -> Line {
    let n = points.len() as f64;
    let x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let across: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let along: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let slope = along / across;
    let intercept = y - slope * x;
    let squares = points.iter().map(|point| (point.1 - intercept - slope * point.0).powi(2)).sum();
    Line { intercept, slope, squares }
}

fn chow(one: f64, two: f64, points: usize) -> f64 {
    let (more, left) = (3.0, points as f64 - 5.0);
    // Squares of nothing but rounding are a perfect fit.
    if one <= f64::EPSILON * points as f64 {
        return 1.0;
    }
    if two <= one * 1e-20 {
        return 0.0;
    }
    let f = ((one - two) / more) / (two / left);
    FisherSnedecor::new(more, left).map_or(1.0, |distribution| 1.0 - distribution.cdf(f.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// Throughput that rises by 10 up to load 8 and by 1 after it.
    #[test]
    fn the_bend_by_hand() {
        let of = |x: f64| if x <= 8.0 { 10.0 * x } else { 80.0 + (x - 8.0) };
        let points: Vec<(f64, f64)> =
            [1.0, 2.0, 4.0, 6.0, 10.0, 16.0, 32.0].map(|x| (x, of(x))).into();
        let found = knee(&points).unwrap();
        close(found.at, 8.0, 1e-9);
        close(found.before, 10.0, 1e-9);
        close(found.after, 1.0, 1e-9);
        assert!(found.p < 1e-6);
    }

    #[test]
    fn a_straight_line_has_no_knee() {
        let noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.3, -0.1, -0.2];
        let points: Vec<(f64, f64)> =
            noise.iter().enumerate().map(|(x, noise)| (x as f64, 2.0 * x as f64 + noise)).collect();
        assert!(knee(&points).unwrap().p > 0.05);
        assert_eq!(knee(&points[..5]), None);
        assert_eq!(knee(&[(1.0, f64::NAN); 6]), None);
    }
}
