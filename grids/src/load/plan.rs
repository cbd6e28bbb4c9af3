//! What is to be sent, and when.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::request::{Prompt, Request, Target};
use crate::workload::conversation::Turn;

/// When requests go out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// So many at any time: the next one goes out as one ends.
    Closed {
        /// Requests in flight.
        concurrency: usize,
    },
    /// Each at its own time, whether or not others have ended.
    Open {
        /// For each request, nanoseconds from the start; ascending.
        intended_ns: Vec<u64>,
        /// At most so many in flight; a request that is due waits, and its wait shows in its times. Shared evenly by the threads.
        cap: Option<usize>,
    },
}

/// Requests whose prompts come from the answers before them. The plan's requests are the first turns; turn `t` of conversation `c` is
/// request `t * conversations + c`.
#[derive(Clone, Debug)]
pub struct Conversations {
    /// How the server is asked.
    pub target: Target,
    /// What is said in each, as many turns in one as in another.
    pub turns: Vec<Vec<Turn>>,
}

impl Conversations {
    /// The first turns, for [`Plan::requests`].
    pub fn first(&self) -> Vec<Request> {
        let first = self.turns.iter().filter_map(|turns| turns.first());
        first
            .map(|turn| {
                Request::new(&self.target, &Prompt::Ids(turn.ids.clone()), turn.output_tokens)
            })
            .collect()
    }

    /// The turn of a request, from 0.
    pub fn turn(&self, request: u32) -> u32 {
        request / self.turns.len().max(1) as u32
    }
}

/// A run of the load generator.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where to.
    pub address: SocketAddr,
    /// In the order in which they go out.
    pub requests: Vec<Request>,
    /// When.
    pub arrival: Arrival,
    /// Give up on a request this long after sending it.
    pub deadline_ns: u64,
    /// Send nothing new this long after the start; what is in flight is waited for.
    pub issue_ns: Option<u64>,
    /// Threads, each on its own core if cores are given.
    pub threads: usize,
    /// Cores to run on, one a thread.
    pub cores: Vec<usize>,
    /// Connections to open before the start, beside those that a closed loop needs.
    pub connections: usize,
    /// Keep texts and token ids.
    pub keeps_output: bool,
    /// Threads run before everything else on their cores, where that is allowed: right beside a server that computes. A client at its limit
    /// is better off without, as the network's own work waits for it then.
    pub comes_first: bool,
    /// Go on with what is answered.
    pub conversations: Option<Conversations>,
}

/// A plan that cannot be run, or a run that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Contradictory or empty plan.
    #[error("the plan cannot be run: {0}")]
    Plan(String),
    /// Nobody listens.
    #[error("cannot connect to {address}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system refused something else.
    #[error("{action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A conversation that cannot go on.
    #[error(
        "the answer to request {request} has no token ids or not all of them, which the next turn needs: ask for them (`return_token_ids`)"
    )]
    NoIds {
        /// Its place in the plan.
        request: u32,
    },
    /// A thread of the load generator ended by itself.
    #[error("a thread of the load generator panicked: its requests are lost")]
    Panicked,
}

impl Plan {
    /// One thread, any core, ten minutes a request.
    pub fn new(address: SocketAddr, requests: Vec<Request>, arrival: Arrival) -> Self {
        Self {
            address,
            requests,
            arrival,
            deadline_ns: 600 * super::monotonic::SECOND_NS,
            issue_ns: None,
            threads: 1,
            cores: Vec::new(),
            connections: 0,
            keeps_output: false,
            comes_first: false,
            conversations: None,
        }
    }

    /// Refuses what cannot be run as it says.
    pub fn check(&self) -> Result<(), LoadError> {
        let refuse = |what: String| Err(LoadError::Plan(what));
        if self.threads == 0 {
            return refuse("it has no threads".to_owned());
        }
        if !self.cores.is_empty() && self.cores.len() != self.threads {
            let (cores, threads) = (self.cores.len(), self.threads);
            return refuse(format!("it names {cores} cores for {threads} threads"));
        }
        if u32::try_from(self.requests.len()).is_err() {
            return refuse("it has more than 2^32 requests".to_owned());
        }
        if let Some(conversations) = &self.conversations {
            let lengths: BTreeSet<usize> = conversations.turns.iter().map(Vec::len).collect();
            if lengths.len() > 1 || lengths.contains(&0) {
                return refuse("its conversations have different numbers of turns".to_owned());
            }
            if conversations.turns.len() != self.requests.len() || !self.keeps_output {
                return refuse("conversations need their first turns and their answers".to_owned());
            }
            if matches!(self.arrival, Arrival::Open { .. }) {
                return refuse(
                    "conversations are a closed loop: a turn follows its answer".to_owned(),
                );
            }
        }
        let at_a_time = match &self.arrival {
            Arrival::Closed { concurrency } => Some(*concurrency),
            Arrival::Open { intended_ns, cap } => {
                if intended_ns.len() != self.requests.len() {
                    let (times, requests) = (intended_ns.len(), self.requests.len());
                    return refuse(format!("it has {times} times for {requests} requests"));
                }
                if !intended_ns.is_sorted() {
                    return refuse("its times do not ascend".to_owned());
                }
                *cap
            }
        };
        match at_a_time {
            Some(at_a_time) if at_a_time < self.threads => {
                refuse(format!("{} threads cannot share {at_a_time} in flight", self.threads))
            }
            _ => Ok(()),
        }
    }

    /// The share of a thread in a number that all threads share.
    pub(super) fn share(&self, of: usize, thread: usize) -> usize {
        of / self.threads + usize::from(thread < of % self.threads)
    }
}
