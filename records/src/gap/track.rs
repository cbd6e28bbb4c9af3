//! `open-gaps.toml`: the declared tracks, read strictly.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::Word;

/// How many tracks there are; their rows are 1 to this.
pub const TRACKS: u32 = 75;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OpenGaps {
    /// Gates whose failure is known. The set of failing gates must equal it.
    pub known_failing: Vec<String>,
    /// The tracks in the order of their rows.
    pub tracks: Vec<Track>,
}

/// What can be shown of a track on the machines we have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Class {
    /// In full.
    G,
    /// On a declared scaled-down twin; the original stays PENDING beside it.
    S,
    /// Not at all: a word, a reason, and never a number of ours.
    X,
}

/// One declared track. There is no key for a verdict: words are derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its name.
    pub id: String,
    /// Its place in the table, from 1.
    pub row: u32,
    /// What can be shown of it here.
    pub class: Class,
    /// A short heading.
    pub title: String,
    /// What must be shown.
    pub about: String,
    /// Gates that exist and decide it.
    pub gates: Vec<String>,
    /// Gates that would decide it and are not built.
    pub planned: Vec<String>,
    /// What stays open when all of `gates` pass.
    pub missing: Option<String>,
    /// What the first planned gate waits for.
    pub waits_for: Option<String>,
    /// The hardware of the original.
    pub hardware: Option<String>,
    /// The scaled-down twin of an S track.
    pub twin: Option<String>,
    /// Why no number is owed: the track is about correctness alone.
    pub no_number_owed: Option<String>,
    /// The word of an X track.
    pub word: Option<Word>,
    /// Why an X track carries its word.
    pub reason: Option<String>,
    /// What others claim, as their claim.
    pub foreign_claim: Option<String>,
}

impl Track {
    /// The gates that decide it, then those that have yet to be built.
    pub fn all_gates(&self) -> impl Iterator<Item = &str> {
        self.gates.iter().chain(&self.planned).map(String::as_str)
    }
}

/// What is wrong with `open-gaps.toml`.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// It cannot be read.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// Not TOML, an unknown key, a key missing or of another type; the message has the line.
    #[error("{}: {}", .path.display(), .source)]
    Toml {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A track that contradicts itself or another.
    #[error("{}:{line}: track {id:?}: {problem}", .path.display())]
    Track {
        /// The file.
        path: PathBuf,
        /// The line of its id.
        line: usize,
        /// The track.
        id: String,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// Rows without a track.
    #[error("{}: no track for rows {rows:?}: expected each of 1 to {TRACKS} once", .path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// The rows.
        rows: Vec<u32>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawFile {
    known_failing: Vec<String>,
    track: Vec<RawTrack>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawTrack {
    id: Spanned<String>,
    row: u32,
    class: Class,
    title: String,
    about: String,
    #[serde(default)]
    gates: Vec<String>,
    #[serde(default)]
    planned: Vec<String>,
    missing: Option<String>,
    waits_for: Option<String>,
    hardware: Option<String>,
    twin: Option<String>,
    no_number_owed: Option<String>,
    word: Option<String>,
    reason: Option<String>,
    foreign_claim: Option<String>,
}

impl OpenGaps {
    /// Reads `open-gaps.toml`.
    pub fn load(path: &Path) -> Result<Self, TrackError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TrackError::Io { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// Parses the text of `open-gaps.toml`; `path` is for messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, TrackError> {
        let raw: RawFile = toml::from_str(text).map_err(|source| TrackError::Toml {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        let mut tracks = Vec::with_capacity(raw.track.len());
        let mut seen = BTreeSet::new();
        for raw in raw.track {
            let line = 1 + text[..raw.id.span().start].matches('\n').count();
            let id = raw.id.get_ref().clone();
            let at = |problem: String| TrackError::Track {
                path: path.to_owned(),
                line,
                id: id.clone(),
                problem,
            };
            let track = raw.check().map_err(at)?;
            for key in [track.id.clone(), format!("row {}", track.row)] {
                if !seen.insert(key.clone()) {
                    return Err(at(format!("{key:?} is used by an earlier track")));
                }
            }
            tracks.push(track);
        }
        let rows: Vec<u32> =
            (1..=TRACKS).filter(|row| !seen.contains(&format!("row {row}"))).collect();
        if !rows.is_empty() {
            return Err(TrackError::Rows { path: path.to_owned(), rows });
        }
        tracks.sort_by_key(|track| track.row);
        Ok(Self { known_failing: raw.known_failing, tracks })
    }
}

impl RawTrack {
    /// The rules that join keys; the error says which is broken.
    fn check(self) -> Result<Track, String> {
        let word = self.word.as_deref().map(str::parse::<Word>).transpose()?;
        let id = self.id.into_inner();
        if !id.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-')) || id.is_empty() {
            return Err("id: expected lowercase letters, digits and '-'".into());
        }
        if !(1..=TRACKS).contains(&self.row) {
            return Err(format!("row {}: expected 1 to {TRACKS}", self.row));
        }
        if (self.class == Class::X) != word.is_some() || word.is_some() != self.reason.is_some() {
            return Err("word and reason: expected on every X track, and on no other".into());
        }
        if let Some(word) = word.filter(|word| !word.can_be_declared()) {
            return Err(format!("word {word}: cannot be declared, only derived from records"));
        }
        if self.class == Class::X && !self.gates.is_empty() {
            return Err("gates: an X track has none that decide it".into());
        }
        if (self.class == Class::S) != self.twin.is_some() {
            return Err("twin: expected on every S track, and on no other".into());
        }
        if self.class == Class::S && self.hardware.is_none() {
            return Err("hardware: expected on every S track".into());
        }
        if self.gates.is_empty() && self.planned.is_empty() && word.is_none() {
            return Err("gates, planned: expected at least one gate that decides it".into());
        }
        for (key, text, limit) in [
            ("title", Some(&self.title), 60),
            ("about", Some(&self.about), 300),
            ("missing", self.missing.as_ref(), 110),
            ("waits-for", self.waits_for.as_ref(), 80),
            ("hardware", self.hardware.as_ref(), 60),
            ("twin", self.twin.as_ref(), 70),
            ("no-number-owed", self.no_number_owed.as_ref(), 100),
            ("reason", self.reason.as_ref(), 180),
            ("foreign-claim", self.foreign_claim.as_ref(), 200),
        ] {
            let length = text.map_or(1, |text| text.chars().count());
            if length == 0 || length > limit || text.is_some_and(|t| t.contains(['\n', '|'])) {
                return Err(format!(
                    "{key}: {length} characters: expected 1 to {limit}, in one line without '|'"
                ));
            }
        }
        Ok(Track {
            id,
            row: self.row,
            class: self.class,
            title: self.title,
            about: self.about,
            gates: self.gates,
            planned: self.planned,
            missing: self.missing,
            waits_for: self.waits_for,
            hardware: self.hardware,
            twin: self.twin,
            no_number_owed: self.no_number_owed,
            word,
            reason: self.reason,
            foreign_claim: self.foreign_claim,
        })
    }
}
