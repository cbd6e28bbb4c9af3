//! An HTTP/1.1 response taken apart as it comes: the head by `httparse`, then the body by its framing (RFC 9112, sections 6 and 7).

use memchr::memchr;

/// Bytes that the head of a response may have.
pub const HEAD_BYTES: usize = 64 << 10;
const HEADERS: usize = 96;

/// A response that does not keep to the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The head cannot be parsed.
    #[error("the head of the response is malformed: {0}")]
    Head(#[from] httparse::Error),
    /// The head does not end.
    #[error("the head of the response is longer than {HEAD_BYTES} bytes")]
    LongHead,
    /// `Content-Length` is no number.
    #[error("the response's content-length is {0:?}, expected a number")]
    Length(String),
    /// The line before a chunk is not its size.
    #[error("the size of a chunk holds the byte {0:#04x}, expected hexadecimal digits")]
    ChunkSize(u8),
    /// What follows a chunk is no line end.
    #[error("a chunk is followed by the byte {0:#04x}, expected a line end")]
    ChunkEnd(u8),
}

/// What the head said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// The body is `text/event-stream`.
    pub is_event_stream: bool,
    /// The server keeps the connection open after this response.
    pub keeps_alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// So many bytes of a body of known length to come.
    Length(u64),
    /// The size of a chunk so far, and whether it has a digit.
    ChunkSize(u64, bool),
    /// The rest of a chunk's size line, which says nothing that we use.
    ChunkExtension(u64),
    ChunkData(u64),
    ChunkEnd,
    /// The lines after the last chunk; whether the present one is empty so far.
    Trailer(bool),
    UntilClose,
    Ended,
}

/// The state between two reads of one response.
#[derive(Debug)]
pub struct Response {
    state: State,
    /// The head as far as it has come, if it came in several reads.
    partial: Vec<u8>,
    head: Option<Head>,
}

impl Default for Response {
    fn default() -> Self {
        Self { state: State::Head, partial: Vec::new(), head: None }
    }
}

impl Response {
    /// The head, once it is whole.
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// The body is whole.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// The connection closed. True if that ends the body properly, which it does only where nothing else tells its length.
    pub fn close(&mut self) -> bool {
        if self.state == State::UntilClose {
            self.state = State::Ended;
        }
        self.has_ended()
    }

    /// The next bytes of the body in `rest`, which moves on; `None` when `rest` is used up or the body has ended.
    pub fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, HttpError> {
        while !rest.is_empty() {
            match self.state {
                State::Head => self.take_head(rest)?,
                State::Length(left) => {
                    let part = take(rest, left);
                    let left = left - part.len() as u64;
                    self.state = if left == 0 { State::Ended } else { State::Length(left) };
                    return Ok(Some(part));
                }
                State::ChunkData(left) => {
                    let part = take(rest, left);
                    let left = left - part.len() as u64;
                    self.state = if left == 0 { State::ChunkEnd } else { State::ChunkData(left) };
                    return Ok(Some(part));
                }
                State::UntilClose => return Ok(Some(std::mem::take(rest))),
                State::Ended => return Ok(None),
                State::ChunkExtension(size) => match memchr(b'\n', rest) {
                    Some(end) => {
                        *rest = &rest[end + 1..];
                        self.begin_chunk(size);
                    }
                    None => *rest = &[],
                },
                State::ChunkSize(..) | State::ChunkEnd | State::Trailer(_) => {
                    let byte = rest[0];
                    *rest = &rest[1..];
                    self.take_framing(byte)?;
                }
            }
        }
        Ok(None)
    }

    fn take_framing(&mut self, byte: u8) -> Result<(), HttpError> {
        match (self.state, byte) {
            (State::ChunkSize(size, true), b'\n') => self.begin_chunk(size),
            (State::ChunkSize(size, true), b'\r' | b';' | b' ' | b'\t') => {
                self.state = State::ChunkExtension(size);
            }
            (State::ChunkSize(size, _), _) => {
                let digit = (byte as char).to_digit(16).ok_or(HttpError::ChunkSize(byte))? as u64;
                let size = size.checked_mul(16).ok_or(HttpError::ChunkSize(byte))? + digit;
                self.state = State::ChunkSize(size, true);
            }
            (State::ChunkEnd, b'\r') => {}
            (State::ChunkEnd, b'\n') => self.state = State::ChunkSize(0, false),
            (State::ChunkEnd, _) => return Err(HttpError::ChunkEnd(byte)),
            (State::Trailer(true), b'\n') => self.state = State::Ended,
            (State::Trailer(_), b'\n') => self.state = State::Trailer(true),
            (State::Trailer(empty), _) => self.state = State::Trailer(empty && byte == b'\r'),
            _ => unreachable!("only framing comes here"),
        }
        Ok(())
    }

    fn begin_chunk(&mut self, size: u64) {
        self.state = if size == 0 { State::Trailer(true) } else { State::ChunkData(size) };
    }

    fn take_head(&mut self, rest: &mut &[u8]) -> Result<(), HttpError> {
        let before = self.partial.len();
        let parsed = if before == 0 {
            parse_head(rest)?
        } else {
            self.partial.extend_from_slice(rest);
            parse_head(&self.partial)?
        };
        if let Some((length, head, body)) = parsed {
            // What was kept is head alone: with its end it would have parsed before.
            *rest = &rest[length - before..];
            self.partial.clear();
            if head.status >= 200 {
                self.head = Some(head);
                self.state = body;
            }
            return Ok(());
        }
        if before == 0 {
            self.partial.extend_from_slice(rest);
        }
        if self.partial.len() > HEAD_BYTES {
            return Err(HttpError::LongHead);
        }
        *rest = &[];
        Ok(())
    }
}

