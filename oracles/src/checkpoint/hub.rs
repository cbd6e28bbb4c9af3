//! Files of a Hugging Face repository at a revision, over the hub's own HTTP interface.
//!
//! Why not the `hf-hub` crate: it verifies no digest, keeps its own cache of links, hides the
//! status behind a text and brings a second HTTP client. What is needed is small: ask for the
//! properties (`HEAD`), take the bytes (`GET` with `Range` after a cut), digest them as they come.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, LOCATION, RANGE, RETRY_AFTER};
use reqwest::redirect::Policy;

use super::source::{HubFile, HubSource};
use super::{CheckpointError, HubError};
use crate::digest::{Hasher, is_sha256};
use crate::place::{self, PlaceError};
use crate::progress::{Progress, Stage};

/// The public hub.
const PUBLIC: &str = "https://huggingface.co";
/// Attempts in a row that bring nothing before it is given up.
const ATTEMPTS: u32 = 5;
/// Without a byte for this long, a connection counts as cut.
const STALL: Duration = Duration::from_secs(30);
/// The longest wait that a hub may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(1);

/// Downloads every file that `dir` does not hold yet.
pub(super) fn fetch(
    source: &HubSource,
    dir: &Path,
    progress: Progress,
) -> Result<(), CheckpointError> {
    let endpoint = source.endpoint.as_deref().unwrap_or(PUBLIC).trim_end_matches('/');
    let base = reqwest::Url::parse(endpoint)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| HubError::Endpoint { endpoint: endpoint.to_owned() })?;
    let clients = Clients::new(&base)?;
    for file in &source.file {
        let path = dir.join(&file.path);
        if path.is_file() {
            continue;
        }
        let url =
            format!("{endpoint}/{}/resolve/{}/{}", source.repository, source.revision, file.path);
        let part = place::beside(&path, ".part");
        if let Some(parent) = path.parent() {
            place::create_dir(parent)?;
        }
        clients.check_properties(&url, &source.revision, file)?;
        Download { clients: &clients, url, file, path, part, backoff: clients.backoff }
            .run(progress)?;
    }
    Ok(())
}

/// One client that follows redirects to the bytes, and one that stops at them to read what the
/// hub itself says about the file.
struct Clients {
    following: Client,
    stopping: Client,
    backoff: Duration,
}

impl Clients {
    fn new(base: &reqwest::Url) -> Result<Self, HubError> {
        let loopback = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let make = |policy| {
            let builder = Client::builder().timeout(STALL).redirect(policy);
            // No proxy can reach our own loopback.
            let builder = if loopback { builder.no_proxy() } else { builder };
            builder.build().map_err(HubError::Client)
        };
        // A hub on loopback has no others to be considerate of: tests need not wait.
        let backoff = Duration::from_millis(if loopback { 20 } else { 1000 });
        Ok(Self { following: make(Policy::limited(10))?, stopping: make(Policy::none())?, backoff })
    }

    /// Refuses, before any byte is taken, a file that is not the pinned one.
    fn check_properties(&self, url: &str, revision: &str, file: &HubFile) -> Result<(), HubError> {
        let headers = self.properties(url)?;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let differs = |what, expected: String, found: String| {
            Err(HubError::Pin { url: url.to_owned(), what, expected, found })
        };
        if let Some(commit) = text("x-repo-commit").filter(|commit| *commit != revision) {
            return differs("revision", revision.to_owned(), commit.to_owned());
        }
        let size = text("x-linked-size").or(text(CONTENT_LENGTH.as_str()));
        if let Some(size) = size.and_then(|size| size.parse::<u64>().ok())
            && size != file.bytes
        {
            return differs("size in bytes", file.bytes.to_string(), size.to_string());
        }
        // Large files carry their sha256 as the linked etag; small ones a git digest.
        let etag =
            text("x-linked-etag").map(|etag| etag.trim_start_matches("W/").trim_matches('"'));
        if let Some(etag) = etag.filter(|etag| is_sha256(etag) && *etag != file.sha256) {
            return differs("sha256", file.sha256.clone(), etag.to_owned());
        }
        Ok(())
    }

    /// The headers of the answer that describes the file: the first that names a linked file, or
    /// the last of the redirects.
    fn properties(&self, url: &str) -> Result<HeaderMap, HubError> {
        let mut at = url.to_owned();
        for _ in 0..10 {
            let response = retried(url, self.backoff, || self.stopping.head(&at).send())?;
            let headers = response.headers();
            let linked = headers.contains_key("x-linked-size");
            if linked || !response.status().is_redirection() {
                return Ok(headers.clone());
            }
            let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
            match location.and_then(|location| response.url().join(location).ok()) {
                Some(next) => at = next.to_string(),
                None => break,
            }
        }
        Err(HubError::Redirects { url: url.to_owned() })
    }
}

/// Sends until the answer is neither a failure of the connection, nor 429, nor 5xx.
fn retried(
    url: &str,
    backoff: Duration,
    send: impl Fn() -> reqwest::Result<Response>,
) -> Result<Response, HubError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let wait = backoff * 2u32.pow(attempts - 1);
        match send() {
            Ok(response) => {
                let status = response.status();
                let again = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
                if !again || attempts == ATTEMPTS {
                    return judged(url, response, attempts);
                }
                thread::sleep(asked_wait(&response).unwrap_or(wait));
            }
            Err(error) if attempts == ATTEMPTS => {
                let source = Some(error.without_url().into());
                return Err(HubError::Connection { url: url.to_owned(), attempts, at: 0, source });
            }
            Err(_) => thread::sleep(wait),
        }
    }
}

