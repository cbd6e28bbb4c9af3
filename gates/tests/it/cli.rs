//! The whole of `gate`, from the command line to the record, with a mock engine and a mock oracle's golden: every word and
//! every exit status.

use crate::support::{CASES, NEAR_TIE, SECOND, STRICT, Workspace, subject_answer, subject_answers};
use records::VerdictWord as Word;
use serde_json::{Value, json};

/// One run with the golden: its status, its verdict line, and its one record.
fn run(workspace: &Workspace) -> (i32, String, records::Record) {
    let ran = workspace.gate(&["run", "tiny"]);
    let mut records = workspace.records();
    assert_eq!(records.len(), 1, "{ran:?}");
    assert!(workspace.leftovers().is_empty());
    (ran.status, ran.verdict().to_owned(), records.remove(0))
}

/// A strict run of an engine that answers so; it must fail with all three cases judged.
fn fails(lines: &[Value]) -> String {
    let workspace = Workspace::new(STRICT);
    workspace.answer("generate", lines);
    let (status, _, record) = run(&workspace);
    assert_eq!(status, 1, "{:?}", record.verdict);
    assert_eq!(record.verdict.word, Word::Fail);
    assert_eq!(record.compared, CASES.len() as u64);
    let cases: Vec<String> = record.divergences.iter().map(ToString::to_string).collect();
    format!("{}\n  {}", record.verdict.reason, cases.join("\n  "))
}

/// The answers with the first case's line changed.
fn with_first(change: impl Fn(&mut Value)) -> Vec<Value> {
    let mut lines = subject_answers();
    change(&mut lines[0]);
    lines
}

/// The answers in which case `one` leaves the oracle at index 1 and takes `token`.
fn diverging(token: u32) -> Vec<Value> {
    let mut lines = subject_answers();
    lines[0] = subject_answer("one", &[11, 12], &[101, token, 103, 104]);
    lines
}

/// The answers of an engine that was forced along the oracle's ids, whose own choice at index 1 of case `one` is `token`.
fn forced(token: u32) -> Vec<Value> {
    with_first(|line| line["steps"][1]["top"] = json!([[token, -0.4], [102, -0.5]]))
}

#[test]
fn agreement_passes_with_zero_and_is_on_record() {
    let workspace = Workspace::new(STRICT);
    let (status, verdict, record) = run(&workspace);
    assert_eq!(status, 0, "{verdict}");
    assert!(verdict.starts_with("PASS tiny: 3/3 exact, against golden of 20"), "{verdict}");
    assert_eq!(record.verdict.word, Word::Pass);
    assert_eq!(record.compared, 3);
    let evidence: Vec<&str> = record.evidence.iter().map(|file| file.name.as_str()).collect();
    let kept = ["spec.toml", "collected.json.gz", "facts.json", "precedent.json", "cases.jsonl"];
    assert_eq!(evidence, kept);
    assert_eq!(record.subject.info["found_by"], "--plumb");
    assert_eq!(record.reproduce, "cargo gate run tiny --plumb engine-mock/plumb");
}

#[test]
fn a_divergence_fails_a_strict_gate_with_one() {
    insta::assert_snapshot!(fails(&diverging(SECOND)));
}

#[test]
fn a_divergence_inside_the_band_passes_and_says_so() {
    let workspace = Workspace::new(NEAR_TIE);
    workspace.answer("generate", &diverging(SECOND));
    workspace.answer("forced", &forced(SECOND));
    let (status, verdict, record) = run(&workspace);
    assert_eq!(status, 0, "{verdict} {record:?}");
    assert!(
        verdict.starts_with("PASS tiny: 2/3 exact, 1 near tie (widest 100.0 of 125 milli-nats)"),
        "{verdict}"
    );
    assert_eq!(record.divergences.len(), 1);
    assert_eq!(record.divergences[0]["decoded"]["rank"], 2);
    assert_eq!(record.divergences[0]["tie"], true);
}

#[test]
fn a_divergence_outside_the_oracles_window_fails() {
    let workspace = Workspace::new(NEAR_TIE);
    workspace.answer("generate", &diverging(999));
    workspace.answer("forced", &forced(999));
    let (status, _, record) = run(&workspace);
    assert_eq!(status, 1);
    insta::assert_snapshot!(record.verdict.reason);
}

