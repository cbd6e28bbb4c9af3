//! Splits a `text/event-stream` to the letter of the WHATWG HTML standard, section 9.2.6, whatever the reads cut it into.
//!
//! Bytes stay bytes: the standard decodes UTF-8 first, but no byte of a longer character is a line end or a colon, so the lines are
//! the same. Whoever needs text decodes the data of an event, which is whole.

use memchr::{memchr, memchr2};

/// Bytes that one event or line may have.
pub const EVENT_BYTES: usize = 64 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a stream is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A dispatched event: its type, empty where the stream gave none, and its data, lines joined by a line feed.
    Event {
        /// The value of its last `event` field.
        name: &'a [u8],
        /// Its `data` fields.
        data: &'a [u8],
    },
    /// A line that begins with a colon, without it.
    Comment(&'a [u8]),
}

/// An event without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {EVENT_BYTES} bytes")]
pub struct TooLong;

/// The state between two reads.
#[derive(Debug, Default)]
pub struct Splitter {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// Data lines of the event that has no end yet, each followed by a line feed.
    data: Vec<u8>,
    /// The event's type so far.
    name: Vec<u8>,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    /// A line has ended: no byte order mark can come any more.
    is_under_way: bool,
}

impl Splitter {
    /// Takes the next bytes and hands over what they complete, in order.
    pub fn feed(&mut self, bytes: &[u8], on: &mut impl FnMut(Item<'_>)) -> Result<(), TooLong> {
        let mut rest = bytes;
        // The data line of an event that so far has this one alone: not copied, as the blank line mostly follows in the same read.
        let mut held: Option<&[u8]> = None;
        while !rest.is_empty() {
            if self.after_return {
                self.after_return = false;
                if rest[0] == b'\n' {
                    rest = &rest[1..];
                    continue;
                }
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                break;
            };
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            self.after_return = rest[end] == b'\r';
            rest = after;
            if self.line.is_empty() {
                held = self.borrowed_line(line, held, on);
            } else {
                self.keep(held.take());
                self.line.extend_from_slice(line);
                let line = std::mem::take(&mut self.line);
                if let Some(data) = self.borrowed_line(&line, None, on) {
                    self.keep(Some(data));
                }
                self.line = line;
                self.line.clear();
            }
        }
        self.keep(held);
        if self.line.len() + self.data.len() > EVENT_BYTES { Err(TooLong) } else { Ok(()) }
    }

    fn keep(&mut self, held: Option<&[u8]>) {
        if let Some(data) = held {
            self.data.extend_from_slice(data);
            self.data.push(b'\n');
        }
    }

    /// Takes a whole line. `held` is the event's only data line so far; what is returned is that from now on.
    fn borrowed_line<'a>(
        &mut self,
        mut line: &'a [u8],
        held: Option<&'a [u8]>,
        on: &mut impl FnMut(Item<'_>),
    ) -> Option<&'a [u8]> {
        if !self.is_under_way {
            self.is_under_way = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(held, on);
            return None;
        }
        let (field, value) = match memchr(b':', line) {
            Some(0) => {
                on(Item::Comment(&line[1..]));
                return held;
            }
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" if held.is_none() && self.data.is_empty() => return Some(value),
            b"data" => {
                self.keep(held);
                self.keep(Some(value));
                return None;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // `id` and `retry` are about reconnecting, which we do not; other fields are ignored by the standard.
            _ => {}
        }
        held
    }

    fn dispatch(&mut self, held: Option<&[u8]>, on: &mut impl FnMut(Item<'_>)) {
        if let Some(data) = held {
            on(Item::Event { name: &self.name, data });
        } else if let Some((_, data)) = self.data.split_last() {
            on(Item::Event { name: &self.name, data });
            self.data.clear();
        }
        self.name.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Owned items, so that they outlive the feed.
    fn split(parts: &[&[u8]]) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut found = Vec::new();
        for part in parts {
            splitter
                .feed(part, &mut |item| {
                    found.push(match item {
                        Item::Event { name, data } => format!(
                            "{}|{}",
                            String::from_utf8_lossy(name),
                            String::from_utf8_lossy(data)
                        ),
                        Item::Comment(text) => format!("#{}", String::from_utf8_lossy(text)),
                    });
                })
                .unwrap();
        }
        found
    }

    /// The examples of the standard, section 9.2.6, and its rules one by one.
    const CASES: [(&str, &[&str]); 14] = [
        ("data: YHOO\ndata: +2\ndata: 10\n\n", &["|YHOO\n+2\n10"]),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            &["# test stream", "|first event", "|second event"],
        ),
        ("data\n\ndata\ndata\n\ndata:", &["|", "|\n"]),
        ("data:test\n\ndata: test\n\n", &["|test", "|test"]),
        (
            "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
            &["add|73857293", "remove|2153"],
        ),
        ("event: lost\n\ndata: a\n\n", &["|a"]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["|a", "|b", "|c"]),
        ("\u{feff}data: a\n\n", &["|a"]),
        ("data: a\n\n\u{feff}data: b\n\n", &["|a"]),
        ("\u{feff}\u{feff}data: a\n\n", &[]),
        (":ping\n:\n\n\n\n", &["#ping", "#"]),
        ("data: a\n:between\ndata: b\n\n", &["#between", "|a\nb"]),
        ("data: a:b: c\nretry: 5\nnothing\n: c\n\n", &["# c", "|a:b: c"]),
        ("data: \u{e9}\u{1f600}\n\n", &["|\u{e9}\u{1f600}"]),
    ];

    #[test]
    fn follows_the_standard() {
        for (stream, expected) in CASES {
            assert_eq!(split(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    #[test]
    fn is_the_same_at_every_split() {
        for (stream, expected) in CASES {
            let bytes = stream.as_bytes();
            for at in 0..=bytes.len() {
                let (a, b) = bytes.split_at(at);
                assert_eq!(split(&[a, b]), expected, "{stream:?} at {at}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(split(&single), expected, "{stream:?} byte by byte");
        }
    }

    #[test]
    fn refuses_an_endless_event() {
        let mut splitter = Splitter::default();
        let part = vec![b'x'; EVENT_BYTES / 2 + 1];
        assert_eq!(splitter.feed(&part, &mut |_| {}), Ok(()));
        assert_eq!(splitter.feed(&part, &mut |_| {}), Err(TooLong));
    }

    /// The standard's algorithm with nothing clever in it: lines first, then fields.
    fn plainly(stream: &str) -> Vec<String> {
        let stream = stream.strip_prefix('\u{feff}').unwrap_or(stream);
        let unified = stream.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines: Vec<&str> = unified.split('\n').collect();
        lines.pop();
        let (mut found, mut data, mut name) = (Vec::new(), String::new(), String::new());
        for line in lines {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value =
                if line.contains(':') { value.strip_prefix(' ').unwrap_or(value) } else { "" };
            if line.is_empty() {
                if let Some(data) = data.strip_suffix('\n') {
                    found.push(format!("{name}|{data}"));
                }
                data.clear();
                name.clear();
            } else if let Some(comment) = line.strip_prefix(':') {
                found.push(format!("#{comment}"));
            } else if field == "data" {
                data += value;
                data.push('\n');
            } else if field == "event" {
                value.clone_into(&mut name);
            }
        }
        found
    }

    proptest! {
        #[test]
        fn is_the_plain_algorithm(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "data", "event", ":", " ", "\n", "\r", "\r\n", "\n\n", "x", "{\"a\":1}", "\u{feff}", "id", "data: ", "\u{e9}",
            ]), 0..40),
            cuts in prop::collection::vec(1_usize..9, 1..20),
        ) {
            let stream = pieces.concat();
            let bytes = stream.as_bytes();
            let (mut parts, mut at) = (Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                if at >= bytes.len() { break; }
                let end = (at + cut).min(bytes.len());
                parts.push(&bytes[at..end]);
                at = end;
            }
            prop_assert_eq!(split(&parts), plainly(&stream));
        }
    }
}