fn asked_wait(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

fn judged(url: &str, response: Response, attempts: u32) -> Result<Response, HubError> {
    let url = url.to_owned();
    match response.status().as_u16() {
        // 416 is an answer to the range, and the caller's to read.
        200..=399 | 416 => Ok(response),
        status @ (401 | 403) => Err(HubError::Gated { url, status }),
        404 => Err(HubError::NotFound { url }),
        429 => Err(HubError::Limited { url, attempts }),
        status => Err(HubError::Status { url, status, attempts }),
    }
}

struct Download<'a> {
    clients: &'a Clients,
    url: String,
    file: &'a HubFile,
    path: PathBuf,
    part: PathBuf,
    backoff: Duration,
}

impl Download<'_> {
    fn run(&self, progress: Progress) -> Result<(), CheckpointError> {
        let mut stage =
            progress.bytes(&format!("fetching {}", self.file.path), Some(self.file.bytes));
        let mut attempts = 0;
        let mut at = self.kept()?;
        while at < self.file.bytes {
            stage.set(at);
            let cut = self.take(at, &mut stage)?;
            let now = self.kept()?;
            attempts = if now > at { 0 } else { attempts + 1 };
            at = now;
            if attempts == ATTEMPTS {
                let url = self.url.clone();
                return Err(HubError::Connection { url, attempts, at, source: cut }.into());
            }
            if at < self.file.bytes {
                thread::sleep(self.backoff * 2u32.pow(attempts));
            }
        }
        self.place()
    }

    /// Bytes of the part file; one that is too long cannot be a beginning of the file.
    fn kept(&self) -> Result<u64, PlaceError> {
        match std::fs::metadata(&self.part) {
            Ok(meta) if meta.len() <= self.file.bytes => Ok(meta.len()),
            Ok(_) => place::remove(&self.part).map(|()| 0),
            Err(_) => Ok(0),
        }
    }

    /// Appends to the part file what one request brings, from byte `at`; the failure that cut it.
    fn take(
        &self,
        at: u64,
        stage: &mut Stage,
    ) -> Result<Option<Box<dyn std::error::Error + Send + Sync>>, CheckpointError> {
        let mut response = retried(&self.url, self.backoff, || {
            let request = self.clients.following.get(&self.url);
            let request =
                if at > 0 { request.header(RANGE, format!("bytes={at}-")) } else { request };
            request.send()
        })?;
        let from = match response.status() {
            StatusCode::PARTIAL_CONTENT if self.continues(&response, at)? => at,
            StatusCode::OK => 0,
            // What is kept does not fit what is there: begin again.
            _ => {
                place::remove(&self.part)?;
                return Ok(None);
            }
        };
        let write = |error| PlaceError::new("write", &self.part, error);
        let mut part = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(from == 0)
            .append(from != 0)
            .open(&self.part)
            .map_err(write)?;
        let mut position = from;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = match response.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(read) => read,
                Err(error) => return Ok(Some(error.into())),
            };
            position += read as u64;
            if position > self.file.bytes {
                drop(part);
                place::remove(&self.part)?;
                let (what, expected) = (self.url.clone(), self.file.bytes);
                return Err(CheckpointError::Bytes { what, expected, found: position });
            }
            part.write_all(&buffer[..read]).map_err(write)?;
            stage.set(position);
        }
    }

    /// Whether a partial answer begins at `at` and speaks of a file of the pinned size.
    fn continues(&self, response: &Response, at: u64) -> Result<bool, HubError> {
        let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
        let Some((start, total)) = range.and_then(content_range) else { return Ok(false) };
        if let Some(total) = total.filter(|total| *total != self.file.bytes) {
            return Err(HubError::Pin {
                url: self.url.clone(),
                what: "size in bytes",
                expected: self.file.bytes.to_string(),
                found: total.to_string(),
            });
        }
        Ok(start == at)
    }

    /// Verifies the whole part file and puts it in place.
    fn place(&self) -> Result<(), CheckpointError> {
        if self.file.bytes == 0 && !self.part.exists() {
            File::create(&self.part).map_err(|e| PlaceError::new("write", &self.part, e))?;
        }
        let read = |error| PlaceError::new("read", &self.part, error);
        let mut part = File::open(&self.part).map_err(read)?;
        let mut hasher = Hasher::default();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match part.read(&mut buffer).map_err(read)? {
                0 => break,
                count => hasher.update(&buffer[..count]),
            }
        }
        let (found, _) = hasher.finish();
        if found != self.file.sha256 {
            let aside = Some(place::set_aside(&self.part)?);
            let (path, expected) = (self.path.clone(), self.file.sha256.clone());
            return Err(CheckpointError::Hash { path, expected, found, aside });
        }
        part.sync_all().map_err(|error| PlaceError::new("write", &self.part, error))?;
        place::rename(&self.part, &self.path)?;
        Ok(())
    }
}

/// `bytes START-END/TOTAL` as (START, TOTAL); the total may be `*`.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    Some((start.parse().ok()?, total))
}

#[cfg(test)]
mod tests {
    use super::content_range;

    #[test]
    fn content_ranges_of_rfc_9110() {
        assert_eq!(content_range("bytes 42-1233/1234"), Some((42, Some(1234))));
        assert_eq!(content_range("bytes 42-1233/*"), Some((42, None)));
        assert_eq!(content_range("bytes */1234"), None);
        assert_eq!(content_range("42-1233/1234"), None);
    }
}
