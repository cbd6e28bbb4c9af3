//! Counts in sentences.

/// `1 case`, `2 cases`: a count with the word that fits it.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn one_is_one() {
        assert_eq!(count(1, "vocabulary", "vocabularies"), "1 vocabulary");
        assert_eq!(count(0, "vocabulary", "vocabularies"), "0 vocabularies");
        assert_eq!(count(15, "vocabulary", "vocabularies"), "15 vocabularies");
    }
}
