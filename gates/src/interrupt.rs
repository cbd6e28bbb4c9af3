//! Ctrl-C: what we started is stopped, and the main thread leaves without a record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::rule::EXIT_INTERRUPTED;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How long the main thread has to leave by itself, so that drafts are removed as they are dropped.
const GRACE: Duration = Duration::from_secs(3);

/// The user asked to stop.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("interrupted: nothing was recorded")]
pub struct Interrupted;

/// Installs the handler for SIGINT and SIGTERM.
pub fn install() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        INTERRUPTED.store(true, Ordering::SeqCst);
        crate::subject::stop_all();
        oracles::launch::stop_all();
        std::thread::sleep(GRACE);
        #[expect(
            clippy::exit,
            reason = "the main thread is stuck in a call that cannot be cancelled"
        )]
        std::process::exit(i32::from(EXIT_INTERRUPTED));
    })
}

/// An error once the user asked to stop.
pub fn check() -> Result<(), Interrupted> {
    if INTERRUPTED.load(Ordering::SeqCst) { Err(Interrupted) } else { Ok(()) }
}