fn take<'a>(rest: &mut &'a [u8], at_most: u64) -> &'a [u8] {
    let end = rest.len().min(usize::try_from(at_most).unwrap_or(usize::MAX));
    let (part, after) = rest.split_at(end);
    *rest = after;
    part
}

/// A whole head: its length, what it said, and how the body is framed (RFC 9112, section 6.3).
fn parse_head(bytes: &[u8]) -> Result<Option<(usize, Head, State)>, HttpError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = response.parse(bytes)? else { return Ok(None) };
    let status = response.code.unwrap_or(0);
    let mut keeps_alive = response.version == Some(1);
    let (mut is_event_stream, mut body) = (false, State::UntilClose);
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        let starts = |with: &[u8]| {
            value.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with))
        };
        if header.name.eq_ignore_ascii_case("content-type") {
            is_event_stream = starts(b"text/event-stream");
        } else if header.name.eq_ignore_ascii_case("connection") {
            keeps_alive =
                if starts(b"close") { false } else { keeps_alive || starts(b"keep-alive") };
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            let ends =
                value.len() >= 7 && value[value.len() - 7..].eq_ignore_ascii_case(b"chunked");
            body = if ends { State::ChunkSize(0, false) } else { State::UntilClose };
        } else if header.name.eq_ignore_ascii_case("content-length")
            && !matches!(body, State::ChunkSize(..))
        {
            let text = String::from_utf8_lossy(value);
            let length = text.parse().map_err(|_| HttpError::Length(text.into_owned()))?;
            body = if length == 0 { State::Ended } else { State::Length(length) };
        }
    }
    if matches!(status, 204 | 304) {
        body = State::Ended;
    }
    keeps_alive &= body != State::UntilClose;
    Ok(Some((length, Head { status, is_event_stream, keeps_alive }, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Seen {
        body: String,
        head: Option<Head>,
        ended: bool,
        left: usize,
    }

    fn read(parts: &[&[u8]]) -> Result<Seen, HttpError> {
        let mut response = Response::default();
        let (mut body, mut left) = (Vec::new(), 0);
        for part in parts {
            let mut rest = *part;
            while let Some(slice) = response.next(&mut rest)? {
                body.extend_from_slice(slice);
            }
            left += rest.len();
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Seen { body, head: response.head(), ended: response.has_ended(), left })
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n1A;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: t\r\n\r\n";
    const LENGTH: &str =
        "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nConnection: close\r\n\r\nnope";

    #[test]
    fn takes_both_framings_at_every_split() {
        for (text, body, status, is_event_stream, keeps_alive) in [
            (CHUNKED, "helloabcdefghijklmnopqrstuvwxyz", 200, true, true),
            (LENGTH, "nope", 404, false, false),
        ] {
            let bytes = text.as_bytes();
            let halves = (0..=bytes.len()).map(|at| vec![&bytes[..at], &bytes[at..]]);
            for parts in halves.chain([bytes.chunks(1).collect()]) {
                let seen = read(&parts).unwrap();
                assert_eq!((seen.body.as_str(), seen.ended, seen.left), (body, true, 0));
                assert_eq!(seen.head, Some(Head { status, is_event_stream, keeps_alive }));
            }
        }
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let mut response = Response::default();
        let mut rest: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nabc";
        assert_eq!(response.next(&mut rest), Ok(Some(&b"abc"[..])));
        assert!(!response.has_ended());
        assert!(response.close());
        assert!(!response.head().unwrap().keeps_alive);
    }

    #[test]
    fn an_interim_response_is_not_the_response() {
        let text = format!("HTTP/1.1 100 Continue\r\n\r\n{LENGTH}");
        let seen = read(&[text.as_bytes()]).unwrap();
        assert_eq!((seen.body.as_str(), seen.head.unwrap().status), ("nope", 404));
    }

    #[test]
    fn what_follows_the_response_is_left() {
        let text = format!("{LENGTH}HTTP/1.1 200");
        assert_eq!(read(&[text.as_bytes()]).unwrap().left, 12);
    }

    #[test]
    fn a_cut_chunk_is_no_end() {
        let mut response = Response::default();
        let mut rest = &CHUNKED.as_bytes()[..CHUNKED.len() - 2];
        while response.next(&mut rest).unwrap().is_some() {}
        assert!(!response.close());
    }

    #[test]
    fn says_what_is_malformed() {
        let error = |text: &str| read(&[text.as_bytes()]).err();
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(error(&format!("{chunked}g")), Some(HttpError::ChunkSize(b'g')));
        assert_eq!(error(&format!("{chunked}\r\n")), Some(HttpError::ChunkSize(b'\r')));
        assert_eq!(error(&format!("{chunked}fffffffffffffffff")), Some(HttpError::ChunkSize(b'f')));
        assert_eq!(error(&format!("{chunked}1\r\nab")), Some(HttpError::ChunkEnd(b'b')));
        assert_eq!(
            error("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
            Some(HttpError::Length("-1".to_owned()))
        );
        assert!(matches!(error("SMTP\r\n\r\n"), Some(HttpError::Head(_))));
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "a".repeat(HEAD_BYTES));
        assert_eq!(error(&endless), Some(HttpError::LongHead));
    }
}
