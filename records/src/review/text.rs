//! A page for a terminal: the same facts in the same order, condensed. What folds on the page is named by its one line here.

mod layout;

use super::page::{Block, Cell, Found, Page, Parting, RuleStep, Rung, Side, Tone};
use crate::number::digits;
use layout::{cells, clean, wrapped};

/// How to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns.
    pub width: usize,
    /// Whether tones are coloured.
    pub colour: bool,
}

impl Style {
    /// A text in a tone.
    fn tone(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Open => "33",
            Tone::Void => "35",
            Tone::Plain => "2",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A heading.
    fn bold(self, text: &str) -> String {
        if self.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Top entries that a terminal shows of a parting.
const TOP: usize = 3;

/// The page as lines.
pub fn text(page: &Page, style: Style) -> String {
    let mut out = Vec::new();
    let head = &page.headline;
    let word = head.word.as_ref().map_or(String::new(), |word| {
        let word = format!("{} {}", head.tone.sign(), clean(word));
        style.tone(head.tone, &word) + "  "
    });
    out.push(format!("{word}{}", style.bold(&clean(&page.title))));
    out.extend(wrapped(&head.reason, style.width, "  "));
    let mut answers: Vec<(String, Cell)> =
        head.answers.iter().map(|(label, answer)| (label.clone(), Cell::new(answer))).collect();
    answers.extend(head.reproduce.iter().map(|run| ("Reproduce".to_owned(), Cell::new(run))));
    out.extend(layout::facts(&answers, style.width));
    for section in &page.sections {
        out.push(String::new());
        out.push(style.bold(&clean(&section.title)));
        for block in &section.blocks {
            lines(&mut out, block, style);
        }
    }
    out.push(String::new());
    out.extend(wrapped(&page.footer, style.width, ""));
    out.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn lines(out: &mut Vec<String>, block: &Block, style: Style) {
    match block {
        Block::Text(text) => out.extend(wrapped(text, style.width, "  ")),
        Block::Note(tone, text) => {
            let text = format!("{} {text}", tone.sign());
            out.extend(
                wrapped(&text, style.width, "  ").iter().map(|line| style.tone(*tone, line)),
            );
        }
        Block::Facts(facts) => out.extend(layout::facts(facts, style.width)),
        Block::Table(table) => out.extend(layout::table(table, style)),
        Block::Rules(steps) => steps.iter().for_each(|step| rule(out, step, style)),
        Block::Ladder(rungs) => rungs.iter().for_each(|rung| out.push(ladder(rung, style))),
        Block::Parting(found) => parting(out, found, style),
        Block::Figure(figure) => described(out, &figure.title, &figure.description, style),
        Block::Beside(figures) => {
            for figure in figures {
                described(out, &figure.title, &figure.description, style);
            }
        }
        Block::Code(_) => {}
        Block::Fold(fold) if fold.open => {
            out.extend(wrapped(&fold.summary, style.width, "  "));
            fold.blocks.iter().for_each(|inner| lines(out, inner, style));
        }
        Block::Fold(fold) => out.extend(wrapped(&format!("+ {}", fold.summary), style.width, "  ")),
    }
}

fn described(out: &mut Vec<String>, title: &str, description: &str, style: Style) {
    out.extend(wrapped(&format!("{title}: {description}"), style.width, "  "));
}

fn rule(out: &mut Vec<String>, step: &RuleStep, style: Style) {
    let (tone, said, told) = match &step.found {
        Found::Held => {
            let inputs = step.inputs.iter().map(|(label, value)| format!("{label} {value}"));
            (Tone::Good, "holds", inputs.collect::<Vec<_>>().join(", "))
        }
        Found::Broken(why) => (Tone::Bad, "BROKEN", why.clone()),
        Found::NotAsked(why) => (Tone::Plain, "not asked", why.clone()),
    };
    let head = format!("  {} {:<14} ", tone.sign(), clean(&step.id));
    let said = format!("{said:<10}");
    let indent = " ".repeat(head.chars().count() + 10);
    let told = wrapped(&told, style.width, &indent);
    let first = told.first().map_or("", |line| line.trim_start());
    out.push(format!("{head}{}{first}", style.tone(tone, &said)));
    out.extend(told.into_iter().skip(1));
}

fn ladder(rung: &Rung, style: Style) -> String {
    let mark = if rung.taken { "→" } else { " " };
    let line =
        format!("  {mark} {:<34} {:<24} {}", clean(&rung.question), clean(&rung.answer), rung.word);
    match (rung.taken, rung.reached) {
        (true, _) => style.tone(Tone::of(&rung.word), &line),
        (false, true) => line,
        (false, false) => style.tone(Tone::Plain, &line),
    }
}

fn parting(out: &mut Vec<String>, found: &Parting, style: Style) {
    let Parting { case, index, shared, ours, oracle, verdict, reading, .. } = found;
    let verdict = style.tone(verdict.tone.unwrap_or(Tone::Plain), &clean(&verdict.text));
    out.push(format!("  {} parts at token {index}: {verdict}", clean(case)));
    let reading: Vec<String> =
        reading.iter().map(|(label, value)| format!("{label} {value}")).collect();
    out.extend(wrapped(&reading.join(", "), style.width, "    "));
    out.push(format!("    both    {}", quoted(shared, style.width)));
    for (name, side) in [("ours", ours), ("oracle", oracle)] {
        out.push(format!("    {name:<7} {}", quoted(&side.text, style.width)));
        out.extend(top(side));
    }
}

fn quoted(text: &str, width: usize) -> String {
    let text = format!("{text:?}");
    cells(&text, width.saturating_sub(14))
}

fn top(side: &Side) -> Option<String> {
    let entries = side.top.iter().take(TOP);
    let entries: Vec<String> =
        entries.map(|(token, logprob)| format!("{token} {}", digits(*logprob))).collect();
    (!entries.is_empty()).then(|| format!("            {} nat", entries.join(" | ")))
}
