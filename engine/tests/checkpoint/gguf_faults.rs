//! One bad GGUF file a fault; the messages are the snapshot.

use std::fmt::Write;

use crate::writer::{GgufWriter, array, id, open_gguf, string};

/// The messages of bad files, one line each after the name of the case.
fn messages(cases: Vec<(&str, Vec<u8>)>) -> String {
    let mut text = String::new();
    for (case, bytes) in cases {
        let message = match open_gguf(bytes) {
            Ok(_) => panic!("{case}: the file was accepted"),
            Err(error) => error.to_string(),
        };
        writeln!(text, "{case}\n    {message}").unwrap();
    }
    text
}

fn built(case: &'static str, change: impl FnOnce(&mut GgufWriter)) -> (&'static str, Vec<u8>) {
    let mut writer = GgufWriter::small();
    change(&mut writer);
    (case, writer.build())
}

#[test]
fn the_small_file_is_good() {
    let gguf = GgufWriter::small().open().unwrap();
    assert_eq!(gguf.metadata().keys().len(), 5);
}

#[test]
fn header() {
    let cases = vec![
        ("empty file", Vec::new()),
        ("three bytes", b"GGU".to_vec()),
        ("ends in the version", b"GGUF\x03\0".to_vec()),
        ("ends in the counts", b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
        built("safetensors magic", |file| file.magic = *b"\xf0\0\0{"),
        built("version 1", |file| file.version = 1),
        built("version 4", |file| file.version = 4),
        built("big-endian", |file| file.version = 3u32.swap_bytes()),
        built("version of noise", |file| file.version = 0xdead_beef),
        built("tensor count 2^64 - 1", |file| file.tensor_count = Some(u64::MAX)),
        built("key count 2^63", |file| file.key_count = Some(1 << 63)),
        built("one tensor too many", |file| file.tensor_count = Some(3)),
        built("one key too many", |file| file.key_count = Some(6)),
        built("one key too few", |file| file.key_count = Some(4)),
    ];
    insta::assert_snapshot!(messages(cases));
}

#[test]
fn metadata() {
    let with_key = |case, key: &str, value_type, value: Vec<u8>| {
        (case, GgufWriter::small().key(key, value_type, value).build())
    };
    let cases = vec![
        with_key("empty key", "", id::UINT32, vec![0; 4]),
        with_key("key of 65536 bytes", &"k".repeat(65_536), id::UINT32, vec![0; 4]),
        built("key that is not UTF-8", |file| file.keys[0].0 = b"general.\xff".to_vec()),
        with_key("duplicate key", "llama.block_count", id::UINT32, vec![2, 0, 0, 0]),
        with_key("value type 13", "kind", 13, vec![0; 4]),
        with_key("value type 2^32 - 1", "kind", u32::MAX, vec![0; 4]),
        with_key("bool 2", "flag", id::BOOL, vec![2]),
        with_key("string that is not UTF-8", "text", id::STRING, string(b"abc\xff\xfe")),
        with_key("string of 2^64 - 1 bytes", "text", id::STRING, vec![0xff; 8]),
        with_key(
            "array of arrays",
            "nested",
            id::ARRAY,
            array(id::ARRAY, 1, array(id::UINT8, 1, [7])),
        ),
        with_key("array of value type 77", "kinds", id::ARRAY, array(77, 1, [7])),
        with_key("array of 2^63 strings", "tokens", id::ARRAY, array(id::STRING, 1 << 63, [])),
        with_key(
            "array of 2^61 + 1 numbers",
            "scores",
            id::ARRAY,
            array(id::UINT64, (1 << 61) + 1, []),
        ),
        with_key("array with a bool 9", "flags", id::ARRAY, array(id::BOOL, 3, [0, 1, 9])),
        with_key(
            "array with a bad string",
            "tokens",
            id::ARRAY,
            array(id::STRING, 2, [string(b"a"), string(b"\xc3")].concat()),
        ),
        with_key("alignment 48", "general.alignment", id::UINT32, 48u32.to_le_bytes().to_vec()),
        with_key("alignment 0", "general.alignment", id::UINT32, vec![0; 4]),
        with_key("alignment of another type", "general.alignment", id::UINT64, vec![0; 8]),
        with_key("one of 3 parts", "split.count", id::UINT16, vec![3, 0]),
    ];
    insta::assert_snapshot!(messages(cases));
}

#[test]
fn tensors() {
    let cases = vec![
        built("empty name", |file| file.tensors[1].name.clear()),
        built("name of 64 bytes", |file| file.tensors[1].name = vec![b'n'; 64]),
        built("name that is not UTF-8", |file| file.tensors[1].name = vec![0xff]),
        built("duplicate name", |file| file.tensors[1].name = b"blk.0.weight".to_vec()),
        built("no dimension", |file| file.tensors[1].extents.clear()),
        built("five dimensions", |file| file.tensors[1].extents = vec![1; 5]),
        built("2^32 - 1 dimensions", |file| file.tensors[1].dimensions = Some(u32::MAX)),
        built("extent 0", |file| file.tensors[1].extents = vec![3, 0]),
        built("extents that overflow", |file| file.tensors[1].extents = vec![1 << 32, 1 << 32]),
        built("bytes that overflow", |file| file.tensors[1].extents = vec![1 << 62]),
        built("unknown type 4", |file| file.tensors[1].kind = 4),
        built("unknown type 2^32 - 1", |file| file.tensors[1].kind = u32::MAX),
        built("rows of 33 in blocks of 32", |file| file.tensors[0].extents = vec![33, 2]),
        built("offset not aligned", |file| file.tensors[1].offset = 65),
        built("offset inside the tensor before", |file| file.tensors[1].offset = 32),
        built("offset that leaves a gap", |file| file.tensors[1].offset = 96),
        built("offset 2^64 - 1", |file| file.tensors[1].offset = u64::MAX),
        built("offsets swapped", |file| {
            file.tensors[0].offset = 64;
            file.tensors[1].offset = 0;
        }),
        built("one row too many", |file| file.tensors[1].extents = vec![3, 2]),
        built("no tensor, but data", |file| file.tensor_count = Some(0)),
        built("data 32 bytes long", |file| file.data.resize(64 + 12 + 32, 0)),
        built("data one byte short", |file| file.data.truncate(64 + 11)),
        built("no data", |file| file.data.clear()),
        built("a larger type than the data", |file| file.tensors[0].kind = id::F32),
    ];
    insta::assert_snapshot!(messages(cases));
}
