//! Collecting for the kinds that look inside the model: both sides' tensors, compared as they come and not kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use oracles::checkpoint::Checkpoint;
use oracles::golden::tensors::{TensorAnswer, TensorGolden, ask};
use oracles::tensors::{Tensor, Tensors};
use oracles::verbs::{InsideQuestion, Oracle, TensorQuestion};
use records::record::OracleSource;

use super::{answered_by, checkpoint, elapsed_ms, engine, generations, judging, trouble};
use crate::bench::{Bench, Circumstances, ReferenceInfo};
use crate::chain;
use crate::facts::{AnsweringGolden, Asked};
use crate::judge::Trouble;
use crate::kind::activation_fidelity::{FidelityCase, StreamSample};
use crate::kind::comparison::{Element, RowSums, Rows, compare, row_sums, worst};
use crate::kind::inside::{Inside, InsideSamples, ValueSample, stream_names, value_names};
use crate::kind::layers::LayersCase;
use crate::kind::op_golden::{Elements, OpSample, OutputSample};
use crate::rule::Rule;
use crate::samples::Samples;
use crate::spec::{Edit, OpCase, OpGoldenCheck};
use crate::supplies::Wanted;
use crate::validity::Violation;
use crate::workload::Workload;

/// The questions of a gate, each with its case's id: the texts as the oracle tokenises them, or the operations of the spec.
pub fn questions(
    check: &Inside<'_>,
    workload: Option<&Workload>,
    oracle: &mut dyn Oracle,
) -> oracles::Result<Vec<(String, TensorQuestion)>> {
    if let Inside::Ops(check) = check {
        return Ok(op_questions(check));
    }
    let within_layers = matches!(check, Inside::Layers(_));
    let mut questions = Vec::new();
    for case in workload.iter().flat_map(|workload| &workload.cases) {
        let (text, ids) = generations::prompt(oracle, case)?;
        let asked = InsideQuestion { text, ids, within_layers };
        questions.push((case.id.clone(), TensorQuestion::Inside(asked)));
    }
    Ok(questions)
}

fn op_questions(check: &OpGoldenCheck) -> Vec<(String, TensorQuestion)> {
    let question = |case: &OpCase| (case.id.clone(), TensorQuestion::Op(case.question()));
    check.case.iter().map(question).collect()
}

/// Digest of what a golden of this gate is asked: of its inputs, or of the operations of its spec.
pub fn questions_sha256(check: &Inside<'_>, workload: Option<&Workload>) -> String {
    match (check, workload) {
        (Inside::Ops(check), _) => {
            // Strings, numbers and maps of them: this cannot fail.
            let asked = serde_json::to_vec(&op_questions(check)).unwrap_or_default();
            oracles::digest::sha256_bytes(&asked)
        }
        (_, Some(workload)) => workload.sha256.clone(),
        (_, None) => String::new(),
    }
}

pub(super) fn collect(
    bench: &Bench<'_>,
    check: &Inside<'_>,
    circumstances: &mut Circumstances,
) -> Result<Samples, Trouble> {
    let checkpoint = checkpoint(bench, circumstances)?;
    let started = Instant::now();
    let answers = answers(bench, check, &checkpoint, circumstances)?;
    circumstances.oracle_ms = Some(elapsed_ms(started));
    circumstances.facts.found.extend(incomplete(&answers));
    let started = Instant::now();
    engine(bench, &checkpoint, answers.len(), circumstances)?;
    let folder = tempfile::tempdir().map_err(|error| {
        Trouble::NotEstablished(format!("cannot make a temporary folder: {error}"))
    })?;
    let asker = Asker { bench, model: &checkpoint.path, folder: folder.path() };
    let samples = match check {
        Inside::Layers(_) => InsideSamples::Layers(
            answers.values().filter_map(|answer| asker.layers(answer)).collect(),
        ),
        Inside::Fidelity(check) => InsideSamples::Fidelity(asker.fidelity(&check.edits, &answers)?),
        Inside::Ops(check) => InsideSamples::Ops(asker.ops(check, &answers)),
    };
    circumstances.subject_ms = Some(elapsed_ms(started));
    Ok(Samples::Inside(Box::new(samples)))
}

