//! The rules that traces alone can break, each one function with its id. All are asked; all that are broken are reported.

use crate::load::trace::{End, EventKind, TokensBy, Trace};
use crate::metric::concurrency::answering;
use crate::metric::ends::Ends;
use crate::metric::stream::{Arrival, arrivals, tokens, tokens_seen};
use crate::rule::{Rule, Violation};

/// An answer of [`BUFFERED_TOKENS`] tokens whose last comes less than this after the first was not streamed as it was made. The
/// figure comes from a grid whose fastest arm took some milliseconds a token.
pub const BUFFERED_SPREAD_NS: u64 = 50_000_000;

/// Tokens from which on [`BUFFERED_SPREAD_NS`] is asked.
pub const BUFFERED_TOKENS: u32 = 128;

/// What the plan says about the prefix cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CachePolicy {
    /// No prompt may come from it.
    Off,
    /// At least this share of all prompt tokens has to come from it.
    On(f64),
}

/// V-FAILED: every request ended well. Nothing is recomputed over the survivors.
pub fn failed(traces: &[Trace]) -> Option<Violation> {
    let ends = Ends::of(traces);
    if ends.sum() == ends.ok && ends.ok > 0 {
        return None;
    }
    let bad = traces.iter().filter(|trace| trace.end != End::Ok);
    let examples: Vec<String> =
        bad.take(3).map(|trace| format!("request {}: {:?}", trace.request, trace.end)).collect();
    let (ok, sum) = (ends.ok, ends.sum());
    let reason = format!("{ok} of {sum} requests ended well; {}", examples.join(", "));
    Some(Violation::new(Rule::Failed, reason))
}

/// V-COUNT: the server said how many tokens it wrote, and that is what was asked for and what arrived. Where tokens are counted by
/// events, what arrived is not a count of its own, and only the server's is compared.
pub fn count(traces: &[Trace]) -> Option<Violation> {
    first(traces, Rule::Count, |trace| {
        let Some(usage) = trace.usage else {
            return Some("the server gave no count of tokens".to_owned());
        };
        let (asked, said, seen) =
            (trace.output_tokens, usage.completion_tokens, tokens_seen(trace));
        if said != asked {
            return Some(format!("{asked} tokens were asked for, the server wrote {said}"));
        }
        (trace.tokens_by != TokensBy::Events && seen != said)
            .then(|| format!("the server wrote {said} tokens, {seen} arrived"))
    })
}

/// V-TRUNC: the server read prompts as long as they were sent.
pub fn truncated(traces: &[Trace]) -> Option<Violation> {
    first(traces, Rule::Truncated, |trace| {
        let (sent, read) = (trace.prompt_tokens, trace.usage?.prompt_tokens);
        (sent != read).then(|| format!("{sent} prompt tokens were sent, the server read {read}"))
    })
}

/// V-BUFFERED: tokens arrive as they are made. Of an answer of two tokens and more, not all may come in one moment; of
/// [`BUFFERED_TOKENS`] and more, the last comes at least [`BUFFERED_SPREAD_NS`] after the first.
pub fn buffered(traces: &[Trace]) -> Option<Violation> {
    first(traces, Rule::Buffered, |trace| {
        // The server's count where it gave one: events may be fewer than tokens.
        let tokens = tokens(trace);
        let all = arrivals(trace).filter(|_| tokens >= 2)?;
        let at = |arrival: Option<&Arrival>| arrival.map_or(0, |arrival| arrival.at_ns);
        let spread = at(all.last()) - at(all.first());
        let least = if tokens >= BUFFERED_TOKENS { BUFFERED_SPREAD_NS } else { 1 };
        (spread < least).then(|| format!("{tokens} tokens came within {spread} ns"))
    })
}

/// V-CONC: at some moment as many requests were being answered as were planned, or all of them if they are fewer.
pub fn concurrency(traces: &[Trace], planned: u32) -> Option<Violation> {
    let (peak, wanted) = (answering(traces).peak(), planned.min(traces.len() as u32));
    if peak == wanted {
        return None;
    }
    let reason = format!("{wanted} requests were to be in work at once, {peak} were");
    Some(Violation::new(Rule::Concurrency, reason))
}

