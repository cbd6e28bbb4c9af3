//! A workspace in a temporary folder: a mock engine that answers from files, and a golden captured from a mock oracle.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use gates::bench::{Bench, SubjectIdentity};
use gates::facts::Facts;
use gates::run::{self, Destination, Finished};
use gates::subject::{FoundBy, ProcessTransport, Subject};
use gates::supplies::{Supplies, Wanted};
use gates::{spec, workload};
use oracles::checkpoint::{Checkpoint, CheckpointSpec};
use oracles::golden::{Capture, Golden, GoldenPrompt, Noise};
use oracles::mock::{Completed, MockAnswers, MockOracle};
use oracles::registry::OracleSpec;
use oracles::verbs::{Completion, CompletionRequest, FinishReason, Identity, Step};
use oracles::{Home, Progress};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fickle::{self, FickleSupplies};

/// Tokens each case generates.
pub(crate) const TOKENS: usize = 4;

/// The oracle's answers: case id, prompt ids, generated ids.
pub(crate) const CASES: [(&str, [u32; 2], [u32; TOKENS]); 3] = [
    ("one", [11, 12], [101, 102, 103, 104]),
    ("two", [21, 22], [201, 202, 203, 204]),
    ("three", [31, 32], [301, 302, 303, 304]),
];

/// The token that the oracle ranks second everywhere, 100 milli-nats below its choice.
pub(crate) const SECOND: u32 = 7;

/// The gate that has the oracle agree with itself.
pub(crate) const VOUCHER: &str = "vouched";

/// The checks that most tests run with.
pub(crate) const STRICT: &str = "[check.token-exact]\n";

/// Strict, or within a band of 125 milli-nats.
pub(crate) const NEAR_TIE: &str = "[check.token-exact]\n[check.near-tie]\nband-mnats = 125\ntop = 2\n\
    source = \"bf16-ulp\"\nbecause = \"one ulp\"\n";

const SCRIPT: &str = "#!/bin/sh\n\
    here=$(dirname \"$0\")\n\
    name=$1\n\
    input=$(cat)\n\
    case $input in *force_ids*) name=forced ;; esac\n\
    echo \"answering $name\" >&2\n\
    cat \"$here/$name.stdout\"\n\
    exit \"$(cat \"$here/$name.exit\")\"\n";

