//! Lengths in bands: a pure function of bands, seed and count.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::workload::WorkloadError;
use crate::workload::counter::Counter;

/// Shares, in percent, of short questions, code, prose and long reviews in a mixed load.
pub const WEIGHTS: [u32; 4] = [35, 40, 15, 10];

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Band {
    /// What they are, as in `short question`.
    pub name: String,
    /// How many of all, in relation to the other bands.
    pub weight: u32,
    /// Tokens of a prompt, from and to, both included.
    pub prompt_tokens: (u32, u32),
    /// Tokens of an answer, from and to, both included.
    pub output_tokens: (u32, u32),
}

/// Lengths of `count` requests, prompt first. Every band has its exact share, by largest remainder, in a seeded order.
pub fn lengths(
    bands: &[Band],
    seed: u64,
    partition: &str,
    count: u32,
) -> Result<Vec<(u32, u32)>, WorkloadError> {
    check(bands)?;
    let mut order: Vec<usize> = apportion(bands, count)
        .iter()
        .enumerate()
        .flat_map(|(band, &share)| std::iter::repeat_n(band, share as usize))
        .collect();
    let ranks = Counter::new(seed, &format!("order/{partition}"));
    let mut keyed: Vec<(u64, usize)> = order
        .drain(..)
        .enumerate()
        .map(|(place, band)| (ranks.at(place as u64).next_u64(), band))
        .collect();
    keyed.sort_unstable();
    let draws = Counter::new(seed, &format!("length/{partition}"));
    let drawn = keyed.into_iter().enumerate().map(|(place, (_, band))| {
        let mut random = draws.at(place as u64);
        let mut within = |(from, to): (u32, u32)| random.random_range(from..=to);
        (within(bands[band].prompt_tokens), within(bands[band].output_tokens))
    });
    Ok(drawn.collect())
}

fn check(bands: &[Band]) -> Result<(), WorkloadError> {
    if bands.iter().map(|band| u64::from(band.weight)).sum::<u64>() == 0 {
        return Err(WorkloadError::range("the sum of the weights", &0, "at least 1"));
    }
    for Band { prompt_tokens, output_tokens, .. } in bands {
        for &(from, to) in [prompt_tokens, output_tokens] {
            if from == 0 || from > to {
                let found = format!("{from} to {to}");
                return Err(WorkloadError::range("a band", &found, "at least 1, ascending"));
            }
        }
    }
    Ok(())
}

/// Whole numbers that add up to `count`, in proportion to the weights: the largest remainders are rounded up, earlier bands first.
fn apportion(bands: &[Band], count: u32) -> Vec<u32> {
    let total: u64 = bands.iter().map(|band| u64::from(band.weight)).sum();
    let exact = |band: &Band| u64::from(band.weight) * u64::from(count);
    let mut shares: Vec<u32> = bands.iter().map(|band| (exact(band) / total) as u32).collect();
    let mut by_remainder: Vec<usize> = (0..bands.len()).collect();
    by_remainder.sort_by_key(|&band| std::cmp::Reverse(exact(&bands[band]) % total));
    let missing = count - shares.iter().sum::<u32>();
    for &band in by_remainder.iter().take(missing as usize) {
        shares[band] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bands() -> Vec<Band> {
        let band = |index: u32, weight| Band {
            name: format!("band {index}"),
            weight,
            prompt_tokens: (index * 100 + 1, index * 100 + 50),
            output_tokens: (index + 1, index + 1),
        };
        (0..4).zip(WEIGHTS).map(|(index, weight)| band(index, weight)).collect()
    }

    /// 35, 40, 15 and 10 % of 24 are 8.4, 9.6, 3.6 and 2.4: 8, 10, 4 and 2 by largest remainder.
    #[test]
    fn shares_are_exact() {
        assert_eq!(apportion(&bands(), 24), [8, 10, 4, 2]);
        assert_eq!(apportion(&bands(), 100), WEIGHTS);
        assert_eq!(apportion(&bands(), 1), [0, 1, 0, 0]);
    }

    #[test]
    fn lengths_stay_in_their_bands_and_come_again() {
        let drawn = lengths(&bands(), 9, "c4/rep1", 200).unwrap();
        assert_eq!(drawn, lengths(&bands(), 9, "c4/rep1", 200).unwrap());
        assert_ne!(drawn, lengths(&bands(), 9, "c4/rep2", 200).unwrap());
        for (index, weight) in (0..4).zip(WEIGHTS) {
            let inside = |&&(prompt, output): &&(u32, u32)| {
                (index * 100 + 1..=index * 100 + 50).contains(&prompt) && output == index + 1
            };
            assert_eq!(drawn.iter().filter(inside).count(), 2 * weight as usize);
        }
        let first_half = drawn[..100].iter().filter(|&&(_, output)| output == 1).count();
        assert!((20..=50).contains(&first_half), "mixed, not sorted: {first_half}");
    }

    #[test]
    fn refuses_what_cannot_be_drawn() {
        let with = |change: fn(&mut Band)| {
            let mut all = bands();
            change(&mut all[1]);
            lengths(&all, 1, "x", 10)
        };
        assert!(with(|band| band.prompt_tokens = (9, 8)).is_err());
        assert!(with(|band| band.output_tokens = (0, 8)).is_err());
        assert!(lengths(&[], 1, "x", 10).is_err());
    }
}
