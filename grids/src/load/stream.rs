//! The events of one answer, counted as they come.

use super::piece::{Finish, Piece, parse};
use super::sse::Item;
use super::trace::{Event, EventKind, TokensBy, Usage};

/// What the model said, for whoever compares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The text, still with JSON's escapes.
    escaped: Vec<u8>,
    /// Token ids, separated by commas.
    ids: Vec<u8>,
}

impl Output {
    /// The text; `None` if what came is no text.
    pub fn text(&self) -> Option<String> {
        let quoted = [b"\"", self.escaped.as_slice(), b"\""].concat();
        serde_json::from_slice(&quoted).ok()
    }

    /// The token ids, where the server sent them.
    pub fn ids(&self) -> Vec<u32> {
        let listed = [b"[", self.ids.as_slice(), b"]"].concat();
        serde_json::from_slice(&listed).unwrap_or_default()
    }

    fn push(&mut self, piece: &Piece<'_>) {
        self.escaped.extend_from_slice(&piece.text);
        if let Some(ids) = piece.ids.as_ref().filter(|ids| !ids.trim_ascii().is_empty()) {
            if !self.ids.is_empty() {
                self.ids.push(b',');
            }
            self.ids.extend_from_slice(ids);
        }
    }
}

/// Events so far and what they add up to.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) events: Vec<Event>,
    pub(super) tokens: u32,
    /// Decided by the first event with content, where it is not known before.
    pub(super) tokens_by: Option<TokensBy>,
    pub(super) usage: Option<Usage>,
    pub(super) finish: Option<Finish>,
    pub(super) is_done: bool,
    pub(super) error: Option<String>,
    pub(super) output: Option<Box<Output>>,
}

impl Stream {
    /// A server that `holds_back` tokens is counted by events, whatever ids they carry.
    pub(super) fn new(capacity: usize, holds_back: bool, keeps_output: bool) -> Self {
        Self {
            events: Vec::with_capacity(capacity),
            tokens: 0,
            tokens_by: holds_back.then_some(TokensBy::Events),
            usage: None,
            finish: None,
            is_done: false,
            error: None,
            output: keeps_output.then(Box::default),
        }
    }

    /// Takes an item that the read with this index completed.
    pub(super) fn item(&mut self, read: u32, item: Item<'_>) {
        let kind = match item {
            Item::Comment(_) => EventKind::Comment,
            Item::Event { data, .. } if data.trim_ascii() == b"[DONE]" => {
                self.is_done = true;
                EventKind::Done
            }
            Item::Event { name, data } => self.event(name, data),
        };
        self.events.push(Event { read, kind, tokens: self.tokens });
    }

    fn event(&mut self, name: &[u8], data: &[u8]) -> EventKind {
        let piece = match parse(data) {
            Ok(piece) => piece,
            Err(error) => return self.fail(error.to_string()),
        };
        if let Some(error) = piece.error {
            return self.fail(error);
        }
        if name == b"error" {
            return self.fail(String::from_utf8_lossy(data).into_owned());
        }
        let ids = piece.id_count();
        self.finish = piece.finish.or(self.finish);
        self.usage = piece.usage.or(self.usage);
        if let Some(output) = &mut self.output {
            output.push(&piece);
        }
        if piece.text.is_empty() && ids.unwrap_or(0) == 0 {
            return if piece.usage.is_some() { EventKind::Usage } else { EventKind::Empty };
        }
        let by = *self.tokens_by.get_or_insert(match (ids, piece.usage) {
            (Some(_), _) => TokensBy::Ids,
            (None, Some(_)) => TokensBy::RunningUsage,
            (None, None) => TokensBy::Events,
        });
        self.tokens = match by {
            TokensBy::Ids => self.tokens + ids.unwrap_or(0),
            TokensBy::RunningUsage => {
                piece.usage.map_or(self.tokens, |usage| usage.completion_tokens.max(self.tokens))
            }
            TokensBy::Events => self.tokens + 1,
        };
        EventKind::Content
    }

    fn fail(&mut self, message: String) -> EventKind {
        self.error.get_or_insert(message);
        EventKind::Error
    }
}
