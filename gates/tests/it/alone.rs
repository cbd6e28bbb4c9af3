//! The kinds that judge the engine alone, from the spec to the record and back, with a mock engine that goes wrong in each way.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use records::{Record, VerdictWord as Word};
use serde_json::json;

use crate::support::{STRICT, Workspace};

/// Answers each request line with the line of `answers` that has its id, and says that it heeded its arguments; they can be
/// looked at before.
const HEAD: &str = "#!/bin/sh\nhere=$(dirname \"$0\")\n\
    if [ \"$1\" != generate ]; then cat \"$here/$1.stdout\"; exit 0; fi\n";
const TAIL: &str = "while read -r line; do\n\
    id=${line#*\\\"id\\\":\\\"}; id=${id%%\\\"*}\n\
    grep -F \"\\\"id\\\":\\\"$id\\\"\" \"$here/answers\"\n\
    done\n\
    threads=1; together=1; before=\n\
    for word in \"$@\"; do\n\
    case $before in --threads) threads=$word ;; --max-sequences) together=$word ;; esac\n\
    before=$word\n\
    done\n\
    echo \"answered 3 requests, at most $together together, on $threads threads\" >&2\n";
const GENERATE: &str =
    "inputs = \"gates/inputs/tiny.jsonl\"\n[generate]\nmax-tokens = 1\ntop-logprobs = 2\n";

/// A workspace with one gate `alone` of this check, and an engine whose script has `middle` in it.
fn workspace(check: &str, middle: &str) -> Workspace {
    let workspace = Workspace::without_golden(STRICT);
    let spec = format!("summary = \"a test\"\ncheckpoint = \"tiny\"\nbudget-seconds = 20\n{check}");
    workspace.write("gates/specs/alone.toml", &spec);
    let answer = |id: &str| {
        json!({
            "id": id, "prompt_ids": [5], "ids": [6], "text": "", "finish_reason": "length",
            "steps": [{ "id": 6, "logprob": -0.5, "top": [[6, -0.5], [7, -0.6]] }],
        })
    };
    let answers = ["one", "two", "three"].map(|id| answer(id).to_string() + "\n").concat();
    workspace.write("engine-mock/answers", &answers);
    engine(&workspace, middle);
    workspace
}

