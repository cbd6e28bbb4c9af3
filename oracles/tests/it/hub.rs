//! The hub client against a hub on loopback that cuts, lies, redirects and refuses.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use oracles::checkpoint::{self, Checkpoint, CheckpointError, CheckpointSpec, HubError};
use oracles::digest::sha256_bytes;
use oracles::{Error, Progress};

use crate::fixture::Place;

const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the hub does to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Closes the connection after 1000 bytes of every answer.
    Cut,
    /// Ignores the range and always begins at 0, and cuts the first answer.
    NoRange,
    /// Sends other bytes of the same length.
    OtherBytes,
    /// Sends more than it said in HEAD.
    TooMany,
    /// Says another length in HEAD.
    OtherLength,
    /// Says another linked digest.
    OtherEtag,
    /// Says another commit.
    OtherCommit,
    /// 302 to another path, which has the bytes.
    Redirect,
    Status(u16),
    /// 503 to the first two requests.
    Busy,
}

struct Hub {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Hub {
    fn serve(body: Vec<u8>, fault: Fault) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that goes away is part of the tests.
                let _ = answer(stream.unwrap(), &body, fault, &seen);
            }
        });
        Self { address, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: TcpStream,
    body: &[u8],
    fault: Fault,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut range = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
            range = value.trim().trim_end_matches('-').parse().unwrap();
        }
    }
    let head = request.starts_with("HEAD");
    let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let count = {
        let mut seen = seen.lock().unwrap();
        seen.push(format!("{} {path} {range}", if head { "HEAD" } else { "GET" }));
        seen.len()
    };
    let empty = |status: u16| {
        format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    match fault {
        Fault::Status(status) => return stream.write_all(empty(status).as_bytes()),
        Fault::Busy if count <= 2 => return stream.write_all(empty(503).as_bytes()),
        _ => {}
    }
    let about = about(body, fault);
    if fault == Fault::Redirect && !path.starts_with("/bytes") {
        let headers = format!(
            "HTTP/1.1 302 Found\r\nLocation: /bytes\r\nContent-Length: 0\r\n{about}Connection: close\r\n\r\n"
        );
        return stream.write_all(headers.as_bytes());
    }
    let mut sent = body.to_vec();
    if fault == Fault::OtherBytes {
        sent[0] ^= 1;
    }
    if fault == Fault::TooMany && !head {
        sent.push(0);
    }
    let from = if fault == Fault::NoRange { 0 } else { range };
    let status = if from > 0 { "206 Partial Content" } else { "200 OK" };
    let range = if from > 0 {
        format!("Content-Range: bytes {from}-{}/{}\r\n", sent.len() - 1, sent.len())
    } else {
        String::new()
    };
    let headers = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}{about}Connection: close\r\n\r\n",
        sent.len() - from
    );
    stream.write_all(headers.as_bytes())?;
    if head {
        return Ok(());
    }
    let cut = fault == Fault::Cut || fault == Fault::NoRange && count == 2;
    let until = if cut { (from + 1000).min(sent.len()) } else { sent.len() };
    stream.write_all(&sent[from..until])
}

/// What the hub says about the file.
fn about(body: &[u8], fault: Fault) -> String {
    let etag = match fault {
        // Without a digest only the bytes can tell.
        Fault::OtherBytes => String::new(),
        Fault::OtherEtag => format!("X-Linked-Etag: \"{}\"\r\n", sha256_bytes(b"x")),
        _ => format!("X-Linked-Etag: \"{}\"\r\n", sha256_bytes(body)),
    };
    let commit = if fault == Fault::OtherCommit { "f".repeat(40) } else { REVISION.to_owned() };
    let linked = body.len() + usize::from(fault == Fault::OtherLength);
    format!("X-Repo-Commit: {commit}\r\nX-Linked-Size: {linked}\r\n{etag}")
}

fn body() -> Vec<u8> {
    (0..3500u32).map(|n| (n * n % 251) as u8).collect()
}

fn spec(place: &Place, hub: &Hub) -> CheckpointSpec {
    let (sha256, bytes) = (sha256_bytes(&body()), body().len());
    place.declare(
        "it",
        &format!(
            "summary = \"x\"\nlicence = \"MIT\"\n[hub]\nrepository = \"owner/name\"\nrevision = \"{REVISION}\"\n\
             endpoint = \"{}\"\n[[hub.file]]\npath = \"sub/model.gguf\"\nsha256 = \"{sha256}\"\nbytes = {bytes}\n",
            hub.address
        ),
    );
    CheckpointSpec::load(&place.home, "it").unwrap()
}

fn fetch(place: &Place, hub: &Hub) -> oracles::Result<Checkpoint> {
    checkpoint::fetch(&place.home, &spec(place, hub), Progress::Silent)
}

fn refused(fault: Fault) -> (CheckpointError, Place, Hub) {
    let place = Place::new();
    let hub = Hub::serve(body(), fault);
    match fetch(&place, &hub) {
        Err(Error::Checkpoint(error)) => {
            assert!(!place.cached().iter().any(|path| path.ends_with("model.gguf")));
            (error, place, hub)
        }
        other => panic!("{fault:?}: {other:?}"),
    }
}

