//! Fault: two requests of a batch get each other's answers.

use serde_json::Value;

use super::exchange::{count_of, lines_mut};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "crossed-slots",
    plants: "the answers of two requests behind each other's ids, where 3 are computed together",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if count_of(question, "--max-sequences") != Some(3) {
        return;
    }
    lines_mut(answer, |lines| {
        let Some([first, second]) = lines.get_mut(..2) else { return };
        let id = |line: &str| -> Option<Value> {
            serde_json::from_str::<Value>(line).ok()?.get("id").cloned()
        };
        if let (Some(a), Some(b)) = (id(first), id(second)) {
            let (named_a, named_b) = (format!("\"id\":{a}"), format!("\"id\":{b}"));
            *first = first.replacen(&named_a, &named_b, 1);
            *second = second.replacen(&named_b, &named_a, 1);
            lines.swap(0, 1);
        }
    });
}
