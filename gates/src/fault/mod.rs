//! Planted faults, one file each. They act only from outside: on a copy of the checkpoint, on the lines to and from the
//! engine, on its exit status, or on a copy of the golden.
//!
//! A gate that has never failed is not a gate: `gate prove` plants each of these and demands red.

mod altered_merge;
mod altered_template;
mod batched_bit;
mod busy_host;
mod capped_batch;
mod checkpoint_file;
mod coin_flips;
mod crossed_groups;
mod crossed_slots;
mod double_residency;
mod drifting_repeat;
mod dropped_bias;
mod dropped_first_id;
mod dropped_line;
mod duplicated_line;
mod empty_output;
mod exchange;
mod exchanged_answers;
mod expanded_weights;
mod failed_exit;
mod flipped_golden;
mod flipped_row;
mod flipped_scales;
mod flipped_tensor;
mod forgotten_tensor;
mod heeded_flag;
mod hidden_tensor;
mod ignored_knob;
mod last_of_equals;
mod leaking_batch;
mod leaking_memory;
pub mod located;
mod misread_activations;
mod misread_blocks;
mod misread_shape;
mod misread_values;
mod missing_values;
mod nameless_refusal;
mod nan_logit;
mod nan_logprob;
mod nan_value;
mod oracle;
mod oracle_batch;
mod oracle_cache;
mod oracle_cold;
mod oracle_execution;
mod oracle_nan;
mod oracle_prefill;
mod oracle_queue;
mod oracle_repeat;
mod oracle_repeat_bit;
mod oracle_short;
mod other_pairs;
mod perturbed_head;
mod perturbed_row;
mod raised_epsilon;
mod raised_op_epsilon;
mod renamed_special;
mod scaled_logits;
mod scaled_values;
mod second_batch;
mod shifted_op_rope;
mod shifted_rope;
mod shifted_rows;
mod shifted_tokens;
mod slow_run;
mod slow_start;
mod swallowed_flag;
mod swapped_heads;
mod swapped_pair;
mod swapped_token;
mod threaded_bit;
mod threaded_order;
mod truncated_dump;
mod truncated_output;
mod truncated_run;
mod turned_bos;
mod uncertain_rows;
mod unknown_op;
mod unrounded_sums;
mod values;
mod wide_rows;
mod wrong_length;

pub use checkpoint_file::CheckpointFile;
pub use oracle::{Occasion, OracleAnswer};

use std::path::Path;

use oracles::golden::GoldenCase;
use oracles::tensors::Tensors;
use oracles::verbs::ScoredChunk;
use serde_json::Value;

use crate::subject::{Inspection, Question, RawAnswer};

/// What a fault may look at to hit something that matters.
pub struct Target<'a> {
    /// Offsets in the checkpoint.
    pub inspection: &'a Inspection,
    /// The oracle's answers.
    pub references: &'a [GoldenCase],
}

