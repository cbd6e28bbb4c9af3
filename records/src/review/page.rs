//! The model of a page: what is said, in which order, and what belongs together. How it looks is decided by [`mod@super::html`]
//! and [`mod@super::text`]; neither adds a fact.

use super::chart::Chart;

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The window's title and the page's heading.
    pub title: String,
    /// The line above the heading: what kind of page it is.
    pub kicker: String,
    /// What a reader must know after one minute.
    pub headline: Headline,
    /// What it rests on.
    pub sections: Vec<Section>,
    /// The line at the end: from what the page was made.
    pub footer: String,
}

/// The head of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// The word; `None` where no word may be printed.
    pub word: Option<String>,
    /// How the word is meant.
    pub tone: Tone,
    /// Why, in one sentence.
    pub reason: String,
    /// Labelled sentences: what was asked, what would change it.
    pub answers: Vec<(String, String)>,
    /// The command that repeats it.
    pub reproduce: Option<String>,
}

/// How a statement is meant. It is always said in words and by a sign as well, so that no reader depends on a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// It holds.
    Good,
    /// It does not hold.
    Bad,
    /// It is open: the data do not suffice.
    Open,
    /// There is no number.
    Void,
    /// Neither.
    Plain,
}

impl Tone {
    /// The tone of a verdict's or a track's word.
    pub fn of(word: &str) -> Self {
        match word {
            "PASS" | "MET" | "TIE" | "IMPROVED" | "EQUIVALENT" => Self::Good,
            "FAIL" | "NOT MET" | "REGRESSED" => Self::Bad,
            "VOID" | "DISCARD" | "DAMAGED" => Self::Void,
            "NOT ESTABLISHED" | "INCONCLUSIVE" | "PARTIAL" | "PROVISIONAL" | "DIRECTIONAL"
            | "SUPERSEDED" | "UNVERIFIED" => Self::Open,
            _ => Self::Plain,
        }
    }

    /// A sign that tells it without a colour.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Bad => "✗",
            Self::Open => "?",
            Self::Void => "∅",
            Self::Plain => "–",
        }
    }

    /// Its name in style sheets.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Open => "open",
            Self::Void => "void",
            Self::Plain => "plain",
        }
    }
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its anchor.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// A sentence that says how to read it.
    pub lead: Option<String>,
    /// What it has.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section.
    pub fn new(id: &str, title: &str, lead: Option<&str>, blocks: Vec<Block>) -> Self {
        let (id, title, lead) = (id.to_owned(), title.to_owned(), lead.map(str::to_owned));
        Self { id, title, lead, blocks }
    }
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A remark that must not be missed.
    Note(Tone, String),
    /// Labels and values.
    Facts(Vec<(String, Cell)>),
    /// Rows and columns.
    Table(Table),
    /// Rules that were asked.
    Rules(Vec<RuleStep>),
    /// Questions in their order, of which one gave the word.
    Ladder(Vec<Rung>),
    /// Where two answers part.
    Parting(Box<Parting>),
    /// A plot.
    Figure(Box<Figure>),
    /// Figures beside each other.
    Beside(Vec<Figure>),
    /// Text as it stands in a file.
    Code(String),
    /// What opens on demand.
    Fold(Fold),
}

/// What opens on demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The line that is always seen.
    pub summary: String,
    /// Whether it is open from the start.
    pub open: bool,
    /// What is inside. A terminal shows the summary alone.
    pub blocks: Vec<Block>,
}

impl Fold {
    /// A closed one.
    pub fn closed(summary: impl Into<String>, blocks: Vec<Block>) -> Block {
        Block::Fold(Self { summary: summary.into(), open: false, blocks })
    }
}

/// A value in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// How it is meant, where it is meant in some way.
    pub tone: Option<Tone>,
    /// Whether it is an id, a hash or a flag.
    pub code: bool,
    /// Where it leads, relative to the page.
    pub href: Option<String>,
    /// Whether it differs from what stands beside it.
    pub differs: bool,
}

impl Cell {
    /// Plain text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// An id, a hash or a flag.
    pub fn code(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: true, ..Self::default() }
    }

    /// How many there are.
    pub fn count(count: usize) -> Self {
        Self::new(crate::number::digits(count as f64))
    }

    /// A word in its tone.
    pub fn word(word: &str) -> Self {
        Self { text: word.to_owned(), tone: Some(Tone::of(word)), ..Self::default() }
    }

    /// The same, leading somewhere.
    #[must_use]
    pub fn to(self, href: impl Into<String>) -> Self {
        Self { href: Some(href.into()), ..self }
    }
}

/// Rows that a page holds of what grows with the evidence.
pub const MOST_ROWS: usize = 400;

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows; read out before it.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, as many cells as columns each.
    pub rows: Vec<Vec<Cell>>,
    /// How many more rows there are, which only the evidence has.
    pub left_out: usize,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Whether it holds numbers, which are aligned at their ends.
    pub is_numeric: bool,
}

impl Table {
    /// An empty table. A column whose title ends in `#` holds numbers.
    pub fn new(caption: &str, columns: &[&str]) -> Self {
        let column = |title: &&str| Column {
            title: title.trim_end_matches('#').to_owned(),
            is_numeric: title.ends_with('#'),
        };
        let columns = columns.iter().map(column).collect();
        Self { caption: caption.to_owned(), columns, rows: Vec::new(), left_out: 0 }
    }

    /// Adds a row of a table that grows with the evidence: beyond [`MOST_ROWS`] it is counted, and not made.
    pub fn push(&mut self, row: impl FnOnce() -> Vec<Cell>) {
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row());
        } else {
            self.left_out += 1;
        }
    }

    /// All rows, those that are left out as well.
    pub fn height(&self) -> usize {
        self.rows.len() + self.left_out
    }
}

/// A rule that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStep {
    /// Its id, such as `V-PIN`.
    pub id: String,
    /// What it demands.
    pub demand: String,
    /// Where its inputs were read.
    pub source: String,
    /// What it was asked of: labels and values.
    pub inputs: Vec<(String, String)>,
    /// What came of it.
    pub found: Found,
}

/// What came of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It was asked and holds.
    Held,
    /// It was broken, with the sentence that was recorded.
    Broken(String),
    /// It was not asked, and why.
    NotAsked(String),
}

/// One question on the way to the word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// The question.
    pub question: String,
    /// Its answer.
    pub answer: String,
    /// The word that it would give.
    pub word: String,
    /// Whether it gave the word.
    pub taken: bool,
    /// Whether it was reached at all.
    pub reached: bool,
}

/// Where two answers part.
#[derive(Clone, Debug, PartialEq)]
pub struct Parting {
    /// The case.
    pub case: String,
    /// Index of the first generated token that differs.
    pub index: u64,
    /// The prompt, cut.
    pub prompt: String,
    /// The text that both have before it, cut.
    pub shared: String,
    /// Ours.
    pub ours: Side,
    /// The oracle's.
    pub oracle: Side,
    /// What was decided of it.
    pub verdict: Cell,
    /// Rank, gap and band, in labels and values.
    pub reading: Vec<(String, String)>,
}

/// One side of a parting.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The token that it chose.
    pub token: u32,
    /// The text from there on, cut.
    pub text: String,
    /// Its most probable tokens, best first: id and log-probability in nats. Empty where none was kept.
    pub top: Vec<(u32, f64)>,
}

/// A plot with what it shows in words and in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its anchor, unique on the page.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows, for those who do not see it.
    pub description: String,
    /// What is drawn.
    pub chart: Chart,
    /// The same in numbers.
    pub table: Table,
}
