//! Collecting generations: the oracle's answers first, then the subject's, then the questions that a divergence raises.

use std::path::Path;
use std::time::Instant;

use oracles::golden::GoldenCase;
use oracles::verbs::{CompletionRequest, Oracle, VerbError};

use super::{Reference, checkpoint, elapsed_ms, engine, reference, trouble, unanswered};
use crate::bench::{Bench, Circumstances};
use crate::judge::Trouble;
use crate::kind::token_exact::{self, CaseOutcome};
use crate::samples::{GenerationSample, Reread, Samples, top_of};
use crate::spec::GenerateSpec;
use crate::subject::{
    Answers, Defect, GenerateRequest, Prompt, Subject, SubjectError, TokenizeInput, TokenizeRequest,
};
use crate::workload::{Case, Input, Workload};

pub(super) fn collect(
    bench: &Bench<'_>,
    circumstances: &mut Circumstances,
) -> Result<Samples, Trouble> {
    let (Some(workload), Some(generate)) = (bench.workload, &bench.gate.spec.generate) else {
        return Err(Trouble::Skip("the gate has no inputs".to_owned()));
    };
    let checkpoint = checkpoint(bench, circumstances)?;
    let mut reference = reference(bench, &checkpoint, circumstances)?;
    let started = Instant::now();
    let references = references(bench, &mut reference, workload, generate)?;
    circumstances.oracle_ms = Some(elapsed_ms(started));
    let started = Instant::now();
    let owed = workload.cases.len();
    engine(bench, &checkpoint, owed, circumstances)?;
    let asked = Asked { workload, generate, forced: bench.gate.spec.check.near_tie.is_some() };
    let mut samples = ask_subject(&bench.subject, &checkpoint.path, &asked, references)
        .map_err(unanswered(owed))?;
    circumstances.subject_ms = Some(elapsed_ms(started));
    if let Reference::Live(oracle, _) = &mut reference {
        read_again(oracle.as_mut(), generate, &mut samples)
            .map_err(|error| trouble(&error.into()))?;
    }
    Ok(Samples::Generations(samples))
}

/// The oracle's answers to every case, in the order of the workload.
///
/// A golden's cases are taken by id, so that a subset of the workload can be tried.
pub(super) fn references(
    bench: &Bench<'_>,
    reference: &mut Reference,
    workload: &Workload,
    generate: &GenerateSpec,
) -> Result<Vec<GoldenCase>, Trouble> {
    let oracle = match reference {
        Reference::Golden(golden) => {
            let named =
                |case: &Case| golden.cases.iter().find(|golden| golden.id == case.id).cloned();
            return Ok(workload.cases.iter().filter_map(named).collect());
        }
        Reference::Live(oracle, _) => oracle.as_mut(),
    };
    let total = workload.cases.len();
    let mut stage = bench.progress.steps("oracle", Some(total as u64));
    let mut answers = Vec::with_capacity(total);
    for case in &workload.cases {
        crate::interrupt::check().map_err(|_| Trouble::NotEstablished("interrupted".to_owned()))?;
        match answer(oracle, case, generate) {
            Ok(answer) => answers.push(answer),
            Err(error) => {
                let reason = crate::chain::of(&error);
                return Err(Trouble::NotEstablished(format!(
                    "the oracle answered {} of {total} cases: {reason}",
                    answers.len()
                )));
            }
        }
        stage.advance(1);
    }
    Ok(answers)
}

/// The oracle's answer to one case.
fn answer(
    oracle: &mut dyn Oracle,
    case: &Case,
    generate: &GenerateSpec,
) -> Result<GoldenCase, VerbError> {
    let (prompt_text, prompt_ids) = prompt(oracle, case)?;
    let request = request(prompt_ids.clone(), generate.max_tokens.0, generate);
    let completion = oracle.complete(&request)?;
    Ok(GoldenCase {
        id: case.id.clone(),
        prompt_text,
        prompt_ids,
        ids: completion.ids,
        text: completion.text,
        finish_reason: completion.finish_reason,
        steps: completion.steps,
    })
}

/// A case as the oracle renders and tokenises it.
pub fn prompt(oracle: &mut dyn Oracle, case: &Case) -> Result<(String, Vec<u32>), VerbError> {
    let (text, parse_special) = match &case.input {
        Input::Text { text, parse_special } => (text.clone(), *parse_special),
        // A template writes special tokens as text; its server reads them as such.
        Input::Messages(messages) => (oracle.render_chat(messages)?, true),
    };
    let ids = oracle.tokenize(&text, true, parse_special)?;
    Ok((text, ids))
}

