//! A relay on loopback between a client and a server, which records each answer as the client gets it: the stream that a tool's own
//! numbers are of, in the form that our metrics take.
//!
//! A read from the server is stamped, then handed on. The start of a request is when its first byte came from the client, so that
//! what the client spent before (its connection, its queue) is in its numbers and not in the record.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::load::answer::{Answer, Progress};
use crate::load::monotonic::now_ns;
use crate::load::request::Request;
use crate::load::trace::Trace;
use crate::mock::ask::{self, Asked};
use crate::pinning::{pin, sharpen_timers};

const READ_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    traces: Mutex<Vec<Trace>>,
    connections: Mutex<Vec<JoinHandle<()>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Whatever a thread did that panicked, a list is a list.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running relay: a thread a connection, all on one core.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

impl Relay {
    /// Listens, and hands on to the server at `upstream`.
    pub fn start(upstream: SocketAddr, core: usize) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let accepted = Arc::clone(&shared);
        let accept = move || {
            // The threads of connections have the core of the one that starts them. On another one the relay still records.
            let _ = pin(core);
            for client in listener.incoming().flatten() {
                if accepted.stop.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&accepted);
                let relay = move || drop(hand_on(client, upstream, &shared));
                locked(&accepted.connections).push(std::thread::spawn(relay));
            }
        };
        Ok(Self { address, shared, listener: std::thread::spawn(accept) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it once its clients are gone, and gives the answers to completions in the order in which they were asked for.
    pub fn stop(self) -> Vec<Trace> {
        self.shared.stop.store(true, Ordering::SeqCst);
        // What waits for a client gets one, and sees that it is over.
        drop(TcpStream::connect(self.address));
        let _ = self.listener.join();
        for connection in std::mem::take(&mut *locked(&self.shared.connections)) {
            let _ = connection.join();
        }
        let mut traces = std::mem::take(&mut *locked(&self.shared.traces));
        traces.sort_by_key(|trace| trace.sent_ns);
        for (index, trace) in traces.iter_mut().enumerate() {
            trace.request = index as u32;
        }
        traces
    }
}

/// One connection: a request, its answer, the next.
fn hand_on(mut client: TcpStream, upstream: SocketAddr, shared: &Shared) -> std::io::Result<()> {
    sharpen_timers();
    let mut server = TcpStream::connect(upstream)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut input, mut buffer) = (Vec::new(), vec![0; READ_BYTES]);
    while let Some((request, sent_ns)) = whole(&mut client, &mut input, &mut buffer)? {
        server.write_all(&request)?;
        let asked = ask::read(&request);
        let (trace, is_over) =
            answer(&mut client, &mut server, &planned(&asked), sent_ns, &mut buffer);
        if matches!(asked, Asked::Completion(_)) {
            locked(&shared.traces).push(trace);
        }
        if is_over {
            break;
        }
    }
    Ok(())
}

/// The next whole request and when its first byte came; `None` once the client is gone.
fn whole(
    client: &mut TcpStream,
    input: &mut Vec<u8>,
    buffer: &mut [u8],
) -> std::io::Result<Option<(Vec<u8>, u64)>> {
    let mut sent_ns = (!input.is_empty()).then(now_ns);
    loop {
        let length =
            ask::length(input).map_err(|error| std::io::Error::other(error.to_string()))?;
        if let (Some(length), Some(sent_ns)) = (length, sent_ns)
            && input.len() >= length
        {
            return Ok(Some((input.drain(..length).collect(), sent_ns)));
        }
        let length = client.read(buffer)?;
        if length == 0 {
            return Ok(None);
        }
        sent_ns = sent_ns.or(Some(now_ns()));
        input.extend_from_slice(&buffer[..length]);
    }
}

/// What an answer is held against.
fn planned(asked: &Asked) -> Request {
    let (prompt_tokens, output_tokens) = match asked {
        Asked::Completion(ask) => (ask.prompt_tokens, ask.output_tokens),
        _ => (0, 0),
    };
    Request {
        bytes: Arc::from([]),
        prompt_tokens,
        is_exact: false,
        holds_back: false,
        output_tokens,
        cancel_after_ns: None,
    }
}

