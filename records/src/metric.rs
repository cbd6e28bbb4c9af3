//! Every metric that a record may carry: its name, its unit, and what it means. A number without an entry here has no place.

use serde::{Deserialize, Serialize};

/// Declares the metrics in one table, so that a name cannot exist without its unit and definition.
macro_rules! metrics {
    ($($variant:ident, $name:literal, $unit:literal, $definition:literal;)*) => {
        /// What was measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Metric {
            $(#[doc = $definition] #[serde(rename = $name)] $variant,)*
        }

        impl Metric {
            /// All of them, in the order of the glossary.
            pub const ALL: &[Metric] = &[$(Metric::$variant,)*];

            /// The name in records and tables.
            pub fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name,)* }
            }

            /// The unit of its values.
            pub fn unit(self) -> &'static str {
                match self { $(Metric::$variant => $unit,)* }
            }

            /// What exactly is counted, from where to where.
            pub fn definition(self) -> &'static str {
                match self { $(Metric::$variant => $definition,)* }
            }
        }
    };
}

metrics! {
    ExactCases, "exact_cases", "count", "Cases whose whole answer equals the oracle's.";
    ExactTokens, "exact_tokens", "count", "Generated tokens before the first divergence, summed over all cases.";
    ComparedTokens, "compared_tokens", "count", "Generated tokens that the oracle answered, summed over all cases.";
    Divergences, "divergences", "count", "Cases with a first divergence.";
    NearTies, "near_ties", "count", "First divergences whose gap lies inside the declared band.";
    GapMnats, "gap_mnats", "mnat", "Oracle's log-probability of its own token minus that of ours, at a first divergence.";
    Rank, "rank", "rank", "Place of our token in the oracle's ranking at a first divergence; 1 is its own choice.";
    ForcedFlips, "forced_flips", "count", "Positions of a run forced along the oracle's ids at which the subject's first choice is another token.";
    LogprobDifferenceMnats, "logprob_difference_mnats", "mnat", "Absolute difference of the log-probability of the oracle's own token on both sides, for the same prefix.";
    OracleNoiseMnats, "oracle_noise_mnats", "mnat", "Largest absolute difference of the oracle's log-probabilities from its own, for the same prefix evaluated in another way; measured when its golden was captured.";
    OracleFlips, "oracle_flips", "count", "Positions of that comparison at which the oracle's first choice is another token than its own.";
    SelfFlippedCases, "self_flipped_cases", "count", "Cases in which an oracle chooses otherwise than it did alone, under the condition that changes most of them.";
    SelfChoices, "self_choices", "count", "Positions at which two answers of an oracle to the same case have the same prefix, over all pairs of conditions.";
    SelfFlips, "self_flips", "count", "Those positions at which the two answers choose another token.";
    SelfDifferenceMnats, "self_difference_mnats", "mnat", "Absolute difference of an oracle's log-probabilities from its own for the same prefix, over all pairs of conditions.";
    LogitDifference, "logit_difference", "logit", "Absolute difference of our logit and the oracle's for the same token and prefix.";
    DivergenceNats, "divergence_nats", "nat", "Kullback-Leibler divergence of our next-token distribution from the oracle's, at one position.";
    SameTop, "same_top", "1", "Share of positions at which both sides have the same most probable token, the lower id among equals.";
    RankFirst, "rank_first", "count", "Positions at which the oracle's most probable token is ours.";
    RankSecond, "rank_second", "count", "Positions at which the oracle's most probable token is our second.";
    RankLower, "rank_lower", "count", "Positions at which the oracle's most probable token is our third or a lower one.";
    ChoiceRank, "choice_rank", "rank", "Place of the oracle's most probable token in our ranking, at one position; 1 is our own choice.";
    Perplexity, "perplexity", "1", "Exponential of our mean negative log-likelihood of the token that follows.";
    OraclePerplexity, "oracle_perplexity", "1", "The same of the oracle.";
    IsolatedDistance, "isolated_distance", "1", "Relative root mean square of the difference of a value inside one layer from the oracle's, both computed from the oracle's residual stream before that layer; of the token where it is largest.";
    ValueDistance, "value_distance", "1", "Relative root mean square of the difference of a value inside the model from the oracle's, both computed from the token ids.";
    RotationDegrees, "rotation_degrees", "degree", "Median angle over a prompt's tokens between our residual stream and the oracle's.";
    EditDistance, "edit_distance", "1", "Relative root mean square by which editing one word of the prompt changes the oracle's own residual stream, over the tokens from the edit on.";
    ElementDifference, "element_difference", "1", "Absolute difference of an element of an operation's output from the oracle's.";
    SizeDifferenceMnats, "size_difference_mnats", "mnat", "Absolute difference of the log-probability of the same choice behind the same prompt, run in one piece and token by token.";
    ResidentBytes, "resident_bytes", "byte", "Bytes of weights the subject keeps in memory.";
    PeakRssBytes, "peak_rss_bytes", "byte", "Largest resident set of the process tree, sampled while it ran.";
    LoadPeakRssBytes, "load_peak_rss_bytes", "byte", "Largest resident set of the process tree until its first answer, as the kernel kept it.";
    SteadyPeakRssBytes, "steady_peak_rss_bytes", "byte", "Largest resident set of the process tree after its first answer, sampled while it ran.";
    StartupMs, "startup_ms", "ms", "From starting the process to its first answered request.";
    SubjectMs, "subject_ms", "ms", "Wall time of all of the subject's answers, loading included. Not a speed figure.";
    OracleMs, "oracle_ms", "ms", "Wall time of all of the oracle's answers, loading included. Not a speed figure.";
    TtftMs, "ttft_ms", "ms", "Time to first token: from sending the request to the first chunk that carries content.";
    TpotMs, "tpot_ms", "ms", "Time per output token after the first: (end-to-end latency - TTFT) / (output tokens - 1).";
    ItlMs, "itl_ms", "ms", "Inter-token latency: the gap between two consecutive chunks that carry content.";
    E2elMs, "e2el_ms", "ms", "End-to-end latency: from sending the request to its completion.";
    OutputTokensPerS, "output_tokens_per_s", "token/s", "Output tokens of all requests divided by the wall time of the measured phase.";
    Ratio, "ratio", "1", "Ours against the reference on one axis, turned so that at least 1 is a win: ours/reference for rates, reference/ours for times and bytes.";
    NullBand, "null_band", "1", "Half-width of the ratio of an arm against itself through the same machinery; a difference inside it is a tie.";
    SpinNs, "spin_ns", "ns", "Time of one step of a chain of dependent integer operations: the stand-in for a core clock that cannot be read.";
}

