//! Text that is too long for its place.

/// The first digits of a digest or a commit: enough to tell it by.
pub fn short(text: &str) -> &str {
    text.get(..12).unwrap_or(text)
}

/// At most so many characters, of which the last shows that there were more.
pub fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_says_so() {
        assert_eq!(cut("four", 4), "four");
        assert_eq!(cut("größer", 4), "grö…");
        assert_eq!(cut("x", 0), "…");
        assert_eq!((short("0123456789abcdef"), short("0123")), ("0123456789ab", "0123"));
    }
}
