//! The verdict of a gate of whole distributions.

use records::metric::{Measurement, Metric, Statistic};
use serde_json::{Value, json};

use super::Judgement;
use crate::kind::logits::statistics::{self, Mean, Position, Statistics};
use crate::kind::logits::{LogitChunk, LogitPosition, exceeded};
use crate::rule::{Rule, Word};
use crate::spec::LogitsCheck;
use crate::subject::Defect;
use crate::words::count;

/// All positions together must keep the bounds; a chunk without numbers fails, whatever the others say.
pub(super) fn judge(check: Option<&LogitsCheck>, chunks: &[LogitChunk]) -> Judgement {
    let positions: Vec<(usize, &LogitPosition)> = positions(chunks).collect();
    let broken: Vec<(usize, &Defect)> = broken(chunks).collect();
    let compared: Vec<Position> = positions.iter().map(|(_, position)| position.compared).collect();
    let owed = positions.len() + broken.len();
    let (Some(check), true) = (check, owed > 0) else {
        let reason = "there is no position: nothing was compared".to_owned();
        return Judgement::bare(Word::Skipped, vec![Rule::Skip], reason, 0);
    };
    let Some(figures) = statistics::of(&compared) else {
        let reason = broken_words(&broken, chunks.len());
        return Judgement::bare(Word::Fail, vec![Rule::Failed], reason, owed as u64);
    };
    let worst = compared.iter().map(|position| position.rank).max().unwrap_or_default();
    let mut complaints = exceeded(check, &figures, worst);
    if !broken.is_empty() {
        complaints.insert(0, broken_words(&broken, chunks.len()));
    }
    let word = if complaints.is_empty() { Word::Pass } else { Word::Fail };
    let rules = if broken.is_empty() { Vec::new() } else { vec![Rule::Failed] };
    let summary = summary(&figures);
    let reason =
        complaints.iter().fold(summary, |sentence, complaint| format!("{sentence}; {complaint}"));
    let mut judgement = Judgement::bare(word, rules, reason, owed as u64);
    judgement.measurements = measurements(&figures, worst);
    judgement.divergences = broken.iter().map(broken_value).collect();
    let lower = positions.iter().filter(|(_, position)| position.compared.rank > 1);
    judgement.divergences.extend(lower.map(value));
    judgement.report = report(&figures, worst, chunks.len());
    judgement
}

fn positions(chunks: &[LogitChunk]) -> impl Iterator<Item = (usize, &LogitPosition)> {
    let found = chunks.iter().enumerate();
    found.flat_map(|(index, chunk)| {
        chunk.positions.iter().flatten().map(move |position| (index, position))
    })
}

fn broken(chunks: &[LogitChunk]) -> impl Iterator<Item = (usize, &Defect)> {
    let found = chunks.iter().enumerate();
    found.filter_map(|(index, chunk)| Some((index, chunk.positions.as_ref().err()?)))
}

fn broken_words(broken: &[(usize, &Defect)], chunks: usize) -> String {
    let first = broken
        .first()
        .map_or(String::new(), |(index, defect)| format!(" (chunk {index} {defect})"));
    format!(
        "{} of {} without a usable answer{first}",
        broken.len(),
        count(chunks, "chunk", "chunks")
    )
}

fn summary(figures: &Statistics) -> String {
    let [first, second, lower] = figures.ranks;
    format!(
        "divergence {} nats, same top {}, ranks {first}/{second}/{lower} over {}",
        six(figures.divergence),
        percent(figures.same_top),
        count(figures.count, "position", "positions")
    )
}

fn six(mean: Mean) -> String {
    format!("{:.6} ± {:.6}", mean.value, mean.error)
}

fn percent(mean: Mean) -> String {
    format!("{:.3} ± {:.3} %", 100.0 * mean.value, 100.0 * mean.error)
}

fn report(figures: &Statistics, worst: usize, chunks: usize) -> Vec<String> {
    let [least, median, p99, largest] = figures.divergences;
    let [first, second, lower] = figures.ranks;
    vec![
        format!(
            "logits       {} in {}",
            count(figures.count, "position", "positions"),
            count(chunks, "chunk", "chunks")
        ),
        format!("divergence   mean {} nats", six(figures.divergence)),
        format!(
            "             least {least:.6}, median {median:.6}, 99 % {p99:.6}, largest {largest:.6}"
        ),
        format!("same top     {}", percent(figures.same_top)),
        format!("shift        RMS of the next token's probability {}", percent(figures.shift_rms)),
        format!(
            "ranks        the oracle's first choice with us: first {first}, second {second}, lower {lower} (worst {worst})"
        ),
        format!(
            "perplexity   ours {}, the oracle's {}",
            six(figures.perplexity),
            six(figures.perplexity_base)
        ),
    ]
}