/// The workspace.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    /// With a golden, and an engine that answers exactly as the oracle; a strict gate has it on record that the oracle agrees
    /// with itself.
    pub(crate) fn new(checks: &str) -> Self {
        let workspace = Self::unvouched(checks);
        if checks.contains("token-exact") && !checks.contains("near-tie") {
            workspace.vouch();
        }
        workspace
    }

    /// The same without that record.
    pub(crate) fn unvouched(checks: &str) -> Self {
        let workspace = Self::without_golden(checks);
        workspace.capture(None);
        workspace
    }

    /// Puts on record that the oracle agrees with itself.
    pub(crate) fn vouch(&self) {
        self.write_spec(VOUCHER, fickle::CHECK);
        let supplies = FickleSupplies { workspace: self, is_fickle: false, has_variants: true };
        run_with(self, VOUCHER, &supplies, Wanted::Either);
    }

    /// The same without a golden.
    pub(crate) fn without_golden(checks: &str) -> Self {
        let workspace = Self { folder: tempfile::tempdir().unwrap() };
        for path in
            ["gates/specs", "gates/inputs", "oracles/registry", "oracles/checkpoints", "cache"]
        {
            fs::create_dir_all(workspace.path(path)).unwrap();
        }
        workspace.write("Cargo.toml", "");
        workspace.write("open-gaps.toml", "");
        let registry =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracles/registry/llama-cpp.toml");
        fs::copy(registry, workspace.path("oracles/registry/llama-cpp.toml")).unwrap();
        workspace.write("weights.gguf", "weights");
        let sha256 = oracles::digest::sha256_bytes(b"weights");
        workspace.write(
            "oracles/checkpoints/tiny.toml",
            &format!("summary = \"a test\"\nlicence = \"Apache-2.0\"\n[local]\npath = \"weights.gguf\"\nsha256 = \"{sha256}\"\n"),
        );
        let lines = CASES.iter().map(|(id, ..)| json!({ "id": id, "text": id }));
        workspace.write_lines("gates/inputs/tiny.jsonl", lines);
        workspace.write_spec("tiny", checks);
        workspace.write_engine();
        workspace
    }

    /// A path inside.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file.
    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    fn write_lines(&self, path: &str, lines: impl Iterator<Item = Value>) {
        self.write(path, &lines.fold(String::new(), |text, line| text + &line.to_string() + "\n"));
    }

    /// Writes a spec with these checks.
    pub(crate) fn write_spec(&self, name: &str, checks: &str) {
        let head = "summary = \"a test\"\noracle = \"llama-cpp\"\ncheckpoint = \"tiny\"\n\
            inputs = \"gates/inputs/tiny.jsonl\"\nbudget-seconds = 20\n\
            [generate]\nmax-tokens = 4\ntop-logprobs = 2\n";
        self.write(&format!("gates/specs/{name}.toml"), &format!("{head}{checks}"));
    }

    fn write_engine(&self) {
        use std::os::unix::fs::PermissionsExt;
        fs::create_dir_all(self.path("engine-mock")).unwrap();
        self.write("engine-mock/plumb", SCRIPT);
        fs::set_permissions(self.path("engine-mock/plumb"), fs::Permissions::from_mode(0o755))
            .unwrap();
        for name in ["info", "generate", "forced", "tokenize", "inspect"] {
            self.write(&format!("engine-mock/{name}.exit"), "0");
        }
        let info = json!({
            "name": "plumb", "version": "0.0.0", "commit": null, "source_sha256": "0".repeat(64),
            "isa": [], "profile": "llamacpp-cpu", "threads": 1, "kernels": {}, "model": null,
        });
        self.write("engine-mock/info.stdout", &info.to_string());
        self.write("engine-mock/tokenize.stdout", "");
        self.answer("generate", &subject_answers());
        self.answer("forced", &subject_answers());
    }

    /// Sets the engine's answers to `generate`, free or `forced`.
    pub(crate) fn answer(&self, name: &str, lines: &[Value]) {
        self.write_lines(&format!("engine-mock/{name}.stdout"), lines.iter().cloned());
    }

    /// Makes every answer of the engine take so many seconds.
    pub(crate) fn slow_engine(&self, seconds: &str) {
        let script =
            SCRIPT.replace("echo \"answering", &format!("sleep {seconds}\necho \"answering"));
        self.write("engine-mock/plumb", &script);
    }

    /// Sets the exit status of a verb.
    pub(crate) fn exits(&self, name: &str, status: &str) {
        self.write(&format!("engine-mock/{name}.exit"), status);
    }

    /// The workspace as the oracles' crate sees it.
    pub(crate) fn home(&self) -> Home {
        Home { root: self.folder.path().to_owned(), cache: self.path("cache") }
    }

    /// The checkpoint.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let home = self.home();
        let spec = CheckpointSpec::load(&home, "tiny").unwrap();
        oracles::checkpoint::resident(&home, &spec).unwrap().unwrap()
    }

    /// A mock oracle with the answers of [`CASES`].
    pub(crate) fn oracle(&self, dies_after: Option<u64>) -> MockOracle {
        MockOracle::new(oracle_answers(&self.identity(), dies_after))
    }

    /// Who the mock says it is: built from the pinned source, launched as the registry and the spec say.
    pub(crate) fn identity(&self) -> Identity {
        let spec = OracleSpec::load(&self.home(), "llama-cpp").unwrap();
        let launch = spec.declared.launch.clone().unwrap();
        let decided = ["--threads", "1", "--ctx-size", "4096"].map(str::to_owned);
        Identity {
            name: spec.name,
            version: spec.declared.package.version,
            source_sha256: spec.declared.package.archive_sha256,
            binary_sha256: "1".repeat(64),
            build: BTreeMap::new(),
            flags: decided.into_iter().chain(launch.arguments).collect(),
            cpu_features: launch.cpu_features,
            settings: BTreeMap::new(),
        }
    }

    /// Captures the golden of gate `tiny`.
    pub(crate) fn capture(&self, noise: Option<Noise>) {
        let prompts: Vec<GoldenPrompt> = CASES
            .iter()
            .map(|(id, prompt_ids, _)| GoldenPrompt {
                id: (*id).to_owned(),
                prompt_text: (*id).to_owned(),
                prompt_ids: prompt_ids.to_vec(),
                max_tokens: TOKENS as u32,
                top_logprobs: 2,
                ignore_eos: false,
            })
            .collect();
        let inputs = fs::read(self.path("gates/inputs/tiny.jsonl")).unwrap();
        let capture = Capture {
            gate: "tiny",
            checkpoint: &self.checkpoint(),
            prompts_sha256: &oracles::digest::sha256_bytes(&inputs),
            environment: Some(&BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())])),
            prompts: &prompts,
            noise,
        };
        let mut oracle = self.oracle(None);
        Golden::capture(&self.home(), &mut oracle, &capture, Progress::Silent).unwrap();
    }

    /// The folder of the golden of gate `tiny`.
    pub(crate) fn golden(&self) -> PathBuf {
        self.home().golden_dir("llama-cpp", "tiny")
    }

    /// Changes the golden's manifest by hand.
    pub(crate) fn edit_manifest(&self, change: impl Fn(&mut Value)) {
        let path = self.golden().join("manifest.json");
        let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut manifest);
        fs::write(&path, serde_json::to_vec_pretty(&manifest).unwrap()).unwrap();
    }

    /// Runs `gate` here with the mock engine, and gives exit status and output.
    pub(crate) fn gate(&self, arguments: &[&str]) -> Ran {
        self.gate_with(arguments, &["--plumb", "engine-mock/plumb"])
    }

    /// Runs `gate` here.
    pub(crate) fn gate_with(&self, arguments: &[&str], more: &[&str]) -> Ran {
        self.gate_alone(&[arguments, more, &["--cache", "cache"]].concat())
    }

    /// Runs `gate` here with these arguments and no others.
    pub(crate) fn gate_alone(&self, arguments: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_gate"))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        Ran::of(&output)
    }

    /// The records there are, without the one of [`Workspace::vouch`].
    pub(crate) fn records(&self) -> Vec<records::Record> {
        let records = records::Store::open(self.path("records")).unwrap().read_all().unwrap();
        records.into_iter().filter(|record| record.gate != VOUCHER).collect()
    }

    /// Files in the store that are neither a record nor evidence.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for folder in ["records/runs", "records/evidence"] {
            let Ok(entries) = fs::read_dir(self.path(folder)) else { continue };
            found.extend(
                entries
                    .map(|entry| entry.unwrap().path())
                    .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with('.')),
            );
        }
        found
    }
}

