//! What is kept names no folder of the machine it was made on.

use std::path::Path;

use oracles::Home;
use records::Record;
use serde_json::Value;

/// A record in which every text that may name a path is [`portable`].
pub fn portable_record(mut record: Record, home: &Home) -> Record {
    record.verdict.reason = portable(&record.verdict.reason, home);
    record.reproduce = portable(&record.reproduce, home);
    portable_value(&mut record.subject.info, home);
    record.divergences.iter_mut().for_each(|value| portable_value(value, home));
    if let Some(oracle) = &mut record.oracle {
        portable_value(&mut oracle.identity, home);
    }
    record
}

/// A text without this machine's folders: paths below the workspace become relative to it, paths below the cache begin with
/// `$CACHE`. Where a clone happened to lie is nothing to keep for ever.
pub fn portable(text: &str, home: &Home) -> String {
    let mut places = [(home.root.as_path(), ""), (home.cache.as_path(), "$CACHE/")];
    // A folder inside the other one goes first.
    places.sort_by_key(|(path, _)| std::cmp::Reverse(path.as_os_str().len()));
    places.into_iter().fold(text.to_owned(), |text, (path, short)| shorten(&text, path, short))
}

fn shorten(text: &str, folder: &Path, short: &str) -> String {
    let folder = folder.display().to_string();
    let folder = folder.trim_end_matches('/');
    // A relative folder names no machine, and could be any word.
    if !folder.starts_with('/') {
        return text.to_owned();
    }
    text.replace(&format!("{folder}/"), short)
}

/// [`portable`] for every text inside a value.
fn portable_value(value: &mut Value, home: &Home) {
    match value {
        Value::String(text) => *text = portable(text, home),
        Value::Array(items) => items.iter_mut().for_each(|item| portable_value(item, home)),
        Value::Object(fields) => fields.values_mut().for_each(|item| portable_value(item, home)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_the_clone_and_of_the_cache_are_shortened() {
        let home = |root: &str, cache: &str| Home { root: root.into(), cache: cache.into() };
        let text = "cannot read /home/a/clone/oracles/x.json: /home/a/.cache/p/m.gguf is gone";
        let expected = "cannot read oracles/x.json: $CACHE/m.gguf is gone";
        assert_eq!(portable(text, &home("/home/a/clone", "/home/a/.cache/p")), expected);
        assert_eq!(portable(text, &home("/home/a/clone/", "/home/a/.cache/p/")), expected);
        let inside = portable("/r/cache/m /r/x", &home("/r", "/r/cache"));
        assert_eq!(inside, "$CACHE/m x");
        assert_eq!(portable("the cache/m", &home(".", "cache")), "the cache/m");
        let mut value = json!({ "what": ["/r/x", 1], "n": null });
        portable_value(&mut value, &home("/r", "/c"));
        assert_eq!(value, json!({ "what": ["x", 1], "n": null }));
    }
}