/// The oracle's answers by their cases, live or from the golden, with the rules about them asked.
fn answers(
    bench: &Bench<'_>,
    check: &Inside<'_>,
    checkpoint: &Checkpoint,
    circumstances: &mut Circumstances,
) -> Result<BTreeMap<String, TensorAnswer>, Trouble> {
    let pinned = judging(bench)?;
    circumstances.facts.asked = Some(asked(check, bench.workload));
    let live = match bench.wanted {
        Wanted::Golden => None,
        wanted => {
            bench.supplies.oracle(checkpoint, wanted == Wanted::Live).map_err(|e| trouble(&e))?
        }
    };
    let (answers, info) = if let Some(mut oracle) = live {
        live_answers(bench, check, oracle.as_mut())?
    } else {
        let golden = bench.supplies.tensor_golden();
        let golden = golden.map_err(|error| super::golden_trouble(bench, &error))?;
        let Some(golden) = golden else {
            return Err(Trouble::Skip(super::without_golden(bench, pinned)));
        };
        circumstances.facts.golden = Some(AnsweringGolden {
            manifest: golden.manifest.clone(),
            cases: golden.answers.iter().map(|answer| answer.case.id.clone()).collect(),
        });
        golden_answers(bench, golden)
    };
    answered_by(info, circumstances);
    Ok(answers.into_iter().map(|answer| (answer.case.id.clone(), answer)).collect())
}

fn live_answers(
    bench: &Bench<'_>,
    check: &Inside<'_>,
    oracle: &mut dyn Oracle,
) -> Result<(Vec<TensorAnswer>, ReferenceInfo), Trouble> {
    let questions = questions(check, bench.workload, oracle).map_err(|error| trouble(&error))?;
    let mut stage = bench.progress.steps("the oracle's tensors", Some(questions.len() as u64));
    let mut answers = Vec::with_capacity(questions.len());
    for (id, question) in &questions {
        answers.push(ask(oracle, id, question, 1).map_err(|error| trouble(&error))?);
        stage.advance(1);
    }
    Ok((answers, ReferenceInfo::live(oracle.identity().clone())))
}

/// The golden's answers to the cases that are asked.
fn golden_answers(bench: &Bench<'_>, golden: TensorGolden) -> (Vec<TensorAnswer>, ReferenceInfo) {
    let asked = |id: &str| {
        let is_asked = |workload: &Workload| workload.cases.iter().any(|case| case.id == id);
        bench.workload.is_none_or(is_asked)
    };
    let TensorGolden { manifest, sha256, answers } = golden;
    let info = ReferenceInfo {
        source: OracleSource::Golden,
        captured_at: Some(manifest.captured_at),
        identity: manifest.oracle,
        golden_sha256: Some(sha256),
        noise: None,
    };
    (answers.into_iter().filter(|answer| asked(&answer.case.id)).collect(), info)
}

/// What a golden of this gate has to have been asked.
fn asked(check: &Inside<'_>, workload: Option<&Workload>) -> Asked {
    let cases = match (check, workload) {
        (Inside::Ops(check), _) => check.case.iter().map(|case| case.id.clone()).collect(),
        (_, workload) => workload
            .iter()
            .flat_map(|workload| &workload.cases)
            .map(|case| case.id.clone())
            .collect(),
    };
    Asked { sha256: questions_sha256(check, workload), cases }
}

/// V-COUNT: an answer has every value that the model has, a row a token, and its floats are finite numbers.
fn incomplete(answers: &BTreeMap<String, TensorAnswer>) -> Vec<Violation> {
    answers
        .values()
        .filter_map(|answer| {
            let reason = fault(answer)?;
            let reason = format!("the oracle's answer to {} {reason}", answer.case.id);
            Some(Violation { rule: Rule::Count, reason })
        })
        .collect()
}

fn fault(answer: &TensorAnswer) -> Option<String> {
    let Tensors(tensors) = &answer.tensors;
    if let TensorQuestion::Inside(asked) = &answer.case.question {
        let layers = layers(answer);
        let names = if asked.within_layers { value_names(layers) } else { between_layers(layers) };
        for name in names {
            let Some(tensor) = tensors.get(&name) else { return Some(format!("has no {name}")) };
            if tensor.form.shape.first() != Some(&asked.ids.len()) || tensor.form.shape.len() != 2 {
                return Some(format!(
                    "has {name} in shape {:?} to {} tokens",
                    tensor.form.shape,
                    asked.ids.len()
                ));
            }
        }
    } else if !tensors.keys().any(|name| name.starts_with(OUTPUTS)) {
        return Some("has no output".to_owned());
    }
    let is_broken = |tensor: &Tensor| {
        tensor.floats().is_some_and(|values| values.iter().any(|value| !value.is_finite()))
    };
    let broken = tensors.iter().find(|(_, tensor)| is_broken(tensor));
    broken.map(|(name, _)| format!("has a value in {name} that is no finite number"))
}

