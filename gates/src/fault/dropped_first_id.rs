//! Fault: the engine is given each prompt without its first token.

use oracles::golden::GoldenCase;
use serde_json::{Value, json};

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "dropped-first-id",
    plants: "prompts without their first token",
    act: Act::Request(plant),
};

fn plant(references: &[GoldenCase], lines: &mut Vec<Value>) {
    for line in lines {
        let named = |reference: &&GoldenCase| line.get("id").is_some_and(|id| *id == reference.id);
        let Some(reference) = references.iter().find(named) else { continue };
        let Some(object) = line.as_object_mut() else { continue };
        // Requests that only tokenise keep their text.
        if object.contains_key("max_tokens") {
            object.remove("prompt");
            object.remove("messages");
            object.insert("prompt_ids".to_owned(), json!(reference.prompt_ids.get(1..)));
        }
    }
}
