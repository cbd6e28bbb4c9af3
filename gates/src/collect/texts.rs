//! Collecting tokenised texts: from the gate's inputs, or from the vocabularies in the oracle's source.

use std::path::{Path, PathBuf};
use std::time::Instant;

use oracles::golden::GoldenCase;
use oracles::registry::OracleSpec;
use oracles::verbs::{FinishReason, Identity, Oracle, VerbError};
use records::record::OracleSource;

use super::{Reference, answered_by, checkpoint, elapsed_ms, reference, trouble, unanswered};
use crate::bench::{Bench, Circumstances, ReferenceInfo};
use crate::judge::Trouble;
use crate::rule::Rule;
use crate::samples::{Samples, TextCorpus, TextSample};
use crate::spec::TokenizerCheck;
use crate::subject::{Defect, Subject, SubjectError, TokenizeInput, TokenizeRequest, Tokenized};
use crate::validity::Violation;
use crate::workload::{Case, Input, Workload};

/// What stands between two tests in the vocabularies' input files.
const TEST_SEPARATOR: &str = "\n__ggml_vocab_test__\n";

/// One text to tokenise, with the oracle's ids.
#[derive(Debug, Clone)]
struct Expected {
    id: String,
    input: TokenizeInput,
    text: String,
    ids: Vec<u32>,
}

/// The inputs of the spec, answered by the oracle or its golden.
pub(super) fn inputs(
    bench: &Bench<'_>,
    check: &TokenizerCheck,
    circumstances: &mut Circumstances,
) -> Result<Samples, Trouble> {
    let Some(workload) = bench.workload else {
        return Err(Trouble::Skip("the gate has no inputs".to_owned()));
    };
    let checkpoint = checkpoint(bench, circumstances)?;
    let mut reference = reference(bench, &checkpoint, circumstances)?;
    let started = Instant::now();
    let answers = match &mut reference {
        Reference::Golden(golden) => golden.cases.clone(),
        Reference::Live(oracle, _) => workload
            .cases
            .iter()
            .map(|case| answer(oracle.as_mut(), case))
            .collect::<Result<_, _>>()
            .map_err(|error| trouble(&error.into()))?,
    };
    circumstances.oracle_ms = Some(elapsed_ms(started));
    let answered =
        answers.iter().filter(|answer| workload.cases.iter().any(|case| case.id == answer.id));
    let answers: Vec<GoldenCase> = answered.cloned().collect();
    let started = Instant::now();
    let owed = workload.cases.len();
    let expected = expected(workload, answers);
    let name = checkpoint.name.clone();
    let decoding = check.decoding(&name);
    let texts = ask(&bench.subject, &checkpoint.path, expected).map_err(unanswered(owed))?;
    circumstances.subject_ms = Some(elapsed_ms(started));
    Ok(Samples::Texts(vec![TextCorpus { name, decoding, texts }]))
}

/// The oracle's ids of one text, in the form in which a golden keeps them: a prompt without a generation.
fn answer(oracle: &mut dyn Oracle, case: &Case) -> Result<GoldenCase, VerbError> {
    let (prompt_text, prompt_ids) = text_prompt(oracle, case)?;
    Ok(GoldenCase {
        id: case.id.clone(),
        prompt_text,
        prompt_ids,
        ids: Vec::new(),
        text: String::new(),
        finish_reason: FinishReason::Length,
        steps: Vec::new(),
    })
}

/// A text with its bare ids, nothing added; a conversation rendered, with its special tokens read as such.
pub fn text_prompt(oracle: &mut dyn Oracle, case: &Case) -> Result<(String, Vec<u32>), VerbError> {
    let (text, parse_special) = match &case.input {
        Input::Text { text, parse_special } => (text.clone(), *parse_special),
        Input::Messages(messages) => (oracle.render_chat(messages)?, true),
    };
    let conversation = matches!(case.input, Input::Messages(_));
    let ids = oracle.tokenize(&text, conversation, parse_special)?;
    Ok((text, ids))
}

