//! How far a model's next-token distribution is from a base model's, over many positions.
//!
//! The figures are those that llama-perplexity prints for `--kl-divergence`, so that they can be laid beside its table: means
//! with the standard error of the mean, percentiles by linear interpolation. As there, a position's terms are f32 and every
//! sum is f64.

use serde::{Deserialize, Serialize};

use crate::compare::nan_of_null;

/// Log-probabilities of the base at or below this count for nothing: the base file holds no smaller ones.
const LEAST_LOGPROB: f32 = -16.0;

/// What one position contributes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// `sum p_base * (ln p_base - ln p)`, in nats; NaN where logits lie so far apart that it is beyond f32.
    #[serde(deserialize_with = "nan_of_null")]
    pub divergence: f64,
    /// Negative log-likelihood of the token that follows, under the model.
    #[serde(deserialize_with = "nan_of_null")]
    pub nll: f64,
    /// The same under the base.
    #[serde(deserialize_with = "nan_of_null")]
    pub nll_base: f64,
    /// Rank of the base's most probable token in the model, 1 the first, the lower id before an equal one.
    pub rank: usize,
}

impl Position {
    /// Compares `logits` with the base's log-probabilities. `next` is the token that follows. None where the lengths differ
    /// or a value is not finite: there is no distribution to compare.
    pub fn compare(logits: &[f32], base: &[f32], next: u32) -> Option<Self> {
        let next = next as usize;
        let finite = logits.iter().chain(base).all(|value| value.is_finite());
        if !finite || logits.len() != base.len() || next >= base.len() {
            return None;
        }
        let normaliser = log_sum_exp(logits);
        let term =
            |(&base, &logit): (&f32, &f32)| f64::from(base.exp() * (base - logit + normaliser));
        let counted = base.iter().zip(logits).filter(|(base, _)| **base > LEAST_LOGPROB);
        let divergence: f64 = counted.map(term).sum();
        let number = |value: f64| if value.is_finite() { value } else { f64::NAN };
        let top = first_largest(base)?;
        let above =
            |(id, &logit): (usize, &f32)| logit > logits[top] || (logit >= logits[top] && id < top);
        Some(Self {
            divergence: number(divergence),
            nll: number(f64::from(normaliser - logits[next])),
            nll_base: f64::from(-base[next]),
            rank: 1 + logits.iter().enumerate().filter(|&entry| above(entry)).count(),
        })
    }

    /// Whether both have the same most probable token, the lower id among equals.
    pub fn same_top(&self) -> bool {
        self.rank == 1
    }

    /// Probability of the token that follows, less the base's.
    fn shift(&self) -> f64 {
        (-self.nll).exp() - (-self.nll_base).exp()
    }
}

/// `ln(sum(e^x))`.
fn log_sum_exp(logits: &[f32]) -> f32 {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from((logit - highest).exp())).sum();
    highest + sum.ln() as f32
}

fn first_largest(values: &[f32]) -> Option<usize> {
    let larger = |best: Option<(usize, f32)>, (id, &value): (usize, &f32)| match best {
        Some((_, largest)) if value <= largest => best,
        _ => Some((id, value)),
    };
    values.iter().enumerate().fold(None, larger).map(|(id, _)| id)
}

/// A mean and the standard error of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error; zero for ten values or fewer, as llama-perplexity has it.
    pub error: f64,
}

/// The figures over all positions.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Positions.
    pub count: usize,
    /// Perplexity of the model.
    pub perplexity: Mean,
    /// Perplexity of the base.
    pub perplexity_base: Mean,
    /// Kullback-Leibler divergence, nats.
    pub divergence: Mean,
    /// The least, the median, the 99th percentile and the largest divergence.
    pub divergences: [f64; 4],
    /// Share of positions with the same most probable token.
    pub same_top: Mean,
    /// Root of the mean squared change of the probability of the token that follows.
    pub shift_rms: Mean,
    /// Positions at which the base's first choice is the model's first, second, and any later one.
    pub ranks: [usize; 3],
}

/// The figures of some positions; none without a position.
pub fn of(positions: &[Position]) -> Option<Statistics> {
    let count = positions.len();
    let mean = |value: &dyn Fn(&Position) -> f64| mean(positions.iter().map(value), count);
    let mut divergences: Vec<f64> = positions.iter().map(|at| at.divergence).collect();
    divergences.sort_by(f64::total_cmp);
    let (least, largest) = (*divergences.first()?, *divergences.last()?);
    let perplexity = |nll: Mean| {
        let value = nll.value.exp();
        Mean { value, error: value * nll.error }
    };
    let share = positions.iter().filter(|at| at.same_top()).count() as f64 / count as f64;
    let spread = share * (1.0 - share) / (count.saturating_sub(1).max(1)) as f64;
    let square = mean(&|at| at.shift() * at.shift());
    let root = square.value.sqrt();
    let ranked = |range: std::ops::RangeInclusive<usize>| {
        positions.iter().filter(|at| range.contains(&at.rank)).count()
    };
    Some(Statistics {
        count,
        perplexity: perplexity(mean(&|at| at.nll)),
        perplexity_base: perplexity(mean(&|at| at.nll_base)),
        divergence: mean(&|at| at.divergence),
        divergences: [
            least,
            percentile(&divergences, 0.5),
            percentile(&divergences, 0.99),
            largest,
        ],
        same_top: Mean { value: share, error: spread.sqrt() },
        // The derivative of a root; a shift of nothing at all has no error either.
        shift_rms: Mean {
            value: root,
            error: if root > 0.0 { 0.5 / root * square.error } else { 0.0 },
        },
        ranks: [ranked(1..=1), ranked(2..=2), ranked(3..=usize::MAX)],
    })
}

