//! A golden of tensors: `manifest.json`, `tensors.jsonl` with what was asked and the form of each tensor, and
//! `tensors.safetensors` with the tensors, each named `CASE/NAME`.
//!
//! As with texts, [`TensorGolden::capture`] asks a live oracle, and no function takes answers.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::{self, Folder, Header, wrong};
use super::{GoldenError, GoldenManifest};
use crate::checkpoint::Checkpoint;
use crate::place;
use crate::tensors::{Form, Tensor, Tensors};
use crate::verbs::{Oracle, TensorQuestion, VerbError};
use crate::{Home, Progress, Result};

pub(super) const CASES: &str = "tensors.jsonl";
const TENSORS: &str = "tensors.safetensors";

/// A question with the form of its answer: one line of `tensors.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorCase {
    /// The case's id.
    pub id: String,
    /// What was asked.
    pub question: TensorQuestion,
    /// The type and extents of every tensor of the answer.
    pub tensors: BTreeMap<String, Form>,
}

/// An oracle's answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorAnswer {
    /// The question, and the form of the answer.
    pub case: TensorCase,
    /// The tensors, by name.
    pub tensors: Tensors,
}

/// A golden whose files were verified, and whose tensors have the form that it lists.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorGolden {
    /// Who, what and when.
    pub manifest: GoldenManifest,
    /// sha256 of the manifest's bytes.
    pub sha256: String,
    /// The answers, in the order of the questions.
    pub answers: Vec<TensorAnswer>,
}

/// What a golden of tensors is captured for.
#[derive(Debug, Clone)]
pub struct TensorCapture<'a> {
    /// The gate.
    pub gate: &'a str,
    /// The checkpoint that the oracle was launched on.
    pub checkpoint: &'a Checkpoint,
    /// sha256 of the gate's questions.
    pub questions_sha256: &'a str,
    /// The environment the oracle was started with, where it was started.
    pub environment: Option<&'a BTreeMap<String, String>>,
    /// The questions, each with its case's id.
    pub questions: &'a [(String, TensorQuestion)],
    /// How often each is asked; all answers must be the same to the last bit.
    pub repeats: u32,
}

/// Asks one question, `repeats` times, and demands the same bytes each time.
pub fn ask(
    oracle: &mut dyn Oracle,
    id: &str,
    question: &TensorQuestion,
    repeats: u32,
) -> Result<TensorAnswer> {
    let folder = tempfile::tempdir();
    let folder =
        folder.map_err(|error| place::PlaceError::new("create", &std::env::temp_dir(), error))?;
    let path = folder.path().join(TENSORS);
    let mut first = None;
    for _ in 0..repeats.max(1) {
        oracle.tensors(question, &path)?;
        let tensors =
            Tensors::read(&path).map_err(|error| malformed(oracle, "its file", &error))?;
        match &first {
            None => first = Some(tensors),
            Some(first) if *first == tensors => {}
            Some(_) => {
                let found = "another one than before to the same question";
                return Err(malformed(oracle, "the same answer", &found).into());
            }
        }
    }
    let tensors = first.unwrap_or_default();
    let case = TensorCase {
        id: id.to_owned(),
        question: question.clone(),
        tensors: tensors
            .0
            .iter()
            .map(|(name, tensor)| (name.clone(), tensor.form.clone()))
            .collect(),
    };
    Ok(TensorAnswer { case, tensors })
}

fn malformed(oracle: &dyn Oracle, expected: &str, found: &dyn std::fmt::Display) -> VerbError {
    VerbError::Malformed {
        oracle: oracle.identity().name.clone(),
        verb: "tensors",
        key: "file".to_owned(),
        expected: expected.to_owned(),
        found: found.to_string(),
    }
}

impl TensorGolden {
    /// Reads the golden of `oracle` for `gate`, and verifies every file's hash.
    pub fn read(home: &Home, oracle: &str, gate: &str) -> Result<Option<Self>> {
        Self::read_dir(&home.golden_dir(oracle, gate))
    }

    /// Reads the golden in `dir`; `None` when there is no manifest.
    pub fn read_dir(dir: &Path) -> Result<Option<Self>> {
        Ok(Folder::read(dir)?.map(Self::of).transpose()?)
    }

    pub(super) fn of(folder: Folder) -> Result<Self, GoldenError> {
        let cases = folder.lines(CASES)?;
        let (path, bytes) = folder.file(TENSORS)?;
        let tensors = Tensors::parse(bytes).map_err(|error| wrong(&path, &error))?;
        let answers = paired(&path, cases, tensors)?;
        let Folder { manifest, sha256, .. } = folder;
        Ok(Self { manifest, sha256, answers })
    }