/// Runs a gate of the workspace with the mock engine and these supplies. The oracle is llama.cpp's pin, whoever answers for it.
pub(crate) fn run_with(
    workspace: &Workspace,
    gate: &str,
    supplies: &dyn Supplies,
    wanted: Wanted,
) -> Finished {
    let home = workspace.home();
    let gate = spec::load(&home.root, gate).unwrap();
    let inputs = workload::read(&home.root, gate.spec.inputs.as_deref().unwrap()).unwrap();
    let pinned = OracleSpec::load(&home, "llama-cpp").unwrap();
    let path = workspace.path("engine-mock/plumb");
    let transport = ProcessTransport { path, progress: Progress::Silent };
    let subject = Subject { transport: &transport, budget: Duration::from_secs(20), profile: None };
    let identity = SubjectIdentity {
        binary_sha256: "2".repeat(64),
        found_by: FoundBy::Flag,
        info: subject.info(None).unwrap(),
    };
    let bench = Bench {
        gate: &gate,
        workload: Some(&inputs),
        regressions: None,
        oracle: Some(&pinned),
        subject,
        identity: &identity,
        facts: Facts { gate: gate.name.clone(), ..Facts::default() },
        supplies,
        wanted,
        progress: Progress::Silent,
        journal: None,
    };
    let destination = Destination {
        records: &workspace.path("records"),
        home: &home,
        plumb: None,
        supersedes: None,
        reproduce: "a test".to_owned(),
        keep: None,
    };
    run::run(&bench, &destination).unwrap()
}