fn mean(values: impl Iterator<Item = f64> + Clone, count: usize) -> Mean {
    let value = values.clone().sum::<f64>() / count as f64;
    let variance = values.map(|x| x * x).sum::<f64>() / count as f64 - value * value;
    let known = count > 10 && variance > 0.0;
    let error = if known { (variance / (count - 1) as f64).sqrt() } else { 0.0 };
    Mean { value, error }
}

/// Of sorted values, by linear interpolation between neighbours; the place between them is an f32, as in llama-perplexity.
fn percentile(sorted: &[f64], share: f32) -> f64 {
    let place = share * (sorted.len() - 1) as f32;
    let (below, rest) = (place.floor() as usize, f64::from(place.fract()));
    let above = (below + 1).min(sorted.len() - 1);
    (1.0 - rest) * sorted[below] + rest * sorted[above]
}

#[cfg(test)]
mod tests {
    use oracles::perplexity::BaseFile;

    use super::{Mean, Position, Statistics, of, percentile};

    const BASE: &[u8] = include_bytes!("../../../tests/data/divergence/base.bin");
    /// The same positions' logits under another model, f32, row after row.
    const MODEL: &[u8] = include_bytes!("../../../tests/data/divergence/model.f32");

    fn positions() -> Vec<Position> {
        let mut base = BaseFile::open(BASE).expect("header");
        let header = base.header().clone();
        let logits: Vec<f32> =
            MODEL.as_chunks().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect();
        let mut logits = logits.chunks_exact(header.vocabulary);
        let mut positions = Vec::new();
        for ids in &header.chunks {
            let rows = base.next_chunk().expect("rows").expect("a chunk");
            let next = &ids[header.first_scored() + 1..];
            for (row, next) in rows.iter().zip(next) {
                let logits = logits.next().expect("a row a position");
                let row: Vec<f32> = row.logprobs().collect();
                positions.push(Position::compare(logits, &row, *next).expect("finite"));
            }
        }
        assert!(logits.next().is_none());
        positions
    }

    /// What llama-perplexity 0.3.36 printed for the two models: `tiny-llama.gguf` as the base, and the same
    /// requantised with `llama-quantize --pure ... Q4_0`; 4 chunks of 64 tokens.
    #[test]
    fn the_figures_are_llama_perplexitys_to_its_printed_precision() {
        let Statistics {
            count,
            perplexity,
            perplexity_base,
            divergence,
            divergences,
            same_top,
            shift_rms,
            ranks,
        } = of(&positions()).expect("positions");
        let six = |mean: Mean| format!("{:.6} ± {:.6}", mean.value, mean.error);
        let percent =
            |mean: Mean| format!("{:.3} ± {:.3} %", 100.0 * mean.value, 100.0 * mean.error);
        assert_eq!(count, 124);
        assert_eq!(six(divergence), "2.342786 ± 0.168911");
        assert_eq!(
            divergences.map(|value| format!("{value:.6}")),
            ["0.015715", "1.985304", "7.830426", "10.134867"]
        );
        assert_eq!(percent(same_top), "29.839 ± 4.126 %");
        assert_eq!(percent(shift_rms), "0.891 ± 0.359 %");
        assert_eq!(ranks.iter().sum::<usize>(), count);
        assert_eq!(ranks[0], 37);
        // It rounds every likelihood to f32 on the way, which shows in the ninth digit of a perplexity this large.
        let near = |value: f64, printed: f64| (value / printed - 1.0).abs() <= 1e-6;
        assert!(near(perplexity.value, 204_577.232_728), "{}", perplexity.value);
        assert!(near(perplexity.error, 77_033.065_030), "{}", perplexity.error);
        assert!(near(perplexity_base.value, 226_783.300_239), "{}", perplexity_base.value);
    }

    #[test]
    fn nothing_and_what_is_not_finite_have_no_figures() {
        assert_eq!(of(&[]), None);
        let mut base = BaseFile::open(BASE).expect("header");
        let rows = base.next_chunk().expect("rows").expect("a chunk");
        let row: Vec<f32> = rows[0].logprobs().collect();
        let mut logits = vec![0.0; 259];
        assert!(Position::compare(&logits, &row, 3).is_some());
        assert!(Position::compare(&logits[1..], &row, 3).is_none());
        assert!(Position::compare(&logits, &row, 259).is_none());
        logits[7] = f32::NAN;
        assert!(Position::compare(&logits, &row, 3).is_none());
    }

    #[test]
    fn percentiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 4.0];
        let found = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| percentile(&sorted, share));
        assert_eq!(found.map(f64::to_bits), [1.0, 1.5, 2.0, 3.0, 4.0].map(f64::to_bits));
        assert_eq!(percentile(&[3.0], 0.99).to_bits(), 3.0_f64.to_bits());
    }
}
