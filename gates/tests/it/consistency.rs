//! An oracle against itself, from the spec to the record and back; and what its record means for who is compared with it.

use std::path::PathBuf;
use std::time::Duration;

use gates::run::Finished;
use gates::supplies::{Supplies, Wanted, Way};
use oracles::checkpoint::Checkpoint;
use oracles::golden::Golden;
use oracles::launch::Variant;
use oracles::verbs::{
    Cached, Completion, CompletionRequest, Identity, Message, Oracle, Together, VerbError,
};
use records::{Metric, Record, VerdictWord as Word};

use crate::support::{self, CASES, NEAR_TIE, SECOND, STRICT, Workspace, step, subject_answer};

const CHECK: &str = "[check.oracle-consistency]\nrepeats = 2\nbatch = 3\nprefill-positions = 4\n";
const FAULTS: [(&str, &str); 10] = [
    ("oracle-repeat", "FAIL: the oracle contradicts itself: repeated 3/3 prompts"),
    ("oracle-repeat-bit", "FAIL: the oracle contradicts itself: repeated with other numbers"),
    ("oracle-batch", "FAIL: the oracle contradicts itself: together 3/3 prompts"),
    ("oracle-queue", "VOID: V-CONC: 1 requests were in work at once where 3 were meant to be"),
    ("oracle-short", "FAIL: the oracle contradicts itself: together 3/3 prompts"),
    ("oracle-cache", "FAIL: the oracle contradicts itself: warm 3/3 prompts"),
    ("oracle-cold", "VOID: V-CACHE-POLICY: nothing of any prompt came from the prefix cache"),
    ("oracle-prefill", "FAIL: the oracle contradicts itself: prefilled 3/3 prompts"),
    ("oracle-execution", "FAIL: the oracle contradicts itself: execution 3/3 prompts"),
    ("oracle-nan", "VOID: V-COUNT: alone: the answer to one has no 2 finite log-probabilities"),
];

/// A workspace with one gate `itself` of this check.
fn workspace(check: &str) -> Workspace {
    let workspace = Workspace::new(STRICT);
    workspace.write_spec("itself", check);
    workspace
}

#[test]
fn every_planted_fault_is_caught_for_what_it_is() {
    let names: Vec<String> = FAULTS.iter().map(|(name, _)| format!("{name:?}")).collect();
    let workspace = workspace(&format!("{CHECK}[prove]\nfaults = [{}]\n", names.join(", ")));
    let proved = workspace.gate(&["prove", "itself", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&proved.stdout).unwrap();
    assert_eq!((proved.status, &told["red"]), (0, &10.into()), "{proved:?}");
    for (index, (name, how)) in FAULTS.iter().enumerate() {
        let proof = &told["proofs"][0]["faults"][index];
        assert_eq!(proof["fault"], *name);
        let found = proof["how"].as_str().unwrap();
        assert!(found.starts_with(how), "{name}: {found}");
    }
}

/// The oracle of [`CASES`], which takes the runner-up at one token of one case where its prompt is cached.
struct Fickle {
    identity: Identity,
    is_fickle: bool,
}

fn completion(request: &CompletionRequest) -> Completion {
    let (_, prompt, ids) =
        CASES.iter().find(|(_, prompt, _)| request.prompt_ids.starts_with(prompt)).unwrap();
    let done = request.prompt_ids.len() - prompt.len();
    let ids: Vec<u32> = ids[done..].iter().copied().take(request.max_tokens as usize).collect();
    Completion {
        steps: ids.iter().map(|id| step(*id)).collect(),
        ids,
        text: String::new(),
        finish_reason: oracles::verbs::FinishReason::Length,
    }
}

impl Oracle for Fickle {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn tokenize(&mut self, text: &str, _: bool, _: bool) -> Result<Vec<u32>, VerbError> {
        Ok(CASES.iter().find(|(id, ..)| *id == text).unwrap().1.to_vec())
    }

    fn detokenize(&mut self, _: &[u32]) -> Result<String, VerbError> {
        Ok(String::new())
    }

    fn render_chat(&mut self, _: &[Message]) -> Result<String, VerbError> {
        Ok(String::new())
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        Ok(completion(request))
    }

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Result<Together, VerbError> {
        Ok(Together { completions: requests.iter().map(completion).collect(), at_once: width })
    }

    fn complete_cached(&mut self, request: &CompletionRequest) -> Result<Cached, VerbError> {
        let mut completion = completion(request);
        if self.is_fickle && request.prompt_ids == CASES[1].1 {
            completion.ids[2] = SECOND;
            completion.steps[2].id = SECOND;
        }
        Ok(Cached { completion, cached_tokens: 1 })
    }
}

struct FickleSupplies<'a> {
    workspace: &'a Workspace,
    is_fickle: bool,
    has_variants: bool,
}

