//! The derivation of a word: the rules that were asked, and the questions in their order.

use std::fmt::Write as _;

use super::escape::escape;
use crate::review::page::{Found, RuleStep, Rung, Tone};

/// Every rule with its inputs and what came of it.
pub(super) fn rules(out: &mut String, steps: &[RuleStep]) {
    out.push_str("<ol class=\"rules\">\n");
    for step in steps {
        let (tone, said, why) = match &step.found {
            Found::Held => (Tone::Good, "holds", None),
            Found::Broken(why) => (Tone::Bad, "broken", Some(why)),
            Found::NotAsked(why) => (Tone::Plain, "not asked", Some(why)),
        };
        let _ = write!(
            out,
            "<li class=\"{}\"><div class=\"rule\"><code>{}</code> <span class=\"mark {}\"><span aria-hidden=\"true\">{}</span> {said}</span></div>\n\
             <div><p>{}</p>",
            tone.class(),
            escape(&step.id),
            tone.class(),
            tone.sign(),
            escape(&step.demand)
        );
        if let Some(why) = why {
            let _ = write!(out, "<p class=\"why\">{}</p>", escape(why));
        }
        if !step.inputs.is_empty() {
            out.push_str("<dl class=\"inputs\">");
            for (label, value) in &step.inputs {
                let _ = write!(
                    out,
                    "<div><dt>{}</dt><dd><code>{}</code></dd></div>",
                    escape(label),
                    escape(value)
                );
            }
            out.push_str("</dl>");
        }
        if !step.source.is_empty() {
            let _ = write!(out, "<p class=\"quiet\">read from {}</p>", escape(&step.source));
        }
        out.push_str("</div></li>\n");
    }
    out.push_str("</ol>\n");
}

/// The questions in their order, the one that gave the word marked.
pub(super) fn ladder(out: &mut String, rungs: &[Rung]) {
    out.push_str("<ol class=\"ladder\">\n");
    for rung in rungs {
        let class = match (rung.taken, rung.reached) {
            (true, _) => format!("taken {}", Tone::of(&rung.word).class()),
            (false, true) => "passed".to_owned(),
            (false, false) => "unreached".to_owned(),
        };
        let current = if rung.taken { " aria-current=\"step\"" } else { "" };
        let _ = writeln!(
            out,
            "<li class=\"{class}\"{current}><span class=\"question\">{}</span> <span class=\"answer\">{}</span> <span class=\"gives\">{}{}</span></li>",
            escape(&rung.question),
            escape(&rung.answer),
            if rung.taken { "→ " } else { "would be " },
            escape(&rung.word)
        );
    }
    out.push_str("</ol>\n");
}