/// Each number says what it is the largest of: ties by themselves, what is none by itself.
#[test]
fn the_widest_tie_is_not_the_widest_divergence() {
    let workspace = Workspace::new(&NEAR_TIE.replace("band-mnats = 125", "band-mnats = 99"));
    workspace.answer("generate", &diverging(SECOND));
    workspace.answer("forced", &forced(SECOND));
    let (status, _, record) = run(&workspace);
    assert_eq!(status, 1);
    assert!(
        record.verdict.reason.starts_with(
            "2/3 exact, 1 diverges beyond the band of 99 milli-nats (widest 100.0), 1 leaves the band"
        ),
        "{}",
        record.verdict.reason
    );
    let mut lines = diverging(SECOND);
    lines[1] = subject_answer("two", &[21, 22], &[201, 999, 203, 204]);
    let mut own = forced(SECOND);
    own[1]["steps"][1]["top"] = json!([[999, -0.4], [202, -0.5]]);
    let workspace = Workspace::new(NEAR_TIE);
    workspace.answer("generate", &lines);
    workspace.answer("forced", &own);
    let (status, _, record) = run(&workspace);
    assert_eq!(status, 1);
    assert!(
        record.verdict.reason.starts_with(
            "1/3 exact, 1 near tie (widest 100.0 of 125 milli-nats), \
             1 diverges beyond the band of 125 milli-nats (1 outside the oracle's window)"
        ),
        "{}",
        record.verdict.reason
    );
}

#[test]
fn a_choice_that_changes_when_forced_fails() {
    let workspace = Workspace::new(NEAR_TIE);
    workspace.answer("forced", &forced(SECOND));
    let (status, _, record) = run(&workspace);
    assert_eq!(status, 1);
    assert_eq!(
        record.verdict.reason,
        "3/3 exact, 1 chooses otherwise when forced along the same prefix"
    );
}

#[test]
fn a_choice_outside_the_band_when_forced_fails() {
    let workspace = Workspace::new(NEAR_TIE);
    let mut lines = subject_answers();
    // The free run already parts at index 1, inside the band; the forced run also parts at index 2, outside.
    lines[0]["steps"][1]["top"] = json!([[SECOND, -0.4], [102, -0.5]]);
    lines[0]["steps"][2]["top"] = json!([[999, -0.4], [103, -0.5]]);
    workspace.answer("forced", &lines);
    workspace.answer("generate", &diverging(SECOND));
    let (status, _, record) = run(&workspace);
    assert_eq!(status, 1);
    insta::assert_snapshot!(record.verdict.reason);
}

#[test]
fn broken_answers_fail_with_their_own_words() {
    let short = with_first(|line| {
        line["ids"].as_array_mut().unwrap().pop();
        line["steps"].as_array_mut().unwrap().pop();
    });
    let few_steps = with_first(|line| drop(line["steps"].as_array_mut().unwrap().pop()));
    let nan = with_first(|line| line["steps"][2]["logprob"] = Value::Null);
    let nan_in_top = with_first(|line| line["steps"][2]["top"][1][1] = Value::Null);
    let refused = with_first(|line| {
        *line = json!({ "id": "one", "error": { "code": "context", "message": "too long" } });
    });
    let no_ids = with_first(|line| drop(line.as_object_mut().unwrap().remove("ids")));
    let other_prompt = with_first(|line| line["prompt_ids"] = json!([12]));
    let other_step = with_first(|line| line["steps"][0]["id"] = json!(5));
    let missing = subject_answers()[1..].to_vec();
    let twice = [subject_answers(), subject_answers()[..1].to_vec()].concat();
    let stories = [
        short,
        few_steps,
        nan,
        nan_in_top,
        refused,
        no_ids,
        other_prompt,
        other_step,
        missing,
        twice,
    ]
    .map(|lines| fails(&lines));
    insta::assert_snapshot!(stories.join("\n"));
}

#[test]
fn an_engine_that_says_nothing_fails() {
    let workspace = Workspace::new(STRICT);
    workspace.write("engine-mock/generate.stdout", "");
    let (status, _, record) = run(&workspace);
    assert_eq!((status, record.verdict.word), (1, Word::Fail));
    assert_eq!(record.verdict.reason, "0/3 exact, 3 without a usable answer");
}

