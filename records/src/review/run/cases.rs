//! The cases of a gate of generations, and the positions of one of whole distributions.

use crate::number::digits;
use crate::review::chart::{Axis, Chart, Hue, Layer, Shape};
use crate::review::page::{Block, Cell, Figure, Fold, Parting, Section, Table, Tone};

/// Partings that stand on the page openly; the others fold.
const SHOWN: usize = 3;
/// Bars of a histogram.
const BINS: usize = 24;

/// How the cases of a gate came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cases {
    /// All of them, in the order in which they were asked.
    pub all: Vec<Case>,
    /// The first divergence of each that has one.
    pub partings: Vec<Parting>,
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its id.
    pub id: String,
    /// How it came out.
    pub outcome: Outcome,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Generated tokens before the first divergence.
    pub shared_tokens: usize,
    /// Generated tokens that the oracle answered.
    pub answered_tokens: usize,
    /// The prompt, cut.
    pub prompt: String,
    /// The oracle's answer, cut.
    pub answer: String,
}

/// How a case came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every id is equal.
    Exact,
    /// It parts within the band.
    Tie,
    /// It parts beyond it.
    Diverged,
    /// There is no answer to compare, with the reason.
    Broken(String),
}

impl Outcome {
    fn cell(&self) -> Cell {
        let (text, tone) = match self {
            Self::Exact => ("exact".to_owned(), Tone::Good),
            Self::Tie => ("near tie".to_owned(), Tone::Open),
            Self::Diverged => ("diverges".to_owned(), Tone::Bad),
            Self::Broken(why) => (why.clone(), Tone::Bad),
        };
        Cell { text, tone: Some(tone), ..Cell::default() }
    }
}

pub(super) fn section(cases: &Cases) -> Section {
    let count =
        |outcome: &Outcome| cases.all.iter().filter(|case| case.outcome == *outcome).count();
    let broken = cases.all.iter().filter(|case| matches!(case.outcome, Outcome::Broken(_))).count();
    let total = cases.all.len();
    let compared: usize = cases.all.iter().map(|case| case.answered_tokens).sum();
    let shared: usize = cases.all.iter().map(|case| case.shared_tokens).sum();
    let mut table = Table::new("How the cases came out", &["", "cases#", "of#"]);
    for (label, count) in [
        ("exact: every id equal", count(&Outcome::Exact)),
        ("near tie: parts inside the band", count(&Outcome::Tie)),
        ("diverges: parts beyond the band", count(&Outcome::Diverged)),
        ("no usable answer", broken),
    ] {
        let cell = |n: usize| Cell::new(n.to_string());
        table.rows.push(vec![Cell::new(label), cell(count), cell(total)]);
    }
    let mut blocks = vec![
        Block::Table(table),
        Block::Text(format!(
            "{} of {} generated tokens come before the first divergence of their case. What follows a divergence has another prefix and is not compared.",
            digits(shared as f64),
            digits(compared as f64)
        )),
    ];
    let (open, folded) = cases.partings.split_at(cases.partings.len().min(SHOWN));
    let part = |parting: &Parting| Block::Parting(Box::new(parting.clone()));
    blocks.extend(open.iter().map(part));
    if !folded.is_empty() {
        let summary = format!("{} more first divergences", folded.len());
        blocks.push(Fold::closed(summary, folded.iter().map(part).collect()));
    }
    let mut each = Table::new(
        "Each case",
        &[
            "case",
            "outcome",
            "prompt tokens#",
            "equal#",
            "answered#",
            "prompt",
            "the oracle's answer",
        ],
    );
    for case in &cases.all {
        let number = |n: usize| Cell::new(n.to_string());
        each.rows.push(vec![
            Cell::code(&case.id),
            case.outcome.cell(),
            number(case.prompt_tokens),
            number(case.shared_tokens),
            number(case.answered_tokens),
            Cell::new(&case.prompt),
            Cell::new(&case.answer),
        ]);
    }
    blocks.push(Fold::closed(format!("All {total} cases"), vec![Block::Table(each)]));
    let lead =
        "Both sides were given the same ids. Only the first divergence of a case is counted.";
    Section::new("cases", "Case by case", Some(lead), blocks)
}

