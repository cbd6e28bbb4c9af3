//! The word of a track: one pure function of the declared track, the records and the present.
//!
//! The steps are taken in order and the first that matches gives the word: (1) the axis cannot move; (2) no machine of ours can
//! run it; (3) nothing was run; (4) a validity rule fired; (5) correctness failed, was skipped, or was last seen at other sources;
//! (6) the pin has moved; (7) the run could not say; (8) a property is missing that makes a number binding; (9) repetitions or
//! points are missing; (10) the ratio against 1.
//!
//! There is no path from a missing thing to MET, TIE or PASS: each of the three is reached only when every gate of the track
//! passed at the present, nothing is planned, nothing is missing, and every number that is owed is there.

use super::state::{State, state};
use super::{Class, OpenGaps, Present, Track, Word};
use crate::metric::Metric;
use crate::number;
use crate::record::Record;

/// Ratios from fewer repetitions than this are PROVISIONAL.
pub const REPETITIONS: u64 = 3;

/// The cross-arm clock rules: alone they discard a pair and leave its absolutes.
const CROSS_ARM_CLOCK_RULES: [&str; 1] = ["V-CLOCK-OFF"];

/// What a row of the table says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The word.
    pub word: Word,
    /// Why this word, with what is missing.
    pub why: String,
    /// The cheapest thing that would change it.
    pub next: String,
}

/// What stands for each track, in the order of their rows.
pub fn cells(gaps: &OpenGaps, records: &[Record], present: &Present) -> Vec<Cell> {
    gaps.tracks.iter().map(|track| derive(track, records, present)).collect()
}

/// Derives the cell of one track.
pub fn derive(track: &Track, records: &[Record], present: &Present) -> Cell {
    if let (Some(word), Some(reason)) = (track.word, &track.reason) {
        return Cell { word, why: reason.clone(), next: unbuilt(track) };
    }
    let states: Vec<(&str, State)> =
        track.gates.iter().map(|gate| (gate.as_str(), state(gate, records, present))).collect();
    let mut cell = ladder(track, &states);
    cell.why += &other_harness(&states, present);
    if track.class == Class::S { beside_its_original(track, cell) } else { cell }
}

/// The gates whose record was judged by another harness than the tree's, said behind the word and without a change to it.
///
/// A word lapses when an arm was measured at another commit (step 5), and the judge is no arm: what it judged, by which spec,
/// golden, inputs and pins, is still named and its evidence still kept. A reader must see it all the same.
fn other_harness(states: &[(&str, State)], present: &Present) -> String {
    let by_another = |state: &State| {
        let harness = state.record().map(|record| record.harness_sha256.as_ref());
        harness.is_some_and(|harness| harness != Some(&present.harness_sha256))
    };
    let gates: Vec<&str> =
        states.iter().filter(|(_, state)| by_another(state)).map(|(gate, _)| *gate).collect();
    if gates.is_empty() {
        return String::new();
    }
    format!("; judged by another harness: {}", gates.join(", "))
}

/// Steps 1 and 3 to 10 for a track that can be shown here, in full or by its twin.
fn ladder(track: &Track, states: &[(&str, State)]) -> Cell {
    let steps = [
        nothing_run as fn(&Track, &[(&str, State)]) -> Option<Cell>,
        broken,
        unverified,
        superseded,
        not_established,
        directional,
        provisional,
        partial,
    ];
    steps.iter().find_map(|step| step(track, states)).unwrap_or_else(|| decided(track, states))
}

/// Step 3, and step 1 for a track that owes no number.
fn nothing_run(track: &Track, states: &[(&str, State)]) -> Option<Cell> {
    if states.iter().any(|(_, state)| !matches!(state, State::NotBuilt | State::NotRun)) {
        return None;
    }
    let runnable = named(states, |state| matches!(state, State::NotRun));
    let (word, state, next) = if let Some(gate) = runnable.first() {
        (Word::Owed, format!("{} not run", runnable.join(", ")), run(gate))
    } else {
        let word = if track.waits_for.is_some() { Word::Pending } else { Word::NotMeasured };
        (word, "nothing was run".to_owned(), unbuilt(track))
    };
    Some(match &track.no_number_owed {
        Some(reason) => {
            let why = format!("{reason}. Correctness {word}: {state}");
            Cell { word: Word::NoNumberOwed, why, next }
        }
        None => Cell { word, why: state, next },
    })
}

