//! Rust source with its comments and literals blanked out, line for line: what is left is code.

/// Replaces the inside of comments, strings and characters by spaces; newlines stay.
pub fn masked(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < text.len() {
        let end = literal_end(&text, at);
        if end > at {
            out.extend(text[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself where none starts.
fn literal_end(text: &[char], at: usize) -> usize {
    let next = |offset: usize| text.get(at + offset).copied();
    match text[at] {
        '/' if next(1) == Some('/') => find(text, at, |c, _| c == '\n'),
        '/' if next(1) == Some('*') => block_comment_end(text, at),
        '"' => string_end(text, at + 1),
        'r' if !follows_a_name(text, at) => raw_string_end(text, at).unwrap_or(at),
        '\'' if next(1) == Some('\\') => find(text, at + 3, |c, _| c == '\'') + 1,
        '\'' if next(2) == Some('\'') => at + 3,
        _ => at,
    }
    .min(text.len())
}

fn find(text: &[char], from: usize, stop: impl Fn(char, usize) -> bool) -> usize {
    (from..text.len()).find(|&at| stop(text[at], at)).unwrap_or(text.len())
}

fn block_comment_end(text: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at + 1 < text.len() {
        match (text[at], text[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn string_end(text: &[char], mut at: usize) -> usize {
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The end of `r"…"`, `r#"…"#` and so on.
fn raw_string_end(text: &[char], start: usize) -> Option<usize> {
    let hashes = text[start + 1..].iter().take_while(|&&c| c == '#').count();
    let open = start + 1 + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let closes = |at: usize| {
        text[at] == '"'
            && text[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes
    };
    (open + 1..text.len()).find(|&at| closes(at)).map(|at| at + 1 + hashes)
}

/// Whether the character before `at` belongs to a name, so that an `r` there starts no literal. `br"…"` does.
fn follows_a_name(text: &[char], at: usize) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    match at.checked_sub(1).map(|before| text[before]) {
        Some('b') => at >= 2 && is_name(text[at - 2]),
        Some(c) => is_name(c),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_only_code() {
        let cases = [
            ("a // unsafe\nb", "a          \nb"),
            ("a /* x /* unsafe */ y */ b", "a                        b"),
            (r#"f("unsafe \" //") + 1"#, "f(              ) + 1"),
            (r##"r#"unsafe " "# + br"x" + for"##, "               + b     + for"),
            (r"'\'' 'a' &'a str", r"         &'a str"),
        ];
        for (source, expected) in cases {
            assert_eq!(masked(source), expected, "{source}");
        }
    }
}
