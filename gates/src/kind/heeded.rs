//! Whether a process did what its arguments ask: how many threads computed, how many requests together.
//!
//! Equal answers prove nothing about a knob that was ignored, or heeded by half. `plumb` ends with a line on standard error,
//! `answered 30 requests, at most 16 together, on 2 threads`, of which the numbers are read.

use serde_json::Value;

use super::alone::Exchange;

/// What a process says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Computed {
    requests: u32,
    together: u32,
    threads: u32,
}

/// What is wrong with how the requests were computed; `None` where the arguments were heeded.
pub fn fault(exchange: &Exchange) -> Option<String> {
    let asked = |flag: &str| {
        let arguments = &exchange.question.arguments;
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1)?.parse::<u32>().ok()
    };
    let (threads, together) = (asked("--threads"), asked("--max-sequences"));
    if threads.is_none() && together.is_none() {
        return None;
    }
    let Some(computed) = computed(&exchange.answer.stderr_tail) else {
        return Some(
            "does not say how many requests it computed together, on how many threads".to_owned(),
        );
    };
    if let Some(asked) = threads.filter(|asked| *asked != computed.threads) {
        return Some(format!("ran {} threads where {asked} were asked for", computed.threads));
    }
    // Who was asked for eight and computed two together has not heeded it; fewer are only right where fewer were there.
    let there = u32::try_from(exchange.question.lines.len()).unwrap_or(u32::MAX);
    if computed.requests != there {
        return Some(format!("answered {} requests where {there} were there", computed.requests));
    }
    let asked = together?;
    let (least, most) = (asked.min(at_once(exchange, there)), asked.min(there));
    (!(least..=most).contains(&computed.together)).then(|| {
        format!(
            "computed at most {} requests together where {asked} were asked for and {least} were there at once",
            computed.together
        )
    })
}

/// Tokens of a long answer. It takes as many steps, and whoever takes up requests as they come has taken up all of them by then.
const LONG: usize = 8;

/// How many of the requests were certainly there at once: those whose answers are long, and in any case two, where there are two. One
/// that ends at once may be gone before another is taken up.
fn at_once(exchange: &Exchange, there: u32) -> u32 {
    let tokens = |line: &str| {
        let answer: Value = serde_json::from_str(line).ok()?;
        Some(answer.get("ids")?.as_array()?.len())
    };
    let answers = exchange.answer.stdout.lines().filter_map(tokens);
    let long = answers.filter(|tokens| *tokens >= LONG).count();
    u32::try_from(long).unwrap_or(u32::MAX).max(there.min(2))
}

fn computed(stderr: &str) -> Option<Computed> {
    let line = stderr.lines().rev().find(|line| line.starts_with("answered "))?;
    let numbers = line.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let numbers: Vec<u32> = numbers.map(|digits| digits.parse().ok()).collect::<Option<_>>()?;
    let [requests, together, threads] = numbers[..] else { return None };
    Some(Computed { requests, together, threads })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::subject::{Question, RawAnswer, Verb, Watch};

    /// As many answers as there are lengths, each of so many tokens.
    fn exchange(lengths: &[usize], arguments: &[&str], stderr: &str) -> Exchange {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        let question = Question {
            verb: Verb::Generate,
            arguments,
            lines: vec![String::new(); lengths.len()],
            repeat: 0,
            watched: false,
        };
        let line = |tokens: &usize| format!("{}\n", json!({ "ids": vec![7; *tokens] }));
        let answer = RawAnswer {
            stdout: lengths.iter().map(line).collect(),
            exit: Some(0),
            stderr_tail: stderr.to_owned(),
            watch: Watch::default(),
            file: Vec::new(),
        };
        Exchange { question, answer }
    }

    fn said(requests: usize, together: u32) -> String {
        format!("answered {requests} requests, at most {together} together, on 2 threads\n")
    }

    #[test]
    fn a_knob_that_was_heeded_is_no_fault() {
        let six = [8; 6];
        assert_eq!(fault(&exchange(&six, &["--threads", "2"], &said(6, 3))), None);
        assert_eq!(fault(&exchange(&six, &["--max-sequences", "3"], &said(6, 3))), None);
        assert_eq!(fault(&exchange(&six, &["--max-sequences", "32"], &said(6, 6))), None);
        assert_eq!(fault(&exchange(&six, &[], &said(6, 1))), None);
        assert_eq!(fault(&exchange(&[8], &["--max-sequences", "32"], &said(1, 1))), None);
    }

    #[test]
    fn a_knob_that_was_ignored_is_one() {
        let six = [8; 6];
        for arguments in [["--threads", "4"], ["--max-sequences", "3"]] {
            assert!(fault(&exchange(&six, &arguments, &said(6, 1))).is_some(), "{arguments:?}");
        }
        assert!(fault(&exchange(&six, &["--max-sequences", "3"], &said(6, 6))).is_some());
        for silent in ["", "answered", "answered 6 requests", "answered 99999999999 1 1"] {
            assert!(fault(&exchange(&six, &["--threads", "2"], silent)).is_some(), "{silent:?}");
        }
    }

    /// Eight were asked for and thirty were there: two at a time is another knob's setting, and so is seven.
    #[test]
    fn a_knob_that_was_heeded_by_half_is_one() {
        let asked = ["--max-sequences", "8"];
        for together in [1, 2, 7, 9, 30] {
            let what = fault(&exchange(&[12; 30], &asked, &said(30, together))).unwrap();
            let expected = format!(
                "computed at most {together} requests together where 8 were asked for and 8 were there at once"
            );
            assert_eq!(what, expected);
        }
        assert_eq!(fault(&exchange(&[12; 30], &asked, &said(30, 8))), None);
        // Who answers fewer than there were cannot excuse a small batch with it.
        let fewer = fault(&exchange(&[12; 30], &asked, &said(2, 2))).unwrap();
        assert_eq!(fewer, "answered 2 requests where 30 were there");
    }

    /// The first of three is over with its first token, perhaps before the others are taken up; the others meet.
    #[test]
    fn a_request_that_ends_at_once_may_be_missed_by_the_others() {
        let asked = ["--max-sequences", "8"];
        for (together, is_fine) in [(1, false), (2, true), (3, true), (4, false)] {
            let found = fault(&exchange(&[1, 8, 24], &asked, &said(3, together)));
            assert_eq!(found.is_none(), is_fine, "{together}: {found:?}");
        }
        assert!(fault(&exchange(&[1, 1, 1], &asked, &said(3, 1))).is_some());
    }
}