impl Metric {
    /// Whether it says how fast something is. The wall times of a gate's answers do not: they hold loading and checks.
    pub fn is_speed(self) -> bool {
        matches!(
            self,
            Self::StartupMs
                | Self::TtftMs
                | Self::TpotMs
                | Self::ItlMs
                | Self::E2elMs
                | Self::OutputTokensPerS
                | Self::Ratio
        )
    }
}

/// How samples became one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// The only sample, or an exact count.
    Single,
    /// The sum.
    Sum,
    /// The smallest.
    Min,
    /// The middle one; the mean of the two middle ones for an even count.
    Median,
    /// The arithmetic mean.
    Mean,
    /// The standard error of the mean.
    #[serde(rename = "standard-error")]
    StandardError,
    /// The largest.
    Max,
    /// The 90th percentile, interpolated linearly at (n - 1) * 0.9.
    P90,
    /// The 99th percentile, interpolated linearly at (n - 1) * 0.99.
    P99,
}

impl Statistic {
    /// The name in records and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Median => "median",
            Self::Mean => "mean",
            Self::StandardError => "standard-error",
            Self::Max => "max",
            Self::P90 => "p90",
            Self::P99 => "p99",
        }
    }
}

/// One number of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What.
    pub metric: Metric,
    /// Its unit, repeated so that the file reads alone; must be the metric's.
    pub unit: String,
    /// The value; `None` is "not measured" and never 0.
    pub value: Option<f64>,
    /// How many samples stand behind it.
    pub n: u64,
    /// What was done with them.
    pub statistic: Statistic,
}

/// A measurement that cannot be kept.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum MeasurementError {
    /// NaN or an infinity: JSON has no word for it, and it is no measurement.
    #[error("{metric} is {found}: expected a finite number, or null where nothing was measured")]
    NotFinite {
        /// The metric's name.
        metric: &'static str,
        /// The value.
        found: f64,
    },
    /// The unit is not the metric's.
    #[error("{metric} in {found:?}: expected {expected:?}")]
    Unit {
        /// The metric's name.
        metric: &'static str,
        /// The unit as given.
        found: String,
        /// The metric's unit.
        expected: &'static str,
    },
    /// A value without a sample, or samples without a value.
    #[error("{metric} is {value:?} from {n} samples: a value needs samples, and none has none")]
    Samples {
        /// The metric's name.
        metric: &'static str,
        /// The value.
        value: Option<f64>,
        /// The sample count.
        n: u64,
    },
}

impl Measurement {
    /// A measurement in the metric's own unit.
    pub fn new(metric: Metric, statistic: Statistic, n: u64, value: Option<f64>) -> Self {
        Self { metric, unit: metric.unit().to_owned(), value, n, statistic }
    }

    /// An exact count.
    pub fn count(metric: Metric, count: u64) -> Self {
        Self::new(metric, Statistic::Single, 1, Some(count as f64))
    }

    /// Checks that the value is a number in the metric's unit with samples behind it.
    pub fn validate(&self) -> Result<(), MeasurementError> {
        let metric = self.metric.name();
        if let Some(found) = self.value.filter(|value| !value.is_finite()) {
            return Err(MeasurementError::NotFinite { metric, found });
        }
        if self.unit != self.metric.unit() {
            let (found, expected) = (self.unit.clone(), self.metric.unit());
            return Err(MeasurementError::Unit { metric, found, expected });
        }
        if self.value.is_some() != (self.n > 0) {
            return Err(MeasurementError::Samples { metric, value: self.value, n: self.n });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_not_a_measurement() {
        let with = |value, n| Measurement::new(Metric::TtftMs, Statistic::Median, n, value);
        assert_eq!(with(Some(1.5), 3).validate(), Ok(()));
        assert_eq!(with(None, 0).validate(), Ok(()));
        for broken in [with(Some(f64::NAN), 1), with(Some(f64::INFINITY), 1)] {
            assert!(matches!(broken.validate(), Err(MeasurementError::NotFinite { .. })));
        }
        for broken in [with(Some(0.0), 0), with(None, 2)] {
            assert!(matches!(broken.validate(), Err(MeasurementError::Samples { .. })));
        }
        let seconds = Measurement { unit: "s".into(), ..with(Some(1.0), 1) };
        assert_eq!(seconds.validate().unwrap_err().to_string(), r#"ttft_ms in "s": expected "ms""#);
    }

    #[test]
    fn names_are_distinct_and_carry_their_unit_last() {
        let mut names: Vec<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Metric::ALL.len());
        for metric in Metric::ALL {
            assert!(metric.unit() != "ms" || metric.name().ends_with("_ms"), "{}", metric.name());
        }
    }
}
