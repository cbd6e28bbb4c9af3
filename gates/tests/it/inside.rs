//! The goldens of tensors that ship: each has a gate that runs it, and holds what its gate asks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gates::spec;
use oracles::golden::tensors::TensorGolden;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `ORACLE/GATE` of every golden.
fn goldens() -> Vec<(String, String)> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let oracles = folders(&root().join("oracles/goldens"));
    oracles
        .iter()
        .flat_map(|oracle| folders(oracle).into_iter().map(|gate| (name(oracle), name(&gate))))
        .collect()
}

/// A golden that nothing is compared with would look like a comparison.
#[test]
fn every_golden_has_a_gate_that_runs_it() {
    let goldens = goldens();
    assert!(!goldens.is_empty());
    for (oracle, gate) in goldens {
        let named = spec::load(&root(), &gate).unwrap();
        assert!(named.spec.oracle.is_some(), "{oracle}/{gate}: its gate compares with no oracle");
    }
}

#[test]
fn every_golden_of_tensors_answers_what_its_gate_asks() {
    let mut read = 0;
    for (oracle, gate) in goldens() {
        let named = spec::load(&root(), &gate).unwrap();
        let inside = !named.spec.check.inside().is_empty();
        if !inside {
            continue;
        }
        let folder = root().join("oracles/goldens").join(&oracle).join(&gate);
        let golden = TensorGolden::read_dir(&folder).unwrap().unwrap();
        let answered: BTreeSet<&str> =
            golden.answers.iter().map(|answer| answer.case.id.as_str()).collect();
        if let Some(check) = &named.spec.check.op_golden {
            let asked: BTreeSet<&str> = check.case.iter().map(|case| case.id.as_str()).collect();
            assert_eq!(asked, answered, "{gate}");
        }
        read += golden.answers.len();
    }
    assert!(read >= 50, "{read} answers in all");
}
