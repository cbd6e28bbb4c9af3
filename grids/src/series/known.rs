//! Who the arms of a series are: what each said of itself when it was first started, in `FOLDER/arms/NAME.json`. A series that goes
//! on with another binary, another build or other flags would compare what was never measured together, so it is refused.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::{StateError, canonical, publish, read_folder, read_json};
use crate::arm::{Launch, Running};

/// An arm, as it was when it was first started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// `plumb`, or an oracle's name in the registry.
    pub engine: String,
    /// What it said of itself.
    pub identity: Value,
    /// The name of its checkpoint.
    pub checkpoint: String,
    /// SHA-256 of the checkpoint's bytes.
    pub checkpoint_sha256: String,
    /// The arguments that its spec adds to its command line.
    pub arguments: Vec<String>,
    /// Wall time of its first start until it had answered a request, in milliseconds.
    pub ready_ms: u64,
}

/// The arms of a series by name.
pub type KnownArms = BTreeMap<String, Known>;

/// What is known cannot be kept or read, or an arm is another.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// A file.
    #[error(transparent)]
    File(#[from] StateError),
    /// The arm is not what it was when the series began.
    #[error(
        "arm {arm} is not what it was when the series began: {what} was {before}, is {now}; begin another series with --series DIR"
    )]
    Changed {
        /// The arm.
        arm: String,
        /// The key that differs.
        what: String,
        /// Its value then.
        before: String,
        /// Its value now.
        now: String,
    },
}

impl Known {
    /// What a server that runs is known by.
    pub fn of(launch: &Launch, running: &Running) -> Self {
        Self {
            engine: launch.engine.clone(),
            identity: settled(&running.identity),
            checkpoint: launch.checkpoint.clone(),
            arguments: launch.arguments.clone(),
            checkpoint_sha256: running.checkpoint_sha256.clone(),
            ready_ms: running.ready_ms,
        }
    }

    /// SHA-256 of the sources, where it is an engine of ours.
    pub fn source_sha256(&self) -> Option<&str> {
        self.identity.pointer("/info/source_sha256").and_then(Value::as_str)
    }

    /// The numerics profile, where it is an engine of ours.
    pub fn profile(&self) -> Option<&str> {
        self.identity.pointer("/info/profile").and_then(Value::as_str)
    }

    /// The first thing in which it is another than `before`: its key, what it was, what it is.
    fn difference(&self, before: &Self) -> Option<(String, String, String)> {
        let whole = |known: &Self| {
            let checkpoint = format!("{} {}", known.checkpoint, known.checkpoint_sha256);
            serde_json::json!({
                "engine": known.engine, "checkpoint": checkpoint, "identity": known.identity,
                "arguments": known.arguments,
            })
        };
        first_difference("", &whole(before), &whole(self))
    }
}

/// Keeps what an arm is, or holds it against what is kept, by whomever: several shares start their arms at once.
pub fn keep(folder: &Path, arm: &str, known: &Known) -> Result<(), KnownError> {
    let path = folder.join("arms").join(format!("{arm}.json"));
    if publish(&path, canonical(&path, known)?.as_bytes())? {
        return Ok(());
    }
    let before: Option<Known> = read_json(&path)?;
    match before.and_then(|before| known.difference(&before)) {
        None => Ok(()),
        Some((what, before, now)) => {
            Err(KnownError::Changed { arm: arm.to_owned(), what, before, now })
        }
    }
}

/// Every arm that a series knows.
pub fn read(folder: &Path) -> Result<KnownArms, KnownError> {
    Ok(read_folder(&folder.join("arms"))?)
}

/// An identity without what every start gives anew: the value behind `--port` in any list of flags.
fn settled(identity: &Value) -> Value {
    match identity {
        Value::Array(values) => {
            let is_port = |at: usize| at > 0 && values[at - 1] == "--port";
            let kept = values.iter().enumerate().filter(|(at, _)| !is_port(*at));
            Value::Array(kept.map(|(_, value)| settled(value)).collect())
        }
        Value::Object(keys) => {
            Value::Object(keys.iter().map(|(key, value)| (key.clone(), settled(value))).collect())
        }
        other => other.clone(),
    }
}

fn first_difference(at: &str, before: &Value, now: &Value) -> Option<(String, String, String)> {
    if let (Value::Object(one), Value::Object(other)) = (before, now) {
        let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        return keys.into_iter().find_map(|key| {
            let of = |keys: &serde_json::Map<String, Value>| {
                keys.get(key).cloned().unwrap_or(Value::Null)
            };
            let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            first_difference(&path, &of(one), &of(other))
        });
    }
    (before != now).then(|| (at.to_owned(), before.to_string(), now.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(identity: &Value) -> Known {
        Known {
            engine: "plumb".to_owned(),
            identity: settled(identity),
            checkpoint: "tiny".to_owned(),
            checkpoint_sha256: "c1".to_owned(),
            arguments: vec![],
            ready_ms: 5,
        }
    }

    #[test]
    fn another_port_is_the_same_arm_and_another_binary_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let of = |binary: &str, port: &str| {
            known(&json!({ "binary_sha256": binary, "flags": ["serve", "--port", port, "-x"] }))
        };
        keep(folder.path(), "ours", &of("b1", "80")).unwrap();
        keep(folder.path(), "ours", &of("b1", "81")).unwrap();
        let changed = keep(folder.path(), "ours", &of("b2", "80")).unwrap_err();
        assert_eq!(
            changed.to_string(),
            "arm ours is not what it was when the series began: identity.binary_sha256 was \"b1\", is \"b2\"; begin another series with --series DIR"
        );
        let with = Known { arguments: vec!["-x".to_owned()], ..of("b1", "80") };
        assert!(keep(folder.path(), "ours", &with).is_err());
        let arms = read(folder.path()).unwrap();
        assert_eq!(arms["ours"].identity["flags"], json!(["serve", "--port", "-x"]));
    }

    #[test]
    fn a_torn_file_is_an_error_and_no_folder_is_no_arms() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap().is_empty());
        std::fs::create_dir(folder.path().join("arms")).unwrap();
        std::fs::write(folder.path().join("arms/ours.json"), "{").unwrap();
        let found = read(folder.path());
        assert!(matches!(found, Err(KnownError::File(StateError::Io { action: "read", .. }))));
    }

    /// Shares start the same arm at once: one is kept, and whoever has another is refused.
    #[test]
    fn of_two_who_come_at_once_the_other_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let results: Vec<bool> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8)
                .map(|number| {
                    let own = known(&json!({ "binary_sha256": format!("b{number}") }));
                    let folder = folder.path();
                    scope.spawn(move || keep(folder, "ours", &own).is_ok())
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(results.iter().filter(|kept| **kept).count(), 1, "{results:?}");
    }
}
