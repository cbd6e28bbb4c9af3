//! The files of this workspace parse; wrong ones say where and why.

use std::path::Path;

use oracles::checkpoint::{self, CheckpointSpec, Source};
use oracles::provision;
use oracles::registry::{self, OracleSpec};
use oracles::{Error, Home, Progress, checkpoint::CheckpointError};
use proptest::prelude::*;

use crate::fixture::{Place, workspace};

const GOOD: &str = r#"summary = "x"
licence = "MIT"

[local]
path = "model.gguf"
sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"#;

#[test]
fn every_declared_thing_parses() {
    let home = Home { root: workspace(), cache: "unused".into() };
    let checkpoints = checkpoint::names(&home).unwrap();
    assert!(checkpoints.len() >= 4, "{checkpoints:?}");
    for name in checkpoints {
        CheckpointSpec::load(&home, &name).unwrap();
    }
    let oracles = registry::names(&home).unwrap();
    assert!(oracles.contains(&"llama-cpp".to_owned()));
    for name in oracles {
        OracleSpec::load(&home, &name).unwrap();
    }
}

/// The folder of a provisioned oracle is named by the digest of its pin: a renamed key would build it anew.
#[test]
fn the_pin_of_llama_cpp_has_not_moved() {
    let home = Home { root: workspace(), cache: "cache".into() };
    let spec = OracleSpec::load(&home, "llama-cpp").unwrap();
    let folder = provision::folder(&home, &spec);
    assert_eq!(folder, Path::new("cache/oracles/llama-cpp-0.3.36-451ec7157b18"));
}

fn oracle_message(toml: &str) -> String {
    let place = Place::new();
    let registry = place.home.registry_dir();
    std::fs::create_dir_all(&registry).unwrap();
    std::fs::write(registry.join("it.toml"), toml).unwrap();
    OracleSpec::load(&place.home, "it").unwrap_err().to_string()
}

#[test]
fn an_oracle_has_one_provisioner_that_fits_its_package() {
    let attach = "summary = 'x'\nlicence = 'MIT'\nrole = 'x'\nscope = ['tokens']\ndevice = 'cpu'\n\
                  [gateable]\nanswer = 'no'\ndebt = 'x'\n\
                  [package]\nindex = 'none'\nname = 'x'\nversion = '1'\n\
                  [attach]\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\n";
    let container = "[container]\nengines = ['docker']\ninterpreter = 'python3'\n";
    let venv = "[venv]\npython = '3.12'\ntools = { uv = '1' }\n";
    let one = "exactly one of [build], [venv], [container], [attach]";
    let cases = [
        (format!("{attach}{container}"), format!("{one}, found container, attach")),
        (attach.split("[attach]").next().unwrap().to_owned(), format!("{one}, found none")),
        (attach.replace("'cpu'", "'tpu'"), "device".to_owned()),
        (attach.replace("none", "pypi"), "64 lowercase hexadecimal digits".to_owned()),
        (attach.replace(":1'", ":1/v1'"), "key attach.url".to_owned()),
        (
            attach.replace("'no'\ndebt", "'yes'\nevidence"),
            "expected no with [attach], which never binds".to_owned(),
        ),
        (
            attach.split("[attach]").next().unwrap().to_owned() + venv,
            "key package.index".to_owned(),
        ),
        (
            attach.split("[attach]").next().unwrap().to_owned() + &venv.replace("3.12", "3.12.1"),
            "key venv.python: expected MAJOR.MINOR".to_owned(),
        ),
    ];
    for (toml, part) in cases {
        let message = oracle_message(&toml);
        assert!(message.contains(&part), "{part:?} is not in:\n{message}");
    }
}

fn message(toml: &str) -> String {
    let place = Place::new();
    place.declare("it", toml);
    let error = CheckpointSpec::load(&place.home, "it").unwrap_err().to_string();
    error.replace(&place.home.root.display().to_string(), "ROOT")
}

