//! Chat templates render as Python's jinja2 does with the settings of the transformers library.
//!
//! The fixture `chat_template/cases.json` was written by jinja2 3.1 from small templates of our own, each
//! about one feature; it names its origin.

use engine::chat_template::{ChatTemplate, ChatTemplateError, Message};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    provenance: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    template: String,
    messages: Vec<Message>,
    add_generation_prompt: bool,
    extra: Map<String, Value>,
    /// Null where the template refuses the conversation.
    text: Option<String>,
    /// The words of the refusal.
    refusal: Option<String>,
}

const SPECIAL_TOKENS: [(&str, &str); 2] = [("bos_token", "<s>"), ("eos_token", "</s>")];

#[test]
fn templates_render_as_in_python() {
    let fixture: Fixture = serde_json::from_str(include_str!("chat_template/cases.json")).unwrap();
    assert!(fixture.provenance.contains("jinja2"));
    let mut compared = 0;
    for case in &fixture.cases {
        let template = ChatTemplate::new(&case.template, SPECIAL_TOKENS).unwrap();
        let rendered = template.render(&case.messages, case.add_generation_prompt, &case.extra);
        match (&case.text, rendered) {
            (Some(text), Ok(rendered)) => assert_eq!(&rendered, text, "{}", case.name),
            (None, Err(ChatTemplateError::Refused { message })) => {
                assert_eq!(Some(message), case.refusal, "{}", case.name);
            }
            (expected, got) => panic!("{}: expected {expected:?}, got {got:?}", case.name),
        }
        compared += 1;
    }
    assert_eq!(compared, 30);
}

fn render(template: &str) -> Result<String, ChatTemplateError> {
    ChatTemplate::new(template, SPECIAL_TOKENS)?.render(
        &[Message::text("user", "Hi")],
        true,
        &Map::new(),
    )
}

#[test]
fn a_template_that_does_not_compile_is_refused_with_its_line() {
    let error = render("one\n{% for message in %}").unwrap_err();
    assert!(matches!(error, ChatTemplateError::Syntax { line: 2, .. }), "{error}");
}

#[test]
fn a_template_that_fails_is_refused_with_its_line() {
    let error = render("one\ntwo\n{{ messages[0].nothing.further }}").unwrap_err();
    assert!(matches!(error, ChatTemplateError::Rendering { line: 3, .. }), "{error}");
}

#[test]
fn a_template_that_never_ends_is_stopped() {
    let endless =
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
    assert!(matches!(render(endless), Err(ChatTemplateError::Rendering { .. })));
}

#[test]
fn the_present_date_is_in_utc() {
    let year: i32 = render("{{ strftime_now('%Y') }}").unwrap().parse().unwrap();
    assert!(year >= 2026);
}

#[test]
fn a_folder_gives_its_template() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let tokenizer = json!({
        "version": "1.0",
        "added_tokens": [{"id": 1, "content": "<e>", "special": true, "single_word": false, "lstrip": false,
                          "rstrip": false, "normalized": false}],
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
    });
    write("tokenizer.json", tokenizer.to_string());
    let load = || {
        let path = folder.path().join("tokenizer.json");
        let tokenizer = engine::tokenizer::Tokenizer::from_tokenizer_json(&path).unwrap();
        let template = ChatTemplate::from_folder(folder.path(), &tokenizer).unwrap();
        template.map(|template| template.render(&[], false, &Map::new()).unwrap())
    };
    assert_eq!(load(), None);
    write(
        "tokenizer_config.json",
        json!({"eos_token": "<e>", "chat_template": "one{{ eos_token }}"}).to_string(),
    );
    assert_eq!(load().as_deref(), Some("one<e>"));
    let named =
        json!([{"name": "tool_use", "template": "no"}, {"name": "default", "template": "two"}]);
    write("tokenizer_config.json", json!({"chat_template": named}).to_string());
    assert_eq!(load().as_deref(), Some("two"));
    write("chat_template.jinja", "three".to_owned());
    assert_eq!(load().as_deref(), Some("three"));
}
