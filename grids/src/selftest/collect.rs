//! Runs a case: a mock and a client in one process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use super::case::{Case, PACE, Sending};
use crate::load::plan::{Arrival, LoadError, Plan};
use crate::load::prompts::distinct;
use crate::load::request::{Dialect, Request, Target};
use crate::load::run::{Output, run};
use crate::load::trace::Trace;
use crate::mock::{Mock, MockError, Options};

const SEED: u64 = 1;

/// What came of a case.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Requests sent.
    pub sent: usize,
    /// One a request.
    pub traces: Vec<Trace>,
    /// What was said.
    pub outputs: Vec<Output>,
    /// Answers that the mock played to their end.
    pub completed: u64,
    /// Median lateness of the mock.
    pub mock_late_ns: u64,
}

/// A case could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// No mock.
    #[error(transparent)]
    Mock(#[from] MockError),
    /// No load.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// The requests of a case, to a server at an address.
pub fn requests(case: &Case, address: SocketAddr) -> Vec<Request> {
    let mut target = Target {
        address,
        host: address.to_string(),
        dialect: case.dialect,
        model: None,
        extra: serde_json::Map::new(),
    };
    if case.dialect == Dialect::Completions {
        target.extra.insert("return_token_ids".to_owned(), case.wants_ids.into());
    }
    let request = |index| {
        let prompt = distinct(SEED, index, case.prompt_tokens);
        let request = Request::new(&target, &prompt, case.output_tokens);
        Request { cancel_after_ns: case.cancel_after_ns, ..request }
    };
    (0..case.requests).map(request).collect()
}

/// Runs a case.
pub fn collect(case: &Case, stop: &AtomicBool) -> Result<Collected, CollectError> {
    let mock = Mock::start(&Options {
        comes_first: false,
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        mode: case.mode,
        pace: PACE,
        threads: 1,
        cores: Vec::new(),
    })?;
    let arrival = match case.sending {
        Sending::Closed(concurrency) => Arrival::Closed { concurrency },
        Sending::Open(every_ns) => {
            let intended_ns = (0..u64::from(case.requests)).map(|index| index * every_ns).collect();
            Arrival::Open { intended_ns, cap: None }
        }
    };
    let mut plan = Plan::new(mock.address(), requests(case, mock.address()), arrival);
    plan.deadline_ns = case.deadline_ns;
    plan.keeps_output = true;
    let outcome = run(&plan, stop)?;
    let served = mock.stop();
    Ok(Collected {
        sent: outcome.sent,
        traces: outcome.traces,
        outputs: outcome.outputs,
        completed: served.completed,
        mock_late_ns: served.late.p50_ns.unwrap_or(0),
    })
}