fn expected(workload: &Workload, answers: Vec<GoldenCase>) -> Vec<Expected> {
    let pair = |answer: GoldenCase| {
        let case = workload.cases.iter().find(|case| case.id == answer.id)?;
        let input = match &case.input {
            Input::Text { text, parse_special } => TokenizeInput::Text {
                text: text.clone(),
                add_special: false,
                parse_special: *parse_special,
            },
            Input::Messages(messages) => TokenizeInput::Messages(messages.clone()),
        };
        Some(Expected { id: answer.id, input, text: answer.prompt_text, ids: answer.prompt_ids })
    };
    answers.into_iter().filter_map(pair).collect()
}

/// Asks the subject to encode every text and to decode the oracle's ids of it.
fn ask(
    subject: &Subject<'_>,
    model: &Path,
    expected: Vec<Expected>,
) -> Result<Vec<TextSample>, SubjectError> {
    let decode_id = |id: &str| format!("{id}/decode");
    let mut requests = Vec::with_capacity(2 * expected.len());
    for text in &expected {
        requests.push(TokenizeRequest { id: text.id.clone(), input: text.input.clone() });
        let input = TokenizeInput::Ids(text.ids.clone());
        requests.push(TokenizeRequest { id: decode_id(&text.id), input });
    }
    let mut answers = subject.tokenize(model, &requests)?;
    let mut take = |id: &str| -> Result<Tokenized, Defect> {
        answers.remove(id).unwrap_or(Err(Defect::Missing))
    };
    let sample = |text: Expected| TextSample {
        encoded: take(&text.id),
        decoded: take(&decode_id(&text.id)),
        conversation: matches!(text.input, TokenizeInput::Messages(_)),
        id: text.id,
        text: text.text,
        expected: text.ids,
    };
    Ok(expected.into_iter().map(sample).collect())
}

/// Every vocabulary with tests in the oracle's pinned source.
pub(super) fn vocabularies(
    bench: &Bench<'_>,
    check: &TokenizerCheck,
    circumstances: &mut Circumstances,
) -> Result<Samples, Trouble> {
    let provision = bench.wanted == crate::supplies::Wanted::Live;
    let folder = bench.supplies.vocabularies(provision).map_err(|error| trouble(&error))?;
    let oracle = bench.pinned()?;
    let name = &oracle.name;
    let Some(folder) = folder else {
        return Err(Trouble::Skip(format!(
            "the vocabularies come with the source of {name}, which is not provisioned: `gate oracle provision {name}`"
        )));
    };
    answered_by(source_reference(oracle), circumstances);
    let mut corpora = Vec::new();
    let mut asked = 0;
    let started = Instant::now();
    for model in vocabulary_files(&folder)? {
        let texts = vocabulary_tests(&model)?;
        asked += texts.len();
        let name = vocabulary_name(&model);
        let decoding = check.decoding(&name);
        let texts = match ask(&bench.subject, &model, texts.clone()) {
            Ok(texts) => texts,
            // One vocabulary that the engine cannot read must not hide how it fares with the others.
            Err(SubjectError::Ended { status, stderr, .. }) => {
                refused(texts, &format!("{status}: {}", stderr.trim()))
            }
            Err(error) => return Err(unanswered(asked)(error)),
        };
        corpora.push(TextCorpus { name, decoding, texts });
    }
    circumstances.subject_ms = Some(elapsed_ms(started));
    Ok(Samples::Texts(corpora))
}

