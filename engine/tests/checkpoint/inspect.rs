//! The reports of `plumb inspect` on small files.

use engine::inspect::{Arguments, run};

use crate::writer::data;

fn output(name: &str, json: bool, full: bool) -> String {
    let mut out = Vec::new();
    run(&Arguments { file: data(name), json, full }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn tables() {
    insta::assert_snapshot!("gguf_tables", output("kinds.gguf", false, false));
    insta::assert_snapshot!("sharded_tables", output("sharded", false, false));
}

#[test]
fn json() {
    insta::assert_snapshot!("gguf_json", output("kinds.gguf", true, false));
    insta::assert_snapshot!("single_json", output("single.safetensors", true, false));
}

#[test]
fn full_reports_have_every_element() {
    let summarised: serde_json::Value =
        serde_json::from_str(&output("kinds.gguf", true, false)).unwrap();
    let full: serde_json::Value = serde_json::from_str(&output("kinds.gguf", true, true)).unwrap();
    let long = |report: &serde_json::Value| {
        let metadata = report["metadata"].as_array().unwrap();
        metadata.iter().find(|row| row["key"] == "array.long").unwrap()["value"].clone()
    };
    assert_eq!(long(&summarised)["length"], 40);
    assert_eq!(long(&summarised)["head"].as_array().unwrap().len(), 16);
    assert_eq!(long(&full).as_array().unwrap().len(), 40);
    assert!(output("kinds.gguf", false, true).contains("\"token 39\""));
}