/// Hands an answer on as it comes; gives its record, and whether the connection is over.
fn answer(
    client: &mut TcpStream,
    server: &mut TcpStream,
    request: &Request,
    sent_ns: u64,
    buffer: &mut [u8],
) -> (Trace, bool) {
    let mut answer = Answer::new(request, 0, sent_ns, sent_ns, false);
    loop {
        let length = match server.read(buffer) {
            Ok(length) => length,
            Err(error) => return (answer.broken(now_ns(), error.to_string()).0, true),
        };
        let at_ns = now_ns();
        if length == 0 {
            return (answer.closed(at_ns).0, true);
        }
        let progress = answer.read(at_ns, &buffer[..length]);
        if client.write_all(&buffer[..length]).is_err() {
            return (answer.cancelled(at_ns).0, true);
        }
        match progress {
            Ok(Progress::Going) => {}
            Ok(Progress::Ended { is_reusable }) => return (answer.ended(at_ns).0, !is_reusable),
            Err(message) => return (answer.broken(at_ns, message).0, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::plan::{Arrival, Plan};
    use crate::load::prompts::distinct;
    use crate::load::request::{Dialect, Target};
    use crate::load::run::run;
    use crate::load::trace::End;
    use crate::metric::stream::{times, tokens};
    use crate::mock::script::Pace;
    use crate::mock::{Mock, Mode, Options};

    /// Our own client through the relay: both saw the same events of the same requests, the relay a little earlier.
    #[test]
    fn the_record_is_what_the_client_got() {
        let mock = Mock::start(&Options {
            comes_first: false,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            mode: Mode::Bundled,
            pace: Pace { ttft_ns: 5_000_000, gap_ns: 1_000_000 },
            threads: 1,
            cores: Vec::new(),
        })
        .unwrap();
        let relay = Relay::start(mock.address(), 0).unwrap();
        let target = Target::parse(&format!("http://{}", relay.address()), Dialect::Completions);
        let target = target.unwrap();
        let requests = (0..6).map(|index| Request::new(&target, &distinct(1, index, 8), 10));
        let plan =
            Plan::new(relay.address(), requests.collect(), Arrival::Closed { concurrency: 1 });
        let outcome = run(&plan, &AtomicBool::new(false)).unwrap();
        let recorded = relay.stop();
        assert_eq!(recorded.len(), 6);
        for trace in &recorded {
            assert_eq!((&trace.end, tokens(trace), trace.output_tokens), (&End::Ok, 10, 10));
            assert_eq!(trace.prompt_tokens, 8);
        }
        let mut seen = outcome.traces;
        seen.sort_by_key(|trace| trace.sent_ns);
        for (ours, theirs) in recorded.iter().zip(&seen) {
            let kinds = |trace: &Trace| trace.events.iter().map(|e| e.kind).collect::<Vec<_>>();
            assert_eq!(kinds(ours), kinds(theirs));
            let all = times(ours, |_| true).unwrap();
            let seen = times(theirs, |_| true).unwrap();
            let is_before = |(relay, client): (&u64, &u64)| *relay <= client + outcome.start_ns;
            assert!(all.iter().zip(&seen).all(is_before));
            assert!(ours.sent_ns >= theirs.sent_ns + outcome.start_ns);
        }
    }

    /// What is no completion is handed on and not recorded.
    #[test]
    fn other_requests_pass() {
        let mock = Mock::start(&Options {
            comes_first: false,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            mode: Mode::Constant,
            pace: Pace { ttft_ns: 0, gap_ns: 0 },
            threads: 1,
            cores: Vec::new(),
        })
        .unwrap();
        let relay = Relay::start(mock.address(), 0).unwrap();
        let mut client = TcpStream::connect(relay.address()).unwrap();
        for _ in 0..2 {
            client.write_all(b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            let mut bytes = [0; 4096];
            let length = client.read(&mut bytes).unwrap();
            assert!(bytes[..length].starts_with(b"HTTP/1.1 404"));
        }
        drop(client);
        assert_eq!(relay.stop(), []);
    }
}
