//! Finds the keys that count in an event without building a document. It walks the structure and skips the values that it does not
//! need; wherever it meets what it does not expect, it gives up (`None`) and [`piece::parse`](super::piece::parse) parses the
//! whole. On every document that `serde_json` accepts the two agree, which is held by a property test. The strings that it skips
//! are not validated.

#![expect(
    clippy::option_option,
    reason = "the outer one says whether the scan is sure, the inner one whether the value is there"
)]

use std::borrow::Cow;

use memchr::memchr2;

use super::piece::{Finish, Piece, finish};
use super::trace::Usage;

/// Keys of a chat delta that carry generated text, in the order in which they are looked for.
pub(super) const DELTA_TEXTS: [&str; 3] = ["content", "reasoning_content", "reasoning"];

/// What the event carried, or `None` where only a whole parse can tell. Errors of the server are left to the whole parse.
pub fn scan(data: &[u8]) -> Option<Piece<'_>> {
    let mut cursor = Cursor { bytes: data, at: 0 };
    let mut event = Event::default();
    cursor.object(|cursor, key| match key {
        b"choices" => once(&mut event.choice, cursor.choices()?),
        b"usage" => once(&mut event.usage, cursor.usage()?),
        b"content" => once(&mut event.content, cursor.text()?),
        b"tokens" => once(&mut event.tokens, cursor.ids()?),
        b"stop" => once(&mut event.stop, cursor.literal()?),
        b"stop_type" => once(&mut event.stop_type, cursor.reason()?),
        b"tokens_evaluated" => once(&mut event.evaluated, cursor.number()?),
        b"tokens_predicted" => once(&mut event.predicted, cursor.number()?),
        b"error" => (cursor.literal()? == Literal::Null).then_some(()),
        b"object" => (cursor.string()? != b"error").then_some(()),
        _ => cursor.skip(),
    })?;
    cursor.end()?;
    Some(event.piece())
}

/// What the top level of an event held; `None` is a key that it lacks.
#[derive(Default)]
struct Event<'a> {
    choice: Option<Choice<'a>>,
    usage: Option<Option<Usage>>,
    content: Option<&'a [u8]>,
    tokens: Option<Option<&'a [u8]>>,
    stop: Option<Literal>,
    stop_type: Option<Option<Finish>>,
    evaluated: Option<u32>,
    predicted: Option<u32>,
}

impl<'a> Event<'a> {
    fn piece(self) -> Piece<'a> {
        let own = self.evaluated.zip(self.predicted).map(|(prompt_tokens, completion_tokens)| {
            Usage { prompt_tokens, completion_tokens, cached_tokens: None }
        });
        let choice = self.choice.unwrap_or_else(|| Choice {
            text: self.content.unwrap_or_default(),
            ids: self.tokens.flatten(),
            finish: (self.stop == Some(Literal::True))
                .then(|| self.stop_type.flatten().unwrap_or(Finish::Other)),
        });
        Piece {
            text: Cow::Borrowed(choice.text),
            ids: choice.ids.map(Cow::Borrowed),
            usage: self.usage.flatten().or(own),
            finish: choice.finish,
            error: None,
        }
    }
}

/// The first choice.
#[derive(Default)]
struct Choice<'a> {
    text: &'a [u8],
    ids: Option<&'a [u8]>,
    finish: Option<Finish>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Literal {
    Null,
    True,
    False,
}

/// Sets what was not set: a key that comes twice is for the whole parse, where the last one counts.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    let is_first = slot.is_none();
    *slot = Some(value);
    is_first.then_some(())
}