/// Positions of a gate of whole distributions: divergence in nats, and the rank of the oracle's choice with us.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// One a position, in order: divergence and rank. A divergence that is no number is NaN.
    pub positions: Vec<(f64, usize)>,
}

pub(super) fn distribution(found: &Distribution) -> Section {
    let total = found.positions.len();
    let mut ranks = Table::new(
        "Rank of the oracle's most probable token with us",
        &["rank", "positions#", "share#"],
    );
    for (label, from, to) in
        [("first", 1, 1), ("second", 2, 2), ("third to fifth", 3, 5), ("lower", 6, usize::MAX)]
    {
        let count = found.positions.iter().filter(|(_, rank)| (from..=to).contains(rank)).count();
        let share = if total == 0 { 0.0 } else { 100.0 * count as f64 / total as f64 };
        ranks.rows.push(vec![
            Cell::new(label),
            Cell::new(count.to_string()),
            Cell::new(format!("{share:.3} %")),
        ]);
    }
    let mut blocks = vec![Block::Table(ranks)];
    blocks.extend(histogram(&found.positions).map(|figure| Block::Figure(Box::new(figure))));
    let none = found.positions.iter().filter(|(divergence, _)| !divergence.is_finite()).count();
    if none > 0 {
        blocks.push(Block::Note(
            Tone::Bad,
            format!("{none} positions have a divergence that is no number."),
        ));
    }
    let lead =
        "At every position both sides gave their whole next-token distribution on the same prefix.";
    Section::new("positions", "Position by position", Some(lead), blocks)
}

/// Divergences over powers of ten: they span many, and most lie close to 0.
fn histogram(positions: &[(f64, usize)]) -> Option<Figure> {
    let logs: Vec<f64> = positions
        .iter()
        .map(|(divergence, _)| divergence.abs())
        .filter(|size| size.is_finite() && *size > 0.0)
        .map(f64::log10)
        .collect();
    let (low, high) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| {
        (low.min(*log), high.max(*log))
    });
    if logs.is_empty() {
        return None;
    }
    let width = ((high - low) / BINS as f64).max(0.05);
    let mut counts = [0_u64; BINS + 1];
    for log in &logs {
        counts[(((log - low) / width) as usize).min(BINS)] += 1;
    }
    let bars: Vec<(f64, f64)> = counts
        .iter()
        .enumerate()
        .map(|(bin, count)| (low + (bin as f64 + 0.5) * width, *count as f64))
        .collect();
    let highest = bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
    let mut table =
        Table::new("Positions by size of divergence", &["from, nat#", "to, nat#", "positions#"]);
    for (centre, count) in bars.iter().filter(|bar| bar.1 > 0.0) {
        let edge = |by: f64| Cell::new(digits(10_f64.powf(centre + by * width)));
        table.rows.push(vec![edge(-0.5), edge(0.5), Cell::new(digits(*count))]);
    }
    let mut sorted = logs.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let zero = positions.len() - logs.len();
    let decades: Vec<(f64, String)> = (low.floor() as i32..=high.ceil() as i32)
        .filter(|decade| (low - width..=high + width).contains(&f64::from(*decade)))
        .map(|decade| (f64::from(decade), format!("1e{decade}")))
        .collect();
    let mut x = Axis::around(
        "size of the divergence at one position, nat",
        [low - width, high + 2.0 * width],
        0.0,
    );
    x.names = decades;
    Some(Figure {
        id: "divergences".to_owned(),
        title: "How far our distributions are from the oracle's".to_owned(),
        description: format!(
            "{} positions; half of them diverge by less than {} nat, the largest by {} nat{}.",
            logs.len(),
            digits(10_f64.powf(sorted[sorted.len() / 2])),
            digits(10_f64.powf(high)),
            if zero > 0 { format!("; {zero} more by exactly 0") } else { String::new() }
        ),
        chart: Chart {
            x,
            y: Axis {
                range: (0.0, highest * 1.08),
                ..Axis::around("positions", [0.0, highest], 0.0)
            },
            layers: vec![Layer::new("", Hue::Blue, Shape::Bars(width * 0.9, bars))],
        },
        table,
    })
}
