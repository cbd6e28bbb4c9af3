//! Collecting for the kinds that judge the engine alone: which processes are started, and what they are asked.

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use oracles::checkpoint::Checkpoint;
use serde_json::Value;

use super::{checkpoint, elapsed_ms, engine, unanswered};
use crate::bench::{Bench, Circumstances};
use crate::judge::Trouble;
use crate::kind::alone::{Alone, AloneSamples, Exchange};
use crate::kind::flags::FlagsSample;
use crate::kind::identity::{Arm, IdentitySample};
use crate::kind::memory::MemorySample;
use crate::kind::regression::RegressionSample;
use crate::kind::size_dependence::SizeSample;
use crate::kind::startup::StartupSample;
use crate::kind::weights::WeightsSample;
use crate::samples::Samples;
use crate::spec::{
    AsyncIdentityCheck, ByteIdentityCheck, InertFlagsCheck, SizeDependenceCheck, StartupCheck,
};
use crate::subject::{
    GenerateRequest, Prompt, Question, SubjectError, TokenizeInput, TokenizeRequest, Verb,
    read_generations,
};
use crate::words;
use crate::workload::{Case, Input};

pub(super) fn collect(
    bench: &Bench<'_>,
    check: &Alone<'_>,
    circumstances: &mut Circumstances,
) -> Result<Samples, Trouble> {
    let checkpoint = checkpoint(bench, circumstances)?;
    let requests = requests(bench);
    let owed = requests.len().max(bench.regressions.map_or(1, |list| list.cases.len()));
    let started = Instant::now();
    engine(bench, &checkpoint, owed, circumstances)?;
    let asker = Asker { bench, checkpoint: &checkpoint, requests };
    let samples = match check {
        Alone::ByteIdentity(check) => asker.byte_identity(check).map(AloneSamples::Identity),
        Alone::AsyncIdentity(check) => asker.async_identity(check).map(AloneSamples::Identity),
        Alone::InertFlags(check) => asker.flags(check).map(AloneSamples::Flags),
        Alone::Weights(_) => asker.weights().map(AloneSamples::Weights),
        Alone::Memory(_) => asker.memory().map(AloneSamples::Memory),
        Alone::Startup(check) => asker.startup(check).map(AloneSamples::Startup),
        Alone::Regression(_) => asker.regression().map(AloneSamples::Regression),
        Alone::SizeDependence(check) => asker.sizes(check).map(AloneSamples::Size),
    };
    circumstances.subject_ms = Some(elapsed_ms(started));
    let samples = samples.map_err(unanswered(owed))?;
    Ok(Samples::Alone(Box::new(samples)))
}

/// The gate's cases as requests.
fn requests(bench: &Bench<'_>) -> Vec<GenerateRequest> {
    let (Some(workload), Some(generate)) = (bench.workload, &bench.gate.spec.generate) else {
        return Vec::new();
    };
    let request = |case: &Case| GenerateRequest {
        id: case.id.clone(),
        prompt: match &case.input {
            Input::Text { text, .. } => Prompt::Text(text.clone()),
            Input::Messages(messages) => Prompt::Messages(messages.clone()),
        },
        max_tokens: generate.max_tokens.0,
        logprobs: generate.top_logprobs.0,
        force_ids: None,
    };
    workload.cases.iter().map(request).collect()
}

/// Asks the subject about one checkpoint.
struct Asker<'a> {
    bench: &'a Bench<'a>,
    checkpoint: &'a Checkpoint,
    requests: Vec<GenerateRequest>,
}

type Asked<T> = Result<T, SubjectError>;

