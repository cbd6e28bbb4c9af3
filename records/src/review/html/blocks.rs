//! The pieces of a section.

use std::fmt::Write as _;

use super::escape::{address, escape, prose};
use super::{figure, rules};
use crate::number::digits;
use crate::review::page::{Block, Cell, Parting, Side, Table};

/// Characters of a code that is kept on one line.
const NAME: usize = 16;

/// One piece.
pub(super) fn block(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Text(text) => writeln!(out, "<p>{}</p>", prose(text)),
        Block::Note(tone, text) => writeln!(
            out,
            "<p class=\"note {}\"><span aria-hidden=\"true\">{}</span> {}</p>",
            tone.class(),
            tone.sign(),
            prose(text)
        ),
        Block::Code(text) => writeln!(out, "<pre tabindex=\"0\">{}</pre>", escape(text)),
        Block::Facts(facts) => {
            facts_list(out, facts);
            Ok(())
        }
        Block::Table(table) => {
            self::table(out, table);
            Ok(())
        }
        Block::Rules(steps) => {
            rules::rules(out, steps);
            Ok(())
        }
        Block::Ladder(rungs) => {
            rules::ladder(out, rungs);
            Ok(())
        }
        Block::Parting(parting) => {
            self::parting(out, parting);
            Ok(())
        }
        Block::Figure(found) => {
            figure::figure(out, found, crate::review::plot::Size::WIDE);
            Ok(())
        }
        Block::Beside(figures) => {
            out.push_str("<div class=\"beside\">\n");
            for found in figures {
                figure::figure(out, found, crate::review::plot::Size::HALF);
            }
            writeln!(out, "</div>")
        }
        Block::Fold(fold) => {
            let open = if fold.open { " open" } else { "" };
            let _ = writeln!(out, "<details{open}><summary>{}</summary>", escape(&fold.summary));
            for inner in &fold.blocks {
                self::block(out, inner);
            }
            writeln!(out, "</details>")
        }
    };
}

fn facts_list(out: &mut String, facts: &[(String, Cell)]) {
    out.push_str("<dl class=\"facts\">\n");
    for (label, value) in facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(label), inline(value));
    }
    out.push_str("</dl>\n");
}

/// A table that scrolls in its own box, by keyboard too.
pub(super) fn table(out: &mut String, table: &Table) {
    let caption = escape(&table.caption);
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table>\n<caption>{caption}</caption>\n<thead><tr>"
    );
    for column in &table.columns {
        let numeric = if column.is_numeric { " class=\"num\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{numeric}>{}</th>", escape(&column.title));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let is_numeric = table.columns.get(place).is_some_and(|column| column.is_numeric);
            let classes = match (is_numeric, cell.differs) {
                (true, true) => " class=\"num differs\"",
                (true, false) => " class=\"num\"",
                (false, true) => " class=\"differs\"",
                (false, false) => "",
            };
            let _ = if place == 0 {
                write!(out, "<th scope=\"row\"{classes}>{}</th>", inline(cell))
            } else {
                write!(out, "<td{classes}>{}</td>", inline(cell))
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    if table.left_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"quiet\">The first {} rows; the evidence has all {}.</p>",
            table.rows.len(),
            table.height()
        );
    }
}

/// A value in its form.
fn inline(cell: &Cell) -> String {
    let mut text = escape(&cell.text);
    if cell.code {
        // A name is not broken at its hyphens; what is longer than a name may be.
        let class = if text.len() <= NAME { " class=\"name\"" } else { "" };
        text = format!("<code{class}>{text}</code>");
    }
    if let Some(tone) = cell.tone {
        text = format!(
            "<span class=\"mark {}\"><span aria-hidden=\"true\">{}</span> {text}</span>",
            tone.class(),
            tone.sign()
        );
    }
    match &cell.href {
        Some(href) => format!("<a href=\"{}\">{text}</a>", address(href)),
        None => text,
    }
}

/// Two answers from the token on at which they part.
fn parting(out: &mut String, parting: &Parting) {
    let Parting { case, index, prompt, shared, ours, oracle, verdict, reading } = parting;
    let _ = write!(
        out,
        "<article class=\"parting\">\n<h3><code>{}</code> parts at token {index} {}</h3>\n\
         <dl class=\"facts\"><dt>Prompt</dt><dd class=\"quote\">{}</dd><dt>Both say</dt><dd class=\"quote\">{}</dd></dl>\n\
         <div class=\"sides\">\n",
        escape(case),
        inline(verdict),
        escape(prompt),
        escape(shared)
    );
    side(out, "Ours", ours, oracle.token);
    side(out, "The oracle", oracle, ours.token);
    out.push_str("</div>\n<dl class=\"facts\">");
    for (label, value) in reading {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(label), escape(value));
    }
    out.push_str("</dl>\n</article>\n");
}

fn side(out: &mut String, name: &str, side: &Side, other: u32) {
    let _ = write!(
        out,
        "<div><h4>{name}</h4>\n<p class=\"quote\"><code>{}</code> {}</p>\n",
        side.token,
        escape(&side.text)
    );
    if side.top.is_empty() {
        out.push_str("<p class=\"quiet\">No log-probabilities were kept here.</p>\n</div>\n");
        return;
    }
    out.push_str(
        "<table><thead><tr><th scope=\"col\" class=\"num\">rank</th><th scope=\"col\" class=\"num\">token</th>\
         <th scope=\"col\" class=\"num\">logprob, nat</th><th scope=\"col\">chosen by</th></tr></thead><tbody>\n",
    );
    for (place, (token, logprob)) in side.top.iter().enumerate() {
        let chosen = match *token {
            token if token == side.token => "itself",
            token if token == other => "the other",
            _ => "",
        };
        let _ = writeln!(
            out,
            "<tr{}><td class=\"num\">{}</td><td class=\"num\"><code>{token}</code></td><td class=\"num\">{}</td><td>{chosen}</td></tr>",
            if chosen.is_empty() { "" } else { " class=\"chosen\"" },
            place + 1,
            digits(*logprob)
        );
    }
    out.push_str("</tbody></table>\n</div>\n");
}
