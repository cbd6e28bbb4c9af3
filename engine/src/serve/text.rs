//! Tokens become text, up to a stop string.

use std::sync::Arc;

use crate::tokenizer::{Detokenizer, Tokenizer};

/// The text of a growing answer. What could be the start of a stop string is held back until it is none.
#[derive(Debug)]
pub(super) struct Text {
    detokenizer: Option<Detokenizer<Arc<Tokenizer>>>,
    stops: Vec<String>,
    include_stop: bool,
    held: String,
}

/// What a token has added.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// The text that is certain by now.
    pub(super) text: String,
    /// The stop string that it ended at.
    pub(super) stopped: Option<String>,
}

impl Text {
    /// An empty answer. Without a tokenizer there is no text.
    pub(super) fn new(
        tokenizer: Option<Arc<Tokenizer>>,
        skip_special: bool,
        stops: Vec<String>,
        include_stop: bool,
    ) -> Self {
        let detokenizer = tokenizer.map(|tokenizer| Detokenizer::new(tokenizer, skip_special));
        Self { detokenizer, stops, include_stop, held: String::new() }
    }

    /// Adds a token; none where it is not shown. With the last one, nothing is held back any more.
    pub(super) fn push(&mut self, id: Option<u32>, last: bool) -> Piece {
        if let (Some(detokenizer), Some(id)) = (&mut self.detokenizer, id) {
            // A token that the tokenizer does not know has no text.
            self.held.push_str(&detokenizer.push(id).unwrap_or_default());
        }
        if last && let Some(detokenizer) = self.detokenizer.take() {
            self.held.push_str(&detokenizer.finish());
        }
        let found = self.stops.iter().find_map(|stop| Some((self.held.find(stop)?, stop)));
        if let Some((at, stop)) = found {
            let stopped = Some(stop.clone());
            let end = if self.include_stop { at + stop.len() } else { at };
            self.held.truncate(end);
            return Piece { text: std::mem::take(&mut self.held), stopped };
        }
        let held = if last { 0 } else { self.uncertain() };
        let rest = self.held.split_off(self.held.len() - held);
        Piece { text: std::mem::replace(&mut self.held, rest), stopped: None }
    }

    /// The bytes at the end that may be the start of a stop string.
    fn uncertain(&self) -> usize {
        let start_of_a_stop = |&(at, _): &(usize, char)| {
            let rest = &self.held[at..];
            self.stops.iter().any(|stop| stop.starts_with(rest))
        };
        let start = self.held.char_indices().find(start_of_a_stop);
        start.map_or(0, |(at, _)| self.held.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Text};

    /// Pushes texts as if tokens had made them.
    fn pieces(stops: &[&str], include: bool, texts: &[&str]) -> Vec<Piece> {
        let stops = stops.iter().map(|&stop| stop.to_owned()).collect();
        let mut text = Text::new(None, true, stops, include);
        let last = texts.len() - 1;
        let push = |(index, part): (usize, &&str)| {
            text.held.push_str(part);
            text.push(None, index == last)
        };
        texts.iter().enumerate().map(push).collect()
    }

    fn told(text: &str, stopped: Option<&str>) -> Piece {
        Piece { text: text.to_owned(), stopped: stopped.map(str::to_owned) }
    }

    #[test]
    fn what_may_be_a_stop_string_is_held_back() {
        let expected = [told("ab", None), told("", None), told("", Some("</s>"))];
        assert_eq!(pieces(&["</s>"], false, &["ab<", "/s", ">x"]), expected);
        let expected = [told("ab", None), told("", None), told("</s>", Some("</s>"))];
        assert_eq!(pieces(&["</s>"], true, &["ab<", "/s", ">x"]), expected);
        let expected = [told("ab", None), told("</t", None), told("x", None)];
        assert_eq!(pieces(&["</s>"], false, &["ab</", "t", "x"]), expected);
        assert_eq!(pieces(&["é!"], false, &["é", ""]), [told("", None), told("é", None)]);
    }
}