/// Layers of which there is any value; at least one, so that an answer without any is incomplete.
fn layers(answer: &TensorAnswer) -> usize {
    let index =
        |name: &String| name.strip_prefix("layer.")?.split('.').next()?.parse::<usize>().ok();
    answer.tensors.0.keys().filter_map(index).max().map_or(1, |last| last + 1)
}

/// What goes from layer to layer, and the end of the model.
fn between_layers(layers: usize) -> Vec<String> {
    stream_names(layers).into_iter().chain(["norm", "logits"].map(str::to_owned)).collect()
}

/// Prefixes of an operation's tensors in the oracle's answer.
const INPUTS: &str = "inputs.";
const OUTPUTS: &str = "outputs.";

/// Asks the subject about one checkpoint.
struct Asker<'a> {
    bench: &'a Bench<'a>,
    model: &'a Path,
    /// For files that the subject is given.
    folder: &'a Path,
}

impl Asker<'_> {
    fn layers(&self, answer: &TensorAnswer) -> Option<LayersCase> {
        let TensorQuestion::Inside(asked) = &answer.case.question else { return None };
        let layers = layers(answer);
        let subject = &self.bench.subject;
        let compared = |found: Tensors| values(&found, &answer.tensors, &value_names(layers));
        let whole = subject.inside(self.model, &asked.ids, None);
        let streams = stream_names(layers);
        let given = answer.tensors.0.iter().filter(|(name, _)| streams.contains(name));
        let given = Tensors(given.map(|(name, value)| (name.clone(), value.clone())).collect());
        let isolated = self.written(&answer.case.id, &given);
        let isolated =
            isolated.and_then(|given| subject.inside(self.model, &asked.ids, Some(&given)));
        Some(LayersCase {
            id: answer.case.id.clone(),
            tokens: asked.ids.len(),
            layers,
            end_to_end: whole.map(compared),
            isolated: isolated.map(compared),
        })
    }

    fn fidelity(
        &self,
        edits: &[Edit],
        answers: &BTreeMap<String, TensorAnswer>,
    ) -> Result<Vec<FidelityCase>, Trouble> {
        let void = |reason: String| Trouble::Void(Violation { rule: Rule::Workload, reason });
        let mut cases = Vec::new();
        for edit in edits {
            let (case, edited) = (edit.case.get_ref(), edit.edited.get_ref());
            // What is left out here is missed by V-COUNT, which counts the samples of the spec's edits.
            let (Some(answer), Some(other)) = (answers.get(case), answers.get(edited)) else {
                continue;
            };
            let (TensorQuestion::Inside(asked), TensorQuestion::Inside(edit)) =
                (&answer.case.question, &other.case.question)
            else {
                continue;
            };
            let pairs = asked.ids.iter().zip(&edit.ids);
            let from = pairs.clone().position(|(a, b)| a != b);
            let from = from.filter(|_| asked.ids.len() == edit.ids.len());
            let from = from.ok_or_else(|| {
                void(format!("{edited} is no edit of {case}: it has to differ, in as many tokens"))
            })?;
            let names = between_layers(layers(answer));
            let found = self.bench.subject.inside(self.model, &asked.ids, None);
            let values = found.map(|found| {
                let stream = |name: &String| stream(name, &found, answer, other, from);
                names.iter().map(stream).collect()
            });
            cases.push(FidelityCase { id: case.clone(), edited: edited.clone(), from, values });
        }
        Ok(cases)
    }

    fn ops(
        &self,
        check: &OpGoldenCheck,
        answers: &BTreeMap<String, TensorAnswer>,
    ) -> Vec<OpSample> {
        let sample = |case: &OpCase| {
            let answer = answers.get(&case.id)?;
            let named = |prefix: &str| {
                let tensors = answer.tensors.0.iter();
                let named = tensors.filter_map(|(name, tensor)| {
                    Some((name.strip_prefix(prefix)?.to_owned(), tensor.clone()))
                });
                Tensors(named.collect())
            };
            let inputs = self.written(&case.id, &named(INPUTS));
            let found = inputs.and_then(|inputs| self.bench.subject.op(&case.question(), &inputs));
            let outputs = found.map(|found| outputs(case, &found, &named(OUTPUTS)));
            Some(OpSample { id: case.id.clone(), outputs })
        };
        check.case.iter().filter_map(sample).collect()
    }

    /// A file with the tensors that the subject is given for a case.
    fn written(&self, case: &str, tensors: &Tensors) -> Result<std::path::PathBuf, String> {
        let name: String =
            case.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let path = self.folder.join(format!("{name}.safetensors"));
        tensors.write(&path).map_err(|error| chain::of(&error))?;
        Ok(path)
    }
}