/// A place in a document. Every method gives `None` on what it does not expect.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Nothing but blanks is left.
    fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// Calls `member` with each key of an object; it has to move over the value.
    fn object(&mut self, mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            return self.expect(b'}');
        }
        loop {
            let key = self.string()?;
            if key.contains(&b'\\') {
                return None;
            }
            self.expect(b':')?;
            member(self, key)?;
            if self.peek()? == b'}' {
                return self.expect(b'}');
            }
            self.expect(b',')?;
        }
    }

    /// Calls `element` at each element of an array, with its index; it has to move over it.
    fn array(&mut self, mut element: impl FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            return self.expect(b']');
        }
        for index in 0.. {
            element(self, index)?;
            if self.peek()? == b']' {
                return self.expect(b']');
            }
            self.expect(b',')?;
        }
        None
    }

    /// A string as it stands between its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let found = self.at + memchr2(b'"', b'\\', self.bytes.get(self.at..)?)?;
            if self.bytes[found] == b'"' {
                self.at = found + 1;
                return Some(&self.bytes[start..found]);
            }
            self.at = found + 2;
        }
    }

    /// A string; a value of another type is as good as none.
    fn text(&mut self) -> Option<&'a [u8]> {
        if self.peek()? == b'"' {
            return self.string();
        }
        self.skip()?;
        Some(&[])
    }

    fn literal(&mut self) -> Option<Literal> {
        self.peek()?;
        let rest = &self.bytes[self.at..];
        [(&b"null"[..], Literal::Null), (b"true", Literal::True), (b"false", Literal::False)]
            .into_iter()
            .find(|(word, _)| rest.starts_with(word))
            .map(|(word, literal)| {
                self.at += word.len();
                literal
            })
    }

    /// A number without sign, point and exponent that fits.
    fn number(&mut self) -> Option<u32> {
        self.peek()?;
        let digits = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = &self.bytes[self.at..self.at + digits];
        if digits == 0 || (digits > 1 && text[0] == b'0') {
            return None;
        }
        self.at += digits;
        if matches!(self.bytes.get(self.at), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        std::str::from_utf8(text).ok()?.parse().ok()
    }

    /// A finish reason: null or a plain word.
    fn reason(&mut self) -> Option<Option<Finish>> {
        if self.peek()? != b'"' {
            return (self.literal()? == Literal::Null).then_some(None);
        }
        let word = self.string()?;
        if word.contains(&b'\\') {
            None
        } else {
            Some(Some(finish(std::str::from_utf8(word).ok()?)))
        }
    }

    /// Token ids as they stand between the brackets; null is none.
    fn ids(&mut self) -> Option<Option<&'a [u8]>> {
        if self.peek()? != b'[' {
            return (self.literal()? == Literal::Null).then_some(None);
        }
        let start = self.at + 1;
        self.array(|cursor, _| cursor.number().map(drop))?;
        Some(Some(&self.bytes[start..self.at - 1]))
    }

    fn choices(&mut self) -> Option<Choice<'a>> {
        let mut first = Choice::default();
        self.array(|cursor, index| {
            if index == 0 { cursor.choice().map(|choice| first = choice) } else { cursor.skip() }
        })?;
        Some(first)
    }

    fn choice(&mut self) -> Option<Choice<'a>> {
        let (mut text, mut delta, mut ids, mut finish) = (None, None, None, None);
        self.object(|cursor, key| match key {
            b"text" => once(&mut text, cursor.text()?),
            b"delta" => once(&mut delta, cursor.delta()?),
            b"token_ids" => once(&mut ids, cursor.ids()?),
            b"finish_reason" => once(&mut finish, cursor.reason()?),
            _ => cursor.skip(),
        })?;
        let text = text.filter(|text| !text.is_empty()).or(delta).unwrap_or_default();
        Some(Choice { text, ids: ids.flatten(), finish: finish.flatten() })
    }

    fn delta(&mut self) -> Option<&'a [u8]> {
        if self.peek()? != b'{' {
            return (self.literal()? == Literal::Null).then_some(&[]);
        }
        let mut texts = [None; DELTA_TEXTS.len()];
        self.object(|cursor, key| {
            match DELTA_TEXTS.iter().position(|name| name.as_bytes() == key) {
                Some(place) => once(&mut texts[place], cursor.text()?),
                None => cursor.skip(),
            }
        })?;
        Some(texts.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default())
    }

    fn usage(&mut self) -> Option<Option<Usage>> {
        if self.peek()? != b'{' {
            return (self.literal()? == Literal::Null).then_some(None);
        }
        let (mut prompt, mut completion, mut cached) = (None, None, None);
        self.object(|cursor, key| match key {
            b"prompt_tokens" => once(&mut prompt, cursor.number()?),
            b"completion_tokens" => once(&mut completion, cursor.number()?),
            b"prompt_tokens_details" => once(&mut cached, cursor.cached()?),
            _ => cursor.skip(),
        })?;
        Some(prompt.zip(completion).map(|(prompt_tokens, completion_tokens)| Usage {
            prompt_tokens,
            completion_tokens,
            cached_tokens: cached.flatten(),
        }))
    }

    fn cached(&mut self) -> Option<Option<u32>> {
        if self.peek()? != b'{' {
            return (self.literal()? == Literal::Null).then_some(None);
        }
        let mut cached = None;
        self.object(|cursor, key| match key {
            b"cached_tokens" => once(&mut cached, cursor.number()?),
            _ => cursor.skip(),
        })?;
        Some(cached)
    }

    /// Moves over a value of any type. Inside containers only brackets and strings are looked at.
    fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' | b'[' => self.skip_container(),
            b'n' | b't' | b'f' => self.literal().map(drop),
            b'-' | b'0'..=b'9' => {
                let rest = &self.bytes[self.at..];
                self.at += rest
                    .iter()
                    .take_while(|byte| {
                        matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
                    })
                    .count();
                Some(())
            }
            _ => None,
        }
    }

    fn skip_container(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match *self.bytes.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