/// What a run of `gate` came to.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit status.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The last line of standard output, without the time that it ends with.
    pub(crate) fn verdict(&self) -> &str {
        let line = self.stdout.lines().last().unwrap_or_default();
        line.rsplit_once(" (").map_or(line, |(verdict, _)| verdict)
    }
}

/// The oracle's ranking at a step: its choice, and [`SECOND`] 100 milli-nats below.
pub(crate) fn step(id: u32) -> Step {
    Step { id, logprob: Some(-0.5), top: vec![(id, -0.5), (SECOND, -0.6)] }
}

fn oracle_answers(identity: &Identity, dies_after: Option<u64>) -> MockAnswers {
    let completed = |(_, prompt_ids, ids): &(&str, [u32; 2], [u32; TOKENS])| Completed {
        request: CompletionRequest {
            prompt_ids: prompt_ids.to_vec(),
            max_tokens: TOKENS as u32,
            top_logprobs: 2,
            ignore_eos: false,
        },
        completion: Completion {
            ids: ids.to_vec(),
            text: String::new(),
            finish_reason: FinishReason::Length,
            steps: ids.iter().map(|id| step(*id)).collect(),
        },
    };
    MockAnswers {
        identity: identity.clone(),
        tokenize: CASES
            .iter()
            .map(|(id, prompt_ids, _)| oracles::mock::Tokenized {
                text: (*id).to_owned(),
                add_special: true,
                parse_special: false,
                ids: prompt_ids.to_vec(),
            })
            .collect(),
        detokenize: Vec::new(),
        render_chat: Vec::new(),
        complete: CASES.iter().map(completed).collect(),
        dies_after,
    }
}

/// The engine's answers when it agrees in everything.
pub(crate) fn subject_answers() -> Vec<Value> {
    CASES.iter().map(|(id, prompt_ids, ids)| subject_answer(id, prompt_ids, ids)).collect()
}

/// One answer of the engine; its first choice at each step is the id.
pub(crate) fn subject_answer(id: &str, prompt_ids: &[u32], ids: &[u32]) -> Value {
    let step = |id: &u32| json!({ "id": id, "logprob": -0.5, "top": [[id, -0.5], [SECOND, -0.6]] });
    json!({
        "id": id,
        "prompt_ids": prompt_ids,
        "ids": ids,
        "text": "",
        "finish_reason": "length",
        "steps": ids.iter().map(step).collect::<Vec<_>>(),
    })
}

/// A process, told from a later one of the same number by its start.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    started: String,
}

impl Process {
    /// Whether it still runs, or waits to be reaped by somebody else than us.
    pub(crate) fn is_alive(&self) -> bool {
        stat(self.id).is_some_and(|stat| stat[19] == self.started && stat[0] != "Z")
    }
}

/// The processes that `parent` has started and that still run.
pub(crate) fn children_of(parent: u32) -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let children = ids.filter_map(|id| {
        let stat = stat(id)?;
        (stat[1] == parent.to_string()).then(|| Process { id, started: stat[19].clone() })
    });
    children.collect()
}

/// The fields of `/proc/ID/stat` behind the name, the state first.
fn stat(id: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields = text.rsplit_once(") ")?.1.split_whitespace();
    Some(fields.map(str::to_owned).collect())
}