/// V-SSE: no comment frames. They come on the slowest requests alone, and clients that trip over them lose just those.
pub fn sse(traces: &[Trace]) -> Option<Violation> {
    first(traces, Rule::Sse, |trace| {
        let comments = trace.events.iter().filter(|event| event.kind == EventKind::Comment).count();
        (comments > 0).then(|| format!("{comments} comment frames came"))
    })
}

/// V-CACHE-POLICY: as many prompt tokens came from the prefix cache as the plan says, by the server's own count.
pub fn cache_policy(traces: &[Trace], policy: CachePolicy) -> Option<Violation> {
    let (mut cached, mut prompt) = (0_u64, 0_u64);
    for trace in traces {
        let said = trace.usage.and_then(|usage| Some((usage.cached_tokens?, usage.prompt_tokens)));
        let Some((from_cache, all)) = said else {
            let request = trace.request;
            let reason =
                format!("request {request}: the server did not say how much came from its cache");
            return Some(Violation::new(Rule::CachePolicy, reason));
        };
        cached += u64::from(from_cache);
        prompt += u64::from(all);
    }
    let share = cached as f64 / prompt as f64;
    let reason = match policy {
        CachePolicy::Off if cached == 0 && prompt > 0 => return None,
        CachePolicy::On(least) if share >= least => return None,
        CachePolicy::Off => {
            format!("the cache was to be off: {cached} of {prompt} prompt tokens came from it")
        }
        CachePolicy::On(least) => {
            format!(
                "a share of {least} was to come from the cache: {cached} of {prompt} prompt tokens did"
            )
        }
    };
    Some(Violation::new(Rule::CachePolicy, reason))
}

/// V-CACHE-POLICY where the cache is to be off: the server counted nothing that came from it or, where it does not count, said of
/// itself that it has none (`says_on` is what it said).
pub fn cache_off(traces: &[Trace], says_on: Option<bool>) -> Option<Violation> {
    let counts = traces.iter().any(|trace| trace.usage.is_some_and(|u| u.cached_tokens.is_some()));
    if counts || says_on != Some(false) {
        return cache_policy(traces, CachePolicy::Off);
    }
    None
}