    /// Asks `oracle` every question and keeps its answers in the workspace. Nothing is written
    /// unless all were answered.
    pub fn capture(
        home: &Home,
        oracle: &mut dyn Oracle,
        capture: &TensorCapture<'_>,
        progress: Progress,
    ) -> Result<Self> {
        files::check_ids(capture.gate, capture.questions.iter().map(|(id, _)| id))?;
        let total = capture.questions.len() as u64;
        let mut stage = progress.steps(&format!("capturing {}", capture.gate), Some(total));
        let mut answers = Vec::new();
        for (id, question) in capture.questions {
            answers.push(ask(oracle, id, question, capture.repeats)?);
            stage.advance(1);
        }
        let header = Header {
            gate: capture.gate,
            oracle: oracle.identity().clone(),
            checkpoint: capture.checkpoint,
            prompts_sha256: capture.questions_sha256,
            environment: capture.environment,
            noise: None,
        };
        let dir = home.golden_dir(&header.oracle.name, capture.gate);
        let cases = answers.iter().map(|answer| &answer.case);
        let cases = files::lines(&dir.join(CASES), cases)?;
        let files = [(CASES, cases), (TENSORS, joined(&dir, &answers)?)];
        let (manifest, sha256) = files::write(&dir, header, &files)?;
        Ok(Self { manifest, sha256, answers })
    }
}

/// Each case with its tensors: all that it lists, in that form, and none beside.
fn paired(
    path: &Path,
    cases: Vec<TensorCase>,
    Tensors(mut all): Tensors,
) -> Result<Vec<TensorAnswer>, GoldenError> {
    let mut answers = Vec::with_capacity(cases.len());
    for case in cases {
        let mut tensors = BTreeMap::new();
        for (name, form) in &case.tensors {
            let whole = format!("{}/{name}", case.id);
            let tensor: Tensor = all
                .remove(&whole)
                .ok_or_else(|| wrong(path, &format!("holds no tensor {whole}")))?;
            if tensor.form != *form {
                let found = &tensor.form;
                let message = format!("{whole}: expected {form:?}, found {found:?}");
                return Err(wrong(path, &message));
            }
            tensors.insert(name.clone(), tensor);
        }
        answers.push(TensorAnswer { case, tensors: Tensors(tensors) });
    }
    match all.keys().next() {
        Some(name) => {
            Err(wrong(path, &format!("holds tensor {name}, which {CASES} does not list")))
        }
        None => Ok(answers),
    }
}

fn joined(dir: &Path, answers: &[TensorAnswer]) -> Result<Vec<u8>, GoldenError> {
    let named = answers.iter().flat_map(|TensorAnswer { case, tensors }| {
        tensors.0.iter().map(|(name, tensor)| (format!("{}/{name}", case.id), tensor.clone()))
    });
    let tensors = Tensors(named.collect());
    tensors.to_bytes().map_err(|error| wrong(&dir.join(TENSORS), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::InsideQuestion;

    fn case(tensors: &[(&str, Vec<usize>)]) -> TensorCase {
        let asked = InsideQuestion { text: "a".into(), ids: vec![1], within_layers: true };
        let form = |(name, shape): &(&str, Vec<usize>)| {
            ((*name).to_owned(), Form { dtype: "F32".into(), shape: shape.clone() })
        };
        let tensors = tensors.iter().map(form).collect();
        TensorCase { id: "a".into(), question: TensorQuestion::Inside(asked), tensors }
    }

    fn stored(names: &[&str]) -> Tensors {
        let tensor = |name: &&str| ((*name).to_owned(), Tensor::of_f32(vec![1, 2], &[1.0, 2.0]));
        Tensors(names.iter().map(tensor).collect())
    }

    fn refused(case: TensorCase, stored: Tensors) -> String {
        paired(Path::new("t"), vec![case], stored).unwrap_err().to_string()
    }

    #[test]
    fn tensors_have_the_form_that_is_listed_and_none_is_left() {
        let whole = case(&[("embed", vec![1, 2])]);
        let found = paired(Path::new("t"), vec![whole.clone()], stored(&["a/embed"])).unwrap();
        assert_eq!(found[0].tensors, stored(&["embed"]));
        assert!(refused(whole.clone(), stored(&[])).contains("holds no tensor a/embed"));
        assert!(refused(whole, stored(&["a/embed", "a/norm"])).contains("holds tensor a/norm"));
        let other = case(&[("embed", vec![2, 1])]);
        assert!(refused(other, stored(&["a/embed"])).contains("expected"));
    }
}
