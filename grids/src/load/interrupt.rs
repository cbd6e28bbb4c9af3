//! Ctrl-C: what is in flight is cancelled, and what came so far is kept.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Whether the user wants to stop.
pub fn is_set() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// Sets the flag that this gives on SIGINT and SIGTERM. For the command line; once a process.
pub fn on_signal() -> Result<&'static AtomicBool, ctrlc::Error> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::SeqCst))?;
    Ok(&STOP)
}
