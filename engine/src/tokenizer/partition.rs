//! Special tokens in a text: found before anything else is encoded.

use super::vocabulary::{TokenKind, Vocabulary};

/// A stretch of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
    /// Text still to be encoded.
    Text(&'t str),
    /// A token that the text spells out.
    Token(u32),
}

/// A token that is searched for in every text.
#[derive(Debug, Clone)]
struct Marker {
    id: u32,
    text: String,
    /// Only searched for when the caller asks to parse special tokens.
    only_parsed: bool,
    /// Takes the white space before it along.
    strips_left: bool,
    /// Takes the white space behind it along.
    strips_right: bool,
}

/// All markers of a vocabulary, the longest first: a longer marker wins over a shorter one wherever both
/// match, whichever starts first.
#[derive(Debug, Default)]
pub(super) struct Markers(Vec<Marker>);

impl Markers {
    /// The control, unknown and user-defined tokens of a vocabulary.
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let mut markers: Vec<Marker> = vocabulary
            .iter()
            .filter_map(|(id, token)| {
                let only_parsed = match token.kind {
                    TokenKind::Control | TokenKind::Unknown => true,
                    TokenKind::UserDefined => false,
                    TokenKind::Normal | TokenKind::Unused | TokenKind::Byte => return None,
                };
                let text = token.text.clone();
                Some(Marker { id, text, only_parsed, strips_left: false, strips_right: false })
            })
            .filter(|marker| !marker.text.is_empty())
            .collect();
        markers.sort_by_key(|marker| std::cmp::Reverse(marker.text.len()));
        Self(markers)
    }

    /// Makes every marker take the white space behind it along, but for these texts.
    pub(super) fn strip_right_except(&mut self, texts: &[&str]) {
        for marker in &mut self.0 {
            marker.strips_right = !texts.contains(&marker.text.as_str());
        }
    }

    /// Makes one marker take the white space before it along.
    pub(super) fn strip_left(&mut self, text: &str) {
        for marker in self.0.iter_mut().filter(|marker| marker.text == text) {
            marker.strips_left = true;
        }
    }

    /// Cuts a text at its markers.
    pub(super) fn partition<'t>(&self, text: &'t str, parse_special: bool) -> Vec<Fragment<'t>> {
        let mut fragments = if text.is_empty() { Vec::new() } else { vec![Fragment::Text(text)] };
        for marker in &self.0 {
            if (marker.only_parsed && !parse_special) || !text.contains(&marker.text) {
                continue;
            }
            let mut finer = Vec::with_capacity(fragments.len() + 2);
            for fragment in fragments {
                match fragment {
                    Fragment::Text(text) => marker.cut(text, &mut finer),
                    token @ Fragment::Token(_) => finer.push(token),
                }
            }
            fragments = finer;
        }
        fragments
    }
}

/// The white space of C's `isspace`.
fn is_space(character: char) -> bool {
    matches!(character, '\t'..='\r' | ' ')
}

impl Marker {
    fn cut<'t>(&self, text: &'t str, fragments: &mut Vec<Fragment<'t>>) {
        let mut rest = text;
        while let Some(at) = rest.find(&self.text) {
            let (mut left, mut right) = (&rest[..at], &rest[at + self.text.len()..]);
            if self.strips_left {
                left = left.trim_end_matches(is_space);
            }
            if self.strips_right {
                right = right.trim_start_matches(is_space);
            }
            if !left.is_empty() {
                fragments.push(Fragment::Text(left));
            }
            fragments.push(Fragment::Token(self.id));
            rest = right;
        }
        if !rest.is_empty() {
            fragments.push(Fragment::Text(rest));
        }
    }
}