/// Where a fault acts.
pub enum Act {
    /// On a copy of the checkpoint.
    Checkpoint(fn(&Target<'_>, &mut CheckpointFile) -> Result<(), FaultError>),
    /// On the request lines; the oracle's answers say what they should have been.
    Request(fn(&[GoldenCase], &mut Vec<Value>)),
    /// On the answer lines.
    Answer(fn(&mut Vec<Value>)),
    /// On the end of the process.
    Process(fn(&mut RawAnswer)),
    /// On a question with a file of tensors, and on a copy of that file.
    Given(fn(&mut Question, &mut Tensors)),
    /// On one answer as a whole, told by its question.
    Exchange(fn(&Question, &mut RawAnswer)),
    /// On the clock: how long a run seems to have taken, in milliseconds.
    Clock(fn(u64) -> u64),
    /// On what an oracle answers when it is compared with itself.
    Oracle(fn(Occasion, &mut OracleAnswer)),
    /// On the whole distributions that an oracle answers.
    Scored(fn(&mut [ScoredChunk])),
    /// On a copy of the golden's folder.
    Golden(fn(&Path) -> std::io::Result<()>),
}

/// A fault.
pub struct Fault {
    /// Its name in specs.
    pub name: &'static str,
    /// What it plants, in a sentence.
    pub plants: &'static str,
    /// How.
    pub act: Act,
}

/// A fault could not be planted, which counts as not caught.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// The checkpoint has nothing of that name.
    #[error("there is no {what}")]
    Absent {
        /// What was looked for.
        what: String,
    },
    /// The block format is not known here.
    #[error("tensor {name} has format {format}, whose scales this fault does not know")]
    Format {
        /// The tensor.
        name: String,
        /// Its format.
        format: String,
    },
    /// Offsets lead outside the file.
    #[error("bytes {offset}..{end} lie outside the checkpoint of {length} bytes")]
    Outside {
        /// First byte.
        offset: u64,
        /// One past the last.
        end: u64,
        /// Size of the file.
        length: u64,
    },
    /// The copy could not be read or written.
    #[error("cannot {action} {path}")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Every fault there is.
pub const ALL: &[Fault] = &[
    flipped_scales::FAULT,
    flipped_row::FAULT,
    shifted_rope::FAULT,
    raised_epsilon::FAULT,
    turned_bos::FAULT,
    renamed_special::FAULT,
    altered_template::FAULT,
    altered_merge::FAULT,
    dropped_first_id::FAULT,
    wrong_length::FAULT,
    swapped_token::FAULT,
    swapped_pair::FAULT,
    truncated_run::FAULT,
    dropped_line::FAULT,
    duplicated_line::FAULT,
    exchanged_answers::FAULT,
    nan_logprob::FAULT,
    empty_output::FAULT,
    failed_exit::FAULT,
    flipped_golden::FAULT,
    coin_flips::FAULT,
    threaded_bit::FAULT,
    drifting_repeat::FAULT,
    threaded_order::FAULT,
    leaking_batch::FAULT,
    batched_bit::FAULT,
    crossed_slots::FAULT,
    ignored_knob::FAULT,
    capped_batch::FAULT,
    heeded_flag::FAULT,
    swallowed_flag::FAULT,
    nameless_refusal::FAULT,
    expanded_weights::FAULT,
    forgotten_tensor::FAULT,
    hidden_tensor::FAULT,
    misread_shape::FAULT,
    double_residency::FAULT,
    leaking_memory::FAULT,
    slow_start::FAULT,
    busy_host::FAULT,
    wide_rows::FAULT,
    second_batch::FAULT,
    slow_run::FAULT,
    oracle_repeat::FAULT,
    oracle_repeat_bit::FAULT,
    oracle_batch::FAULT,
    oracle_queue::FAULT,
    oracle_short::FAULT,
    oracle_cache::FAULT,
    oracle_cold::FAULT,
    oracle_prefill::FAULT,
    oracle_execution::FAULT,
    oracle_nan::FAULT,
    shifted_rows::FAULT,
    scaled_logits::FAULT,
    uncertain_rows::FAULT,
    nan_logit::FAULT,
    perturbed_head::FAULT,
    truncated_dump::FAULT,
    perturbed_row::FAULT,
    swapped_heads::FAULT,
    scaled_values::FAULT,
    nan_value::FAULT,
    shifted_tokens::FAULT,
    misread_values::FAULT,
    missing_values::FAULT,
    flipped_tensor::FAULT,
    misread_activations::FAULT,
    misread_blocks::FAULT,
    shifted_op_rope::FAULT,
    raised_op_epsilon::FAULT,
    other_pairs::FAULT,
    crossed_groups::FAULT,
    dropped_bias::FAULT,
    unrounded_sums::FAULT,
    last_of_equals::FAULT,
    truncated_output::FAULT,
    unknown_op::FAULT,
];

/// The fault of that name.
pub fn by_name(name: &str) -> Option<&'static Fault> {
    ALL.iter().find(|fault| fault.name == name)
}

/// The generated or encoded ids of an answer line.
fn ids_mut(line: &mut Value) -> Option<&mut Vec<Value>> {
    line.get_mut("ids")?.as_array_mut()
}

/// Sets an id in an answer line, and in its step where there is one, so that the line does not contradict itself.
fn set_id(line: &mut Value, index: usize, id: &Value) {
    if let Some(slot) = ids_mut(line).and_then(|ids| ids.get_mut(index)) {
        *slot = id.clone();
    }
    if let Some(slot) = line.pointer_mut(&format!("/steps/{index}/id")) {
        *slot = id.clone();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn answers() -> Vec<Value> {
        let step = |id: u32| json!({ "id": id, "logprob": -0.5, "top": [[id, -0.5], [99, -9.0]] });
        ["a", "b"]
            .iter()
            .enumerate()
            .map(|(case, id)| {
                let ids = [1, 2, 3].map(|token| token + case as u32 * 10);
                json!({ "id": id, "prompt_ids": [7], "ids": ids, "text": "", "steps": ids.map(step) })
            })
            .collect()
    }

    #[test]
    fn names_are_distinct() {
        let names: BTreeSet<&str> = ALL.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn every_answer_fault_changes_the_answer() {
        let mut tried = 0;
        for fault in ALL {
            if let Act::Answer(act) = fault.act {
                let mut lines = answers();
                act(&mut lines);
                assert_ne!(lines, answers(), "{}", fault.name);
                tried += 1;
            }
        }
        assert_eq!(tried, 7);
    }

    #[test]
    fn every_request_fault_changes_the_request() {
        let reference = GoldenCase {
            id: "a".into(),
            prompt_text: "hi".into(),
            prompt_ids: vec![1, 2],
            ids: vec![3],
            text: String::new(),
            finish_reason: oracles::verbs::FinishReason::Length,
            steps: Vec::new(),
        };
        let request = vec![json!({ "id": "a", "prompt": "hi", "max_tokens": 3 })];
        let mut tried = 0;
        for fault in ALL {
            if let Act::Request(act) = fault.act {
                let mut lines = request.clone();
                act(std::slice::from_ref(&reference), &mut lines);
                assert_ne!(lines, request, "{}", fault.name);
                tried += 1;
            }
        }
        assert_eq!(tried, 2);
    }
}
