//! The questions between a run and its word, in the order in which the judge asks them.

use records::review::page::Rung;

use super::is;
use crate::judge::{Judgement, Trouble};
use crate::rule::Word;
use crate::samples::Samples;
use crate::words::count;

/// The questions with their answers; the first that is answered with yes is taken.
pub(super) fn order(judgement: &Judgement, collected: &Result<Samples, Trouble>) -> Vec<Rung> {
    let rules: Vec<&str> = judgement.rules.iter().map(|rule| rule.id()).collect();
    let compared = judgement.compared;
    let questions = [
        (
            "Was a validity rule broken?",
            Word::Void,
            if is(judgement, Word::Void) {
                format!("yes: {}", rules.join(", "))
            } else {
                "no rule".to_owned()
            },
        ),
        (
            "Was nothing compared?",
            Word::Skipped,
            if compared == 0 {
                "nothing was".to_owned()
            } else {
                format!("no: {} compared", count(compared as usize, "case was", "cases were"))
            },
        ),
        (
            "Do the answers not suffice?",
            Word::NotEstablished,
            match collected {
                Err(Trouble::NotEstablished(why)) => why.clone(),
                _ => "no".to_owned(),
            },
        ),
        (
            "Does a case lie outside a bound?",
            Word::Fail,
            if is(judgement, Word::Fail) {
                judgement.reason.clone()
            } else {
                "none does".to_owned()
            },
        ),
        ("Does every case lie within?", Word::Pass, judgement.reason.clone()),
    ];
    let taken = questions.iter().position(|(_, word, _)| is(judgement, *word));
    let rung = |(place, (question, word, answer)): (usize, (&str, Word, String))| {
        let reached = taken.is_none_or(|taken| place <= taken);
        Rung {
            question: question.to_owned(),
            answer: if reached { answer } else { "not asked".to_owned() },
            word: word.as_str().to_owned(),
            taken: taken == Some(place),
            reached,
        }
    };
    questions.into_iter().enumerate().map(rung).collect()
}