#[test]
fn messages_name_file_line_and_key() {
    let hub = "[hub]\nrepository = \"a/b\"\nrevision = \"0123456789012345678901234567890123456789\"\n\
               [[hub.file]]\npath = \"c\"\nbytes = 0\nsha256 = \
               \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\n";
    let one = "exactly one of [package], [hub], [local], [synthetic], [converted]";
    let cases: [(String, &[&str]); 5] = [
        (GOOD.replace("sha256", "sha265"), &["line 6", "sha265", "^"]),
        (GOOD.replace("\"MIT\"", "7"), &["line 2", "licence = 7", "^"]),
        (GOOD.replace("e3b0", "E3B0"), &["key local.sha256", "64 lowercase hexadecimal digits"]),
        (format!("{GOOD}\n{hub}"), &[one, "found hub, local"]),
        ("summary = \"x\"\nlicence = \"MIT\"\n".to_owned(), &[one, "found none"]),
    ];
    for (toml, parts) in cases {
        let message = message(&toml);
        assert!(message.starts_with("ROOT/oracles/checkpoints/it.toml: "), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in:\n{message}");
        }
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let place = Place::new();
    place.declare("it", GOOD);
    for name in ["other", "../it", "/etc/passwd"] {
        let error = CheckpointSpec::load(&place.home, name).unwrap_err().to_string();
        assert!(error.ends_with("there are: it"), "{error}");
    }
}

#[test]
fn a_local_file_is_checked_and_left_where_it_is() {
    let place = Place::new();
    place.declare("it", GOOD);
    let spec = CheckpointSpec::load(&place.home, "it").unwrap();
    let path = place.home.root.join("model.gguf");
    assert!(checkpoint::resident(&place.home, &spec).unwrap().is_none());
    let missing = checkpoint::fetch(&place.home, &spec, Progress::Silent).unwrap_err();
    assert!(matches!(missing, Error::Checkpoint(CheckpointError::Local { .. })), "{missing}");
    // The digest of the empty file.
    std::fs::write(&path, b"").unwrap();
    let checkpoint = checkpoint::resident(&place.home, &spec).unwrap().unwrap();
    assert_eq!((checkpoint.path.as_path(), checkpoint.bytes), (path.as_path(), 0));
    std::fs::write(&path, b"x").unwrap();
    let wrong = checkpoint::fetch(&place.home, &spec, Progress::Silent).unwrap_err();
    assert!(
        matches!(wrong, Error::Checkpoint(CheckpointError::Hash { aside: None, .. })),
        "{wrong}"
    );
    assert!(path.is_file());
}

/// The pinned digests are the claim "the same bytes everywhere": another machine that runs this
/// test checks it.
#[test]
fn synthetic_weights_are_the_pinned_ones() {
    let place = Place::new();
    let home = Home { root: workspace(), cache: place.home.cache.clone() };
    for name in ["synthetic-llama-tiny", "synthetic-qwen3-tiny"] {
        let spec = CheckpointSpec::load(&home, name).unwrap();
        let Source::Synthetic(source) = &spec.source else { panic!("{name}") };
        let checkpoint = checkpoint::fetch(&home, &spec, Progress::Silent).unwrap();
        assert_eq!(checkpoint.sha256, source.sha256);
        let weights = std::fs::read(checkpoint.path.join("model.safetensors")).unwrap();
        check_safetensors(&weights, source.config["vocab_size"].as_u64().unwrap());
        // A flipped bit is noticed, set aside, and made anew.
        flip(&checkpoint.path.join("model.safetensors"));
        let error = checkpoint::resident(&home, &spec).unwrap_err();
        assert!(matches!(error, Error::Checkpoint(CheckpointError::Hash { aside: Some(_), .. })));
        assert_eq!(checkpoint::fetch(&home, &spec, Progress::Silent).unwrap(), checkpoint);
    }
}

/// What it is made from is made here; what it is made with has a command of its own, which is named.
#[test]
fn a_converted_checkpoint_needs_its_converter() {
    let place = Place::new();
    let home = Home { root: workspace(), cache: place.home.cache.clone() };
    let spec = CheckpointSpec::load(&home, "synthetic-qwen3-tiny-gguf").unwrap();
    assert_eq!(checkpoint::resident(&home, &spec).unwrap(), None);
    let error = checkpoint::fetch(&home, &spec, Progress::Silent).unwrap_err().to_string();
    assert!(error.contains("converted with llama-cpp, which is not provisioned"), "{error}");
    assert!(error.contains("`gate oracle provision llama-cpp`"), "{error}");
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// The layout as the safetensors format defines it, read by hand.
fn check_safetensors(bytes: &[u8], vocabulary: u64) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let embedding = &header["model.embed_tokens.weight"];
    assert_eq!(embedding["shape"], serde_json::json!([vocabulary, 256]));
    let mut end = 0;
    for (_, tensor) in header.as_object().unwrap().iter().filter(|(key, _)| *key != "__metadata__")
    {
        let shape: u64 =
            tensor["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).product();
        assert_eq!(tensor["data_offsets"], serde_json::json!([end, end + 2 * shape]));
        end += 2 * shape;
    }
    assert_eq!(bytes.len() as u64, 8 + length as u64 + end);
}

proptest! {
    /// No text makes the parser panic, and what parses has a source.
    #[test]
    fn any_text_is_parsed_or_refused(cut in 0..GOOD.len(), insert in "[ -~\n]{0,12}") {
        let place = Place::new();
        let text: String = GOOD.chars().take(cut).chain(insert.chars()).chain(GOOD.chars().skip(cut + 1)).collect();
        place.declare("it", &text);
        let _ = CheckpointSpec::load(&place.home, "it");
    }
}