/// A greedy completion. The end of a generation stops it on both sides: engines differ in what ignoring it means (to go on
/// behind it, or never to choose it).
pub fn request(
    prompt_ids: Vec<u32>,
    max_tokens: u32,
    generate: &GenerateSpec,
) -> CompletionRequest {
    let top_logprobs = generate.top_logprobs.0 as u32;
    CompletionRequest { prompt_ids, max_tokens, top_logprobs, ignore_eos: false }
}

/// What the subject is asked.
pub(super) struct Asked<'a> {
    /// The cases.
    pub(super) workload: &'a Workload,
    /// How long, how many log-probabilities.
    pub(super) generate: &'a GenerateSpec,
    /// Whether it also runs forced along the oracle's ids.
    pub(super) forced: bool,
}

/// Asks the subject everything that the reference answers can be compared with.
pub(super) fn ask_subject(
    subject: &Subject<'_>,
    model: &Path,
    asked: &Asked<'_>,
    references: Vec<GoldenCase>,
) -> Result<Vec<GenerationSample>, SubjectError> {
    let mut rendered = rendered(subject, model, asked.workload)?;
    let free: Vec<GenerateRequest> = asked
        .workload
        .cases
        .iter()
        .map(|case| generate_request(case, asked.generate, None))
        .collect();
    let mut generated = subject.generate(model, &free)?;
    let forced: Vec<GenerateRequest> =
        if asked.forced { forced_requests(asked, &references, &generated) } else { Vec::new() };
    let mut forced_answers =
        if forced.is_empty() { Answers::new() } else { subject.generate(model, &forced)? };
    let sample = |reference: GoldenCase| {
        let id = reference.id.clone();
        GenerationSample {
            subject: generated.remove(&id).unwrap_or(Err(Defect::Missing)),
            rendered: rendered.remove(&id),
            forced: forced_answers.remove(&id),
            reread: None,
            reference,
        }
    };
    Ok(references.into_iter().map(sample).collect())
}

fn rendered(
    subject: &Subject<'_>,
    model: &Path,
    workload: &Workload,
) -> Result<Answers<crate::subject::Tokenized>, SubjectError> {
    let conversations: Vec<TokenizeRequest> = workload
        .cases
        .iter()
        .filter_map(|case| match &case.input {
            Input::Messages(messages) => Some(TokenizeRequest {
                id: case.id.clone(),
                input: TokenizeInput::Messages(messages.clone()),
            }),
            Input::Text { .. } => None,
        })
        .collect();
    if conversations.is_empty() {
        return Ok(Answers::new());
    }
    subject.tokenize(model, &conversations)
}

fn generate_request(
    case: &Case,
    generate: &GenerateSpec,
    force_ids: Option<Vec<u32>>,
) -> GenerateRequest {
    let prompt = match &case.input {
        Input::Text { text, .. } => Prompt::Text(text.clone()),
        Input::Messages(messages) => Prompt::Messages(messages.clone()),
    };
    GenerateRequest {
        id: case.id.clone(),
        prompt,
        max_tokens: force_ids.as_ref().map_or(generate.max_tokens.0, |ids| ids.len() as u32),
        logprobs: generate.top_logprobs.0,
        force_ids,
    }
}

/// Forcing is asked only where both sides have the same prompt.
fn forced_requests(
    asked: &Asked<'_>,
    references: &[GoldenCase],
    generated: &Answers<crate::subject::Generated>,
) -> Vec<GenerateRequest> {
    let forced = |case: &Case| {
        let reference = references.iter().find(|reference| reference.id == case.id)?;
        let same_prompt = match generated.get(&case.id) {
            Some(Ok(answer)) => answer.prompt_ids == reference.prompt_ids,
            _ => false,
        };
        same_prompt.then(|| generate_request(case, asked.generate, Some(reference.ids.clone())))
    };
    asked.workload.cases.iter().filter_map(forced).collect()
}

/// Asks a live oracle for its probabilities at each first divergence once more, the shared prefix now one prompt.
fn read_again(
    oracle: &mut dyn Oracle,
    generate: &GenerateSpec,
    samples: &mut [GenerationSample],
) -> Result<(), VerbError> {
    for sample in samples {
        if let CaseOutcome::Diverged(divergence) = token_exact::judge(sample) {
            let reference = &sample.reference;
            let mut prefix = reference.prompt_ids.clone();
            prefix.extend(&reference.ids[..divergence.index]);
            let completion = oracle.complete(&request(prefix, 1, generate))?;
            let top = completion.steps.first().map(top_of).unwrap_or_default();
            // Where the server reports nothing there is nothing to read.
            sample.reread = (!top.is_empty()).then_some(Reread { position: divergence.index, top });
        }
    }
    Ok(())
}
