//! What is kept names no folder of the machine it was made on.

use std::path::{Component, Path, PathBuf};

use oracles::Home;
use records::Record;
use serde_json::Value;

/// What stands for the engine's binary where it was named by hand.
const PLUMB: &str = "$PLUMB";

/// The places that texts of a run may name: where they happened to lie is nothing to keep for ever.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The workspace, paths below which become relative to it, and the cache, paths below which begin with `$CACHE`.
    pub home: &'a Home,
    /// The engine's binary as it was named by hand, which becomes `$PLUMB`. One that lies in the workspace is named as it is
    /// there: who has the workspace has it too.
    pub plumb: Option<&'a Path>,
}

impl Places<'_> {
    /// A record in which every text that may name a path is [`Self::portable`].
    pub fn portable_record(&self, mut record: Record) -> Record {
        record.verdict.reason = self.portable(&record.verdict.reason);
        record.reproduce = self.portable(&record.reproduce);
        self.portable_value(&mut record.subject.info);
        record.divergences.iter_mut().for_each(|value| self.portable_value(value));
        if let Some(oracle) = &mut record.oracle {
            self.portable_value(&mut oracle.identity);
        }
        record
    }

    /// A text without this machine's folders.
    pub fn portable(&self, text: &str) -> String {
        let folder = |path: &Path, short: &str| Some((with_slash(path)?, short.to_owned()));
        let Home { root, cache } = self.home;
        let mut places: Vec<(String, String)> =
            [folder(root, ""), folder(cache, "$CACHE/")].into_iter().flatten().collect();
        places.extend(self.binary().into_iter().map(|name| (name, PLUMB.to_owned())));
        // What lies inside another place goes first.
        places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        places.iter().fold(text.to_owned(), |text, (place, short)| text.replace(place, short))
    }

    /// The names of a binary that lies elsewhere: as it was given, and as the process is started.
    fn binary(&self) -> Vec<String> {
        let Some(given) = self.plumb else { return Vec::new() };
        let whole = given.canonicalize().unwrap_or_else(|_| given.to_owned());
        let leads_out = |path: &PathBuf| {
            path.is_absolute() || path.components().any(|part| part == Component::ParentDir)
        };
        let root = self.home.root.canonicalize().unwrap_or_else(|_| self.home.root.clone());
        if whole.starts_with(root) {
            return Vec::new();
        }
        let names = [given.to_owned(), whole].into_iter().filter(leads_out);
        names.map(|path| path.display().to_string()).collect()
    }

    /// [`Self::portable`] for every text inside a value.
    fn portable_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.portable(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.portable_value(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|item| self.portable_value(item));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// An absolute folder, as paths below it begin. A relative one names no machine, and could be any word.
fn with_slash(folder: &Path) -> Option<String> {
    let folder = folder.display().to_string();
    folder.starts_with('/').then(|| format!("{}/", folder.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn home(root: &str, cache: &str) -> Home {
        Home { root: root.into(), cache: cache.into() }
    }

    fn portable(text: &str, home: &Home, plumb: Option<&str>) -> String {
        Places { home, plumb: plumb.map(Path::new) }.portable(text)
    }

    #[test]
    fn paths_of_the_clone_and_of_the_cache_are_shortened() {
        let text = "cannot read /home/a/clone/oracles/x.json: /home/a/.cache/p/m.gguf is gone";
        let expected = "cannot read oracles/x.json: $CACHE/m.gguf is gone";
        for slash in ["", "/"] {
            let home = home(&format!("/home/a/clone{slash}"), &format!("/home/a/.cache/p{slash}"));
            assert_eq!(portable(text, &home, None), expected);
        }
        assert_eq!(portable("/r/cache/m /r/x", &home("/r", "/r/cache"), None), "$CACHE/m x");
        assert_eq!(portable("the cache/m", &home(".", "cache"), None), "the cache/m");
        let mut value = json!({ "what": ["/r/x", 1], "n": null });
        Places { home: &home("/r", "/c"), plumb: None }.portable_value(&mut value);
        assert_eq!(value, json!({ "what": ["x", 1], "n": null }));
    }

    #[test]
    fn a_binary_that_was_named_by_hand_is_named_without_its_place() {
        let home = home("/r", "/c");
        let short =
            |named: &str| portable(&format!("gate run x --plumb {named}"), &home, Some(named));
        for named in ["/tmp/bin/plumb", "/home/a/b", "../bin/plumb", "bin/../../plumb"] {
            assert_eq!(short(named), "gate run x --plumb $PLUMB", "{named}");
        }
        let reason = portable("cannot start /tmp/bin/plumb", &home, Some("/tmp/bin/plumb"));
        assert_eq!(reason, "cannot start $PLUMB");
        // It is where the reader of the command stands.
        assert_eq!(short("/r/bin/plumb"), "gate run x --plumb bin/plumb");
        assert_eq!(short("bin/plumb"), "gate run x --plumb bin/plumb");
    }
}
