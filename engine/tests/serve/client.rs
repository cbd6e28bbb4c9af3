//! An HTTP client of a few lines, over a plain socket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A whole response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The events of a stream, which must end with `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{self:?}");
        assert!(self.head.contains("text/event-stream"), "{}", self.head);
        let mut events: Vec<&str> = self.body.split("\n\n").collect();
        assert_eq!(events.pop(), Some(""));
        let data = events.iter().map(|event| event.strip_prefix("data: ").unwrap());
        let mut data: Vec<&str> = data.collect();
        assert_eq!(data.pop(), Some("[DONE]"));
        data.into_iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}

/// Sends a request, and leaves the response to be read.
pub(crate) fn send(address: SocketAddr, head: &str, body: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let length = body.len();
    let request = format!("{head}host: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all(&[request.as_bytes(), body].concat()).unwrap();
    socket
}

pub(crate) fn receive(mut socket: TcpStream) -> Response {
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).unwrap();
    let split = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..split].to_vec()).unwrap().to_lowercase();
    let mut body = bytes[split + 4..].to_vec();
    if head.contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response { status, head, body: String::from_utf8(body).unwrap() }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..][..size]);
        rest = &rest[end + 2 + size + 2..];
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Response {
    receive(send(address, &format!("GET {path} HTTP/1.1\r\n"), b""))
}

pub(crate) fn start(address: SocketAddr, path: &str, body: &Value) -> TcpStream {
    let head = format!("POST {path} HTTP/1.1\r\ncontent-type: application/json\r\n");
    send(address, &head, body.to_string().as_bytes())
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Response {
    receive(start(address, path, body))
}

/// The answer to a request that must be answered.
pub(crate) fn answer(address: SocketAddr, path: &str, body: &Value) -> Value {
    let response = post(address, path, body);
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

/// The value of a metric that has no labels of its own.
pub(crate) fn metric(address: SocketAddr, name: &str) -> f64 {
    let text = get(address, "/metrics").body;
    let prefix = format!("{name}{{");
    let line = text.lines().find(|line| line.starts_with(&prefix)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}
