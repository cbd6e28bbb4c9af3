//! What is sent in answer to one request, and when: the truth that a client is held against.

use super::ask::Ask;
use super::mode::{BREAKS_AFTER, BUNDLE, DRIFT_PER_MILLE, Mode, SLOT_PER_MILLE, STALL_NS};
use crate::load::request::Dialect;

/// Pieces in which [`Mode::SlowHeader`] sends its head.
pub const HEAD_PARTS: u32 = 16;

/// How fast tokens come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From the whole request to the first token.
    pub ttft_ns: u64,
    /// From one token to the next.
    pub gap_ns: u64,
}

/// Something that is sent or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The head of a stream.
    Head,
    /// One of the [`HEAD_PARTS`] of the head.
    HeadPart(u32),
    /// A whole response that is no stream: a status and an error as JSON.
    Failure(u16),
    /// An event with tokens.
    Tokens {
        /// Tokens in it.
        count: u32,
        /// Tokens up to and with it.
        total: u32,
        /// It says why the stream ends, and it is the last with content.
        is_last: bool,
    },
    /// An event with a role alone.
    Role,
    /// An event with an empty text.
    Empty,
    /// An event with the count of tokens alone.
    Usage(u32),
    /// `[DONE]`.
    Done,
    /// An error event.
    Error,
    /// A comment.
    Comment,
    /// The end of the body.
    End,
    /// The connection is reset.
    Reset,
    /// The connection is closed.
    Close,
}

/// A part and its time, from the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it is due.
    pub at_ns: u64,
    /// What it is. Parts of the same time are one write.
    pub part: Part,
}

/// The answer to a request in a mode.
pub fn script(mode: Mode, pace: Pace, ask: &Ask) -> Vec<Step> {
    match mode {
        Mode::Silent => return Vec::new(),
        Mode::ErrorBody => return vec![Step { at_ns: pace.ttft_ns, part: Part::Failure(200) }],
        Mode::Unavailable => return vec![Step { at_ns: pace.ttft_ns, part: Part::Failure(503) }],
        _ => {}
    }
    let mut steps = opening(mode, pace);
    let last_ns = content(mode, pace, ask, &mut steps);
    closing(mode, ask, last_ns, &mut steps);
    steps
}

/// What comes before the first token.
fn opening(mode: Mode, pace: Pace) -> Vec<Step> {
    let early_ns = pace.ttft_ns.saturating_sub(pace.gap_ns);
    match mode {
        Mode::SlowHeader => (0..HEAD_PARTS)
            .map(|index| Step {
                at_ns: pace.ttft_ns * u64::from(index) / u64::from(HEAD_PARTS),
                part: Part::HeadPart(index),
            })
            .collect(),
        Mode::RoleFirst | Mode::EmptyFirst => {
            let part = if mode == Mode::RoleFirst { Part::Role } else { Part::Empty };
            vec![Step { at_ns: early_ns, part: Part::Head }, Step { at_ns: early_ns, part }]
        }
        _ => vec![Step { at_ns: pace.ttft_ns, part: Part::Head }],
    }
}

/// The events with tokens; gives the time of the last.
fn content(mode: Mode, pace: Pace, ask: &Ask, steps: &mut Vec<Step>) -> u64 {
    let wanted = match mode {
        Mode::EarlyEos => ask.output_tokens.div_ceil(2),
        Mode::ErrorEvent | Mode::Reset | Mode::Truncated => ask.output_tokens.min(BREAKS_AFTER),
        _ => ask.output_tokens,
    };
    let is_whole = !matches!(mode, Mode::ErrorEvent | Mode::Reset | Mode::Truncated);
    let (mut total, mut at_ns) = (0, pace.ttft_ns);
    while total < wanted {
        let count = match mode {
            Mode::Bundled => BUNDLE,
            Mode::FirstBundled if total == 0 => BUNDLE,
            _ => 1,
        }
        .min(wanted - total);
        // A bundle leaves when its last token is due: a gap of so many tokens, but for the first, which sets the start.
        if total > 0 {
            let gaps: u64 = (total..total + count).map(|token| gap(mode, pace, ask, token)).sum();
            if mode == Mode::Pings {
                steps.push(Step { at_ns: at_ns + gaps / 2, part: Part::Comment });
            }
            at_ns += gaps;
        }
        total += count;
        let is_last = is_whole && total == wanted;
        steps.push(Step { at_ns, part: Part::Tokens { count, total, is_last } });
    }
    at_ns
}

