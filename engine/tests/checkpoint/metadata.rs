//! Typed getters: what they give, what they refuse, and what they note as consumed.

use engine::checkpoint::Error;

use crate::writer::{GgufWriter, array, id, string};

#[test]
fn getters_give_values_of_their_type() {
    let gguf = GgufWriter::small().open().unwrap();
    let metadata = gguf.metadata();
    assert_eq!(metadata.u32("llama.block_count").unwrap(), 2);
    assert_eq!(metadata.f32("llama.rope.freq_base").unwrap().to_bits(), 1e4f32.to_bits());
    assert!(metadata.bool("tokenizer.ggml.add_bos_token").unwrap());
    assert_eq!(metadata.str("general.architecture").unwrap(), "llama");
    assert_eq!(metadata.str_array("tokenizer.ggml.tokens").unwrap(), ["a", "bc"]);
    assert_eq!(metadata.find::<u32>("llama.vocab_size").unwrap(), None);
}

#[test]
fn arrays_of_numbers() {
    let numbers = [1i32, -2].map(i32::to_le_bytes).concat();
    let singles = [0.5f32, -1.0].map(f32::to_le_bytes).concat();
    let gguf = GgufWriter::new()
        .key("i", id::ARRAY, array(id::INT32, 2, numbers))
        .key("f", id::ARRAY, array(id::FLOAT32, 2, singles))
        .key("none", id::ARRAY, array(id::UINT32, 0, []))
        .open()
        .unwrap();
    let metadata = gguf.metadata();
    assert_eq!(metadata.i32_array("i").unwrap(), [1, -2]);
    let bits: Vec<u32> =
        metadata.f32_array("f").unwrap().iter().map(|single| single.to_bits()).collect();
    assert_eq!(bits, [0x3f00_0000, 0xbf80_0000]);
    assert!(metadata.get::<Vec<u32>>("none").unwrap().is_empty());
}

#[test]
fn what_no_getter_was_asked_for_is_unused() {
    let gguf = GgufWriter::small().open().unwrap();
    let metadata = gguf.metadata();
    assert_eq!(metadata.unused().len(), 5);
    metadata.u32("llama.block_count").unwrap();
    metadata.find::<&str>("general.architecture").unwrap();
    // Looking at keys, values and presence consumes nothing.
    assert!(metadata.contains("llama.rope.freq_base"));
    for entry in metadata.entries() {
        metadata.value(entry).unwrap();
    }
    let unused = ["llama.rope.freq_base", "tokenizer.ggml.add_bos_token", "tokenizer.ggml.tokens"];
    assert_eq!(metadata.unused(), unused);
}

#[test]
fn messages_of_getters() {
    let gguf = GgufWriter::small()
        .key("llama.vocab_size", id::UINT64, 7u64.to_le_bytes())
        .key("scores", id::ARRAY, array(id::FLOAT64, 1, 1.0f64.to_le_bytes()))
        .key("byte", id::UINT8, [7])
        .open()
        .unwrap();
    let metadata = gguf.metadata();
    let message = |error: Option<Error>| error.unwrap().to_string();
    let messages = [
        message(metadata.u32("llama.embedding_length").err()),
        message(metadata.str_array("tokenizer.ggml.merges").err()),
        message(metadata.u32("llama.vocab_size").err()),
        message(metadata.u32("byte").err()),
        message(metadata.u32("tokenizer.ggml.tokens").err()),
        message(metadata.f32_array("scores").err()),
        message(metadata.str_array("general.architecture").err()),
        message(metadata.find::<bool>("llama.block_count").err()),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn the_place_of_a_value_is_where_its_bytes_are() {
    let file = GgufWriter::small().build();
    let gguf = GgufWriter::small().open().unwrap();
    let encoded = [
        string(b"llama"),
        2u32.to_le_bytes().to_vec(),
        1e4f32.to_le_bytes().to_vec(),
        vec![1],
        array(id::STRING, 2, [string(b"a"), string(b"bc")].concat()),
    ];
    let metadata = gguf.metadata();
    assert_eq!(metadata.entries().len(), encoded.len());
    for (entry, encoded) in metadata.entries().iter().zip(encoded) {
        let start = entry.offset() as usize;
        assert_eq!(file[start..start + entry.bytes() as usize], encoded, "{}", entry.key());
    }
}
