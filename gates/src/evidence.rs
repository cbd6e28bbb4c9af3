//! What is kept beside a record, so that its verdict can be checked without running anything.

use serde_json::{Value, json};

use crate::judge::Trouble;
use crate::samples::{GenerationSample, Samples, TextCorpus};

/// Named files. Whole rankings are left out: they are 0.5 MB a run, and the ids decide.
pub fn of(collected: &Result<Samples, Trouble>) -> Vec<(&'static str, String)> {
    match collected {
        Ok(Samples::Generations(samples)) => {
            vec![("cases.jsonl", lines(samples.iter().map(generation)))]
        }
        Ok(Samples::Texts(corpora)) => {
            vec![("texts.jsonl", lines(corpora.iter().flat_map(texts)))]
        }
        Err(_) => Vec::new(),
    }
}

/// Every ranking of both sides, for `--keep`.
pub fn whole(collected: &[GenerationSample]) -> String {
    let case = |sample: &GenerationSample| {
        let ranking =
            |answer: &Result<crate::subject::Generated, crate::subject::Defect>| match answer {
                Ok(generated) => json!(generated.steps),
                Err(defect) => json!({ "defect": defect.to_string() }),
            };
        json!({
            "id": sample.reference.id,
            "oracle": sample.reference.steps,
            "subject": ranking(&sample.subject),
            "forced": sample.forced.as_ref().map(ranking),
        })
    };
    lines(collected.iter().map(case))
}

fn lines(values: impl Iterator<Item = Value>) -> String {
    values.fold(String::new(), |text, value| text + &value.to_string() + "\n")
}

fn generation(sample: &GenerationSample) -> Value {
    let ours = match &sample.subject {
        Ok(generated) => json!({ "prompt_ids": generated.prompt_ids, "ids": generated.ids }),
        Err(defect) => json!({ "defect": defect.to_string() }),
    };
    json!({
        "id": sample.reference.id,
        "oracle": { "prompt_ids": sample.reference.prompt_ids, "ids": sample.reference.ids },
        "subject": ours,
    })
}

fn texts(corpus: &TextCorpus) -> Vec<Value> {
    let text = |sample: &crate::samples::TextSample| {
        let ours = match &sample.encoded {
            Ok(tokenized) => json!(tokenized.ids),
            Err(defect) => json!({ "defect": defect.to_string() }),
        };
        json!({ "id": sample.id, "oracle": sample.expected, "subject": ours })
    };
    corpus.texts.iter().map(text).collect()
}