impl Asker<'_> {
    /// A process that generates, with more arguments behind the usual ones.
    fn question(&self, more: &[&str], lines: Vec<String>) -> Question {
        let mut arguments = vec![self.checkpoint.path.display().to_string()];
        arguments.extend(self.bench.subject.profile.map(|name| format!("--profile={name}")));
        arguments.push("--json-lines".to_owned());
        arguments.extend(more.iter().map(|text| (*text).to_owned()));
        Question { verb: Verb::Generate, arguments, lines, repeat: 0, watched: false }
    }

    fn ask(&self, question: Question) -> Asked<Exchange> {
        let subject = &self.bench.subject;
        let answer = subject.transport.ask(&question, subject.budget)?;
        Ok(Exchange { question, answer })
    }

    fn lines(&self) -> Vec<String> {
        self.requests.iter().map(GenerateRequest::line).collect()
    }

    fn byte_identity(&self, check: &ByteIdentityCheck) -> Asked<IdentitySample> {
        let mut arms = Vec::new();
        for threads in &check.threads {
            for repeat in 0..check.repeats.0 {
                let count = threads.0.to_string();
                let question = self.question(&["--threads", &count], self.lines());
                let exchange = self.ask(Question { repeat, ..question })?;
                let threads = words::count(threads.0 as usize, "thread", "threads");
                let name = format!("{threads}, run {}", repeat + 1);
                arms.push(Arm { name, exchange });
            }
        }
        // Both lists are of at least one: the spec says so.
        Ok(IdentitySample { baseline: vec![arms.remove(0).exchange], arms })
    }

    /// Of different lengths, so that requests leave and join the batch at different times.
    fn async_identity(&self, check: &AsyncIdentityCheck) -> Asked<IdentitySample> {
        let shortened = |(index, request): (usize, &GenerateRequest)| {
            let max_tokens = request.max_tokens.div_ceil(1 + index as u32 % 3);
            GenerateRequest { max_tokens, ..request.clone() }.line()
        };
        let mut lines: Vec<String> = self.requests.iter().enumerate().map(shortened).collect();
        let baseline = lines.iter().map(|line| self.ask(self.question(&[], vec![line.clone()])));
        let baseline = baseline.collect::<Asked<_>>()?;
        let mut arms = Vec::new();
        let mut arm = |count: u32, lines: &[String], order: &str| -> Asked<()> {
            let count = count.to_string();
            let exchange = self.ask(self.question(&["--max-sequences", &count], lines.to_vec()))?;
            arms.push(Arm { name: format!("{count} at a time{order}"), exchange });
            Ok(())
        };
        for count in &check.max_sequences {
            arm(count.0, &lines, "")?;
        }
        if let Some(count) = check.max_sequences.last() {
            lines.reverse();
            arm(count.0, &lines, ", reversed")?;
        }
        Ok(IdentitySample { baseline, arms })
    }

    fn flags(&self, check: &InertFlagsCheck) -> Asked<FlagsSample> {
        let words = |arguments: &[String]| -> Vec<String> { arguments.to_vec() };
        let ask = |arguments: Vec<String>, lines: Vec<String>| {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            self.ask(self.question(&arguments, lines))
        };
        let baseline = ask(Vec::new(), self.lines())?;
        let inert = check.inert.iter().map(|entry| {
            let lines = self.lines().iter().map(|line| merged(line, &entry.request)).collect();
            ask(words(&entry.arguments), lines)
        });
        let inert = inert.collect::<Asked<_>>()?;
        let refused = check.refused.iter().map(|entry| {
            let line = entry.request.clone().or_else(|| self.lines().into_iter().next());
            ask(words(&entry.arguments), line.into_iter().collect())
        });
        Ok(FlagsSample { baseline, inert, refused: refused.collect::<Asked<_>>()? })
    }

    fn weights(&self) -> Asked<WeightsSample> {
        let path = &self.checkpoint.path;
        let report = |verb| {
            let arguments = vec![path.display().to_string(), "--json".to_owned()];
            self.ask(Question { verb, arguments, lines: Vec::new(), repeat: 0, watched: false })
        };
        Ok(WeightsSample {
            info: report(Verb::Info)?,
            inspection: report(Verb::Inspect)?,
            disk_bytes: disk_bytes(path),
            header_tensors: header_tensors(path),
        })
    }

    /// One request after the other: the first answer ends the loading.
    fn memory(&self) -> Asked<MemorySample> {
        let question = self.question(&["--max-sequences", "1"], self.lines());
        Ok(MemorySample { exchange: self.ask(Question { watched: true, ..question })? })
    }

    fn startup(&self, check: &StartupCheck) -> Asked<StartupSample> {
        let first: Vec<String> = self.lines().into_iter().take(1).collect();
        let starts = (0..check.repeats.0).map(|repeat| {
            let question = self.question(&[], first.clone());
            self.ask(Question { watched: true, repeat, ..question })
        });
        Ok(StartupSample { starts: starts.collect::<Asked<_>>()? })
    }

    fn regression(&self) -> Asked<RegressionSample> {
        let cases = self.bench.regressions.map_or(&[][..], |list| list.cases.as_slice());
        let line =
            |request: &serde_json::Map<String, Value>| Value::Object(request.clone()).to_string();
        let lines = cases.iter().map(|case| line(&case.request)).collect();
        let exchange = self.ask(self.question(&[], lines))?;
        let expected = cases.iter().map(|case| (case.id.clone(), case.expected.clone())).collect();
        Ok(RegressionSample { expected, exchange })
    }

    fn sizes(&self, check: &SizeDependenceCheck) -> Asked<SizeSample> {
        let ids = self.prompt_ids()?;
        let prompts: Vec<Vec<u32>> = check
            .lengths
            .iter()
            .map(|length| ids.iter().copied().cycle().take(length.0 as usize).collect())
            .collect();
        let template = self.requests.first();
        let request = |prompt: &[u32], force_ids: Option<Vec<u32>>| {
            let tokens = template.map_or(1, |request| request.max_tokens);
            GenerateRequest {
                id: String::new(),
                prompt: Prompt::Ids(prompt.to_vec()),
                max_tokens: force_ids.as_ref().map_or(tokens, |ids| ids.len() as u32),
                logprobs: template.map_or(1, |request| request.logprobs),
                force_ids,
            }
        };
        let named = |index: usize, request: GenerateRequest| GenerateRequest {
            id: format!("length-{index}"),
            ..request
        };
        let whole =
            prompts.iter().enumerate().map(|(index, ids)| named(index, request(ids, None)).line());
        let whole = self.ask(self.question(&[], whole.collect()))?;
        let answers = read_generations(&whole.question, &whole.answer)?;
        let (mut lengths, mut lines) = (Vec::new(), Vec::new());
        for (index, prompt) in prompts.iter().enumerate() {
            let tail = (check.tail.0 as usize).min(prompt.len().saturating_sub(1));
            let (head, end) = prompt.split_at(prompt.len() - tail);
            let id = format!("length-{index}");
            let generated = match answers.get(&id) {
                Some(Ok(generated)) => generated.ids.as_slice(),
                _ => &[],
            };
            lines.push(named(index, request(head, Some([end, generated].concat()))).line());
            lengths.push((id, prompt.len() as u32, tail as u32));
        }
        Ok(SizeSample { lengths, whole, forced: self.ask(self.question(&[], lines))? })
    }

    /// The ids of all the gate's texts, one behind the other: what prompts of any length are cut from.
    fn prompt_ids(&self) -> Asked<Vec<u32>> {
        let text = |request: &GenerateRequest| match &request.prompt {
            Prompt::Text(text) => Some(text.clone()),
            Prompt::Ids(_) | Prompt::Messages(_) => None,
        };
        let text: Vec<String> = self.requests.iter().filter_map(text).collect();
        let input = TokenizeInput::Text {
            text: text.join("\n\n"),
            add_special: true,
            parse_special: false,
        };
        let request = TokenizeRequest { id: "text".to_owned(), input };
        let answers = self.bench.subject.tokenize(&self.checkpoint.path, &[request])?;
        let unreadable = |reason: String| SubjectError::Unreadable { verb: "tokenize", reason };
        match answers.get("text") {
            Some(Ok(tokenized)) => tokenized
                .ids
                .clone()
                .filter(|ids| !ids.is_empty())
                .ok_or_else(|| unreadable("the text has no ids".to_owned())),
            Some(Err(defect)) => Err(unreadable(defect.to_string())),
            None => Err(unreadable("the text was not answered".to_owned())),
        }
    }
}

/// A request line with more keys.
fn merged(line: &str, keys: &serde_json::Map<String, Value>) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap_or_default();
    if let Value::Object(object) = &mut value {
        object.extend(keys.clone());
    }
    value.to_string()
}

/// Size of a checkpoint's tensor files: the file, or every safetensors file of the folder. What cannot be read has none.
fn disk_bytes(path: &Path) -> u64 {
    let size = |path: &Path| path.metadata().map_or(0, |file| file.len());
    let Ok(entries) = std::fs::read_dir(path) else { return size(path) };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let tensors = files.filter(|path| path.extension().is_some_and(|end| end == "safetensors"));
    tensors.map(|path| size(&path)).sum()
}

/// The tensor count in a GGUF file's header: magic, version (4 bytes), tensors (8 bytes), little-endian.
fn header_tensors(path: &Path) -> Option<u64> {
    let mut header = [0; 16];
    std::fs::File::open(path).ok()?.read_exact(&mut header).ok()?;
    if !header.starts_with(b"GGUF") {
        return None;
    }
    header[8..].try_into().map(u64::from_le_bytes).ok()
}
