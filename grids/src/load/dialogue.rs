//! The conversations that a thread has under way: the next prompt from the answer to the last.

use std::collections::HashMap;

use super::plan::Conversations;
use super::request::{Prompt, Request};
use super::stream::Output;
use super::trace::{End, Trace};
use crate::workload::conversation::Conversation;

/// Conversations by their place in the plan.
pub(super) struct Dialogues<'a> {
    plan: &'a Conversations,
    under_way: HashMap<u32, Conversation>,
    /// A request whose answer came well but without the ids of its tokens, so that its conversation had to end.
    pub(super) without_ids: Option<u32>,
}

impl<'a> Dialogues<'a> {
    pub(super) fn new(plan: &'a Conversations) -> Self {
        Self { plan, under_way: HashMap::new(), without_ids: None }
    }

    /// The turn after a request, once that is answered. A conversation whose answer did not come well is given up: what would come
    /// next is another prompt than the plan's.
    pub(super) fn next(
        &mut self,
        request: u32,
        trace: &Trace,
        said: Option<&Output>,
    ) -> Option<(u32, Request)> {
        let count = self.plan.turns.len() as u32;
        let place = request % count;
        let mut conversation = self.under_way.remove(&place).unwrap_or_else(|| {
            let mut begun = Conversation::new(self.plan.turns[place as usize].clone());
            // The first turn, which was sent as the plan has it.
            begun.next(&[]);
            begun
        });
        if trace.end != End::Ok {
            return None;
        }
        let answer = said.map(Output::ids).unwrap_or_default();
        let is_last = self.plan.turn(request) + 1 == self.plan.turns[place as usize].len() as u32;
        if answer.len() != trace.output_tokens as usize && !is_last {
            self.without_ids.get_or_insert(request);
            return None;
        }
        let item = conversation.next(&answer)?;
        self.under_way.insert(place, conversation);
        let next = Request::new(&self.plan.target, &Prompt::Ids(item.ids), item.output_tokens);
        Some((request + count, next))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::load::plan::{Arrival, LoadError, Plan};
    use crate::load::request::{Dialect, Target};
    use crate::load::run::{Outcome, run};
    use crate::mock::script::Pace;
    use crate::mock::{Mock, Mode, Options};
    use crate::workload::conversation::Turn;

    /// Three conversations of three turns, two at a time: turns of 9, 2 and 2 tokens, answers of 5.
    fn talk(returns_ids: bool) -> Result<Outcome, LoadError> {
        let mock = Mock::start(&Options {
            comes_first: false,
            address: ([127, 0, 0, 1], 0).into(),
            mode: Mode::Constant,
            pace: Pace { ttft_ns: 1_000_000, gap_ns: 100_000 },
            threads: 1,
            cores: Vec::new(),
        })
        .unwrap();
        let url = format!("http://{}", mock.address());
        let mut target = Target::parse(&url, Dialect::Completions).unwrap();
        target.extra.insert("return_token_ids".to_owned(), returns_ids.into());
        let turn = |tokens: u32| Turn { ids: (0..tokens).collect(), output_tokens: 5 };
        let turns = vec![vec![turn(9), turn(2), turn(2)]; 3];
        let conversations = Conversations { target, turns };
        let arrival = Arrival::Closed { concurrency: 2 };
        let plan = Plan {
            keeps_output: true,
            conversations: Some(conversations.clone()),
            ..Plan::new(mock.address(), conversations.first(), arrival)
        };
        run(&plan, &AtomicBool::new(false))
    }

    /// A prompt is all that was said: 9, then 9 + 5 + 2, then 16 + 5 + 2. The mock counts the prompt that it was sent, and another
    /// count than planned ends as a wrong length.
    #[test]
    fn a_prompt_is_the_history() {
        let outcome = talk(true).unwrap();
        assert_eq!(outcome.sent, 9);
        let found: Vec<(u32, u32)> =
            outcome.traces.iter().map(|trace| (trace.request, trace.prompt_tokens)).collect();
        let expected = [9, 9, 9, 16, 16, 16, 23, 23, 23];
        assert_eq!(found, (0..9).zip(expected).collect::<Vec<_>>());
        assert!(outcome.traces.iter().all(|trace| trace.end == End::Ok));
        assert!(outcome.account.threads[0].peak_in_flight <= 2);
    }

    #[test]
    fn a_server_that_returns_no_ids_is_refused() {
        assert!(matches!(talk(false), Err(LoadError::NoIds { .. })));
    }

    #[test]
    fn what_cannot_be_talked_is_refused() {
        let target = Target::parse("http://127.0.0.1:1", Dialect::Completions).unwrap();
        let turn = Turn { ids: vec![1], output_tokens: 1 };
        let conversations =
            Conversations { target, turns: vec![vec![turn.clone()], vec![turn.clone(), turn]] };
        let plan = |conversations: Conversations, keeps_output| Plan {
            keeps_output,
            conversations: Some(conversations.clone()),
            ..Plan::new(
                ([127, 0, 0, 1], 1).into(),
                conversations.first(),
                Arrival::Closed { concurrency: 1 },
            )
        };
        let told = |plan: Plan| plan.check().unwrap_err().to_string();
        assert!(told(plan(conversations.clone(), true)).contains("different numbers of turns"));
        let same = Conversations { turns: conversations.turns[..1].to_vec(), ..conversations };
        assert!(told(plan(same.clone(), false)).contains("need their first turns"));
        let open =
            Plan { arrival: Arrival::Open { intended_ns: vec![0], cap: None }, ..plan(same, true) };
        assert!(told(open).contains("closed loop"));
    }
}
