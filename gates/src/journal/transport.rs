//! The subject, its answers remembered.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Journal;
use crate::subject::{Question, RawAnswer, SubjectError, Transport, Verb};

/// A subject that is asked only what it has not answered yet.
pub struct JournaledSubject<'a> {
    /// The subject.
    pub inner: &'a dyn Transport,
    /// What it answered.
    pub journal: &'a Journal,
}

impl Transport for JournaledSubject<'_> {
    fn ask(&self, question: &Question, budget: Duration) -> Result<RawAnswer, SubjectError> {
        // What is measured is measured in one run; files are not kept.
        let kept = matches!(question.verb, Verb::Generate | Verb::Tokenize) && !question.watched;
        if !kept {
            return self.inner.ask(question, budget);
        }
        let asked = json!({ "subject": question });
        if let Some(answer) = self.journal.answer(&asked) {
            return Ok(answer);
        }
        let started = Instant::now();
        let answer = self.inner.ask(question, budget)?;
        // One that a signal ended was perhaps ours to end: it is asked again.
        if answer.exit.is_some() {
            self.journal.keep(asked, &answer, started.elapsed());
        }
        Ok(answer)
    }
}