impl Supplies for FickleSupplies<'_> {
    fn checkpoint(&self, _: &str) -> oracles::Result<Checkpoint> {
        Ok(self.workspace.checkpoint())
    }

    fn oracle(&self, _: &Checkpoint, _: bool) -> oracles::Result<Option<Box<dyn Oracle>>> {
        Ok(None)
    }

    fn launched(
        &self,
        _: &Checkpoint,
        way: Way,
        _: bool,
    ) -> oracles::Result<Option<Box<dyn Oracle>>> {
        if way.variant == Variant::OtherExecution && !self.has_variants {
            return Ok(None);
        }
        let identity = self.workspace.identity();
        Ok(Some(Box::new(Fickle { identity, is_fickle: self.is_fickle })))
    }

    fn golden(&self) -> oracles::Result<Option<Golden>> {
        Ok(None)
    }

    fn vocabularies(&self, _: bool) -> oracles::Result<Option<PathBuf>> {
        Ok(None)
    }
}

/// Runs gate `itself`, whose verdict must be the one that its evidence gives.
fn run(workspace: &Workspace, is_fickle: bool, has_variants: bool) -> Finished {
    let supplies = FickleSupplies { workspace, is_fickle, has_variants };
    let finished = support::run_with(workspace, "itself", &supplies, Wanted::Either);
    let again = workspace.gate_with(&["recheck", &finished.record.id], &[]);
    assert_eq!(again.status, 0, "{again:?}");
    finished
}

fn number(record: &Record, metric: Metric) -> Option<f64> {
    record.measurements.iter().find(|number| number.metric == metric)?.value
}

#[test]
fn an_oracle_that_agrees_with_itself_passes_and_is_the_subject() {
    let workspace = workspace(CHECK);
    let Finished { record, report, .. } = run(&workspace, false, true);
    assert_eq!((record.verdict.word, record.compared), (Word::Pass, 3), "{:?}", record.verdict);
    assert_eq!(record.subject.name, "llama-cpp");
    assert_eq!(number(&record, Metric::SelfFlips), Some(0.0));
    // Five pairs with the first arm and six among the other four conditions, each of 3 x 4 tokens.
    assert_eq!(number(&record, Metric::SelfChoices), Some(11.0 * 12.0));
    assert!(report.iter().any(|line| line.starts_with("warm ")), "{report:?}");
}

#[test]
fn one_other_token_under_one_condition_fails_with_its_place() {
    let Finished { record, report, .. } = run(&workspace(CHECK), true, true);
    assert_eq!(record.verdict.word, Word::Fail);
    assert!(record.verdict.reason.contains("warm 1/3 prompts"), "{}", record.verdict.reason);
    assert_eq!(number(&record, Metric::SelfFlippedCases), Some(1.0));
    assert_eq!(record.divergences[0]["case"], "two");
    assert_eq!(record.divergences[0]["index"], 2);
    assert!(report.contains(&format!("  two parts at token 2: 203 and {SECOND}")), "{report:?}");
}

#[test]
fn a_condition_that_is_not_seen_is_no_pass_unless_it_is_excused() {
    let record = run(&workspace(CHECK), false, false).record;
    assert_eq!(record.verdict.word, Word::NotEstablished);
    assert!(record.verdict.reason.starts_with("not seen: execution: "), "{:?}", record.verdict);
    let excused = format!(
        "{CHECK}[[check.oracle-consistency.absent]]\ncondition = \"execution\"\nbecause = \"it has one form\"\n"
    );
    let Finished { record, report, .. } = run(&workspace(&excused), false, false);
    assert_eq!(record.verdict.word, Word::Pass);
    let line = report.iter().find(|line| line.starts_with("execution ")).unwrap();
    assert!(line.ends_with("not applicable: it has one form"), "{line}");
}

