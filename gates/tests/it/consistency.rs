//! An oracle against itself, from the spec to the record and back; and what its record means for who is compared with it.

use std::fs;

use gates::run::Finished;
use gates::supplies::Wanted;
use records::{Metric, Record, Store, VerdictWord as Word};

use crate::fickle::{CHECK, FickleSupplies};
use crate::support::{self, CASES, NEAR_TIE, SECOND, STRICT, Workspace, subject_answer};

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
    let workspace = Workspace::unvouched(STRICT);
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

/// Runs gate `itself`, whose verdict must be the one that its evidence gives.
fn run(workspace: &Workspace, is_fickle: bool, has_variants: bool) -> Finished {
    run_gate(workspace, "itself", is_fickle, has_variants)
}

fn run_gate(workspace: &Workspace, gate: &str, is_fickle: bool, has_variants: bool) -> Finished {
    let supplies = FickleSupplies { workspace, is_fickle, has_variants };
    let finished = support::run_with(workspace, gate, &supplies, Wanted::Either);
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
    // A later run that looks at all of it clears it.
    run(&workspace, false, true);
    assert_eq!(compared(&workspace, STRICT).0.verdict.word, Word::Pass);
}

#[test]
fn nothing_strict_passes_against_an_oracle_of_which_nobody_knows() {
    let workspace = workspace(CHECK);
    let (record, shown) = compared(&workspace, STRICT);
    assert_eq!(record.verdict.word, Word::NotEstablished);
    let start = "whether the oracle agrees with itself is not on record: run `cargo gate run itself` first; 3/3";
    assert!(record.verdict.reason.starts_with(start), "{}", record.verdict.reason);
    assert!(shown.contains("`cargo gate run itself` first"), "{shown}");
    // Within its uncertainty it need not be known, and a difference that was seen stays one.
    assert_eq!(compared(&workspace, NEAR_TIE).0.verdict.word, Word::Pass);
    let differing = CASES
        .map(|(id, prompt, ids)| subject_answer(id, &prompt, &[ids[0], ids[1], ids[2], SECOND]));
    workspace.answer("generate", &differing);
    assert_eq!(compared(&workspace, STRICT).0.verdict.word, Word::Fail);
    fs::remove_file(workspace.path("gates/specs/itself.toml")).unwrap();
    workspace.answer("generate", &support::subject_answers());
    let reason = compared(&workspace, STRICT).0.verdict.reason;
    assert!(reason.contains("is not on record: no gate compares it with itself"), "{reason}");
}

#[test]
fn a_narrow_or_crossed_run_neither_vouches_nor_hides_a_contradiction() {
    let workspace = workspace(CHECK);
    let whole = fs::read_to_string(workspace.path("gates/specs/itself.toml")).unwrap();
    workspace.write("gates/inputs/one.jsonl", "{\"id\":\"one\",\"text\":\"one\"}\n");
    let narrow = whole.replace("inputs/tiny.jsonl", "inputs/one.jsonl");
    workspace.write("gates/specs/narrow.toml", &narrow);
    let crossed = whole.replace("\"llama-cpp\"", "\"another\"");
    workspace.write("gates/specs/crossed.toml", &crossed);
    let whys = [
        ("narrow", "it asked 1 prompts where 3 are compared"),
        ("crossed", "its oracle was named by hand, not by the spec"),
    ];
    for (gate, why) in whys {
        let record = run_gate(&workspace, gate, false, true).record;
        assert_eq!(record.verdict.word, Word::Pass);
        let mark = record.subject.info.get("compared_with");
        assert_eq!(mark.is_some_and(|mark| mark == "--oracle"), gate == "crossed");
        let verdict = compared(&workspace, STRICT).0.verdict;
        assert_eq!(verdict.word, Word::NotEstablished);
        let told = format!("({} does not count: {why})", record.id);
        assert!(verdict.reason.contains(&told), "{}", verdict.reason);
    }
    run(&workspace, true, true);
    for (gate, _) in whys {
        run_gate(&workspace, gate, false, true);
        let verdict = compared(&workspace, STRICT).0.verdict;
        assert!(verdict.reason.starts_with("llama-cpp contradicts itself"), "{}", verdict.reason);
    }
}

#[test]
fn a_record_that_its_evidence_does_not_bear_vouches_for_nothing() {
    let workspace = workspace(CHECK);
    let good = run(&workspace, false, true).record;
    let bad = run(&workspace, true, true).record;
    let folder = workspace.path("records");
    let forge = |evidence: &Record| {
        let store = Store::open(&folder).unwrap();
        let mut draft = store.begin("itself").unwrap();
        for entry in &evidence.evidence {
            draft.evidence(&entry.name, &store.evidence(entry).unwrap()).unwrap();
        }
        draft.commit(good.clone()).unwrap();
    };
    let bare = Record { evidence: Vec::new(), ..bad.clone() };
    let whys = [
        (bare, "it keeps no evidence"),
        (bad.clone(), "the record has another word than its evidence gives"),
    ];
    for (evidence, why) in whys {
        forge(&evidence);
        let record = compared(&workspace, STRICT).0;
        let start = format!("llama-cpp contradicts itself ({})", bad.id);
        assert!(record.verdict.reason.starts_with(&start), "{}", record.verdict.reason);
        let kept = record.evidence.iter().find(|file| file.name == "precedent.json").unwrap();
        let kept = Store::open(&folder).unwrap().evidence(kept).unwrap();
        assert!(String::from_utf8(kept).unwrap().contains(why), "{why}");
    }
}

#[test]
fn what_an_oracle_does_not_have_is_told_beside_what_it_agrees_in() {
    let excused = format!(
        "{CHECK}[[check.oracle-consistency.absent]]\ncondition = \"execution\"\nbecause = \"it has one form\"\n"
    );
    let workspace = workspace(&excused);
    run(&workspace, false, false);
    let (record, shown) = compared(&workspace, STRICT);
    assert_eq!(record.verdict.word, Word::Pass);
    assert!(shown.contains("milli-nats, without execution ("), "{shown}");
}

#[test]
fn more_flips_than_the_oracles_own_fail_inside_the_band_too() {
    let workspace = workspace(CHECK);
    let rate = |alpha: f64| {
        format!("{NEAR_TIE}[check.noise-rate]\nalpha = {alpha}\nbecause = \"a test\"\n")
    };
    let unknown = compared(&workspace, &rate(0.1)).0.verdict;
    assert_eq!(unknown.word, Word::NotEstablished);
    assert!(unknown.reason.starts_with("the oracle's own rate is not on record: run"));
    run(&workspace, false, true);
    // None of three beside none of three: whatever there was, it would hardly have been told.
    let few = compared(&workspace, &rate(0.1)).0.verdict;
    assert_eq!(few.word, Word::NotEstablished);
    assert!(few.reason.contains("it needs 6 prompts on both sides"), "{}", few.reason);
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
    let few = compared(&workspace, &rate(0.04)).0.verdict;
    assert_eq!(few.word, Word::NotEstablished);
    assert!(few.reason.contains("it needs 8 prompts on both sides"), "{}", few.reason);
}
