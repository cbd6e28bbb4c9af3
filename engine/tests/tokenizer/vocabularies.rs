//! Every kind of vocabulary gives llama.cpp's ids, and decodes to what was encoded.

use engine::tokenizer::{Detokenizer, Tokenizer};

use crate::fixture::{Case, Fixture, tokenizer};

/// Checks all cases of a fixture; returns how many there were.
fn check(name: &str) -> usize {
    let fixture = Fixture::read(name);
    assert!(fixture.provenance.contains("llama.cpp"));
    let mut compared = 0;
    for group in &fixture.groups {
        let tokenizer = tokenizer(&fixture.with(&group.overrides)).unwrap();
        for Case { text, add_special, parse_special, ids } in &group.cases {
            let got = tokenizer.encode(text, *add_special, *parse_special).unwrap();
            let spelled = |ids: &[u32]| -> Vec<String> {
                ids.iter().map(|&id| tokenizer.token_text(id).unwrap().to_owned()).collect()
            };
            assert_eq!(
                &got,
                ids,
                "{name} {:?}: {text:?}\n got  {:?}\n want {:?}",
                group.overrides,
                spelled(&got),
                spelled(ids)
            );
            streams_as_a_whole(&tokenizer, ids);
            compared += 1;
        }
    }
    compared
}

/// The pieces of the incremental detokenizer are the text.
fn streams_as_a_whole(tokenizer: &Tokenizer, ids: &[u32]) {
    for skip_special in [false, true] {
        let mut detokenizer = Detokenizer::new(tokenizer, skip_special);
        let mut text: String = ids.iter().map(|&id| detokenizer.push(id).unwrap()).collect();
        text += &detokenizer.finish();
        assert_eq!(text, tokenizer.decode(ids, skip_special).unwrap());
    }
}

#[test]
fn every_pre_tokenizer_gives_the_ids_of_llama_cpp() {
    assert_eq!(check("byte_pair"), 29 * 32);
}

#[test]
fn gemma_gives_the_ids_of_llama_cpp() {
    assert_eq!(check("gemma4"), 58);
}

#[test]
fn sentence_piece_gives_the_ids_of_llama_cpp() {
    assert_eq!(check("sentence_piece"), 59 + 39 + 59);
}

#[test]
fn word_piece_gives_the_ids_of_llama_cpp() {
    assert_eq!(check("word_piece"), 60 + 30);
}

#[test]
fn byte_level_text_decodes_to_itself() {
    let fixture = Fixture::read("byte_pair");
    let mut compared = 0;
    for group in &fixture.groups {
        let tokenizer = tokenizer(&fixture.with(&group.overrides)).unwrap();
        for Case { text, .. } in &group.cases {
            let ids = tokenizer.encode(text, false, true).unwrap();
            assert_eq!(&tokenizer.decode(&ids, false).unwrap(), text);
            compared += 1;
        }
    }
    assert_eq!(compared, 29 * 32);
}

#[test]
fn sentence_piece_text_decodes_to_itself_as_a_whole() {
    let fixture = Fixture::read("sentence_piece");
    let tokenizer = tokenizer(&fixture.with(&fixture.groups[0].overrides)).unwrap();
    let text = "Hello naïve 你好, \u{1F600}!\n\n  end";
    let ids = tokenizer.encode(text, false, false).unwrap();
    assert_eq!(tokenizer.decode_whole(&ids, false).unwrap(), text);
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), format!(" {text}"));
}

#[test]
fn a_character_is_held_back_until_its_last_byte() {
    let fixture = Fixture::read("sentence_piece");
    let tokenizer = tokenizer(&fixture.with(&fixture.groups[0].overrides)).unwrap();
    let bytes: Vec<u32> = "\u{1F999}".bytes().map(|byte| u32::from(byte) + 3).collect();
    let mut detokenizer = Detokenizer::new(&tokenizer, true);
    let pieces: Vec<String> = bytes.iter().map(|&id| detokenizer.push(id).unwrap()).collect();
    assert_eq!(pieces, ["", "", "", "\u{1F999}"]);
    // An incomplete one is shown as such when something else follows, and at the end.
    assert_eq!(detokenizer.push(bytes[0]).unwrap(), "");
    assert_eq!(detokenizer.push(u32::from(b'a') + 3).unwrap(), "\u{FFFD}a");
    assert_eq!(detokenizer.push(bytes[0]).unwrap(), "");
    assert_eq!(detokenizer.finish(), "\u{FFFD}");
}

#[test]
fn a_row_of_the_model_without_a_token_has_no_text() {
    let fixture = Fixture::read("sentence_piece");
    let tokenizer = tokenizer(&fixture.with(&fixture.groups[0].overrides)).unwrap();
    let beyond = tokenizer.vocabulary_size() as u32;
    let [a, b] = [b'a', b'b'].map(|byte| u32::from(byte) + 3);
    assert!(tokenizer.has_token(beyond - 1) && !tokenizer.has_token(beyond));
    assert_eq!(tokenizer.decode_generated(&[a, beyond, b, u32::MAX], true).unwrap(), "ab");
    assert!(tokenizer.decode(&[a, beyond, b], true).is_err());
    let mut detokenizer = Detokenizer::new(&tokenizer, true);
    let pieces: Vec<String> =
        [a, beyond, b].iter().map(|&id| detokenizer.push(id).unwrap()).collect();
    assert_eq!(pieces, ["a", "", "b"]);
}

#[test]
fn a_conversation_begins_with_exactly_one_bos() {
    let fixture = Fixture::read("byte_pair");
    let overrides = [("tokenizer.ggml.pre".to_owned(), "llama3".into())].into_iter().collect();
    let tokenizer = tokenizer(&fixture.with(&overrides)).unwrap();
    let bos = tokenizer.bos().unwrap();
    for text in ["Hi", "<|begin|>Hi"] {
        let ids = tokenizer.encode_rendered(text).unwrap();
        assert_eq!(ids.iter().filter(|&&id| id == bos).count(), 1);
        assert_eq!(ids[0], bos);
    }
}
