//! Conversations: the prompt of the next turn is the last prompt, what was answered to it, and what the user says next.

use serde::{Deserialize, Serialize};

use crate::workload::Item;
use crate::workload::counter::Counter;
use crate::workload::vocabulary::Vocabulary;

/// What the user says in one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Its token ids.
    pub ids: Vec<u32>,
    /// Tokens of the answer.
    pub output_tokens: u32,
}

/// The lengths of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shape {
    /// Turns.
    pub turns: u32,
    /// Tokens of the first turn: instructions and documents.
    pub first_tokens: u32,
    /// Tokens of each later turn.
    pub later_tokens: u32,
    /// Tokens of each answer.
    pub output_tokens: u32,
}

/// What is planned of one conversation: all but the answers.
pub fn turns(
    vocabulary: &Vocabulary,
    seed: u64,
    partition: &str,
    index: u64,
    shape: Shape,
) -> Vec<Turn> {
    let counter = Counter::new(seed, &format!("turn/{partition}/{index}"));
    let turn = |turn: u32| {
        let tokens = if turn == 0 { shape.first_tokens } else { shape.later_tokens };
        let ids = vocabulary.draw(tokens, &mut counter.at(u64::from(turn)));
        Turn { ids, output_tokens: shape.output_tokens }
    };
    (0..shape.turns).map(turn).collect()
}

/// A conversation under way.
#[derive(Clone, Debug)]
pub struct Conversation {
    history: Vec<u32>,
    ahead: std::vec::IntoIter<Turn>,
}

impl Conversation {
    /// Before its first turn.
    pub fn new(turns: Vec<Turn>) -> Self {
        Self { history: Vec::new(), ahead: turns.into_iter() }
    }

    /// The next thing to ask, after the answer to the last; `None` at the end. The answer's ids are as the server gave them: what it
    /// wrote is what it has in its cache.
    pub fn next(&mut self, answer: &[u32]) -> Option<Item> {
        let Turn { ids, output_tokens } = self.ahead.next()?;
        self.history.extend_from_slice(answer);
        self.history.extend(ids);
        Some(Item { ids: self.history.clone(), output_tokens })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_prompt_is_built_from_the_answers() {
        let turn = |ids: &[u32]| Turn { ids: ids.to_vec(), output_tokens: 2 };
        let mut conversation = Conversation::new(vec![turn(&[1, 2]), turn(&[3]), turn(&[4])]);
        assert_eq!(conversation.next(&[]).unwrap().ids, [1, 2]);
        assert_eq!(conversation.next(&[90, 91]).unwrap().ids, [1, 2, 90, 91, 3]);
        assert_eq!(conversation.next(&[92]).unwrap().ids, [1, 2, 90, 91, 3, 92, 4]);
        assert_eq!(conversation.next(&[93]), None);
    }

    #[test]
    fn what_the_user_says_depends_on_no_answer() {
        let vocabulary = Vocabulary::new(1_000, &BTreeSet::new()).unwrap();
        let shape = Shape { turns: 3, first_tokens: 50, later_tokens: 7, output_tokens: 5 };
        let of = |index| turns(&vocabulary, 3, "c2/rep1", index, shape);
        assert_eq!(of(0), of(0));
        assert_ne!(of(0), of(1));
        let lengths: Vec<usize> = of(0).iter().map(|turn| turn.ids.len()).collect();
        assert_eq!(lengths, [50, 7, 7]);
    }
}
