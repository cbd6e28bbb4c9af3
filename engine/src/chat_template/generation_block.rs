//! `{% generation %}`, which transformers uses to find the assistant's tokens.
//!
//! It marks a part of the output and does not change it. The template engine does not know the tag, so it
//! is rewritten to a condition that always holds, with the same white space around it.

/// The template with its generation blocks made conditions.
pub(super) fn without_effect(source: &str) -> String {
    let mut rewritten = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        rewritten.push_str(before);
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, behind) = tag.split_at(end);
        rewritten.push_str(&replaced(tag));
        rest = behind;
    }
    rewritten.push_str(rest);
    rewritten
}

/// One tag, "{%- generation -%}" or any other, from brace to brace.
fn replaced(tag: &str) -> String {
    let name = tag
        .trim_matches(|character: char| "{}%+-".contains(character) || character.is_whitespace());
    match name {
        "generation" => tag.replacen("generation", "if true", 1),
        "endgeneration" => tag.replacen("endgeneration", "endif", 1),
        _ => tag.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_effect;

    #[test]
    fn only_the_generation_tags_change() {
        assert_eq!(
            without_effect("{%- generation -%}a{% endgeneration %}{% if generation %}{{ '{%' }}"),
            "{%- if true -%}a{% endif %}{% if generation %}{{ '{%' }}"
        );
    }
}
