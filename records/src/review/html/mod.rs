//! A page as one HTML file: no network, no script, legible in light and dark, on paper, and by keyboard alone.

mod blocks;
pub mod escape;
mod figure;
mod rules;

use std::fmt::Write as _;

use super::page::{Headline, Page, Section};
use escape::{escape, prose};

/// The one style sheet.
const STYLE: &str = include_str!("style.css");

/// Nothing may be loaded and nothing may run, whatever a string in evidence tries.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The whole file.
pub fn html(page: &Page) -> String {
    let mut out = String::with_capacity(64 << 10);
    // Writing to a string cannot fail, here and below.
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to what it rests on</a>\n",
        escape(&page.title)
    );
    headline(&mut out, page);
    contents(&mut out, &page.sections);
    out += "<main id=\"main\">\n";
    for section in &page.sections {
        let (id, title) = (escape(&section.id), escape(&section.title));
        let _ = write!(
            out,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{title}</h2>\n"
        );
        if let Some(lead) = &section.lead {
            let _ = writeln!(out, "<p class=\"lead\">{}</p>", prose(lead));
        }
        for block in &section.blocks {
            blocks::block(&mut out, block);
        }
        out += "</section>\n";
    }
    let _ = write!(out, "</main>\n<footer>{}</footer>\n</body>\n</html>\n", escape(&page.footer));
    out
}

fn headline(out: &mut String, page: &Page) {
    let Headline { word, tone, reason, answers, reproduce } = &page.headline;
    let _ = write!(
        out,
        "<header class=\"{}\">\n<p class=\"kicker\">{}</p>\n<h1>{}</h1>\n<p class=\"verdict\">",
        tone.class(),
        escape(&page.kicker),
        escape(&page.title)
    );
    if let Some(word) = word {
        let _ = write!(
            out,
            "<strong class=\"word\"><span aria-hidden=\"true\">{}</span> {}</strong> ",
            tone.sign(),
            escape(word)
        );
    }
    let _ = writeln!(
        out,
        "<span class=\"reason\">{}</span></p>\n<dl class=\"answers\">",
        prose(reason)
    );
    for (label, answer) in answers {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(label), prose(answer));
    }
    if let Some(command) = reproduce {
        let _ = writeln!(
            out,
            "<div><dt>Reproduce</dt><dd><code class=\"command\">{}</code></dd></div>",
            escape(command)
        );
    }
    out.push_str("</dl>\n</header>\n");
}

fn contents(out: &mut String, sections: &[Section]) {
    if sections.len() < 2 {
        return;
    }
    out.push_str("<nav aria-label=\"Contents\"><ul>");
    for section in sections {
        let _ = write!(
            out,
            "<li><a href=\"#{}\">{}</a></li>",
            escape(&section.id),
            escape(&section.title)
        );
    }
    out.push_str("</ul></nav>\n");
}
