//! The engine's step loop against requests that run alone through the model: the same ids and log probabilities, to the bit,
//! whether together, cut into pieces, on remembered prefixes, or set back and computed again.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use engine::checkpoint::Checkpoint;
use engine::engine::{Engine, Event, Request};
use engine::generation::{EndIds, Generated, Generation};
use engine::kv::{BlockSize, Budget};
use engine::model::Model;
use engine::numerics::Profile;
use engine::sampler::Sampling;
use engine::scheduler::{Limits, Load, Pieces, Policy};
use kernels::Pool;

const CONTEXT: usize = 1600;
/// As llama.cpp runs a prompt.
const PIECE: usize = 512;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn load(checkpoint: &Checkpoint) -> Model<'_> {
    let pool = Arc::new(Pool::new(2).unwrap());
    Model::load(checkpoint, Profile::natural(checkpoint), pool).unwrap()
}

/// Prompts around the sizes at which something changes, many with the same beginning; greedy and sampled.
fn requests(lengths: &[usize]) -> Vec<Generation> {
    let request = |(index, &length): (usize, &usize)| {
        let own = |at: usize| (index * 7 + at * 31) % 150;
        let shared = |at: usize| (at * at + 3 * at) % 150;
        let prompt = (0..length).map(|at| if at < length * 9 / 10 { shared(at) } else { own(at) });
        Generation {
            prompt_ids: prompt.map(|id| id as u32).collect(),
            max_tokens: 30 + (index * 7) % 20,
            ignore_eos: true,
            logprobs: Some(3),
            prompt_logprobs: (index % 5 == 4).then_some(2),
            sampling: Sampling {
                temperature: (index % 2) as f32,
                seed: index as u64,
                ..Sampling::default()
            },
            ..Generation::default()
        }
    };
    lengths.iter().enumerate().map(request).collect()
}

/// Each request by itself, through a sequence with a cache of its own.
fn alone(model: &Model<'_>, requests: &[Generation]) -> Vec<Generated> {
    let answer = |request: &Generation| {
        let mut runner = model.runner(CONTEXT).unwrap();
        let mut sequence = runner.sequence();
        let ends = EndIds::default();
        request.clone().run(&mut runner, &mut sequence, &ends, &mut |_| true).unwrap()
    };
    requests.iter().map(answer).collect()
}

struct Setting {
    limits: Limits,
    blocks: usize,
    rounds: usize,
}

/// All requests at once, as many times as the setting says; the last answers, and how the engine stands.
fn together(
    model: &Model<'_>,
    requests: &[Generation],
    setting: &Setting,
) -> (Vec<Generated>, Load) {
    let Setting { limits, blocks, rounds } = *setting;
    let runner = model.runner(CONTEXT).unwrap();
    let (size, shape) = (BlockSize::DEFAULT, runner.kv_shape());
    assert_eq!(limits.fault(size), None);
    let budget = Budget { shape, size, blocks, max_model_len: CONTEXT };
    let mut engine = Engine::new(runner, limits, &budget, EndIds::default(), model.pool());
    let mut answers = HashMap::new();
    for round in 0..rounds {
        let mut ids = Vec::new();
        for generation in requests.iter().cloned() {
            ids.push(engine.submit(Request { generation, ..Request::default() }).unwrap());
            // Arrivals between steps too.
            if round == 0 && ids.len() % 3 == 0 {
                take(engine.step(), &mut answers);
            }
        }
        while !engine.is_idle() {
            take(engine.step(), &mut answers);
        }
        if round + 1 == rounds {
            let answers = ids.iter().map(|id| answers.remove(id).unwrap()).collect();
            return (answers, engine.load());
        }
    }
    unreachable!("there is a round")
}

fn take(events: Vec<Event>, answers: &mut HashMap<u64, Generated>) {
    for event in events {
        if let Event::Ended { id, generated, .. } = event {
            answers.insert(id, generated);
        }
    }
}

