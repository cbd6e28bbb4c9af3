//! When each request is sent in an open loop: a renewal process of mean gap 1, its clock stretched to the wanted rate.
//!
//! Nothing is rescaled afterwards. A process whose last arrival is forced onto N / rate, as in vLLM's `bench serve`, has lost the
//! variance of its count and is no Poisson process any more. How arrivals follow each other and how the rate changes are two choices:
//! the k-th arrival is at the time by which the rate has accumulated the k-th sum of gaps.

use rand_distr::{Distribution, Exp1, Gamma};
use serde::{Deserialize, Serialize};

use crate::workload::counter::Counter;
use crate::workload::{WorkloadError, positive};

/// How requests follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// At even gaps.
    Constant,
    /// Independent of each other: exponential gaps.
    Poisson,
    /// Gamma gaps of this shape ("burstiness" in vLLM): below 1 in bursts, 1 is Poisson, above 1 more even. Their variance is the
    /// inverse of the shape.
    Gamma(f64),
}

/// How many requests are wanted per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// The same all the time.
    Steady(f64),
    /// Rising or falling by the same amount each second, then as at the end.
    Linear(Ramp),
    /// Rising or falling by the same factor each second, then as at the end.
    Exponential(Ramp),
}

/// From one rate to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ramp {
    /// Requests per second at the start.
    pub from: f64,
    /// Requests per second at the end.
    pub to: f64,
    /// How long it takes.
    pub seconds: f64,
}

/// Nanoseconds from the start at which `count` requests are sent, ascending: the same for the same seed and partition.
pub fn intended_ns(
    process: Process,
    rate: Rate,
    seed: u64,
    partition: &str,
    count: u32,
) -> Result<Vec<u64>, WorkloadError> {
    check(process, rate)?;
    let counter = Counter::new(seed, &format!("arrival/{partition}"));
    let mut sum = 0.0;
    let mut at = |index: u32| {
        let mut random = counter.at(u64::from(index));
        sum += match process {
            Process::Constant => 1.0,
            Process::Poisson => Exp1.sample(&mut random),
            Process::Gamma(shape) => gamma(shape)?.sample(&mut random),
        };
        Ok((rate.time_of(sum) * 1e9).round() as u64)
    };
    (0..count).map(&mut at).collect()
}

fn gamma(shape: f64) -> Result<Gamma<f64>, WorkloadError> {
    Gamma::new(shape, 1.0 / shape).map_err(|_| {
        WorkloadError::range("the shape of the gaps", &shape, "one of a gamma distribution")
    })
}

fn check(process: Process, rate: Rate) -> Result<(), WorkloadError> {
    if let Process::Gamma(shape) = process {
        positive("the shape of the gaps", shape)?;
    }
    match rate {
        Rate::Steady(rate) => positive("the rate", rate)?,
        Rate::Linear(Ramp { from, to, seconds })
        | Rate::Exponential(Ramp { from, to, seconds }) => {
            positive("the rate at the start", from)?;
            positive("the rate at the end", to)?;
            positive("the length of the ramp", seconds)?
        }
    };
    Ok(())
}

impl Rate {
    /// The time in seconds by which `requests` have accumulated: the inverse of the integral of the rate.
    ///
    /// Linear, with slope s = (to - from) / seconds: from t + s t^2 / 2 = k gives t = 2 k / (from + sqrt(from^2 + 2 s k)).
    /// Exponential, with growth g = ln(to / from) / seconds: from (e^(g t) - 1) / g = k gives t = ln(1 + g k / from) / g.
    fn time_of(self, requests: f64) -> f64 {
        let (ramp, during) = match self {
            Self::Steady(rate) => return requests / rate,
            Self::Linear(ramp) => (ramp, ramp.seconds * f64::midpoint(ramp.from, ramp.to)),
            Self::Exponential(ramp) => {
                let growth = ramp.growth();
                let mean = if growth.abs() < f64::EPSILON {
                    ramp.from
                } else {
                    (ramp.to - ramp.from) / growth / ramp.seconds
                };
                (ramp, ramp.seconds * mean)
            }
        };
        if requests > during {
            return ramp.seconds + (requests - during) / ramp.to;
        }
        match self {
            Self::Exponential(_) if ramp.growth().abs() >= f64::EPSILON => {
                (ramp.growth() * requests / ramp.from).ln_1p() / ramp.growth()
            }
            _ => {
                let slope = (ramp.to - ramp.from) / ramp.seconds;
                let root = (ramp.from.powi(2) + 2.0 * slope * requests).max(0.0).sqrt();
                2.0 * requests / (ramp.from + root)
            }
        }
    }
}

