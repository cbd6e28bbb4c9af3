//! On which line of a JSON text a key is: `serde_json` keeps no places, but its errors know theirs.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// The line, counted from 1, of the key at the end of `keys`, each within the object of the one before; none where the text
/// has no such key. Of a repeated key the first is found.
pub(super) fn line_of(text: &str, keys: &[&str]) -> Option<usize> {
    let found = Find(keys).deserialize(&mut serde_json::Deserializer::from_str(text));
    found.err().filter(serde_json::Error::is_data).map(|error| error.line())
}

/// Fails where it finds the key.
#[derive(Clone, Copy)]
struct Find<'k>(&'k [&'k str]);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((wanted, within)) = self.0.split_first() else { return Ok(()) };
        while let Some(key) = map.next_key::<String>()? {
            if key != *wanted {
                map.next_value::<IgnoredAny>()?;
            } else if within.is_empty() {
                return Err(A::Error::custom("found"));
            } else {
                map.next_value_seed(Find(within))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn keys_are_found_where_they_are() {
        let text = "{\n  \"a\": {\"c\": [1,\n 2]},\n\n  \"b\": {\n    \"c\": 3\n  }\n}";
        assert_eq!(line_of(text, &["a"]), Some(2));
        assert_eq!(line_of(text, &["a", "c"]), Some(2));
        assert_eq!(line_of(text, &["b"]), Some(5));
        assert_eq!(line_of(text, &["b", "c"]), Some(6));
        assert_eq!(line_of(text, &["c"]), None);
    }
}