fn engine(workspace: &Workspace, middle: &str) {
    let path = workspace.path("engine-mock/plumb");
    workspace.write("engine-mock/plumb", &format!("{HEAD}{middle}\n{TAIL}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A run of the gate, whose verdict must be the one that its evidence gives.
fn run(workspace: &Workspace) -> Record {
    let ran = workspace.gate(&["run", "alone"]);
    let records = workspace.records();
    let record = records.into_iter().max_by_key(|record| record.started_at);
    let record = record.unwrap_or_else(|| panic!("{ran:?}"));
    let again = workspace.gate_with(&["recheck", &record.id], &[]);
    assert_eq!(again.status, 0, "{again:?}");
    record
}

/// The word and the reason of a run with this check and this engine.
fn verdict(check: &str, middle: &str) -> (Word, String) {
    let verdict = run(&workspace(check, middle)).verdict;
    (verdict.word, verdict.reason)
}

#[test]
fn a_gate_without_an_oracle_is_listed_explained_recorded_and_judged_again() {
    let workspace = workspace(&byte_identity(), "");
    let record = run(&workspace);
    assert_eq!((record.verdict.word, record.oracle), (Word::Pass, None));
    assert_eq!(record.kinds, ["byte-identity"]);
    assert_eq!(record.compared, 9);
    let listed: serde_json::Value =
        serde_json::from_str(&workspace.gate_with(&["list", "--json"], &[]).stdout).unwrap();
    assert_eq!(listed["gates"][0]["name"], "alone");
    assert_eq!(listed["gates"][0]["oracle"], serde_json::Value::Null);
    let explained = workspace.gate_with(&["explain", "alone"], &[]);
    assert!(explained.stdout.contains("none: the engine is judged alone"), "{explained:?}");
    let captured = workspace.gate_with(&["capture", "alone"], &[]);
    assert_eq!(captured.status, 2);
    assert!(captured.stderr.contains("names no oracle"), "{captured:?}");
    let run = workspace.gate(&["run", "alone", "--json"]);
    let run: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run["runs"][0]["word"], "PASS");
}

fn byte_identity() -> String {
    format!("{GENERATE}[check.byte-identity]\nthreads = [1, 2]\nrepeats = 2\n")
}

#[test]
fn other_bytes_under_other_threads_fail() {
    let more = "case \"$*\" in *\"--threads 2\"*) sed -i s/-0.6]/-0.7]/ \"$here/answers\" ;; esac";
    let (word, reason) = verdict(&byte_identity(), more);
    assert_eq!(word, Word::Fail);
    assert!(reason.contains("first one, 2 threads, run 1: parts at byte"), "{reason}");
    assert_eq!(verdict(&byte_identity(), "exit 3").0, Word::Fail);
}

#[test]
fn an_ignored_knob_fails_whatever_is_answered() {
    let ignore = "set -- generate";
    let (word, reason) = verdict(&byte_identity(), ignore);
    assert_eq!(word, Word::Fail);
    assert!(reason.contains("ran 1 threads where 2 were asked for"), "{reason}");
    let check = format!("{GENERATE}[check.async-identity]\nmax-sequences = [1, 3]\n");
    let (word, reason) = verdict(&check, ignore);
    assert_eq!(word, Word::Fail);
    assert!(reason.contains("at most 1 requests together where 3 were asked for"), "{reason}");
}

#[test]
fn what_is_answered_otherwise_together_than_alone_fails() {
    let check = format!("{GENERATE}[check.async-identity]\nmax-sequences = [1, 3]\n");
    assert_eq!(verdict(&check, "").0, Word::Pass);
    let together = "case \"$*\" in *\"--max-sequences 3\"*) echo '{\"id\":\"one\"}' ;; esac";
    let (word, reason) = verdict(&check, together);
    assert_eq!(word, Word::Fail);
    assert!(reason.contains("3 at a time: has 4 answer lines to 3 requests"), "{reason}");
}

#[test]
fn a_flag_that_changes_an_answer_and_one_that_is_swallowed_fail() {
    let check = format!(
        "{GENERATE}[[check.inert-flags.inert]]\narguments = [\"--seed\", \"1\"]\nbecause = \"x\"\n\
         [[check.inert-flags.refused]]\narguments = [\"--bogus\"]\nnames = \"--bogus\"\n\
         [[check.inert-flags.refused]]\nrequest = '{{\"id\":\"one\",\"promt\":1}}'\nnames = \"promt\"\n"
    );
    let refuse = "case \"$*\" in *--bogus*) echo 'unexpected --bogus' >&2; exit 2 ;; esac\n\
        case \"$*\" in *--*) ;; esac\n\
        read -r line; case \"$line\" in *promt*) echo '{\"id\":\"one\",\"error\":{\"message\":\"unknown promt\"}}'; exit 2 ;; esac\n\
        exec 3<&0; (echo \"$line\"; cat <&3) | ";
    // The rest of the script reads the piped lines.
    let whole = |more: &str| format!("{more}\n{refuse}");
    assert_eq!(
        verdict(&check, &whole("")),
        (Word::Pass, "1 flag changing nothing, 2 inputs to be refused".into())
    );
    let heeded = "case \"$*\" in *--seed*) sed -i s/-0.6]/-0.7]/ \"$here/answers\" ;; esac";
    let (word, reason) = verdict(&check, &whole(heeded));
    assert_eq!(word, Word::Fail);
    assert!(reason.ends_with("first --seed 1: changes answer 1"), "{reason}");
    let (word, reason) = verdict(&check, "");
    assert_eq!(word, Word::Fail);
    assert!(reason.contains("first --bogus: is answered"), "{reason}");
    let nameless = "case \"$*\" in *--bogus*) echo no >&2; exit 2 ;; esac";
    assert!(
        verdict(&check, &whole(nameless)).1.contains("is refused without a word of \"--bogus\"")
    );
}

#[test]
fn weights_that_do_not_add_up_fail() {
    let check = "[check.weights]\nresident-percent = 101\nbecause = \"x\"\n";
    let reports = |tensors: u64, resident: u64, bytes: u64| {
        let workspace = workspace(check, "");
        let model = json!({
            "parameters": 64, "tensors": tensors, "resident_bytes": resident, "file_bytes": 7, "tensor_bytes": 36,
        });
        let info = json!({
            "name": "plumb", "version": "0.0.0", "source_sha256": "0".repeat(64), "threads": 1, "model": model,
        });
        let tensor = |name: &str, format: &str, bytes: u64| json!({ "name": name, "format": format, "shape": [32], "offset": 0, "bytes": bytes });
        let inspection = json!({
            "file_bytes": 7, "parameters": 64, "tensor_bytes": 36,
            "tensors": [tensor("a", "Q4_0", 18), tensor("b", "Q4_0", bytes)],
        });
        workspace.write("engine-mock/info.stdout", &info.to_string());
        workspace.write("engine-mock/inspect.stdout", &inspection.to_string());
        let record = run(&workspace);
        (record.verdict.word, record.verdict.reason)
    };
    assert_eq!(reports(2, 36, 18).0, Word::Pass);
    for (tensors, resident, bytes, words) in [
        (1, 36, 18, "tensors consumed and listed: are 1 where 2 are expected"),
        (2, 37, 18, "resident bytes: are 37, where 36 are in the file"),
        (2, 0, 18, "resident bytes: are 0"),
        (2, 36, 20, "b: has 20 bytes where 32 elements of Q4_0 take 18"),
    ] {
        let (word, reason) = reports(tensors, resident, bytes);
        assert_eq!(word, Word::Fail, "{reason}");
        assert!(reason.contains(words), "{reason}");
    }
}

#[test]
fn memory_beyond_a_bound_fails_and_what_was_not_sampled_is_not_established() {
    let check = |load: u64| {
        format!(
            "{GENERATE}[check.memory]\nload-bytes = {load}\nsteady-bytes = 900000000\nbecause = \"x\"\n"
        )
    };
    // The first answer at once, the others when there was time to look.
    let slow = "read -r line; sleep 0.3; head -n 1 \"$here/answers\"; sleep 0.3";
    let record = run(&workspace(&check(900_000_000), slow));
    assert_eq!(record.verdict.word, Word::Pass, "{:?}", record.verdict);
    let peaks: Vec<Option<f64>> = record.measurements[..2].iter().map(|peak| peak.value).collect();
    assert!(peaks.iter().all(|peak| peak.is_some_and(|bytes| bytes > 10_000.0)), "{peaks:?}");
    let (word, reason) = verdict(&check(1), slow);
    assert_eq!(word, Word::Fail);
    assert!(reason.contains("first load: takes"), "{reason}");
}

#[test]
fn a_start_beyond_the_bound_fails() {
    let check = |bound: u32| {
        format!(
            "{GENERATE}[check.startup]\nreadiness = \"one answer\"\nrepeats = 3\nbound-ms = {bound}\nforeign-percent = 100\n\
             because = \"x\"\n"
        )
    };
    let record = run(&workspace(&check(60_000), ""));
    assert_eq!(record.verdict.word, Word::Pass, "{:?}", record.verdict);
    assert_eq!(record.measurements[1].n, 3);
    let (word, reason) = verdict(&check(20), "sleep 0.1");
    assert_eq!(word, Word::Fail);
    assert!(reason.contains("first start 1: took"), "{reason}");
}

#[test]
fn an_input_that_fails_again_fails() {
    let check = "inputs = \"gates/inputs/again.jsonl\"\n[check.regression]\n";
    let list = |id: u32| {
        let workspace = workspace(check, "");
        let line = json!({ "id": "two", "request": { "prompt": "x" }, "ids": [id], "because": "it was 9" });
        workspace.write("gates/inputs/again.jsonl", &line.to_string());
        run(&workspace)
    };
    let record = list(6);
    assert_eq!((record.verdict.word, record.compared), (Word::Pass, 1));
    assert!(record.inputs_sha256.is_some());
    let verdict = list(8).verdict;
    assert_eq!(verdict.word, Word::Fail);
    assert!(verdict.reason.ends_with("two: parts at token 0: 6 where 8 is expected"));
}

#[test]
fn a_run_beyond_its_budget_fails_with_the_time() {
    let check = byte_identity() + "[check.budget]\nseconds = 1\nbecause = \"x\"\n";
    let record = run(&workspace(&check, "sleep 0.4"));
    assert_eq!(record.verdict.word, Word::Fail);
    assert!(record.verdict.reason.starts_with("took "), "{}", record.verdict.reason);
    assert!(record.verdict.reason.contains("where the budget is 1 s; 3 requests x 3 arms"));
    assert_eq!(record.kinds, ["byte-identity", "budget"]);
    let within = run(&workspace(&check.replace("seconds = 1\n", "seconds = 600\n"), ""));
    assert_eq!(within.verdict.word, Word::Pass, "{:?}", within.verdict);
}

#[test]
fn several_proofs_end_with_one_line() {
    let faults = "[prove]\nfaults = [\"dropped-line\", \"drifting-repeat\"]\n";
    let workspace = workspace(&(byte_identity() + faults), "");
    fs::copy(workspace.path("gates/specs/alone.toml"), workspace.path("gates/specs/other.toml"))
        .unwrap();
    let proved = workspace.gate(&["prove", "alone", "other"]);
    assert_eq!(proved.status, 0, "{proved:?}");
    assert_eq!(proved.stdout.lines().last(), Some("4 planted, 4 red"));
    // A fault that hits nothing is not caught: one repeat only.
    let once = byte_identity().replace("repeats = 2", "repeats = 1") + faults;
    let head = "summary = \"a test\"\ncheckpoint = \"tiny\"\n";
    workspace.write("gates/specs/other.toml", &format!("{head}{once}"));
    let proved = workspace.gate(&["prove", "alone", "other"]);
    assert_eq!((proved.status, proved.stdout.lines().last()), (1, Some("4 planted, 3 red")));
}
