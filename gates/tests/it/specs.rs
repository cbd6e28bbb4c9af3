//! Every bad spec in `tests/specs/` is refused at its line; every spec that ships is not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gates::workload::{self, Input};
use gates::{fault, regressions, spec};

/// Files in `tests/specs/`.
const BAD_SPECS: usize = 44;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn bad_specs_are_refused_with_file_line_and_caret() {
    let mut files: Vec<PathBuf> =
        fs::read_dir(here("tests/specs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let messages: Vec<String> = files
        .iter()
        .map(|path| {
            let shown = Path::new(path.file_name().unwrap());
            let text = fs::read_to_string(path).unwrap();
            match spec::parse(&text, shown) {
                Ok(_) => panic!("{} was accepted", shown.display()),
                Err(error) => error.to_string(),
            }
        })
        .collect();
    assert_eq!(messages.len(), BAD_SPECS);
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn every_spec_that_ships_parses_and_its_inputs_are_there() {
    let root = here("..");
    let mut faults = BTreeSet::new();
    let mut planted = 0;
    for name in spec::names(&root).unwrap() {
        let named = spec::load(&root, &name).unwrap();
        faults.extend(named.spec.prove.faults.iter().map(|fault| fault.0.clone()));
        assert!(!named.spec.prove.faults.is_empty(), "{name} cannot fail");
        planted += named.spec.prove.faults.len();
        if let Some(path) =
            named.spec.inputs.as_ref().filter(|_| named.spec.check.regression.is_some())
        {
            regressions::read(&root, path).unwrap();
        } else if let Some(path) = &named.spec.inputs {
            let workload = workload::read(&root, path).unwrap();
            workload::subset(&workload, path, &named.spec.prove.cases).unwrap();
            spec::names_its_inputs(&named, &workload).unwrap();
        }
    }
    assert!(planted >= 40, "{planted} faults in all");
    for fault in fault::ALL {
        assert!(faults.contains(fault.name), "no gate lists the fault {}", fault.name);
    }
}

#[test]
fn the_inputs_are_as_many_and_as_varied_as_promised() {
    let root = here("..");
    let greedy = workload::read(&root, Path::new("gates/inputs/smollm2-greedy.jsonl")).unwrap();
    assert_eq!(greedy.cases.len(), 30);
    let conversations =
        greedy.cases.iter().filter(|case| matches!(case.input, Input::Messages(_))).count();
    assert_eq!(conversations, 5);
    let tokenizer =
        workload::read(&root, Path::new("gates/inputs/smollm2-tokenizer.jsonl")).unwrap();
    assert_eq!(tokenizer.cases.len(), 105);
}
