//! Text that becomes part of a page: nothing in evidence can be markup.

/// Escapes the five characters that mean something to HTML, and shows control characters as what they are: the order of
/// writing of what follows is not evidence's to turn.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() || turns(c) => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Whether a character turns the direction of what follows it.
pub fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A sentence: what stands between backticks is code.
pub fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // A backtick without its other one is text.
        return escape(text);
    }
    let part = |(place, part): (usize, &&str)| match place % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

/// The same for the address of a link: only relative ones and anchors are ever made, so a scheme is none of ours.
pub fn address(href: &str) -> String {
    let scheme = href.split(['/', '?', '#']).next().is_some_and(|head| head.contains(':'));
    if scheme { "#".to_owned() } else { escape(href) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_is_markup() {
        let hostile = "</script><img src=x onerror=\"alert('1')\">\u{0}\u{202e}&";
        assert_eq!(
            escape(hostile),
            "&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;\u{fffd}\u{fffd}&amp;"
        );
        assert_eq!(address("javascript:alert(1)"), "#");
        assert_eq!(address("../evidence/a.json"), "../evidence/a.json");
    }
}