/// Step 4 and the first half of step 5: every reason is collected, never only the first.
fn broken(track: &Track, states: &[(&str, State)]) -> Option<Cell> {
    let mut why = Vec::new();
    let mut failed = None;
    let mut void = None;
    let mut only_clock = true;
    for (gate, state) in states {
        match state {
            State::Failed(record) => {
                why.push(format!("{gate} FAIL: {}", record.verdict.reason));
                failed = failed.or(Some(gate));
            }
            State::Void(record) => {
                why.push(format!("{gate} VOID by {}", record.verdict.rules.join(", ")));
                let clock = |rule: &String| CROSS_ARM_CLOCK_RULES.contains(&rule.as_str());
                only_clock &= record.verdict.rules.iter().all(clock);
                void = void.or(Some(gate));
            }
            _ => {}
        }
    }
    let why = why.join("; ");
    if let Some(gate) = failed {
        let word = if track.no_number_owed.is_some() { Word::Fail } else { Word::Void };
        let next = format!("adjudicate the first difference of `{gate}`, mend it, {}", run(gate));
        return Some(Cell { word, why, next });
    }
    let word = if only_clock { Word::Discard } else { Word::Void };
    void.map(|gate| Cell { word, why, next: format!("remove what the rule names, {}", run(gate)) })
}

/// The second half of step 5.
fn unverified(_: &Track, states: &[(&str, State)]) -> Option<Cell> {
    first(states, |gate, state| match state {
        State::Unverified(record, reason) => Some(Cell {
            word: Word::Unverified,
            why: format!("{gate} {}: {reason}", record.verdict.word.as_str()),
            next: run(gate),
        }),
        _ => None,
    })
}

/// Step 6.
fn superseded(_: &Track, states: &[(&str, State)]) -> Option<Cell> {
    first(states, |gate, state| match state {
        State::Superseded(record) => Some(Cell {
            word: Word::Superseded,
            why: format!(
                "{gate} PASS against a build of {} that is not the pinned one",
                record.oracle.as_ref().map_or("an oracle", |oracle| &oracle.name)
            ),
            next: format!("`cargo gate capture {gate}`, then {}", run(gate)),
        }),
        _ => None,
    })
}

/// Step 7.
fn not_established(_: &Track, states: &[(&str, State)]) -> Option<Cell> {
    first(states, |gate, state| match state {
        State::NotEstablished(record) => Some(Cell {
            word: Word::NotEstablished,
            why: format!("{gate}: {}", record.verdict.reason),
            next: run(gate),
        }),
        _ => None,
    })
}

/// Step 8: a ratio without the null band of its own machinery has a sign and no size.
fn directional(_: &Track, states: &[(&str, State)]) -> Option<Cell> {
    first(states, |gate, state| {
        let record = state.measured()?;
        let ratio = ratios(record).next()?;
        (null_band(record).is_none()).then(|| Cell {
            word: Word::Directional,
            why: format!("{gate}: {} without a null arm", number::ratio(ratio.0)),
            next: format!("run the null arm of `{gate}`"),
        })
    })
}

/// Step 9, repetitions.
fn provisional(_: &Track, states: &[(&str, State)]) -> Option<Cell> {
    first(states, |gate, state| {
        let record = state.measured()?;
        let (_, n) = ratios(record).find(|&(_, n)| n < REPETITIONS)?;
        Some(Cell {
            word: Word::Provisional,
            why: format!("{gate}: {n} of {REPETITIONS} repetitions"),
            next: run(gate),
        })
    })
}

/// Step 9, points: what was shown, and by name what was not.
fn partial(track: &Track, states: &[(&str, State)]) -> Option<Cell> {
    let not_run = named(states, |state| matches!(state, State::NotRun));
    let not_built = named(states, |state| matches!(state, State::NotBuilt));
    let mut missing: Vec<String> = track.missing.iter().cloned().collect();
    if !not_run.is_empty() {
        missing.push(format!("{} not run", not_run.join(", ")));
    }
    if missing.is_empty() {
        missing.extend(not_built.iter().map(|gate| format!("{gate} not built")));
        missing.extend(track.planned.iter().map(|gate| format!("{gate} not built")));
    }
    if missing.is_empty() && track.no_number_owed.is_none() && all_ratios(states).is_empty() {
        missing.push("the number it owes".into());
    }
    if missing.is_empty() {
        return None;
    }
    let next = not_run.first().map_or_else(|| unbuilt(track), |gate| run(gate));
    let why = format!("{}; missing: {}", passed(states), missing.join(", "));
    Some(Cell { word: Word::Partial, why, next })
}

