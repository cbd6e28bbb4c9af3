//! One way to write a value as JSON: keys sorted, two spaces, shortest round-trip floats, a newline at the end. Equal values
//! are equal bytes, so a hash of the bytes names the value.

use serde::Serialize;
use serde_json::Value;

/// The canonical text of a value.
///
/// Floats must be finite (JSON would read back `null`): [`crate::Record::validate`] sees to it for records.
pub fn canonical_json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut value = serde_json::to_value(value)?;
    value.sort_all_objects();
    sorted_text(&value)
}

/// The canonical text of a value whose objects are sorted already.
pub(crate) fn sorted_text(value: &Value) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sorts_keys_at_every_depth_and_prints_floats_one_way() {
        let value = json!({"b": [{"z": 1, "a": 0.1}], "a": -0.0, "c": 1e300});
        let expected = "{\n  \"a\": -0.0,\n  \"b\": [\n    {\n      \"a\": 0.1,\n      \"z\": 1\n    }\n  ],\n  \"c\": 1e+300\n}\n";
        assert_eq!(canonical_json(&value).unwrap(), expected);
    }

    proptest::proptest! {
        /// Needs serde_json's `float_roundtrip`; without it one value in some hundred comes back one ulp away.
        #[test]
        fn floats_come_back_exactly(bits in proptest::num::u64::ANY) {
            let number = f64::from_bits(bits);
            proptest::prop_assume!(number.is_finite());
            let back: f64 = serde_json::from_str(&canonical_json(&number).unwrap()).unwrap();
            proptest::prop_assert_eq!(back.to_bits(), bits);
        }
    }
}