/// The first request that breaks a rule, and how many do.
fn first(
    traces: &[Trace],
    rule: Rule,
    broken: impl Fn(&Trace) -> Option<String>,
) -> Option<Violation> {
    let mut all = traces.iter().filter_map(|trace| Some((trace.request, broken(trace)?)));
    let (request, what) = all.next()?;
    let others = all.count();
    Some(Violation::new(rule, format!("request {request}: {what} (and {others} others)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::trace::Usage;
    use crate::metric::fixture::{Stream, at_ms, bundled};

    fn with(change: impl Fn(&mut Trace)) -> [Trace; 2] {
        let mut changed = bundled();
        changed.request = 1;
        change(&mut changed);
        [bundled(), changed]
    }

    fn usage(change: impl Fn(&mut Usage)) -> [Trace; 2] {
        with(|trace| change(trace.usage.as_mut().unwrap()))
    }

    #[test]
    fn failed_fires_on_any_other_end_and_on_nothing() {
        assert_eq!(failed(&with(|_| {})), None);
        for end in [End::Short, End::Cancelled, End::Http(500, "no".to_owned())] {
            assert_eq!(failed(&with(|trace| trace.end = end.clone())).unwrap().rule, Rule::Failed);
        }
        assert!(failed(&[]).is_some());
    }

    #[test]
    fn count_wants_the_servers_exact_count() {
        assert_eq!(count(&with(|_| {})), None);
        assert!(count(&with(|trace| trace.usage = None)).is_some());
        assert!(count(&usage(|usage| usage.completion_tokens = 63)).is_some());
        let lost = |tokens_by| {
            move |trace: &mut Trace| {
                trace.tokens_by = tokens_by;
                for event in &mut trace.events {
                    event.tokens = event.tokens.min(60);
                }
            }
        };
        assert!(count(&with(lost(TokensBy::Ids))).is_some());
        assert_eq!(count(&with(lost(TokensBy::Events))), None);
    }

    #[test]
    fn truncated_by_one() {
        assert_eq!(truncated(&with(|_| {})), None);
        let found = truncated(&usage(|usage| usage.prompt_tokens = 7)).unwrap();
        assert_eq!(
            found.reason,
            "request 1: 8 prompt tokens were sent, the server read 7 (and 0 others)"
        );
    }

    #[test]
    fn buffered_at_its_bound() {
        let spread = |last_ns: u64, tokens: u32| {
            let trace = Stream::sent(0)
                .event(10, EventKind::Content, 1)
                .event(10 + last_ns, EventKind::Content, tokens)
                .done(at_ms(90));
            buffered(&[trace]).map(|found| found.rule)
        };
        assert_eq!(spread(BUFFERED_SPREAD_NS, BUFFERED_TOKENS), None);
        assert_eq!(spread(BUFFERED_SPREAD_NS - 1, BUFFERED_TOKENS), Some(Rule::Buffered));
        assert_eq!(spread(1, BUFFERED_TOKENS - 1), None);
        assert_eq!(spread(0, 2), Some(Rule::Buffered));
        assert_eq!(buffered(&[Stream::sent(0).chunks(5, 0, 1, 1).done(6)]), None, "one token");
        let at_once = Stream::sent(0).event(10, EventKind::Content, 1).done(at_ms(90));
        let of = |completion_tokens| {
            let usage = Some(Usage { prompt_tokens: 8, completion_tokens, cached_tokens: None });
            buffered(&[Trace { tokens_by: TokensBy::Events, usage, ..at_once.clone() }])
        };
        assert_eq!(of(1), None);
        assert!(of(64).is_some(), "64 tokens in the one event that counts as one");
    }

    #[test]
    fn concurrency_is_exact() {
        let at = |sent: u64| Stream::sent(sent).chunks(sent + 5, 5, 2, 1).done(sent + 20);
        assert_eq!(concurrency(&[at(0), at(9)], 2), None);
        assert!(
            concurrency(&[at(0), at(10)], 2).is_some(),
            "the last token at 10 ends the overlap"
        );
        assert_eq!(concurrency(&[at(0), at(9)], 32), None, "all of them");
        assert!(concurrency(&[at(0), at(9)], 1).is_some(), "more than planned");
    }

    #[test]
    fn comments_are_seen() {
        assert_eq!(sse(&with(|_| {})), None);
        let found = sse(&with(|trace| trace.events[0].kind = EventKind::Comment));
        assert_eq!(found.unwrap().rule, Rule::Sse);
    }

    #[test]
    fn the_cache_has_to_be_told() {
        let cached = |tokens| [usage(|usage| usage.cached_tokens = Some(tokens))[1].clone()];
        assert_eq!(cache_policy(&cached(0), CachePolicy::Off), None);
        assert!(cache_policy(&cached(1), CachePolicy::Off).is_some());
        assert!(cache_policy(&with(|_| {}), CachePolicy::Off).is_some(), "not told");
        assert_eq!(cache_policy(&cached(4), CachePolicy::On(0.5)), None);
        assert!(cache_policy(&cached(3), CachePolicy::On(0.5)).is_some());
        assert!(cache_policy(&cached(8), CachePolicy::On(f64::NAN)).is_some());
        assert!(cache_policy(&[], CachePolicy::Off).is_some(), "nothing shows it");
        assert_eq!(cache_off(&with(|_| {}), Some(false)), None, "it says that it has none");
        for said in [None, Some(true)] {
            assert!(cache_off(&with(|_| {}), said).is_some());
        }
        assert!(cache_off(&cached(1), Some(false)).is_some(), "its count contradicts it");
    }
}