#[test]
fn an_engine_that_ends_badly_fails_whatever_it_said() {
    let workspace = Workspace::new(STRICT);
    workspace.exits("generate", "1");
    let (status, _, record) = run(&workspace);
    assert_eq!(status, 1);
    assert_eq!(record.verdict.rules, ["V-FAILED"]);
    assert_eq!(
        record.verdict.reason,
        "the engine gave no answer: `plumb generate` ended with exit status 1: answering generate"
    );
}

#[test]
fn lines_that_are_not_json_or_not_asked_fail() {
    for text in ["NaN\n", "{\"id\":\"four\"}\n", "{}\n"] {
        let workspace = Workspace::new(STRICT);
        workspace.write("engine-mock/generate.stdout", text);
        let (status, _, record) = run(&workspace);
        assert_eq!(status, 1, "{text}");
        assert_eq!(record.compared, 3);
    }
}

#[test]
fn a_changed_golden_voids_with_four() {
    let workspace = Workspace::new(STRICT);
    let path = workspace.path("oracles/goldens/llama-cpp/tiny/cases.jsonl");
    let text = std::fs::read_to_string(&path).unwrap().replace("101", "105");
    std::fs::write(&path, text).unwrap();
    let (status, _, record) = run(&workspace);
    assert_eq!((status, record.verdict.word), (4, Word::Void));
    assert_eq!(record.verdict.rules, ["V-GOLDEN"]);
    assert!(record.verdict.reason.contains("expected sha256"), "{}", record.verdict.reason);
}

#[test]
fn every_broken_rule_is_named() {
    let workspace = Workspace::new(STRICT);
    // Other inputs, and another file under the checkpoint's name.
    let inputs = std::fs::read_to_string(workspace.path("gates/inputs/tiny.jsonl")).unwrap();
    workspace.write("gates/inputs/tiny.jsonl", &(inputs + "\n"));
    workspace.write("weights.gguf", "other weights");
    let spec = workspace.path("oracles/checkpoints/tiny.toml");
    let old = oracles::digest::sha256_bytes(b"weights");
    let new = oracles::digest::sha256_bytes(b"other weights");
    let text = std::fs::read_to_string(&spec).unwrap().replace(&old, &new);
    std::fs::write(&spec, text).unwrap();
    let (status, _, record) = run(&workspace);
    assert_eq!((status, record.verdict.word), (4, Word::Void));
    assert_eq!(record.verdict.rules, ["V-CKPT", "V-WORKLOAD"]);
}

#[test]
fn a_checkpoint_with_a_wrong_hash_voids() {
    let workspace = Workspace::new(STRICT);
    workspace.write("weights.gguf", "tampered");
    let (status, _, record) = run(&workspace);
    assert_eq!((status, record.verdict.word), (4, Word::Void));
    assert_eq!(record.verdict.rules, ["V-CKPT"]);
}

#[test]
fn a_band_that_cites_no_noise_voids() {
    let workspace = Workspace::new(&NEAR_TIE.replace("bf16-ulp", "oracle-noise"));
    let (status, _, record) = run(&workspace);
    assert_eq!((status, record.verdict.rules.as_slice()), (4, &["V-BAND".to_owned()][..]));
}

#[test]
fn a_missing_golden_skips_with_five() {
    let workspace = Workspace::without_golden(STRICT);
    let (status, verdict, record) = run(&workspace);
    assert_eq!((status, record.verdict.word, record.compared), (5, Word::Skipped, 0));
    assert!(verdict.starts_with("SKIPPED tiny: there is no golden of llama-cpp"), "{verdict}");
}

#[test]
fn a_missing_checkpoint_skips_with_five() {
    let workspace = Workspace::new(STRICT);
    std::fs::remove_file(workspace.path("weights.gguf")).unwrap();
    let (status, _, record) = run(&workspace);
    assert_eq!((status, record.verdict.word), (5, Word::Skipped));
}

#[test]
fn program_errors_exit_with_two_and_leave_nothing() {
    let workspace = Workspace::new(STRICT);
    workspace.write("gates/specs/typo.toml", "summary = \"x\"\noracel = \"llama-cpp\"\n");
    workspace.write("occupied", "a file where the store should be");
    let engine = ["--plumb", "engine-mock/plumb"];
    let stories: Vec<String> = [
        (&["run", "absent"][..], &engine[..]),
        (&["run", "typo"], &engine),
        (&["run", "tiny", "--plumb", "nowhere/plumb"], &[]),
        (&["run", "tiny", "--records", "occupied"], &engine),
        (&["run", "tiny", "--live", "--golden"], &engine),
        (&["records", "show", "nothing"], &[]),
    ]
    .iter()
    .map(|(arguments, more)| {
        let ran = workspace.gate_with(arguments, more);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert_eq!(ran.stdout, "");
        ran.stderr
    })
    .collect();
    assert!(workspace.records().is_empty());
    assert!(workspace.leftovers().is_empty());
    let text = stories.join("---\n").replace(&workspace.path("").display().to_string(), "ROOT/");
    insta::assert_snapshot!(text);
}