/// Every setting must answer as each request alone. What was asked of the prompts is compared between settings only: it takes
/// the logits of all rows, and a row of many is not a row of one.
fn compare(fixture_name: &str, lengths: &[usize], few: [usize; 3]) {
    let checkpoint = Checkpoint::open(&fixture(fixture_name)).unwrap();
    let model = load(&checkpoint);
    let pieces = model.runner(CONTEXT).unwrap().pieces();
    let requests = requests(lengths);
    let expected = alone(&model, &requests);
    let limits = Limits {
        max_sequences: 6,
        step_tokens: 6 + PIECE,
        pieces,
        policy: Policy::Fcfs,
        max_waiting: 1000,
        reuse_prefixes: false,
    };
    let many = 6 * CONTEXT / 16;
    let plain = Setting { limits, blocks: many, rounds: 1 };
    let single = Limits { max_sequences: 1, step_tokens: 1 + PIECE, ..limits };
    let reuse = Limits { reuse_prefixes: true, ..limits };
    let smallest = if pieces == Pieces::Any { 7 } else { 6 + PIECE };
    let mut settings = vec![
        ("one by one", Setting { limits: single, ..plain }),
        ("together", Setting { ..plain }),
        ("in pieces", Setting { limits: Limits { step_tokens: smallest, ..limits }, ..plain }),
        ("remembered", Setting { limits: reuse, rounds: 2, ..plain }),
    ];
    for blocks in few {
        settings.push(("set back", Setting { blocks, ..plain }));
        settings.push(("set back and remembered", Setting { limits: reuse, blocks, rounds: 1 }));
    }
    let mut preemptions = 0;
    let mut told: Option<Vec<Generated>> = None;
    for (name, setting) in settings {
        let (answers, load) = together(&model, &requests, &setting);
        for (index, (answer, expected)) in answers.iter().zip(&expected).enumerate() {
            if requests[index].prompt_logprobs.is_some() {
                assert_eq!(answer.prompt_steps.len() + 1, requests[index].prompt_ids.len());
                continue;
            }
            assert_eq!(answer.ids, expected.ids, "{fixture_name}, {name}, request {index}");
            assert_eq!(answer.steps, expected.steps, "{fixture_name}, {name}, request {index}");
        }
        let first = told.get_or_insert_with(|| answers.clone());
        for (answer, first) in answers.iter().zip(first) {
            assert_eq!(answer.ids, first.ids, "{fixture_name}, {name}");
            assert_eq!(answer.steps, first.steps, "{fixture_name}, {name}");
            assert_eq!(answer.prompt_steps, first.prompt_steps, "{fixture_name}, {name}");
        }
        assert_eq!(load.used_blocks, 0, "{name}");
        let hits = load.cache.hits > 0;
        assert!(setting.limits.reuse_prefixes || !hits, "{name}: {load:?}");
        assert!(hits || setting.rounds == 1, "{name}: {load:?}");
        preemptions += load.preemptions;
        assert!(load.preemptions == 0 || few.contains(&setting.blocks), "{name}: {load:?}");
    }
    assert!(preemptions >= 3, "too few were set back for this to tell: {preemptions}");
}

/// Kernels depend on the number of rows: pieces of 512, attention in tiles from 64 rows on.
#[test]
fn llamacpp_answers_are_those_of_each_request_alone() {
    let lengths = [1, 63, 64, 65, 511, 512, 513, 524, 520, 1030, 521, 525, 1040, 526];
    compare("tiny-llama.gguf", &lengths, [69, 71, 103]);
}

/// No row depends on another: any piece, any prefix, generated tokens among them.
#[test]
fn eager_answers_are_those_of_each_request_alone() {
    let lengths = [1, 2, 15, 16, 17, 40, 64, 65, 100, 130, 131, 47];
    compare("qwen3-bf16", &lengths, [12, 13, 17]);
}
