//! The cases of the self-test: each mode of the mock, and each way of asking.

use crate::load::monotonic::MILLISECOND_NS;
use crate::load::request::Dialect;
use crate::mock::Mode;
use crate::mock::script::Pace;

/// How the client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// So many in flight.
    Closed(usize),
    /// One each so many nanoseconds.
    Open(u64),
}

/// One measurement with known truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name: the mode's, unless something else is special about it.
    pub name: &'static str,
    /// How the mock answers.
    pub mode: Mode,
    /// How it is asked.
    pub dialect: Dialect,
    /// Token ids are asked for.
    pub wants_ids: bool,
    /// When requests go out.
    pub sending: Sending,
    /// Requests.
    pub requests: u32,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Tokens of each answer.
    pub output_tokens: u32,
    /// Give up on each request after this.
    pub deadline_ns: u64,
    /// Give up on each request by plan after this.
    pub cancel_after_ns: Option<u64>,
}

/// Until the first token, in the self-test.
pub const PACE: Pace = Pace { ttft_ns: 50 * MILLISECOND_NS, gap_ns: 20 * MILLISECOND_NS };

const PLAIN: Case = Case {
    name: "constant",
    mode: Mode::Constant,
    dialect: Dialect::Completions,
    wants_ids: true,
    sending: Sending::Closed(8),
    requests: 16,
    prompt_tokens: 32,
    output_tokens: 16,
    deadline_ns: 60_000 * MILLISECOND_NS,
    cancel_after_ns: None,
};

const fn of(name: &'static str, mode: Mode) -> Case {
    Case { name, mode, ..PLAIN }
}

/// All cases.
pub const CASES: &[Case] = &[
    PLAIN,
    Case { wants_ids: false, ..of("constant-no-ids", Mode::Constant) },
    Case { dialect: Dialect::LlamaServer, ..of("constant-llama-server", Mode::Constant) },
    Case { sending: Sending::Open(5 * MILLISECOND_NS), ..of("constant-open-loop", Mode::Constant) },
    Case { prompt_tokens: 20_000, ..of("constant-long-prompt", Mode::Constant) },
    Case { cancel_after_ns: Some(145 * MILLISECOND_NS), ..of("cancelled", Mode::Constant) },
    of("bundled", Mode::Bundled),
    Case { wants_ids: false, ..of("bundled-no-ids", Mode::Bundled) },
    of("first-bundled", Mode::FirstBundled),
    of("role-first", Mode::RoleFirst),
    of("empty-first", Mode::EmptyFirst),
    of("usage-last", Mode::UsageLast),
    of("usage-absent", Mode::UsageAbsent),
    Case { wants_ids: false, ..of("usage-running", Mode::UsageRunning) },
    of("no-done", Mode::NoDone),
    of("error-event", Mode::ErrorEvent),
    of("error-body", Mode::ErrorBody),
    of("unavailable", Mode::Unavailable),
    of("reset", Mode::Reset),
    of("truncated", Mode::Truncated),
    Case { deadline_ns: 300 * MILLISECOND_NS, ..of("silent", Mode::Silent) },
    of("pings", Mode::Pings),
    Case {
        sending: Sending::Closed(1),
        requests: 4,
        output_tokens: 6,
        ..of("split-bytes", Mode::SplitBytes)
    },
    Case { sending: Sending::Closed(2), requests: 4, ..of("split-utf8", Mode::SplitUtf8) },
    Case { sending: Sending::Closed(2), requests: 4, ..of("giant", Mode::Giant) },
    of("slow-header", Mode::SlowHeader),
    of("early-eos", Mode::EarlyEos),
    of("wrong-usage", Mode::WrongUsage),
    of("stall", Mode::Stall),
    of("drift", Mode::Drift),
    Case { requests: 32, ..of("slot", Mode::Slot) },
    of("closing", Mode::Closing),
    of("connection-limit", Mode::ConnectionLimit),
];
