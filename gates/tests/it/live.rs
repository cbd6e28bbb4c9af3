//! Runs against a live oracle, played by a mock that answers from memory: agreement, a death half-way, a launch that fails.

use std::path::PathBuf;

use crate::support::{self, NEAR_TIE, SECOND, STRICT, Workspace, subject_answer, subject_answers};
use gates::run::Finished;
use gates::supplies::{Supplies, Wanted};
use oracles::checkpoint::Checkpoint;
use oracles::golden::{Golden, Noise};
use oracles::launch::LaunchError;
use oracles::mock::MockOracle;
use oracles::verbs::Oracle;
use records::{OracleSource, VerdictWord as Word};

/// A home whose oracle is a mock, or cannot be launched.
struct MockSupplies<'a> {
    workspace: &'a Workspace,
    oracle: Option<MockOracle>,
}

impl Supplies for MockSupplies<'_> {
    fn checkpoint(&self, _: &str) -> oracles::Result<Checkpoint> {
        Ok(self.workspace.checkpoint())
    }

    fn oracle(&self, _: &Checkpoint, _: bool) -> oracles::Result<Option<Box<dyn Oracle>>> {
        match &self.oracle {
            Some(oracle) => Ok(Some(Box::new(oracle.clone()))),
            None => Err(LaunchError::PortInUse {
                oracle: "llama-cpp".to_owned(),
                port: 18160,
                source: std::io::ErrorKind::AddrInUse.into(),
            }
            .into()),
        }
    }

    fn golden(&self) -> oracles::Result<Option<Golden>> {
        Golden::read(&self.workspace.home(), "llama-cpp", "tiny")
    }

    fn vocabularies(&self, _: bool) -> oracles::Result<Option<PathBuf>> {
        Ok(None)
    }
}

/// Runs gate `tiny` against this oracle.
fn run_with(workspace: &Workspace, oracle: Option<MockOracle>) -> Finished {
    let supplies = MockSupplies { workspace, oracle };
    support::run_with(workspace, "tiny", &supplies, Wanted::Live)
}

#[test]
fn a_live_oracle_that_agrees_passes() {
    let workspace = Workspace::without_golden(STRICT);
    workspace.vouch();
    let finished = run_with(&workspace, Some(workspace.oracle(None)));
    let record = &finished.record;
    assert_eq!(record.verdict.word, Word::Pass, "{:?}", record.verdict);
    assert_eq!(record.oracle.as_ref().unwrap().source, OracleSource::Live);
    assert_eq!(record.compared, 3);
}

#[test]
fn an_oracle_that_dies_half_way_establishes_nothing_and_is_on_record() {
    let workspace = Workspace::without_golden(STRICT);
    // Two answers a case, ids and completion: it dies within the second.
    let finished = run_with(&workspace, Some(workspace.oracle(Some(3))));
    let record = &finished.record;
    assert_eq!(record.verdict.word, Word::NotEstablished);
    assert_eq!(record.compared, 0);
    assert!(
        record.verdict.reason.starts_with("the oracle answered 1 of 3 cases"),
        "{:?}",
        record.verdict
    );
    assert!(workspace.leftovers().is_empty());
}

#[test]
fn a_port_in_use_establishes_nothing() {
    let workspace = Workspace::without_golden(STRICT);
    let record = run_with(&workspace, None).record;
    assert_eq!(record.verdict.word, Word::NotEstablished);
    assert!(record.verdict.reason.contains("port 18160"), "{:?}", record.verdict);
}

#[test]
fn an_oracle_that_is_not_the_pinned_one_voids() {
    let workspace = Workspace::without_golden(STRICT);
    let path = workspace.path("oracles/registry/llama-cpp.toml");
    let oracle = workspace.oracle(None);
    let pin = workspace.identity().source_sha256;
    let text = std::fs::read_to_string(&path).unwrap().replace(&pin, &"e".repeat(64));
    std::fs::write(&path, text).unwrap();
    let record = run_with(&workspace, Some(oracle)).record;
    assert_eq!(
        (record.verdict.word, record.verdict.rules.as_slice()),
        (Word::Void, &["V-PIN".to_owned()][..])
    );
}

#[test]
fn a_divergence_that_cannot_be_read_again_establishes_nothing() {
    let workspace = Workspace::without_golden(NEAR_TIE);
    let mut lines = subject_answers();
    lines[0] = subject_answer("one", &[11, 12], &[101, SECOND, 103, 104]);
    workspace.answer("generate", &lines);
    // The mock knows no answer to the shared prefix as a prompt.
    let record = run_with(&workspace, Some(workspace.oracle(None))).record;
    assert_eq!(record.verdict.word, Word::NotEstablished, "{:?}", record.verdict);
}

#[test]
fn a_band_within_the_measured_noise_may_cite_it() {
    let noise = Noise {
        method: "a test".to_owned(),
        runs: 2,
        steps: 1,
        ids_differ: 0,
        logprob_difference_max_mnats: 125.0,
    };
    let checks = NEAR_TIE.replace("bf16-ulp", "oracle-noise");
    let workspace = Workspace::without_golden(&checks);
    workspace.capture(Some(noise.clone()));
    assert_eq!(run_with(&workspace, Some(workspace.oracle(None))).record.verdict.word, Word::Pass);
    workspace.capture(Some(Noise { logprob_difference_max_mnats: 124.0, ..noise }));
    let record = run_with(&workspace, Some(workspace.oracle(None))).record;
    assert_eq!(
        (record.verdict.word, record.verdict.rules.as_slice()),
        (Word::Void, &["V-BAND".to_owned()][..])
    );
}