/// The gap before the token with this index, which is at least 1.
pub fn gap(mode: Mode, pace: Pace, ask: &Ask, token: u32) -> u64 {
    let gap = pace.gap_ns;
    match mode {
        Mode::Stall if token == BREAKS_AFTER => gap + STALL_NS,
        Mode::Drift => gap + gap * DRIFT_PER_MILLE * u64::from(token - 1) / 1000,
        Mode::Slot if ask.first_id % 2 == 1 => gap + gap * SLOT_PER_MILLE / 1000,
        _ => gap,
    }
}

/// What comes with or after the last token.
fn closing(mode: Mode, ask: &Ask, at_ns: u64, steps: &mut Vec<Step>) {
    let total = steps.iter().rev().find_map(|step| match step.part {
        Part::Tokens { total, .. } => Some(total),
        _ => None,
    });
    let count = total.unwrap_or(0) + u32::from(mode == Mode::WrongUsage);
    let has_usage =
        ask.wants_usage && !matches!(mode, Mode::UsageAbsent | Mode::UsageLast | Mode::ErrorEvent);
    let mut push = |part| steps.push(Step { at_ns, part });
    match mode {
        Mode::Reset => return push(Part::Reset),
        Mode::Truncated => return push(Part::Close),
        Mode::ErrorEvent => push(Part::Error),
        _ => {}
    }
    if has_usage {
        push(Part::Usage(count));
    }
    // llama-server's own streams end with their count.
    if mode != Mode::NoDone && ask.dialect == Dialect::Completions {
        push(Part::Done);
    }
    push(Part::End);
    if mode == Mode::Closing {
        push(Part::Close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { ttft_ns: 100, gap_ns: 10 };

    fn ask(output_tokens: u32) -> Ask {
        let dialect = Dialect::Completions;
        Ask {
            dialect,
            prompt_tokens: 3,
            first_id: 7,
            output_tokens,
            wants_ids: true,
            wants_usage: true,
        }
    }

    /// Times of the events with tokens, and tokens in each.
    fn tokens(mode: Mode, output_tokens: u32) -> Vec<(u64, u32)> {
        let steps = script(mode, PACE, &ask(output_tokens));
        assert!(steps.is_sorted_by_key(|step| step.at_ns), "{mode:?}");
        let tokens = steps.iter().filter_map(|step| match step.part {
            Part::Tokens { count, .. } => Some((step.at_ns, count)),
            _ => None,
        });
        tokens.collect()
    }

    #[test]
    fn tokens_leave_when_the_mode_says() {
        assert_eq!(tokens(Mode::Constant, 3), [(100, 1), (110, 1), (120, 1)]);
        assert_eq!(tokens(Mode::Bundled, 9), [(100, 4), (140, 4), (150, 1)]);
        assert_eq!(tokens(Mode::FirstBundled, 6), [(100, 4), (110, 1), (120, 1)]);
        assert_eq!(tokens(Mode::EarlyEos, 3), [(100, 1), (110, 1)]);
        assert_eq!(tokens(Mode::Truncated, 9).len(), 3);
        let stall = 130 + STALL_NS;
        assert_eq!(tokens(Mode::Stall, 4), [(100, 1), (110, 1), (120, 1), (stall, 1)]);
        assert_eq!(tokens(Mode::Silent, 4), []);
    }

    #[test]
    fn slots_and_drift_are_exact() {
        let pace = Pace { ttft_ns: 0, gap_ns: 1000 };
        assert_eq!(gap(Mode::Slot, pace, &ask(9), 1), 1010);
        assert_eq!(gap(Mode::Slot, pace, &Ask { first_id: 8, ..ask(9) }, 1), 1000);
        let drift: Vec<u64> = (1..4).map(|token| gap(Mode::Drift, pace, &ask(9), token)).collect();
        assert_eq!(drift, [1000, 1020, 1040]);
    }

    #[test]
    fn a_stream_ends_as_its_mode_says() {
        let ends = |mode| {
            let steps = script(mode, PACE, &ask(2));
            steps.iter().rev().take(3).map(|step| step.part).collect::<Vec<_>>()
        };
        assert_eq!(ends(Mode::Constant), [Part::End, Part::Done, Part::Usage(2)]);
        assert_eq!(ends(Mode::WrongUsage), [Part::End, Part::Done, Part::Usage(3)]);
        assert_eq!(ends(Mode::NoDone)[..2], [Part::End, Part::Usage(2)]);
        assert_eq!(ends(Mode::Reset)[0], Part::Reset);
        assert_eq!(ends(Mode::ErrorEvent), [Part::End, Part::Done, Part::Error]);
        assert_eq!(ends(Mode::ErrorBody), [Part::Failure(200)]);
    }
}
