//! A figure: title, legend, drawing, and the same in numbers.

use std::fmt::Write as _;

use super::blocks;
use super::escape::escape;
use crate::review::chart::{Layer, Mark, Shape};
use crate::review::page::Figure;
use crate::review::plot::{self, Size};

/// One figure.
pub(super) fn figure(out: &mut String, figure: &Figure, size: Size) {
    let Figure { id, title, description, chart, table } = figure;
    let id = escape(id);
    let _ = writeln!(out, "<figure id=\"{id}\">\n<figcaption>{}</figcaption>", escape(title));
    legend(out, &chart.layers);
    let _ = writeln!(
        out,
        "<div class=\"drawing\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>\n<p class=\"quiet\">{}</p>",
        escape(title),
        plot::svg(chart, size, &id, title, description),
        escape(description)
    );
    let rows = table.height();
    let summary = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    let _ = writeln!(out, "<details><summary>The same in numbers ({summary})</summary>");
    blocks::table(out, table);
    out.push_str("</details>\n</figure>\n");
}

/// Each named layer with its hue and its shape.
fn legend(out: &mut String, layers: &[Layer]) {
    let named: Vec<&Layer> = layers.iter().filter(|layer| !layer.name.is_empty()).collect();
    if named.is_empty() {
        return;
    }
    out.push_str("<ul class=\"legend\">");
    for layer in named {
        let shape = match &layer.shape {
            Shape::Marks(Mark::Dot, _) => "<circle cx=\"9\" cy=\"7\" r=\"3.5\" class=\"solid\"/>",
            Shape::Marks(Mark::Cross, _) => "<path d=\"M6 4l6 6m0-6l-6 6\"/>",
            Shape::Marks(Mark::Bar, _) => "<path d=\"M9 3v8\"/>",
            Shape::Line { dashed: true, .. } | Shape::Level { dashed: true, .. } => {
                "<path d=\"M0 7h18\" stroke-dasharray=\"5 3\"/>"
            }
            Shape::Line { .. } | Shape::Level { .. } => "<path d=\"M0 7h18\"/>",
            Shape::Spans(..) => "<rect x=\"0\" y=\"5\" width=\"18\" height=\"4\" class=\"solid\"/>",
            Shape::Bars(..) => "<rect x=\"3\" y=\"2\" width=\"12\" height=\"10\" class=\"solid\"/>",
            Shape::Band(..) => {
                "<rect x=\"0\" y=\"2\" width=\"18\" height=\"10\" class=\"solid band\"/>"
            }
        };
        let _ = write!(
            out,
            "<li><svg width=\"18\" height=\"14\" style=\"--hue: var(--{})\" role=\"img\" aria-label=\"{name}\"><title>{name}</title>\
             <desc>how it is drawn</desc>{shape}</svg>{name}</li>",
            layer.hue.class(),
            name = escape(&layer.name)
        );
    }
    out.push_str("</ul>\n");
}