/// The verdict of gate `tiny` beside whatever is on record, derived again from its evidence.
fn compared(workspace: &Workspace, check: &str) -> (Record, String) {
    workspace.write_spec("tiny", check);
    let ran = workspace.gate(&["run", "tiny"]);
    let records = workspace.records().into_iter().filter(|record| record.gate == "tiny");
    let record = records.max_by_key(|record| record.started_at).unwrap();
    let again = workspace.gate_with(&["recheck", &record.id], &[]);
    assert_eq!(again.status, 0, "{again:?}");
    (record, ran.stdout)
}

#[test]
fn nothing_strict_stands_against_an_oracle_that_contradicts_itself() {
    let workspace = workspace(CHECK);
    assert_eq!(compared(&workspace, STRICT).0.verdict.word, Word::Pass);
    let contradiction = run(&workspace, true, true).record;
    let (record, shown) = compared(&workspace, STRICT);
    assert_eq!(record.verdict.word, Word::NotEstablished);
    let start = format!("llama-cpp contradicts itself ({})", contradiction.id);
    assert!(record.verdict.reason.starts_with(&start), "{}", record.verdict.reason);
    assert!(shown.contains("consistency  llama-cpp against itself: 1/3 prompts"), "{shown}");
    // A comparison that allows for the oracle's own uncertainty stands.
    let (record, shown) = compared(&workspace, NEAR_TIE);
    assert_eq!(record.verdict.word, Word::Pass);
    assert!(shown.contains("consistency  llama-cpp against itself: 1/3 prompts"), "{shown}");
    // The latest record counts.
    std::thread::sleep(Duration::from_millis(1100));
    run(&workspace, false, true);
    assert_eq!(compared(&workspace, STRICT).0.verdict.word, Word::Pass);
}

#[test]
fn more_flips_than_the_oracles_own_fail_inside_the_band_too() {
    let workspace = workspace(CHECK);
    let rate = |alpha: f64| {
        format!("{NEAR_TIE}[check.noise-rate]\nalpha = {alpha}\nbecause = \"a test\"\n")
    };
    let unknown = compared(&workspace, &rate(0.1)).0.verdict;
    assert_eq!(unknown.word, Word::NotEstablished);
    assert!(unknown.reason.starts_with("the oracle's own rate is not on record"));
    run(&workspace, false, true);
    assert_eq!(compared(&workspace, &rate(0.1)).0.verdict.word, Word::Pass);
    // All of ours take the runner-up at the last token, inside the band: 3 of 3 against 0 of 3, 1 in 20 by chance.
    let flipped = CASES
        .map(|(id, prompt, ids)| subject_answer(id, &prompt, &[ids[0], ids[1], ids[2], SECOND]));
    workspace.answer("generate", &flipped);
    let forced = CASES.map(|(id, prompt, ids)| {
        let mut answer = subject_answer(id, &prompt, &ids);
        answer["steps"][3]["top"] = serde_json::json!([[SECOND, -0.5], [ids[3], -0.6]]);
        answer["steps"][3]["logprob"] = (-0.6).into();
        answer
    });
    workspace.answer("forced", &forced);
    let (record, _) = compared(&workspace, NEAR_TIE);
    assert_eq!(record.verdict.word, Word::Pass, "{:?}", record.verdict);
    let verdict = compared(&workspace, &rate(0.1)).0.verdict;
    assert_eq!(verdict.word, Word::Fail);
    let start = "more often than the oracle itself: 3/3 prompts leave the oracle, 0/3 leave itself (p = 0.0500)";
    assert!(verdict.reason.starts_with(start), "{}", verdict.reason);
    assert_eq!(compared(&workspace, &rate(0.04)).0.verdict.word, Word::Pass);
}
