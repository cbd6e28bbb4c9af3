//! How many events a second the mock sent, counted as they left.

/// Width of a count.
const BUCKET_NS: u64 = 10_000_000;
/// Counts beyond this time of a first event fall into the last one: an hour.
const BUCKETS: usize = 360_000;

/// Events by the hundredth of a second in which they left.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    first_ns: Option<u64>,
    buckets: Vec<u64>,
}

impl Rate {
    /// So many events left at this time, which is not before that of an earlier call.
    pub fn add(&mut self, at_ns: u64, events: u64) {
        if events == 0 {
            return;
        }
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        let bucket = (at_ns.saturating_sub(first_ns) / BUCKET_NS) as usize;
        let bucket = bucket.min(BUCKETS - 1);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += events;
    }

    /// All of them.
    pub fn events(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Events a second while the second and the third quarter of them left: a warm-up, the start and the end of a run are not in it.
    /// `None` where that took no longer than one count is wide.
    pub fn middle_per_second(&self) -> Option<f64> {
        let total = self.events();
        let (mut before, mut from, mut inside) = (0, None, 0);
        for (index, events) in self.buckets.iter().enumerate() {
            if before * 4 >= total && total > 0 {
                let from = *from.get_or_insert(index);
                if before * 4 >= total * 3 {
                    let seconds = ((index - from) as u64 * BUCKET_NS) as f64 / 1e9;
                    return (seconds > BUCKET_NS as f64 / 1e9).then(|| inside as f64 / seconds);
                }
                inside += events;
            }
            before += events;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One event at the start, nothing for two seconds, then one each 10 ms for four seconds: 100 a second, whatever came before.
    #[test]
    fn a_warm_up_and_a_pause_are_not_in_it() {
        let mut rate = Rate::default();
        rate.add(5, 1);
        for index in 0..400 {
            rate.add(5 + 2_000_000_000 + index * BUCKET_NS, 1);
        }
        assert_eq!(rate.events(), 401);
        let found = rate.middle_per_second().unwrap();
        assert!((found - 100.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn nothing_and_one_burst_have_no_rate() {
        let mut rate = Rate::default();
        assert_eq!(rate.middle_per_second(), None);
        rate.add(7, 1000);
        assert_eq!((rate.events(), rate.middle_per_second()), (1000, None));
    }
}
