//! The HTTP side: a listener, its threads, and an end that leaves nobody without an answer.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::app::App;

/// Threads for HTTP: it only moves bytes.
const THREADS: usize = 2;
/// How long answers that are written may still take to leave.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A server that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// The threads of HTTP, or its signals, cannot be had.
    #[error("cannot start the threads of HTTP")]
    Start(#[source] io::Error),
}

/// A listener and the threads that serve it.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    end: watch::Sender<bool>,
}

/// Lets a server end from outside.
#[derive(Clone, Debug)]
pub struct Ender(watch::Sender<bool>);

impl Ender {
    /// Takes no more requests, and ends when those at work are answered.
    pub fn end(&self) {
        let _ = self.0.send(true);
    }
}

impl Server {
    /// Listens, without answering yet.
    pub fn bind(host: &str, port: u16) -> Result<Self, ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(ServeError::Start)?;
        let cannot = |source| ServeError::Listen { address: format!("{host}:{port}"), source };
        let listener = runtime.block_on(TcpListener::bind((host, port))).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        Ok(Self { runtime, listener, address, end: watch::channel(false).0 })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends it from outside.
    pub fn ender(&self) -> Ender {
        Ender(self.end.clone())
    }

    /// Begins to answer. On SIGTERM, SIGINT or an [`Ender`] it takes no more requests and answers those at work, for at most
    /// `patience` or until a second signal; then the engine is let go.
    pub fn start(self, app: Arc<App>, patience: Duration) -> Result<Running, ServeError> {
        let Self { runtime, listener, end, .. } = self;
        let listener = listener.tap_io(|stream| {
            // An event goes out at once, not with the next; without this it is only later.
            let _ = stream.set_nodelay(true);
        });
        let mut signals = {
            let _inside = runtime.enter();
            Signals::catch().map_err(ServeError::Start)?
        };
        let (mut told, mut draining) = (end.subscribe(), end.subscribe());
        let handle = app.handle.clone();
        let drained = axum::serve(listener, app.router()).with_graceful_shutdown(async move {
            // The sender lives as long as the other task.
            let _ = draining.wait_for(|&end| end).await;
        });
        let answered = runtime.spawn(drained.into_future());
        runtime.spawn(async move {
            tokio::select! {
                () = signals.next() => {}
                _ = told.wait_for(|&end| end) => {}
            }
            app.drain();
            // Nobody else listens where the connections have ended by themselves.
            let _ = end.send(true);
            tokio::select! {
                _ = answered => handle.end(),
                () = tokio::time::sleep(patience) => handle.abort(),
                () = signals.next() => handle.abort(),
            }
        });
        Ok(Running { runtime })
    }
}

/// A server at work.
#[derive(Debug)]
pub struct Running {
    runtime: Runtime,
}

impl Running {
    /// Lets the last answers go out after the engine has ended.
    pub fn finish(self) {
        self.runtime.shutdown_timeout(LAST_WORDS);
    }
}

/// The signals that end a server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
