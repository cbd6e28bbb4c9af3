//! Whether a process did what its arguments ask: how many threads computed, how many requests together.
//!
//! Equal answers prove nothing about a knob that was ignored. `plumb` ends with a line on standard error, `answered 30 requests, at
//! most 16 together, on 2 threads`, of which the numbers are read.

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
    let asked = together?;
    // Some request ends before others come, so that the most is not always reached; one alone is never a batch.
    let least = asked.min(computed.requests).min(2);
    let heeded = (least..=asked).contains(&computed.together);
    (!heeded).then(|| {
        format!(
            "computed at most {} requests together where {asked} were asked for",
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

    fn exchange(arguments: &[&str], stderr: &str) -> Exchange {
        let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
        let question = Question {
            verb: Verb::Generate,
            arguments,
            lines: Vec::new(),
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

    #[test]
    fn a_knob_that_was_heeded_is_no_fault() {
        let said = "answered 6 requests, at most 3 together, on 2 threads\n";
        for arguments in
            [&["--threads", "2"][..], &["--max-sequences", "3"], &["--max-sequences", "32"], &[]]
        {
            assert_eq!(fault(&exchange(arguments, said)), None, "{arguments:?}");
        }
        let alone = "answered 1 requests, at most 1 together, on 2 threads";
        assert_eq!(fault(&exchange(&["--max-sequences", "32"], alone)), None);
    }

    #[test]
    fn a_knob_that_was_ignored_is_one() {
        let said = "answered 6 requests, at most 1 together, on 2 threads";
        for arguments in [["--threads", "4"], ["--max-sequences", "3"]] {
            assert!(fault(&exchange(&arguments, said)).is_some(), "{arguments:?}");
        }
        let wide = "answered 6 requests, at most 6 together, on 2 threads";
        assert!(fault(&exchange(&["--max-sequences", "3"], wide)).is_some());
        for silent in ["", "answered", "answered 6 requests", "answered 99999999999 1 1"] {
            assert!(fault(&exchange(&["--threads", "2"], silent)).is_some(), "{silent:?}");
        }
    }
}