impl Ramp {
    fn growth(self) -> f64 {
        (self.to / self.from).ln() / self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(process: Process, rate: Rate, count: u32) -> Vec<f64> {
        let all = intended_ns(process, rate, 42, "test", count).unwrap();
        assert!(all.is_sorted());
        all.into_iter().map(|ns| ns as f64 / 1e9).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
    }

    fn gaps(times: &[f64]) -> Vec<f64> {
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn constant_is_even() {
        assert_eq!(
            intended_ns(Process::Constant, Rate::Steady(8.0), 1, "x", 3).unwrap(),
            [125_000_000, 250_000_000, 375_000_000]
        );
    }

    /// Counts per second of a Poisson process have variance = mean. With 2,000 seconds the ratio of the two has standard deviation
    /// sqrt(2 / 2,000) = 0.032 (about, for large means), and the mean of 10 one of sqrt(10 / 2,000) = 0.071: bounds of four.
    #[test]
    fn poisson_counts_have_the_variance_of_their_mean() {
        let all = times(Process::Poisson, Rate::Steady(10.0), 20_400);
        let mut counts = vec![0.0; 2_000];
        for time in all {
            if let Some(count) = counts.get_mut(time as usize) {
                *count += 1.0;
            }
        }
        let (mean, variance) = moments(&counts);
        assert!((mean - 10.0).abs() < 0.284, "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.127, "{}", variance / mean);
    }

    /// Ends where chance ends it: at 1,000 / 10 s with a standard deviation of sqrt(1,000) / 10 = 3.2 s, over seeds.
    #[test]
    fn the_last_arrival_is_not_forced() {
        let last = |seed| {
            let all = intended_ns(Process::Poisson, Rate::Steady(10.0), seed, "x", 1_000).unwrap();
            all[999] as f64 / 1e9
        };
        let ends: Vec<f64> = (0..200).map(last).collect();
        let (mean, variance) = moments(&ends);
        assert!((mean - 100.0).abs() < 4.0 * 3.162 / 200_f64.sqrt(), "{mean}");
        assert!((variance / 10.0 - 1.0).abs() < 0.4, "four of sqrt(2 / 200): {variance}");
    }

    /// Gamma gaps of shape s have mean 1 / rate and squared coefficient of variation 1 / s.
    #[test]
    fn gamma_gaps_have_the_variance_of_their_shape() {
        for (shape, tolerance) in [(0.25, 0.8), (1.0, 0.15), (4.0, 0.03)] {
            let gaps = gaps(&times(Process::Gamma(shape), Rate::Steady(5.0), 20_000));
            let (mean, variance) = moments(&gaps);
            assert!((mean - 0.2).abs() < 4.0 * 0.2 / (shape * 20_000.0).sqrt(), "{shape}: {mean}");
            let squared = variance / (mean * mean);
            assert!((squared - 1.0 / shape).abs() < tolerance, "{shape}: {squared}");
        }
    }

    /// 2 to 6 per second over 10 s is 40 requests; half of the time brings 2 x 5 + 0.4 x 25 / 2 = 15; afterwards 6 a second.
    #[test]
    fn linear_ramps_by_hand() {
        let ramp = Rate::Linear(Ramp { from: 2.0, to: 6.0, seconds: 10.0 });
        for (requests, expected) in [(15.0, 5.0), (40.0, 10.0), (46.0, 11.0), (0.0, 0.0)] {
            assert!((ramp.time_of(requests) - expected).abs() < 1e-12, "{requests}");
        }
        let falling = Rate::Linear(Ramp { from: 6.0, to: 2.0, seconds: 10.0 });
        assert!((falling.time_of(25.0) - 5.0).abs() < 1e-12);
        assert!((falling.time_of(42.0) - 11.0).abs() < 1e-12);
    }

    /// 1 to 16 per second over 4 s doubles each second: (2^t - 1) / ln 2 requests by t.
    #[test]
    fn exponential_ramps_by_hand() {
        let ramp = Rate::Exponential(Ramp { from: 1.0, to: 16.0, seconds: 4.0 });
        let ln2 = 2_f64.ln();
        for (requests, expected) in
            [(1.0 / ln2, 1.0), (7.0 / ln2, 3.0), (15.0 / ln2, 4.0), (15.0 / ln2 + 16.0, 5.0)]
        {
            assert!((ramp.time_of(requests) - expected).abs() < 1e-12, "{requests}");
        }
        let flat = Rate::Exponential(Ramp { from: 4.0, to: 4.0, seconds: 4.0 });
        assert!(
            (flat.time_of(8.0) - 2.0).abs() < 1e-12 && (flat.time_of(40.0) - 10.0).abs() < 1e-12
        );
    }

    #[test]
    fn arms_see_the_same_times_and_partitions_do_not() {
        let of = |partition, count| {
            intended_ns(Process::Poisson, Rate::Steady(3.0), 7, partition, count).unwrap()
        };
        assert_eq!(of("rep1", 50), of("rep1", 50));
        assert_eq!(of("rep1", 50)[..20], of("rep1", 20));
        assert_ne!(of("rep1", 50), of("rep2", 50));
    }

    #[test]
    fn refuses_rates_that_are_none() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(intended_ns(Process::Poisson, Rate::Steady(rate), 1, "x", 1).is_err());
            let ramp = Ramp { from: rate, to: 1.0, seconds: 1.0 };
            assert!(intended_ns(Process::Poisson, Rate::Linear(ramp), 1, "x", 1).is_err());
            assert!(intended_ns(Process::Gamma(rate), Rate::Steady(1.0), 1, "x", 1).is_err());
        }
    }
}
