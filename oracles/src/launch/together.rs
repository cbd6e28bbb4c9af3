//! Requests that are in work at the same time.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

use crate::verbs::{Completion, CompletionRequest, Together, VerbError};

/// Asks `requests`, `width` at a time: as soon as one is answered the next is sent. The first error is the answer.
pub(super) fn together(
    requests: &[CompletionRequest],
    width: u32,
    ask: impl Fn(&CompletionRequest) -> Result<Completion, VerbError> + Sync,
) -> Result<Together, VerbError> {
    let (next, working, at_once) = (AtomicUsize::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let work = || {
        let mut answers = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = requests.get(index) else { return answers };
            at_once.fetch_max(working.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let answer = ask(request);
            working.fetch_sub(1, Ordering::SeqCst);
            answers.push((index, answer));
        }
    };
    let mut answers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..width.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
    });
    answers.sort_unstable_by_key(|(index, _)| *index);
    let completions =
        answers.into_iter().map(|(_, answer)| answer).collect::<Result<Vec<_>, _>>()?;
    Ok(Together { completions, at_once: at_once.into_inner() })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::verbs::FinishReason;

    fn request(id: u32) -> CompletionRequest {
        CompletionRequest {
            prompt_ids: vec![id],
            max_tokens: 1,
            top_logprobs: 0,
            ignore_eos: false,
        }
    }

    fn completion(request: &CompletionRequest) -> Completion {
        Completion {
            ids: request.prompt_ids.clone(),
            text: String::new(),
            finish_reason: FinishReason::Length,
            steps: Vec::new(),
        }
    }

    #[test]
    fn as_many_are_in_work_as_were_asked_for_and_each_gets_its_own_answer() {
        let requests: Vec<_> = (0..6).map(request).collect();
        // Nobody is answered before three ask.
        let barrier = Barrier::new(3);
        let answered = together(&requests, 3, |request| {
            barrier.wait();
            Ok(completion(request))
        });
        let answered = answered.unwrap();
        assert_eq!(answered.at_once, 3);
        let ids: Vec<u32> = answered.completions.iter().map(|answer| answer.ids[0]).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn one_at_a_time_is_not_together() {
        let requests: Vec<_> = (0..4).map(request).collect();
        let answered = together(&requests, 1, |request| Ok(completion(request))).unwrap();
        assert_eq!(answered.at_once, 1);
    }
}
