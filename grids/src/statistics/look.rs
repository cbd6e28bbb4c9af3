//! Planned looks at growing data: the level of each look such that all of them together miss with probability alpha.
//!
//! A test after every pair from 4 to 20 at 5 % each is wrong 20 % of the time. S. J. Pocock, Biometrika 64 (1977) 191-199: the same
//! level at every look. P. C. O'Brien and T. R. Fleming, Biometrics 35 (1979) 549-556: z falls with the square root of the
//! information. The constant is found by integrating the density of the statistic look by look (P. Armitage, C. K. McPherson and
//! B. C. Rowe, Journal of the Royal Statistical Society A 132 (1969) 235-244), so that looks need not be equally far apart.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::distribution::{normal_cdf, normal_quantile};

/// Points of the grid on which a density is integrated by Simpson's rule.
const POINTS: usize = 101;
/// Halvings of the bracket around the constant.
const HALVINGS: usize = 50;

/// How alpha is shared among the looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// The same level at every look.
    Pocock,
    /// Little at first, almost all of alpha at the last look.
    #[default]
    ObrienFleming,
}

/// The two-sided level of each look, `at` ascending counts of pairs (the last is the end of the plan). `None` unless they ascend
/// from above 0 and alpha is between 0 and 1.
pub fn levels(boundary: Boundary, at: &[usize], alpha: f64) -> Option<Vec<f64>> {
    let ascends = at.windows(2).all(|pair| pair[0] < pair[1]);
    if at.first().is_none_or(|first| *first == 0) || !ascends || !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    if at.len() == 1 {
        return Some(vec![alpha]);
    }
    let end = at[at.len() - 1] as f64;
    let information: Vec<f64> = at.iter().map(|pairs| *pairs as f64 / end).collect();
    let deviates = |constant: f64| -> Vec<f64> {
        let of = |share: &f64| match boundary {
            Boundary::Pocock => constant,
            Boundary::ObrienFleming => constant / share.sqrt(),
        };
        information.iter().map(of).collect()
    };
    // Between no correction at all and Bonferroni's, widened.
    let mut low = normal_quantile(1.0 - alpha / 2.0);
    let mut high = normal_quantile(1.0 - alpha / 2.0 / at.len() as f64) + 1.0;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let crossed = 1.0 - staying(&information, &deviates(middle));
        if crossed > alpha { low = middle } else { high = middle }
    }
    Some(deviates(high).into_iter().map(|z| 2.0 * (1.0 - normal_cdf(z))).collect())
}

/// The probability that a Brownian motion seen at `information` never leaves +-`deviates` (in its own standard deviations).
fn staying(information: &[f64], deviates: &[f64]) -> f64 {
    let normal =
        |x: f64, variance: f64| (-x * x / (2.0 * variance)).exp() / (2.0 * PI * variance).sqrt();
    let mut grid: Vec<f64> = Vec::new();
    let mut density: Vec<f64> = Vec::new();
    let mut before = 0.0;
    for (&share, &deviate) in information.iter().zip(deviates) {
        let bound = deviate * share.sqrt();
        let next = points(bound);
        let step = share - before;
        let at = |x: f64| {
            if grid.is_empty() {
                return normal(x, step);
            }
            let values =
                grid.iter().zip(&density).map(|(from, height)| height * normal(x - from, step));
            simpson(&grid, &values.collect::<Vec<_>>())
        };
        density = next.iter().map(|x| at(*x)).collect();
        grid = next;
        before = share;
    }
    simpson(&grid, &density)
}

fn points(bound: f64) -> Vec<f64> {
    (0..POINTS).map(|i| -bound + 2.0 * bound * i as f64 / (POINTS - 1) as f64).collect()
}

fn simpson(grid: &[f64], values: &[f64]) -> f64 {
    let last = values.len() - 1;
    let weight = |index: usize| match index {
        0 => 1.0,
        _ if index == last => 1.0,
        _ if index % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = values.iter().enumerate().map(|(index, value)| weight(index) * value).sum();
    sum * (grid[1] - grid[0]) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// C. Jennison and B. W. Turnbull, Group Sequential Methods (2000), tables 2.1 and 2.3, two-sided 5 %: constants for K
    /// equally spaced looks.
    #[test]
    fn constants_of_jennison_and_turnbull() {
        for (count, pocock, obrien_fleming) in
            [(2, 2.178, 1.977), (3, 2.289, 2.004), (5, 2.413, 2.040)]
        {
            let at: Vec<usize> = (1..=count).map(|look| 10 * look).collect();
            let last = |boundary| {
                let level = levels(boundary, &at, 0.05).unwrap()[count - 1];
                normal_quantile(1.0 - level / 2.0)
            };
            close(last(Boundary::Pocock), pocock, 6e-4);
            close(last(Boundary::ObrienFleming), obrien_fleming, 6e-4);
        }
    }

    /// scipy 1.17.1: the constant at which `1 - multivariate_normal(0, C).cdf(z, lower_limit=-z)` is 5 %, with
    /// C = sqrt(min(s, t) / max(s, t)) for 8, 14 and 20 pairs.
    #[test]
    fn unequal_looks_as_scipy_has_them() {
        let found = levels(Boundary::Pocock, &[8, 14, 20], 0.05).unwrap();
        for level in found {
            close(level, 0.022_947_6, 2e-5);
        }
        let found = levels(Boundary::ObrienFleming, &[8, 14, 20], 0.05).unwrap();
        for (level, expected) in found.into_iter().zip([0.001_471_4, 0.016_214_2, 0.044_285_5]) {
            close(level, expected, 2e-5);
        }
    }

    #[test]
    fn one_look_has_all_of_alpha_and_nonsense_none() {
        assert_eq!(levels(Boundary::Pocock, &[10], 0.05), Some(vec![0.05]));
        for at in [&[][..], &[0, 5], &[5, 5], &[9, 5]] {
            assert_eq!(levels(Boundary::Pocock, at, 0.05), None);
        }
        assert_eq!(levels(Boundary::Pocock, &[5, 9], f64::NAN), None);
    }

    /// 2000 series of equals, looked at after 8, 14 and 20 values by the t interval: with the levels of the boundary one look or
    /// another is wrong 5 % of the time; at 5 % each, 10 %.
    #[test]
    fn all_looks_together_miss_as_often_as_alpha_says() {
        use rand::{RngExt, SeedableRng};
        let at = [8, 14, 20];
        let wrong = |levels: &[f64]| {
            let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(20);
            let series = (0..2000).filter(|_| {
                let values: Vec<f64> =
                    (0..20).map(|_| normal_quantile(random.random_range(1e-12..1.0))).collect();
                at.iter().zip(levels).any(|(n, level)| {
                    let found = crate::statistics::student::interval(&values[..*n], *level);
                    found.is_some_and(|found| found.lower > 0.0 || found.upper < 0.0)
                })
            });
            series.count()
        };
        for boundary in [Boundary::Pocock, Boundary::ObrienFleming] {
            let count = wrong(&levels(boundary, &at, 0.05).unwrap());
            assert!(
                (75..=126).contains(&count),
                "{boundary:?}: {count}, not the 99 % interval of 5 %"
            );
        }
        assert!(wrong(&[0.05; 3]) > 160);
    }
}