fn measurements(figures: &Statistics, worst: usize) -> Vec<Measurement> {
    let n = figures.count as u64;
    let of = |metric, statistic, value: f64| {
        // What is no number was not measured, and leaves no count behind.
        let value = Some(value).filter(|value| value.is_finite());
        Measurement::new(metric, statistic, if value.is_some() { n } else { 0 }, value)
    };
    let mean = |metric, mean: Mean| {
        [of(metric, Statistic::Mean, mean.value), of(metric, Statistic::StandardError, mean.error)]
    };
    let [least, median, p99, largest] = figures.divergences;
    let divergence = Metric::DivergenceNats;
    let [first, second, lower] = figures.ranks;
    let mut all = Vec::from(mean(divergence, figures.divergence));
    all.extend([
        of(divergence, Statistic::Min, least),
        of(divergence, Statistic::Median, median),
        of(divergence, Statistic::P99, p99),
        of(divergence, Statistic::Max, largest),
    ]);
    all.extend(mean(Metric::SameTop, figures.same_top));
    all.extend([
        Measurement::count(Metric::RankFirst, first as u64),
        Measurement::count(Metric::RankSecond, second as u64),
        Measurement::count(Metric::RankLower, lower as u64),
        of(Metric::ChoiceRank, Statistic::Max, worst as f64),
    ]);
    all.extend(mean(Metric::Perplexity, figures.perplexity));
    all.extend(mean(Metric::OraclePerplexity, figures.perplexity_base));
    all
}

fn value((chunk, position): &(usize, &LogitPosition)) -> Value {
    let first = |top: &[(u32, f64)]| top.first().map(|entry| entry.0);
    json!({
        "chunk": chunk,
        "at": position.at,
        "oracle": first(&position.oracle),
        "ours": first(&position.subject),
        "rank": position.compared.rank,
        "divergence_nats": position.compared.divergence,
    })
}

fn broken_value((chunk, defect): &(usize, &Defect)) -> Value {
    json!({ "chunk": chunk, "what": defect.to_string() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec;

    const SPEC: &str = "summary = \"x\"\noracle = \"o\"\ncheckpoint = \"c\"\ninputs = \"i\"\n\
        [check.logits]\ncontext = 8\n\
        [check.logits.divergence]\nmost-nats = 0.1\nbecause = \"b\"\n\
        [check.logits.same-top]\nleast = 0.5\nbecause = \"b\"\n\
        [check.logits.rank]\nmost = 2\nbecause = \"b\"\n";

    fn position(divergence: f64, rank: usize) -> LogitPosition {
        LogitPosition {
            at: 4,
            compared: Position { divergence, nll: 1.0, nll_base: 1.0, rank },
            oracle: vec![(3, -0.5)],
            subject: vec![(if rank == 1 { 3 } else { 9 }, -0.5)],
        }
    }

    fn judged(positions: Vec<Result<Vec<LogitPosition>, Defect>>) -> Judgement {
        let spec = spec::parse(SPEC, Path::new("it.toml")).unwrap();
        let chunk = |positions| LogitChunk { ids: vec![0; 8], positions };
        let chunks: Vec<LogitChunk> = positions.into_iter().map(chunk).collect();
        judge(spec.check.logits.as_ref(), &chunks)
    }

    #[test]
    fn every_bound_decides_and_all_that_are_left_are_named() {
        let same = || position(0.05, 1);
        let within = judged(vec![Ok(vec![same(), position(0.15, 2)]), Ok(vec![same()])]);
        assert_eq!((within.word, within.compared), (Word::Pass, 3));
        // Only what is not the first choice is worth a line.
        assert_eq!(within.divergences.len(), 1);
        assert_eq!(
            (&within.divergences[0]["oracle"], &within.divergences[0]["ours"]),
            (&json!(3), &json!(9))
        );
        let cases = [
            (vec![position(0.25, 1)], "mean divergence 0.250000 nats is above 0.1"),
            (vec![same(), position(0.1, 2), position(0.1, 2)], "same top 33.333 % is below 50 %"),
            (vec![same(), position(0.1, 3)], "the oracle's first choice has rank 3, allowed is 2"),
            (vec![position(f64::NAN, 1)], "mean divergence NaN nats is above 0.1"),
        ];
        for (positions, complaint) in cases {
            let failed = judged(vec![Ok(positions)]);
            assert_eq!(failed.word, Word::Fail, "{complaint}");
            assert!(failed.reason.ends_with(complaint), "{}", failed.reason);
        }
    }

    #[test]
    fn a_chunk_without_numbers_fails_beside_good_ones_and_nothing_is_a_skip() {
        let broken = || Err(Defect::NotANumber { step: 5 });
        let beside = judged(vec![Ok(vec![position(0.0, 1)]), broken()]);
        assert_eq!((beside.word, beside.rules.as_slice()), (Word::Fail, &[Rule::Failed][..]));
        assert!(beside.reason.contains("1 of 2 chunks without a usable answer (chunk 1"));
        let alone = judged(vec![broken()]);
        assert_eq!((alone.word, alone.compared), (Word::Fail, 1));
        assert!(alone.measurements.is_empty());
        for nothing in [vec![], vec![Ok(vec![])]] {
            let skipped = judged(nothing);
            assert_eq!((skipped.word, skipped.compared), (Word::Skipped, 0));
        }
    }
}
