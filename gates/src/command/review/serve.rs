//! A page on loopback, with its evidence one click away, until Ctrl-C.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path};
use std::time::Duration;

use records::store::Store;

use crate::command::{self, CommandError};
use crate::interrupt;

/// How often the listener looks whether it should end.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest request that is read.
const LONGEST: u64 = 16 << 10;

/// Serves the page at `/` and the store's own files beside it.
pub(super) fn serve(store: &Store, html: &str) -> Result<(), CommandError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(CommandError::Serve)?;
    listener.set_nonblocking(true).map_err(CommandError::Serve)?;
    let address = listener.local_addr().map_err(CommandError::Serve)?;
    command::print(&format!("http://{address}/\n"))?;
    while interrupt::check().is_ok() {
        match listener.accept() {
            // A client that leaves early has lost nothing but its own answer.
            Ok((stream, _)) => drop(answer(stream, store, html, &address.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(CommandError::Serve(error)),
        }
    }
    Ok(())
}

fn answer(mut stream: TcpStream, store: &Store, html: &str, address: &str) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.try_clone()?.take(LONGEST)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut is_ours = false;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let host = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        // A page of another site that names this port by a name of its own gets nothing.
        is_ours |= host.is_some_and(|(_, host)| host.trim() == address);
    }
    let path = first.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let found = match path {
        Some("/") => Some(("text/html; charset=utf-8", html.as_bytes().to_vec())),
        Some(path) => file(store, path.trim_start_matches('/')).map(|bytes| (kind(path), bytes)),
        None => None,
    };
    let (status, (kind, body)) = match found.filter(|_| is_ours) {
        Some(found) => ("200 OK", found),
        None => {
            ("404 Not Found", ("text/plain; charset=utf-8", b"there is nothing here\n".to_vec()))
        }
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

/// A file of the store: `runs/NAME`, or `evidence/NAME` inside or outside of it, and nothing else of the disk.
fn file(store: &Store, path: &str) -> Option<Vec<u8>> {
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    let [Component::Normal(folder), Component::Normal(name)] = parts.as_slice() else {
        return None;
    };
    if *folder != "runs" && *folder != "evidence" {
        return None;
    }
    let outside = || {
        let digest = Path::new(name).file_stem()?.to_str()?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        std::fs::read(store.external().filter(|_| is_digest)?.file(digest)).ok()
    };
    std::fs::read(store.dir().join(path)).ok().or_else(outside)
}

/// Text is shown as text, never run as what it says that it is.
fn kind(path: &str) -> &'static str {
    match Path::new(path).extension().and_then(|end| end.to_str()) {
        Some("json" | "jsonl" | "toml" | "txt" | "log") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use records::store::External;

    use super::*;

    #[test]
    fn only_the_stores_own_files() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        let store = Store::open(dir.path()).unwrap().with_external(External::folder(&outside));
        std::fs::create_dir(&outside).unwrap();
        let digest = "0f".repeat(32);
        std::fs::write(outside.join(&digest), "large").unwrap();
        std::fs::write(outside.join("other"), "x").unwrap();
        std::fs::write(dir.path().join("runs/a.json"), "{}").unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        assert_eq!(file(&store, "runs/a.json").as_deref(), Some(&b"{}"[..]));
        let large = format!("evidence/{digest}.parquet");
        assert_eq!(file(&store, &large).as_deref(), Some(&b"large"[..]));
        for outside in
            ["evidence/other", "secret", "runs/../secret", "../secret", "runs", "", "/etc/passwd"]
        {
            assert_eq!(file(&store, outside), None, "{outside}");
        }
    }
}
