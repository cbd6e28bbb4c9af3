//! What faults on a whole answer have in common: reading its question, and changing as little as possible of its text.

use serde_json::Value;

use super::set_id;
use crate::subject::{Question, RawAnswer, Verb};

/// The value of a flag of the question that is a count.
pub(super) fn count_of(question: &Question, flag: &str) -> Option<u32> {
    let at = question.arguments.iter().position(|argument| argument == flag)?;
    question.arguments.get(at + 1)?.parse().ok()
}

/// Whether anything stands behind `--json-lines`.
pub(super) fn has_more(question: &Question) -> bool {
    question.arguments.last().is_some_and(|last| last != "--json-lines")
}

/// Whether ids are forced.
pub(super) fn is_forced(question: &Question) -> bool {
    question.lines.iter().any(|line| line.contains("force_ids"))
}

/// Changes the answer's lines as texts.
pub(super) fn lines_mut(answer: &mut RawAnswer, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines: Vec<String> = answer.stdout.lines().map(str::to_owned).collect();
    change(&mut lines);
    answer.stdout = lines.iter().fold(String::new(), |text, line| text + line + "\n");
}

/// Changes every line that is JSON as a value. Lines that did not change keep their bytes.
pub(super) fn change_lines(answer: &mut RawAnswer, mut change: impl FnMut(&mut Value)) {
    lines_mut(answer, |lines| {
        for line in lines {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let mut changed = value.clone();
            change(&mut changed);
            if changed != value {
                *line = changed.to_string();
            }
        }
    });
}

/// Changes what `info` or `inspect` reports: one object, over several lines or one.
pub(super) fn change_report(
    question: &Question,
    answer: &mut RawAnswer,
    change: impl FnOnce(&mut Value),
) {
    if !matches!(question.verb, Verb::Info | Verb::Inspect) {
        return;
    }
    if let Ok(mut report) = serde_json::from_str::<Value>(&answer.stdout) {
        change(&mut report);
        answer.stdout = report.to_string() + "\n";
    }
}

/// Another digit at the end of the first log-probability of the last answer; no other byte changes.
pub(super) fn one_digit(answer: &mut RawAnswer) {
    const KEY: &str = "\"logprob\":";
    let Some(key) = answer.stdout.rfind(KEY) else { return };
    let number = key + KEY.len();
    let Some(length) = answer.stdout[number..].find([',', '}']) else { return };
    let last = number + length - 1;
    let digit = if answer.stdout[last..].starts_with('1') { "2" } else { "1" };
    answer.stdout.replace_range(last..=last, digit);
}

/// Another id at the end of the last answer, its step included, so that it does not contradict itself.
pub(super) fn one_id(answer: &mut RawAnswer) {
    change_last(answer, |line| {
        let ids = line.get("ids").and_then(Value::as_array);
        let Some((index, old)) =
            ids.and_then(|ids| Some((ids.len().checked_sub(1)?, ids.last()?.as_u64()?)))
        else {
            return;
        };
        set_id(line, index, &Value::from(old ^ 1));
    });
}

/// Another first choice at the last step of the last answer.
pub(super) fn other_choice(answer: &mut RawAnswer) {
    change_last(answer, |line| {
        let steps = line.get_mut("steps").and_then(Value::as_array_mut);
        let choice = steps.and_then(|steps| steps.last_mut()?.pointer_mut("/top/0/0"));
        if let Some((slot, id)) = choice.and_then(|slot| slot.as_u64().map(|id| (slot, id))) {
            *slot = Value::from(id ^ 1);
        }
    });
}

fn change_last(answer: &mut RawAnswer, change: impl FnOnce(&mut Value)) {
    lines_mut(answer, |lines| {
        let Some(last) = lines.last_mut() else { return };
        let Ok(mut value) = serde_json::from_str::<Value>(last) else { return };
        change(&mut value);
        *last = value.to_string();
    });
}
