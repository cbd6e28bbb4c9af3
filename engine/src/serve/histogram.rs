//! A histogram as Prometheus keeps it.

use std::fmt::Write;

/// Counts of observations up to each bound.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// One more than there are bounds: the last is everything above.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    /// No observations. The bounds rise.
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Adds an observation.
    pub(super) fn observe(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        self.counts[bucket] += 1;
        self.sum += value;
    }

    /// Writes the samples in Prometheus' text format. `labels` are without braces.
    pub(super) fn write(&self, name: &str, labels: &str, out: &mut String) {
        let mut total = 0;
        let bounds = self.bounds.iter().map(|bound| format!("{bound:?}"));
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&self.counts) {
            total += count;
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {total}");
        }
        let _ = writeln!(out, "{name}_count{{{labels}}} {total}");
        let _ = writeln!(out, "{name}_sum{{{labels}}} {:?}", self.sum);
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn buckets_are_cumulative_and_include_their_bound() {
        let mut histogram = Histogram::new(&[1.0, 2.5]);
        for value in [0.5, 1.0, 2.0, 9.0] {
            histogram.observe(value);
        }
        let mut out = String::new();
        histogram.write("h", "a=\"b\"", &mut out);
        let expected = "h_bucket{a=\"b\",le=\"1.0\"} 2\nh_bucket{a=\"b\",le=\"2.5\"} 3\n\
            h_bucket{a=\"b\",le=\"+Inf\"} 4\nh_count{a=\"b\"} 4\nh_sum{a=\"b\"} 12.5\n";
        assert_eq!(out, expected);
    }
}