/// Both sides' rows of one value; why there are none to compare where there are none.
fn pair(name: &str, found: &Tensors, wanted: &Tensors) -> Result<(Rows, Rows), String> {
    let got = found.0.get(name).ok_or("is missing")?;
    let want = wanted.0.get(name).ok_or("is missing from the oracle's answer")?;
    if got.form.shape != want.form.shape {
        return Err(format!("has shape {:?}, expected {:?}", got.form.shape, want.form.shape));
    }
    let rows = |tensor: &Tensor| {
        let width = tensor.form.shape.last().copied().filter(|width| *width > 0)?;
        Some(Rows { width, values: tensor.floats()? })
    };
    let float = |tensor: &Tensor| {
        rows(tensor).ok_or_else(|| {
            format!("is {} {:?}, expected rows of floats", tensor.form.dtype, tensor.form.shape)
        })
    };
    Ok((float(got)?, float(want)?))
}

fn values(found: &Tensors, wanted: &Tensors, names: &[String]) -> Vec<ValueSample> {
    let value = |name: &String| {
        let compared = pair(name, found, wanted).map(|(got, want)| compare(&got, &want));
        ValueSample { name: name.clone(), compared }
    };
    names.iter().map(value).collect()
}

fn stream(
    name: &str,
    found: &Tensors,
    answer: &TensorAnswer,
    other: &TensorAnswer,
    from: usize,
) -> StreamSample {
    let rows = pair(name, found, &answer.tensors).map(|(got, want)| row_sums(&got, &want));
    let edited = pair(name, &other.tensors, &answer.tensors);
    let edited = edited.map_or(Vec::new(), |(got, want)| row_sums(&got, &want));
    let edited = edited.into_iter().skip(from).fold(RowSums::NONE, RowSums::plus);
    StreamSample { name: name.to_owned(), rows, edited }
}

fn outputs(case: &OpCase, found: &Tensors, wanted: &Tensors) -> Vec<OutputSample> {
    let output = |(name, want): (&String, &Tensor)| {
        let compared = match (found.0.get(name), want.wholes()) {
            (None, _) => Err("is missing".to_owned()),
            (Some(got), Some(want_ids)) if got.form.shape == want.form.shape => {
                wholes(got, &want_ids)
            }
            (Some(_), _) => pair(name, found, wanted).map(|(got, want)| floats(case, &got, &want)),
        };
        OutputSample { name: name.clone(), want: want.form.clone(), compared }
    };
    wanted.0.iter().map(output).collect()
}

fn wholes(got: &Tensor, want: &[i64]) -> Result<Elements, String> {
    let got = got.wholes().ok_or_else(|| format!("is {}, expected I64", got.form.dtype))?;
    let mut pairs = got.iter().zip(want).enumerate();
    let first = pairs.find(|(_, (got, want))| got != want);
    let first = first.map(|(at, (got, want))| (at, *got, *want));
    Ok(Elements::Wholes { count: want.len(), first })
}

fn floats(case: &OpCase, got: &Rows, want: &Rows) -> Elements {
    let pairs = || got.values.iter().zip(&want.values);
    let excess = |got: f64, want: f64| (got - want).abs() - case.rtol.0 * want.abs();
    let worst: Vec<Element> = worst(got, want, excess);
    Elements::Floats {
        count: want.values.len(),
        not_finite: pairs().filter(|(got, want)| !got.is_finite() || !want.is_finite()).count(),
        differ: pairs().filter(|(got, want)| got.to_bits() != want.to_bits()).count(),
        worst,
    }
}