/// The tests are files of the pinned source, written by the oracle's authors.
fn source_reference(oracle: &OracleSpec) -> ReferenceInfo {
    let package = &oracle.declared.package;
    let identity = Identity {
        name: oracle.name.clone(),
        version: package.version.clone(),
        source_sha256: package.archive_sha256.clone(),
        binary_sha256: String::new(),
        build: [("answers".to_owned(), "tests in the pinned source".to_owned())].into(),
        flags: Vec::new(),
        cpu_features: Vec::new(),
        settings: std::collections::BTreeMap::new(),
    };
    ReferenceInfo {
        source: OracleSource::Golden,
        captured_at: None,
        identity,
        golden_sha256: None,
        noise: None,
    }
}

fn refused(texts: Vec<Expected>, message: &str) -> Vec<TextSample> {
    let defect = Defect::Refused { code: "vocabulary".to_owned(), message: message.to_owned() };
    let sample = |text: Expected| TextSample {
        id: text.id,
        text: text.text,
        expected: text.ids,
        encoded: Err(defect.clone()),
        decoded: Err(defect.clone()),
        conversation: false,
    };
    texts.into_iter().map(sample).collect()
}

/// `ggml-vocab-NAME.gguf` files that have both test files beside them, sorted.
fn vocabulary_files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let unreadable = |error| unreadable(folder, &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "gguf")
            && beside(&path, "inp").is_file()
            && beside(&path, "out").is_file()
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::Skip(format!("cannot read {}: {error}", path.display()))
}

/// `model.gguf` and `inp` give `model.gguf.inp`.
fn beside(model: &Path, extension: &str) -> PathBuf {
    let mut name = model.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

fn vocabulary_name(model: &Path) -> String {
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    stem.trim_start_matches("ggml-vocab-").to_owned()
}

/// The tests of one vocabulary: texts without special tokens added or parsed, and their ids.
fn vocabulary_tests(model: &Path) -> Result<Vec<Expected>, Trouble> {
    let read = |extension: &str| {
        let path = beside(model, extension);
        std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))
    };
    let name = vocabulary_name(model);
    parse_tests(&name, &read("inp")?, &read("out")?).map_err(|reason| {
        Trouble::Void(Violation {
            rule: Rule::Workload,
            reason: format!("tests of {name}: {reason}"),
        })
    })
}

fn parse_tests(name: &str, inputs: &str, outputs: &str) -> Result<Vec<Expected>, String> {
    let mut texts: Vec<&str> = inputs.split(TEST_SEPARATOR).collect();
    // The file ends with a separator, behind which stands no test.
    if texts.last().is_some_and(|text| text.is_empty()) {
        texts.pop();
    }
    let lines: Vec<&str> = outputs.lines().collect();
    if texts.len() != lines.len() {
        return Err(format!("{} texts and {} lines of ids", texts.len(), lines.len()));
    }
    let mut tests = Vec::with_capacity(texts.len());
    for (index, (text, line)) in texts.into_iter().zip(lines).enumerate() {
        let ids: Result<Vec<u32>, _> = line.split_whitespace().map(str::parse).collect();
        let ids = ids.map_err(|error| format!("line {}: {error}", index + 1))?;
        let text = text.to_owned();
        let input =
            TokenizeInput::Text { text: text.clone(), add_special: false, parse_special: false };
        tests.push(Expected { id: format!("{name}/{:02}", index + 1), input, text, ids });
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_a_vocabulary_are_paired_by_place() {
        let inputs =
            "ied 4\n__ggml_vocab_test__\n\n__ggml_vocab_test__\n a\n\n__ggml_vocab_test__\n";
        let tests = parse_tests("v", inputs, " 1 22\n\n3\n").unwrap();
        let found: Vec<(&str, &[u32])> =
            tests.iter().map(|test| (test.text.as_str(), test.ids.as_slice())).collect();
        assert_eq!(found, [("ied 4", &[1, 22][..]), ("", &[]), (" a\n", &[3])]);
    }

    #[test]
    fn unpaired_tests_are_refused() {
        assert!(parse_tests("v", "a\n__ggml_vocab_test__\nb", "1\n").is_err());
        assert!(parse_tests("v", "a", "one\n").is_err());
    }
}
