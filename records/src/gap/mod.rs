//! The open gaps: 75 declared tracks, and for each a word that is derived from the records and from nothing else.
//!
//! `open-gaps.toml` says what a track is about, which gates decide it and what it waits for ([`track`]). It has no key for a
//! verdict. [`derive()`] computes the word, [`ledger`] compares the gates that fail with those that are known to, and [`page`]
//! writes `docs/open-gaps.md` and its JSON.

pub mod derive;
pub mod ledger;
pub mod moved;
pub mod page;
pub mod present;
pub(crate) mod state;
pub mod track;
mod word;
pub mod worse;

pub use derive::{Cell, cells, derive};
pub use ledger::{Mismatch, mismatches};
pub use page::{PAGE, PageError, check, render_json, render_markdown};
pub use present::{Present, PresentError};
pub use state::{passing, takes_back};
pub use track::{Class, OpenGaps, Track, TrackError};
pub use word::Word;
pub use worse::{Worse, worse};
