//! Whether a process did what its arguments ask: how many threads computed, how many requests together.
//!
//! Equal answers prove nothing about a knob that was ignored, or heeded by half. `plumb` ends with a line on standard error,
//! `answered 30 requests, at most 16 together, on 2 threads`, of which the numbers are read.

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
    let expected = together?.min(there);
    (computed.together != expected).then(|| {
        format!(
            "computed at most {} requests together where {expected} were asked for and there",
            computed.together
        )
    })
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
    use super::*;
    use crate::subject::{Question, RawAnswer, Verb, Watch};

    /// Six requests.
    fn exchange(arguments: &[&str], stderr: &str) -> Exchange {
        exchange_of(6, arguments, stderr)
    }

    fn exchange_of(requests: usize, arguments: &[&str], stderr: &str) -> Exchange {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        let question = Question {
            verb: Verb::Generate,
            arguments,
            lines: vec![String::new(); requests],
            repeat: 0,
            watched: false,
        };
        let answer = RawAnswer {
            stdout: String::new(),
            exit: Some(0),
            stderr_tail: stderr.to_owned(),
            watch: Watch::default(),
            file: Vec::new(),
        };
        Exchange { question, answer }
    }

    fn said(requests: u32, together: u32) -> String {
        format!("answered {requests} requests, at most {together} together, on 2 threads\n")
    }

    #[test]
    fn a_knob_that_was_heeded_is_no_fault() {
        assert_eq!(fault(&exchange(&["--threads", "2"], &said(6, 3))), None);
        assert_eq!(fault(&exchange(&["--max-sequences", "3"], &said(6, 3))), None);
        assert_eq!(fault(&exchange(&["--max-sequences", "32"], &said(6, 6))), None);
        assert_eq!(fault(&exchange(&[], &said(6, 1))), None);
        assert_eq!(fault(&exchange_of(1, &["--max-sequences", "32"], &said(1, 1))), None);
    }

    #[test]
    fn a_knob_that_was_ignored_is_one() {
        for arguments in [["--threads", "4"], ["--max-sequences", "3"]] {
            assert!(fault(&exchange(&arguments, &said(6, 1))).is_some(), "{arguments:?}");
        }
        assert!(fault(&exchange(&["--max-sequences", "3"], &said(6, 6))).is_some());
        for silent in ["", "answered", "answered 6 requests", "answered 99999999999 1 1"] {
            assert!(fault(&exchange(&["--threads", "2"], silent)).is_some(), "{silent:?}");
        }
    }

    /// Eight were asked for and thirty were there: two at a time is another knob's setting, and so is seven.
    #[test]
    fn a_knob_that_was_heeded_by_half_is_one() {
        let asked = ["--max-sequences", "8"];
        for together in [1, 2, 7, 9, 30] {
            let what = fault(&exchange_of(30, &asked, &said(30, together))).unwrap();
            let expected = format!(
                "computed at most {together} requests together where 8 were asked for and there"
            );
            assert_eq!(what, expected);
        }
        assert_eq!(fault(&exchange_of(30, &asked, &said(30, 8))), None);
        // Who answers fewer than there were cannot excuse a small batch with it.
        let fewer = fault(&exchange_of(30, &asked, &said(2, 2))).unwrap();
        assert_eq!(fewer, "answered 2 requests where 30 were there");
    }
}
