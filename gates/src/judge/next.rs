//! The cheapest thing that would change a verdict.

use super::Judgement;
use crate::rule::{Rule, Word};

/// What to do next about the verdict of `gate`, whose subject is the engine or an oracle; nothing where it passed.
pub fn next(gate: &str, subject: Asked, judgement: &Judgement) -> Option<String> {
    let run = format!("`cargo gate run {gate}`");
    Some(match judgement.word {
        Word::Pass => return None,
        Word::Skipped => format!("`cargo gate run {gate} --live`, which provides what is missing"),
        Word::NotEstablished => format!("remove what the sentence names, then {run}"),
        Word::Fail if subject == Asked::Oracle => {
            "compare with this oracle within what it shows here (near-tie, noise-rate), never strictly".to_owned()
        }
        Word::Fail => format!("mend the first difference, then {run}"),
        Word::Void => {
            let remedies: Vec<&str> = judgement.rules.iter().map(|rule| remedy(*rule)).collect();
            format!("{}, then {run}", remedies.join("; "))
        }
    })
}

/// Who is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The engine.
    Engine,
    /// An oracle, against itself.
    Oracle,
}

/// What makes a rule hold again.
fn remedy(rule: Rule) -> &'static str {
    match rule {
        Rule::Backend | Rule::Eager | Rule::Unfused => {
            "launch the oracle as in production, or declare `production = false` and claim no more"
        }
        Rule::Band => "narrow the band to what was measured, or measure the oracle's noise",
        Rule::CachePolicy => "launch the oracle with the prefix cache that the arm declares",
        Rule::Checkpoint => "fetch the pinned checkpoint with `cargo gate fetch`",
        Rule::Concurrency => "give the arm as many cases as it is to have in work at once",
        Rule::Contend => "wait until the host is quiet",
        Rule::Count | Rule::Workload | Rule::Golden => {
            "capture the golden again with `cargo gate capture`, or restore it"
        }
        Rule::Dirty => "build engine and gate from this tree",
        Rule::Failed => "mend the engine until every request is answered",
        Rule::Pin => "provision the pinned oracle with `cargo gate oracle provision`",
        Rule::Profile => "let the engine run the profile that the gate judges",
        Rule::Skip => "provide what is missing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pass_leaves_nothing_to_do() {
        let judged = |word, rules| Judgement::bare(word, rules, String::new(), 1);
        assert_eq!(next("g", Asked::Engine, &judged(Word::Pass, vec![])), None);
        for word in [Word::Fail, Word::NotEstablished, Word::Skipped] {
            let next = next("g", Asked::Engine, &judged(word, vec![])).unwrap();
            assert!(next.contains("cargo gate run g"), "{next}");
        }
        let oracle = next("g", Asked::Oracle, &judged(Word::Fail, vec![])).unwrap();
        assert!(oracle.contains("near-tie"), "{oracle}");
        let both = next("g", Asked::Engine, &judged(Word::Void, vec![Rule::Contend, Rule::Dirty]))
            .unwrap();
        assert_eq!(
            both,
            "wait until the host is quiet; build engine and gate from this tree, then `cargo gate run g`"
        );
    }
}
