//! Words that got worse since another state of the tree, for those who review a change.

use std::collections::BTreeMap;

use super::{Cell, OpenGaps, Track, Word};

/// A track whose word says less than it did, or says that something fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worse<'a> {
    /// The track.
    pub track: &'a Track,
    /// Its word then.
    pub before: Word,
    /// Its cell now.
    pub now: &'a Cell,
}

/// The tracks whose words got worse, in the order of their rows; a track that was not there then has no word to lose.
pub fn worse<'a>(
    before: &BTreeMap<u32, Word>,
    gaps: &'a OpenGaps,
    cells: &'a [Cell],
) -> Vec<Worse<'a>> {
    let rows = gaps.tracks.iter().zip(cells);
    rows.filter_map(|(track, now)| {
        let before = *before.get(&track.row)?;
        (standing(now.word) < standing(before)).then_some(Worse { track, before, now })
    })
    .collect()
}

/// The words of a page as it was written, by the rows of their tracks.
pub fn words_of_page(page: &str) -> BTreeMap<u32, Word> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let row = cells.next()?.split_once(". ")?.0.parse().ok()?;
        let word = cells.next()?.strip_prefix("**")?.split_once("**")?.0.parse().ok()?;
        Some((row, word))
    };
    page.lines().filter_map(row).collect()
}

/// How much a word says for the track. Words that claim nothing stand together: a track that waits for something else now, or
/// whose word lapsed into UNVERIFIED and then was found PENDING, has not got worse by that.
fn standing(word: Word) -> u8 {
    match word {
        Word::Met | Word::Pass => 5,
        Word::Tie => 4,
        Word::Partial => 3,
        Word::Provisional | Word::Directional => 2,
        Word::NotEstablished
        | Word::Superseded
        | Word::Unverified
        | Word::Discard
        | Word::Owed
        | Word::Pending
        | Word::NotMeasured
        | Word::NoNumberOwed
        | Word::NotApplicable
        | Word::Blocked
        | Word::Infeasible => 1,
        Word::NotMet | Word::Fail | Word::Void => 0,
    }
}
