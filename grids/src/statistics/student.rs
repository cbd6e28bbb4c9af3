//! The geometric mean of paired ratios with a t interval, the slot's effect taken out by regression.

use super::distribution::t_quantile;
use super::interval::Interval;
use super::pair::{Order, Pair, adjusted, slot_effect};
use super::{deviation, mean};

/// Ordinary least squares of d = mu + gamma * order, order +-1: mu and its standard error, on n - 2 degrees of freedom.
///
/// mu is the mean of the two orders' means (the plain mean where they are balanced) and var(mu) = s^2 (1/n1 + 1/n2) / 4.
#[derive(Clone, Copy, Debug)]
pub struct SlotRegression {
    /// mu.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// n - 2.
    pub df: f64,
}

impl SlotRegression {
    /// `None` unless both orders occur and there are at least three pairs.
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        let without = adjusted(pairs)?;
        let gamma = slot_effect(pairs)?;
        let first = pairs.iter().filter(|pair| pair.order == Order::ReferenceFirst);
        let n1 = first.clone().count() as f64;
        let n2 = pairs.len() as f64 - n1;
        let df = pairs.len() as f64 - 2.0;
        if df < 1.0 {
            return None;
        }
        let estimate = mean(&first.map(|pair| pair.log_ratio).collect::<Vec<_>>())? - gamma;
        let squares: f64 = without.iter().map(|d| (d - estimate).powi(2)).sum();
        let error = (squares / df * (1.0 / n1 + 1.0 / n2) / 4.0).sqrt();
        Some(Self { estimate, error, df })
    }

    /// The interval that misses with probability `alpha`.
    pub fn interval(&self, alpha: f64) -> Interval {
        Interval::around(self.estimate, t_quantile(1.0 - alpha / 2.0, self.df) * self.error)
    }
}

/// The plain one-sample t interval, n - 1 degrees of freedom; `None` of fewer than two.
pub fn interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let error = deviation(values)? / (values.len() as f64).sqrt();
    let df = values.len() as f64 - 1.0;
    Some(Interval::around(mean(values)?, t_quantile(1.0 - alpha / 2.0, df) * error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    fn pairs(of: &[(f64, f64)]) -> Vec<Pair> {
        let order =
            |sign: f64| if sign > 0.0 { Order::ReferenceFirst } else { Order::SubjectFirst };
        of.iter().map(|&(d, o)| Pair { log_ratio: d, order: order(o), session: 1 }).collect()
    }

    /// statsmodels 0.15.0: `OLS(d, add_constant(order)).fit().conf_int(.05)[0]`, balanced and not.
    #[test]
    fn regression_as_statsmodels_has_it() {
        let all = [
            (0.012, 1.0),
            (-0.003, -1.0),
            (0.007, -1.0),
            (0.021, 1.0),
            (0.004, 1.0),
            (0.009, -1.0),
            (-0.011, -1.0),
            (0.015, 1.0),
        ];
        for (of, estimate, lower, upper) in [
            (&all[..], 0.006_75, -0.000_392_649_837_092_1, 0.013_892_649_837_092_1),
            (&all[..7], 0.006_416_666_666_666_7, -0.002_403_692_656_456_4, 0.015_237_025_989_789_8),
        ] {
            let found = SlotRegression::of(&pairs(of)).unwrap().interval(0.05);
            close(found.estimate, estimate, 1e-12);
            close(found.lower, lower, 1e-11);
            close(found.upper, upper, 1e-11);
        }
    }

    /// scipy 1.17.1: `stats.t.interval(.95, 7, d.mean(), stats.sem(d))`.
    #[test]
    fn plain_interval_as_scipy_has_it() {
        let d = [0.012, -0.003, 0.007, 0.021, 0.004, 0.009, -0.011, 0.015];
        let found = interval(&d, 0.05).unwrap();
        close(found.lower, -0.001_737_627_155_218_1, 1e-11);
        close(found.upper, 0.015_237_627_155_218_1, 1e-11);
        assert_eq!(interval(&d[..1], 0.05), None);
    }

    #[test]
    fn two_pairs_or_one_order_give_nothing() {
        assert!(SlotRegression::of(&pairs(&[(0.1, 1.0), (0.2, -1.0)])).is_none());
        assert!(SlotRegression::of(&pairs(&[(0.1, 1.0), (0.2, 1.0), (0.3, 1.0)])).is_none());
    }
}