#[test]
fn a_full_disk_is_a_program_error_and_leaves_no_record() {
    // Where no small file system can be mounted there is nothing to fill.
    let workspace = Workspace::new(STRICT);
    let mount = workspace.path("small");
    std::fs::create_dir(&mount).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=8k", "tmpfs"])
        .arg(&mount)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        return;
    }
    let ran = workspace.gate(&["run", "tiny", "--records", "small"]);
    let files: Vec<_> = ["runs", "evidence"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(mount.join(folder)).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>())
        .collect();
    let unmounted = std::process::Command::new("umount").arg(&mount).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
    assert_eq!(files, Vec::<std::path::PathBuf>::new());
}

#[test]
fn rankings_are_kept_once() {
    let workspace = Workspace::new(STRICT);
    assert_eq!(workspace.gate(&["run", "tiny", "--keep", "kept"]).status, 0);
    let kept = std::fs::read_to_string(workspace.path("kept/tiny.rankings.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), CASES.len());
    let again = workspace.gate(&["run", "tiny", "--keep", "kept"]);
    assert_eq!(again.status, 4, "{again:?}");
    assert!(again.stderr.contains("V-OVERWRITE"), "{}", again.stderr);
    assert_eq!(workspace.records().len(), 1);
}

#[test]
fn json_is_one_object() {
    let workspace = Workspace::new(STRICT);
    let ran = workspace.gate(&["run", "tiny", "tiny", "--json"]);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(object["runs"].as_array().unwrap().len(), 2);
    assert_eq!(object["runs"][0]["word"], "PASS");
    assert_eq!(object["runs"][0]["compared"], 3);
}

#[test]
fn the_gravest_word_decides_over_several_gates() {
    let workspace = Workspace::new(STRICT);
    workspace.write_spec("ungolden", STRICT);
    let ran = workspace.gate(&["run", "tiny", "ungolden"]);
    assert_eq!(ran.status, 5, "{ran:?}");
    assert_eq!(workspace.records().len(), 2);
}

#[test]
fn proofs_catch_every_fault_on_answers() {
    let faults = "[prove]\nfaults = [\"swapped-token\", \"swapped-pair\", \"truncated-run\", \"dropped-line\", \
        \"duplicated-line\", \"exchanged-answers\", \"nan-logprob\", \"empty-output\", \"failed-exit\", \"flipped-golden\"]\n";
    for checks in [STRICT, NEAR_TIE] {
        let workspace = Workspace::new(&format!("{checks}{faults}"));
        let ran = workspace.gate(&["prove", "tiny", "--json"]);
        let object: Value = serde_json::from_str(&ran.stdout).unwrap();
        let proofs = object["proofs"][0]["faults"].as_array().unwrap();
        assert_eq!(proofs.len(), 10);
        for proof in proofs {
            assert_eq!(proof["caught"], true, "{proof}");
        }
        assert_eq!(ran.status, 0);
        assert!(workspace.records().is_empty());
    }
}

#[test]
fn a_fault_that_is_not_caught_fails_the_proof() {
    // The mock answers from files whatever it is asked, so a wrong request cannot be seen.
    let workspace = Workspace::new(&format!("{STRICT}[prove]\nfaults = [\"wrong-length\"]\n"));
    let ran = workspace.gate(&["prove", "tiny"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stdout.contains("NOT CAUGHT"), "{}", ran.stdout);
}

#[test]
fn a_gate_that_is_red_anyway_proves_nothing() {
    let workspace = Workspace::new(&format!("{STRICT}[prove]\nfaults = [\"dropped-line\"]\n"));
    workspace.answer("generate", &diverging(SECOND));
    let ran = workspace.gate(&["prove", "tiny"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stdout.contains("its faults prove nothing"), "{}", ran.stdout);
}
