//! Fault: wherever two tokens are nearly equally likely, the other one is taken. Each flip is a near tie; so many are not.

use serde_json::Value;

use super::exchange::{change_lines, is_forced};
use super::{Act, Fault, set_id};
use crate::compare;
use crate::subject::{Question, RawAnswer, Verb};

/// How far the runner-up may lie below, in milli-nats: inside every band that a gate here has.
const NEAR_MNATS: f64 = 60.0;

pub(super) const FAULT: Fault = Fault {
    name: "coin-flips",
    plants: "the runner-up at the first token of every answer at which it is nearly as probable",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if question.verb == Verb::Generate {
        let forced = is_forced(question);
        change_lines(answer, |line| flip(line, forced));
    }
}

fn flip(line: &mut Value, forced: bool) {
    let steps = line.get("steps").and_then(Value::as_array);
    let Some(index) = steps.and_then(|steps| steps.iter().position(is_near)) else { return };
    let top = line.pointer_mut(&format!("/steps/{index}/top")).and_then(Value::as_array_mut);
    let Some([first, second, ..]) = top.map(Vec::as_mut_slice) else { return };
    std::mem::swap(&mut first[0], &mut second[0]);
    let taken = first[0].clone();
    // A forced run reports another choice, and takes what it is given.
    if !forced {
        set_id(line, index, &taken);
    }
}

fn is_near(step: &Value) -> bool {
    let logprob = |place| step.pointer(&format!("/top/{place}/1")).and_then(Value::as_f64);
    let gap = logprob(0).zip(logprob(1)).map(|(first, second)| compare::gap_mnats(first, second));
    gap.is_some_and(|gap| compare::within(gap, NEAR_MNATS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line() -> Value {
        json!({ "ids": [1, 2], "steps": [
            { "id": 1, "logprob": -0.1, "top": [[1, -0.1], [5, -2.0]] },
            { "id": 2, "logprob": -0.5, "top": [[2, -0.5], [6, -0.53]] },
        ]})
    }

    #[test]
    fn the_first_near_tie_goes_the_other_way() {
        let mut free = line();
        flip(&mut free, false);
        assert_eq!(free["ids"], json!([1, 6]));
        assert_eq!(free["steps"][1]["top"], json!([[6, -0.5], [2, -0.53]]));
        let mut forced = line();
        flip(&mut forced, true);
        assert_eq!(forced["ids"], json!([1, 2]));
        assert_eq!(forced["steps"][1]["top"], free["steps"][1]["top"]);
    }
}