/// Step 10: everything is there.
fn decided(track: &Track, states: &[(&str, State)]) -> Cell {
    let nothing = "nothing".to_owned();
    let below = states.iter().any(|(_, state)| matches!(state, State::BelowFloor(_)));
    if track.no_number_owed.is_some() && !below {
        return Cell { word: Word::Pass, why: passed(states), next: nothing };
    }
    let all = all_ratios(states);
    let worst = all.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((ratio, band)) = worst else {
        return Cell { word: Word::NotMeasured, why: passed(states), next: unbuilt(track) };
    };
    // Written so that a NaN, should one ever come here, ends in NOT MET.
    let word = if below {
        Word::NotMet
    } else if all.iter().all(|(ratio, band)| (ratio - 1.0).abs() <= *band) {
        Word::Tie
    } else if all.iter().all(|(ratio, band)| *ratio >= 1.0 || (ratio - 1.0).abs() <= *band) {
        Word::Met
    } else {
        Word::NotMet
    };
    let why = format!(
        "worst of {} ratios {}, null band {}",
        all.len(),
        number::ratio(ratio),
        number::ratio(band)
    );
    let next = if word == Word::NotMet { "attribute the residual".into() } else { nothing };
    Cell { word, why, next }
}

/// An S track's word speaks of the twin; what is shown of a twin is part of the track at most.
fn beside_its_original(track: &Track, cell: Cell) -> Cell {
    let twin = track.twin.as_deref().unwrap_or_default();
    let hardware = track.hardware.as_deref().unwrap_or_default();
    let state = if cell.word.is_shown() { format!("{} {}", cell.word, cell.why) } else { cell.why };
    let why = format!("twin ({twin}): {state}; original PENDING ({hardware})");
    let word = if cell.word.is_shown() { Word::Partial } else { cell.word };
    Cell { word, why, next: cell.next }
}

/// The first planned gate and what it waits for.
fn unbuilt(track: &Track) -> String {
    let waits = track.waits_for.as_ref().map(|what| format!("; waits for {what}"));
    match track.planned.first() {
        Some(gate) => format!("build gate `{gate}`{}", waits.unwrap_or_default()),
        None => track
            .waits_for
            .as_ref()
            .or(track.missing.as_ref())
            .map_or_else(|| "none".to_owned(), |what| format!("waits for {what}")),
    }
}

fn run(gate: &str) -> String {
    format!("`cargo gate run {gate}`")
}

fn named<'a>(states: &[(&'a str, State)], wanted: fn(&State) -> bool) -> Vec<&'a str> {
    states.iter().filter(|(_, state)| wanted(state)).map(|(gate, _)| *gate).collect()
}

fn first(states: &[(&str, State)], cell: impl Fn(&str, &State) -> Option<Cell>) -> Option<Cell> {
    states.iter().find_map(|(gate, state)| cell(gate, state))
}

/// What the gates that ran have shown.
fn passed(states: &[(&str, State)]) -> String {
    let passed: Vec<String> = states
        .iter()
        .filter_map(|(gate, state)| match state {
            State::Passed(record) => Some(format!("{gate} PASS ({} compared)", record.compared)),
            State::BelowFloor(record) => Some(format!("{gate} NOT MET: {}", record.verdict.reason)),
            _ => None,
        })
        .collect();
    passed.join(", ")
}

/// The ratios of a record with their sample counts. One that was not measured reads as NaN, which no step takes for a win.
fn ratios(record: &Record) -> impl Iterator<Item = (f64, u64)> {
    let ratios = record.measurements.iter().filter(|m| m.metric == Metric::Ratio);
    ratios.map(|m| (m.value.unwrap_or(f64::NAN), m.n))
}

fn null_band(record: &Record) -> Option<f64> {
    record.measurements.iter().find(|m| m.metric == Metric::NullBand)?.value
}

/// Every ratio of every gate that measured one, with its null band.
fn all_ratios(states: &[(&str, State)]) -> Vec<(f64, f64)> {
    states
        .iter()
        .filter_map(|(_, state)| state.measured())
        .flat_map(|record| {
            let band = null_band(record).unwrap_or(0.0);
            ratios(record).map(move |(ratio, _)| (ratio, band))
        })
        .collect()
}
