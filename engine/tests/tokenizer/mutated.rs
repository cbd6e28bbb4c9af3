//! Metadata with something wrong anywhere: an error or a working tokenizer, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{Fixture, tokenizer};

/// One change to one key. Numbers choose the place, whatever the length.
#[derive(Debug, Clone)]
enum Mutation {
    Remove,
    Truncate(usize),
    Repeat(usize),
    Replace(usize, Value),
    Whole(Value),
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i32>().prop_map(|number| json!(number)),
        any::<f32>().prop_map(|number| json!(number)),
        any::<bool>().prop_map(|flag| json!(flag)),
        ".{0,8}".prop_map(|text| json!(text)),
        Just(json!("<0x0A>")),
        Just(json!([])),
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        Just(Mutation::Remove),
        any::<usize>().prop_map(Mutation::Truncate),
        any::<usize>().prop_map(Mutation::Repeat),
        (any::<usize>(), value()).prop_map(|(at, value)| Mutation::Replace(at, value)),
        value().prop_map(Mutation::Whole),
    ]
}

fn apply(metadata: &mut Vec<(String, Value)>, key: usize, mutation: Mutation) {
    let key = key % metadata.len();
    let slot = &mut metadata[key].1;
    match (mutation, slot) {
        (Mutation::Remove, _) => drop(metadata.remove(key)),
        (Mutation::Truncate(at), Value::Array(all)) => all.truncate(at % all.len().max(1)),
        (Mutation::Repeat(at), Value::Array(all)) if !all.is_empty() => {
            let again = all[at % all.len()].clone();
            all.push(again);
        }
        (Mutation::Replace(at, value), Value::Array(all)) if !all.is_empty() => {
            let at = at % all.len();
            all[at] = value;
        }
        (Mutation::Whole(value) | Mutation::Replace(_, value), slot) => *slot = value,
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn mutated_metadata_never_panics(
        name in prop::sample::select(vec!["byte_pair", "gemma4", "sentence_piece", "word_piece"]),
        changes in prop::collection::vec((any::<usize>(), mutation()), 1..4),
        text in "\\PC{0,40}",
        ids in prop::collection::vec(any::<u32>(), 0..4),
    ) {
        let fixture = Fixture::read(name);
        let mut metadata: Vec<(String, Value)> = fixture.metadata.into_iter().collect();
        for (key, change) in changes {
            if !metadata.is_empty() {
                apply(&mut metadata, key, change);
            }
        }
        match tokenizer(&metadata) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(tokenizer) => {
                let encoded = tokenizer.encode(&text, true, true);
                for id in encoded.iter().flatten() {
                    prop_assert!((*id as usize) < tokenizer.vocabulary_size());
                }
                let _ = tokenizer.decode(&ids, false);
            }
        }
    }
}
