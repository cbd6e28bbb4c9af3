//! Requests on stdin, one a line.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use serde::Deserialize;
use serde_json::Value;

/// A line that is not UTF-8.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the line is not UTF-8: byte {at} of it is {byte:#04x}")]
pub(super) struct NotUtf8 {
    at: usize,
    byte: u8,
}

/// A line that is not blank. One that is no text is told apart, so that the others are still answered.
pub(super) type Line = Result<String, NotUtf8>;

/// A line that is no request.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    /// A value is not what its key holds.
    #[error(transparent)]
    Key(#[from] serde_path_to_error::Error<serde_json::Error>),
    /// Something follows the request.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Lines read ahead of whoever answers them.
const AHEAD: usize = 1024;

/// The next line that is not blank; none at the end.
pub(super) fn next(input: &mut dyn BufRead) -> io::Result<Option<Line>> {
    loop {
        let mut bytes = Vec::new();
        if input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        return Ok(Some(String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            NotUtf8 { at, byte: error.as_bytes().get(at).copied().unwrap_or_default() }
        })));
    }
}

/// The lines as they come, read by a thread of their own: who is at work can see whether there is another.
///
/// The thread ends with its input, or when nobody listens and another line comes.
pub(super) fn in_background(mut input: Box<dyn BufRead + Send>) -> Receiver<io::Result<Line>> {
    let (sender, receiver) = sync_channel(AHEAD);
    thread::spawn(move || {
        while let Some(line) = next(input.as_mut()).transpose() {
            let failed = line.is_err();
            if sender.send(line).is_err() || failed {
                break;
            }
        }
    });
    receiver
}

/// Reads a request; the message of an error names the key.
pub(super) fn request<'l, R: Deserialize<'l>>(line: &'l str) -> Result<R, Unreadable> {
    let mut json = serde_json::Deserializer::from_str(line);
    let read = serde_path_to_error::deserialize(&mut json)?;
    json.end()?;
    Ok(read)
}

/// The id of a line that is no valid request; null if it has none.
pub(super) fn id_of(line: &str) -> Value {
    let request = serde_json::from_str::<Value>(line).ok();
    request.and_then(|request| request.get("id").cloned()).unwrap_or(Value::Null)
}