#[test]
fn a_file_is_fetched_once() {
    let place = Place::new();
    let hub = Hub::serve(body(), Fault::None);
    let checkpoint = fetch(&place, &hub).unwrap();
    assert_eq!(std::fs::read(&checkpoint.path).unwrap(), body());
    let url = format!("/owner/name/resolve/{REVISION}/sub/model.gguf");
    assert_eq!(hub.requests(), [format!("HEAD {url} 0"), format!("GET {url} 0")]);
    assert_eq!(fetch(&place, &hub).unwrap(), checkpoint);
    assert_eq!(hub.requests().len(), 2);
}

#[test]
fn a_cut_connection_is_resumed_where_it_was_cut() {
    let place = Place::new();
    let hub = Hub::serve(body(), Fault::Cut);
    let checkpoint = fetch(&place, &hub).unwrap();
    assert_eq!(std::fs::read(&checkpoint.path).unwrap(), body());
    let ranges: Vec<String> = hub
        .requests()
        .iter()
        .filter(|r| r.starts_with("GET"))
        .map(|r| r.rsplit(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(ranges, ["0", "1000", "2000", "3000"]);
}

#[test]
fn what_an_earlier_run_kept_is_resumed() {
    let place = Place::new();
    let hub = Hub::serve(body(), Fault::None);
    let checkpoint = fetch(&place, &hub).unwrap();
    let part = checkpoint.path.with_file_name("model.gguf.part");
    std::fs::remove_file(&checkpoint.path).unwrap();
    std::fs::write(&part, &body()[..1234]).unwrap();
    assert_eq!(fetch(&place, &hub).unwrap(), checkpoint);
    assert!(hub.requests().last().unwrap().ends_with(" 1234"));
    assert!(!part.exists());
}

#[test]
fn a_hub_without_ranges_begins_again() {
    let place = Place::new();
    let hub = Hub::serve(body(), Fault::NoRange);
    let checkpoint = fetch(&place, &hub).unwrap();
    assert_eq!(std::fs::read(&checkpoint.path).unwrap(), body());
}

#[test]
fn redirects_are_followed_and_a_busy_hub_is_asked_again() {
    for fault in [Fault::Redirect, Fault::Busy] {
        let place = Place::new();
        let hub = Hub::serve(body(), fault);
        let checkpoint = fetch(&place, &hub).unwrap();
        assert_eq!(std::fs::read(&checkpoint.path).unwrap(), body());
    }
}

#[test]
fn wrong_bytes_are_refused_and_set_aside() {
    let (error, place, _hub) = refused(Fault::OtherBytes);
    assert!(
        matches!(&error, CheckpointError::Hash { aside: Some(aside), .. } if aside.is_file()),
        "{error}"
    );
    assert!(place.cached().iter().any(|path| path.ends_with(".refused")));
}

#[test]
fn a_lying_length_is_refused() {
    let (error, place, _hub) = refused(Fault::TooMany);
    assert!(matches!(error, CheckpointError::Bytes { expected: 3500, .. }), "{error}");
    assert!(!place.cached().iter().any(|path| path.contains(".part")));
}

#[test]
fn another_file_is_refused_before_it_is_taken() {
    for (fault, expected) in [
        (Fault::OtherLength, "size in bytes"),
        (Fault::OtherEtag, "sha256"),
        (Fault::OtherCommit, "revision"),
    ] {
        let (error, _place, hub) = refused(fault);
        assert!(
            matches!(&error, CheckpointError::Hub(HubError::Pin { what, .. }) if *what == expected),
            "{error}"
        );
        assert!(hub.requests().iter().all(|request| request.starts_with("HEAD")));
    }
}

#[test]
fn statuses_have_names() {
    for status in [401, 403, 404, 429, 500, 418] {
        let (error, _place, hub) = refused(Fault::Status(status));
        let CheckpointError::Hub(error) = error else { panic!("{error}") };
        let named = match (status, &error) {
            (401 | 403, HubError::Gated { status: found, .. }) => *found == status,
            (404, HubError::NotFound { .. }) => true,
            (429, HubError::Limited { attempts, .. })
            | (500, HubError::Status { status: 500, attempts, .. }) => *attempts == 5,
            (418, HubError::Status { status: 418, attempts, .. }) => *attempts == 1,
            _ => false,
        };
        assert!(named, "{status}: {error}");
        assert!(error.to_string().contains(&hub.address), "{error}");
    }
}

#[test]
fn no_hub_at_all_is_an_error_with_its_cause() {
    let place = Place::new();
    let hub = Hub { address: "http://127.0.0.1:9".to_owned(), requests: Arc::default() };
    let error = fetch(&place, &hub).unwrap_err();
    assert!(
        matches!(error, Error::Checkpoint(CheckpointError::Hub(HubError::Connection { .. }))),
        "{error}"
    );
}
