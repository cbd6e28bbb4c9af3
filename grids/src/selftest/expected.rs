//! What is known of a case. Written down mode by mode, not derived from what the mock does: two hands, one truth.

use super::case::{Case, PACE};
use crate::load::trace::{End, TokensBy, Trace};
use crate::mock::Mode;
use crate::mock::mode::{GIANT_BYTES, STALL_NS};
use crate::mock::render::{FIRST_ID, MESSAGE, TEXT, WIDE_TEXT};

/// How many events of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// With text or ids.
    pub content: usize,
    /// With neither.
    pub empty: usize,
    /// With a count alone.
    pub usage: usize,
    /// `[DONE]`.
    pub done: usize,
    /// Errors.
    pub error: usize,
    /// Comments.
    pub comment: usize,
}

/// What a trace of a case has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How it ends. Of [`End::Connection`] the message is the system's and is not compared.
    pub end: End,
    /// Its events; `None` where chance decides how many came.
    pub kinds: Option<Kinds>,
    /// How tokens were counted.
    pub tokens_by: TokensBy,
    /// Tokens that were seen.
    pub seen: Option<u32>,
    /// Tokens that the server said.
    pub said: Option<u32>,
    /// From sending to the first token; `None` where there is none.
    pub ttft_ns: Option<u64>,
    /// Between events with tokens.
    pub gaps_ns: Vec<u64>,
    /// Token ids that were said, where they were asked for.
    pub ids: Vec<u32>,
    /// The text that was said; `None` where chance decides.
    pub text: Option<String>,
}

/// What the trace of a request in a case has to say.
pub fn expected(case: &Case, trace: &Trace) -> Expected {
    let n = case.output_tokens;
    let mut expected = plain(case, n);
    let gap = PACE.gap_ns;
    let kinds = |content| Kinds { content, usage: 1, done: 1, ..Kinds::default() };
    match case.mode {
        Mode::Constant | Mode::SlowHeader | Mode::SplitBytes | Mode::Closing => {}
        Mode::Bundled => {
            expected.kinds = Some(kinds(4));
            expected.gaps_ns = vec![4 * gap; 3];
            expected.seen = Some(if case.wants_ids { 16 } else { 4 });
        }
        Mode::FirstBundled => {
            expected.kinds = Some(kinds(13));
            expected.gaps_ns = vec![gap; 12];
        }
        Mode::RoleFirst | Mode::EmptyFirst => {
            expected.kinds = Some(Kinds { empty: 1, ..kinds(16) });
        }
        Mode::UsageLast => expected.kinds = Some(Kinds { usage: 0, ..kinds(16) }),
        Mode::UsageAbsent => {
            expected.kinds = Some(Kinds { usage: 0, ..kinds(16) });
            expected.said = None;
        }
        Mode::UsageRunning => expected.tokens_by = TokensBy::RunningUsage,
        Mode::NoDone => expected.kinds = Some(Kinds { done: 0, ..kinds(16) }),
        Mode::ErrorEvent
        | Mode::Reset
        | Mode::Truncated
        | Mode::ErrorBody
        | Mode::Unavailable
        | Mode::Silent => expected = failing(case),
        Mode::Pings => expected.kinds = Some(Kinds { comment: 15, ..kinds(16) }),
        Mode::SplitUtf8 => expected.text = Some(WIDE_TEXT.repeat(16)),
        Mode::Giant => {
            let (before, after) = (TEXT.repeat(2), TEXT.repeat(13));
            expected.text = Some(format!("{before}{}{after}", "x".repeat(GIANT_BYTES)));
        }
        Mode::EarlyEos => {
            expected = plain(case, 8);
            expected.end = End::Short;
        }
        Mode::WrongUsage => {
            expected.end = End::WrongLength;
            expected.said = Some(17);
        }
        Mode::Stall => expected.gaps_ns[2] += STALL_NS,
        Mode::Drift => {
            // 2 % of 20 ms is 0.4 ms.
            expected.gaps_ns = (0..15).map(|index| gap + index * 400_000).collect();
        }
        Mode::Slot => {
            // 1 % of 20 ms is 0.2 ms; prompts of odd requests begin with odd ids.
            expected.gaps_ns = vec![gap + u64::from(trace.request % 2) * 200_000; 15];
        }
        Mode::ConnectionLimit => {
            if matches!(trace.end, End::Connection(_)) {
                expected = broken(case, 0, End::Connection(String::new()));
            }
        }
    }
    if case.cancel_after_ns.is_some() {
        expected = cancelled(case, trace);
    }
    expected
}

/// An answer of so many tokens with nothing special about it.
fn plain(case: &Case, tokens: u32) -> Expected {
    let content = tokens as usize;
    let is_own = case.dialect == crate::load::request::Dialect::LlamaServer;
    let kinds = Kinds { content, usage: 1, done: usize::from(!is_own), ..Kinds::default() };
    Expected {
        end: End::Ok,
        kinds: Some(kinds),
        tokens_by: if case.wants_ids && !is_own { TokensBy::Ids } else { TokensBy::Events },
        seen: Some(tokens),
        said: Some(tokens),
        ttft_ns: Some(PACE.ttft_ns),
        gaps_ns: vec![PACE.gap_ns; content - 1],
        ids: if case.wants_ids { (FIRST_ID..FIRST_ID + tokens).collect() } else { Vec::new() },
        text: Some(TEXT.repeat(content)),
    }
}

/// An answer that breaks after so many tokens.
fn broken(case: &Case, tokens: u32, end: End) -> Expected {
    let content = tokens as usize;
    Expected {
        end,
        kinds: Some(Kinds { content, ..Kinds::default() }),
        tokens_by: if tokens > 0 && case.wants_ids { TokensBy::Ids } else { TokensBy::Events },
        seen: Some(tokens),
        said: None,
        ttft_ns: (tokens > 0).then_some(PACE.ttft_ns),
        gaps_ns: vec![PACE.gap_ns; content.saturating_sub(1)],
        ids: (FIRST_ID..FIRST_ID + tokens).collect(),
        text: Some(TEXT.repeat(content)),
    }
}

/// The modes in which no answer comes to its end.
fn failing(case: &Case) -> Expected {
    match case.mode {
        Mode::ErrorEvent => {
            let kinds = Kinds { content: 3, error: 1, done: 1, ..Kinds::default() };
            let end = End::Error(MESSAGE.to_owned());
            Expected { kinds: Some(kinds), ..broken(case, 3, end) }
        }
        Mode::Reset => broken(case, 3, End::Connection(String::new())),
        Mode::Truncated => broken(case, 3, End::Truncated),
        Mode::ErrorBody => broken(case, 0, End::Error(MESSAGE.to_owned())),
        Mode::Unavailable => {
            let body = format!(
                "{{\"error\":{{\"message\":\"{MESSAGE}\",\"type\":\"mock\",\"code\":503}}}}"
            );
            broken(case, 0, End::Http(503, body))
        }
        _ => broken(case, 0, End::TimedOut),
    }
}

/// Given up on in the middle: how many tokens came is up to the moment.
fn cancelled(case: &Case, trace: &Trace) -> Expected {
    Expected {
        end: End::Cancelled,
        kinds: None,
        tokens_by: trace.tokens_by,
        seen: None,
        gaps_ns: Vec::new(),
        ids: Vec::new(),
        text: None,
        ..broken(case, 1, End::Cancelled)
    }
}
