//! What two arms answered to the same requests. A speed row carries it, so that a reader sees that both did the same work.

use serde::{Deserialize, Serialize};

use crate::load::run::Output;

/// What a server said to one request, by its place in the leg.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The request.
    pub request: u32,
    /// Token ids; empty where the server sends none.
    pub ids: Vec<u32>,
    /// The text, where the server sends no ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Said {
    /// What is kept of an output: ids where there are any, the text otherwise.
    pub fn of(output: &Output) -> Self {
        let ids = output.said.ids();
        let text = if ids.is_empty() { output.said.text() } else { None };
        Self { request: output.request, ids, text }
    }
}

/// Two arms' answers to the same requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Requests whose answers could be compared: both arms sent ids, or both texts.
    pub compared: u64,
    /// Of them, equal to the last token.
    pub same: u64,
    /// Tokens of compared answers that come before the first difference.
    pub tokens_before: u64,
    /// Tokens of compared answers of the reference.
    pub tokens: u64,
    /// The first differences, at most [`SHOWN`].
    pub first: Vec<Divergence>,
}

/// How many differences are shown.
pub const SHOWN: usize = 3;

/// Where two answers part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divergence {
    /// The request.
    pub request: u32,
    /// The place of the first token that differs, from 0.
    pub at: u64,
    /// The reference's token; `None` where its answer has ended.
    pub reference: Option<u32>,
    /// The subject's.
    pub subject: Option<u32>,
}

impl Agreement {
    /// Compares answers to the same requests and adds them. Both lists are in the order of requests, each at most once.
    pub fn add(&mut self, reference: &[Said], subject: &[Said]) {
        let mut reference = reference.iter().peekable();
        for ours in subject {
            while reference.next_if(|theirs| theirs.request < ours.request).is_some() {}
            let Some(theirs) = reference.next_if(|theirs| theirs.request == ours.request) else {
                continue;
            };
            if theirs.ids.is_empty() || ours.ids.is_empty() {
                self.add_texts(theirs, ours);
            } else {
                self.add_ids(theirs, ours);
            }
        }
    }

    fn add_ids(&mut self, theirs: &Said, ours: &Said) {
        let shared = theirs.ids.iter().zip(&ours.ids).take_while(|(a, b)| a == b).count();
        self.compared += 1;
        self.tokens += theirs.ids.len() as u64;
        self.tokens_before += shared as u64;
        let (reference, subject) = (theirs.ids.get(shared), ours.ids.get(shared));
        if reference.is_none() && subject.is_none() {
            self.same += 1;
        } else if self.first.len() < SHOWN {
            self.first.push(Divergence {
                request: ours.request,
                at: shared as u64,
                reference: reference.copied(),
                subject: subject.copied(),
            });
        }
    }

    /// Texts say whether answers are equal, and nothing of tokens.
    fn add_texts(&mut self, theirs: &Said, ours: &Said) {
        if let (Some(reference), Some(subject)) = (&theirs.text, &ours.text) {
            self.compared += 1;
            self.same += u64::from(reference == subject);
        }
    }

    /// A line for people; an arm that sends neither ids nor texts was not compared, which is told.
    pub fn text(&self) -> String {
        if self.compared == 0 {
            return "answers not compared: the arms do not both send token ids".to_owned();
        }
        let Self { compared, same, tokens_before, tokens, .. } = self;
        let before = if *tokens > 0 {
            format!(", {tokens_before} of {tokens} tokens before a first difference")
        } else {
            String::new()
        };
        let first =
            self.first.first().map_or_else(String::new, |Divergence { request, at, .. }| {
                format!("; the first at token {at} of request {request}")
            });
        format!("{same}/{compared} answers equal{before}{first}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(request: u32, ids: &[u32]) -> Said {
        Said { request, ids: ids.to_vec(), text: None }
    }

    #[test]
    fn counts_up_to_the_first_difference() {
        let mut found = Agreement::default();
        let reference = [said(0, &[1, 2, 3]), said(1, &[4, 5, 6]), said(2, &[7, 8])];
        found.add(&reference, &[said(0, &[1, 2, 3]), said(1, &[4, 9, 6]), said(2, &[7])]);
        assert_eq!((found.compared, found.same, found.tokens_before, found.tokens), (3, 1, 5, 8));
        let at = |request, at, reference, subject| Divergence { request, at, reference, subject };
        assert_eq!(found.first, [at(1, 1, Some(5), Some(9)), at(2, 1, Some(8), None)]);
        assert_eq!(
            found.text(),
            "1/3 answers equal, 5 of 8 tokens before a first difference; the first at token 1 of request 1"
        );
    }

    #[test]
    fn what_cannot_be_compared_is_not_equal() {
        let mut found = Agreement::default();
        let text = |request, text: &str| Said { request, ids: vec![], text: Some(text.to_owned()) };
        found.add(&[said(0, &[1])], &[text(0, "a"), said(5, &[1])]);
        assert_eq!(found, Agreement::default());
        assert!(found.text().starts_with("answers not compared"));
        found.add(&[text(0, "a"), text(1, "b")], &[text(0, "a"), text(1, "c")]);
        assert_eq!((found.compared, found.same, found.tokens), (2, 1, 0));
    }
}
