//! Profile `hf517-eager` against what transformers 5.17.0 answered for tiny random checkpoints.
//!
//! `fixtures/make.py` made them, and `expected.json` beside each: logits of the last positions of a prompt, and
//! the greedy continuation.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

use std::path::PathBuf;
use std::sync::Arc;

use engine::batch::Outputs;
use engine::checkpoint::Checkpoint;
use engine::generation::{EndIds, Generation};
use engine::model::Model;
use engine::numerics::Profile;
use engine::taps::Taps;
use kernels::Pool;
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    ids: Vec<u32>,
    greedy: Vec<u32>,
    /// The last positions.
    logits: Vec<Vec<f32>>,
}

/// The largest difference of a logit, after checking every one and the whole greedy continuation.
fn compare(name: &str, tolerance: f32) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: Expected = serde_json::from_str(&text).unwrap();
    let checkpoint = Checkpoint::open(&folder).unwrap();
    let pool = Arc::new(Pool::new(2).unwrap());
    let model = Model::load(&checkpoint, Profile::Hf517Eager, pool).unwrap();
    assert_eq!(model.residency().tensor_bytes, checkpoint.tensor_bytes());

    let mut runner = model.runner(512).unwrap();
    let mut sequence = runner.sequence();
    let mut taps = Taps::none();
    let logits = runner.run_tapped(&mut sequence, &expected.ids, Outputs::All, &mut taps);
    let logits = logits.unwrap().unwrap();
    let first = logits.rows() - expected.logits.len();
    let mut compared = 0;
    for (row, expected) in
        logits.values().chunks_exact(logits.width()).skip(first).zip(&expected.logits)
    {
        for (got, want) in row.iter().zip(expected) {
            let difference = (got - want).abs();
            assert!(difference <= tolerance, "{name}: {got} is not {want}");
            compared += 1;
        }
    }
    assert_eq!(compared, 5 * 192);

    sequence.truncate(0);
    let generation = Generation {
        prompt_ids: expected.ids,
        max_tokens: expected.greedy.len(),
        ignore_eos: true,
        ..Generation::default()
    };
    let generated =
        generation.run(&mut runner, &mut sequence, &EndIds::default(), &mut |_| true).unwrap();
    assert_eq!(generated.ids, expected.greedy, "{name}");
    assert_eq!(generated.ids.len(), 24);
}

/// Sums of some tens of `f32` products in another order: some units of 2^-23 of logits of up to 11.
#[test]
fn llama_in_f32_with_llama3_rope() {
    compare("llama-f32", 5e-5);
}

/// Two bfloat16 units at 8 to 16 are 0.125: torch adds products and bias in an order of its own.
#[test]
fn llama_in_bf16_with_attention_bias() {
    compare("llama-bf16", 0.125);
}

/// Two bfloat16 units at 8 to 16; observed was one logit in a hundred off by less than 1e-8.
#[test]
fn qwen3_in_bf16() {
    compare("qwen3-bf16", 0.125);
}
