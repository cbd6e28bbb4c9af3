//! What a figure shows, before it is drawn.

/// Two axes and what lies between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// Drawn in this order.
    pub layers: Vec<Layer>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// From where to where.
    pub range: (f64, f64),
    /// Where values have names instead of numbers.
    pub names: Vec<(f64, String)>,
    /// Whether equal distances are equal factors.
    pub is_log: bool,
}

impl Axis {
    /// An axis that holds all `values` with a margin of `margin` of their spread; from 0 to 1 where there is none.
    pub fn around(label: &str, values: impl IntoIterator<Item = f64>, margin: f64) -> Self {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let range = if low > high {
            (0.0, 1.0)
        } else if high - low > 0.0 {
            let by = (high - low) * margin;
            (low - by, high + by)
        } else {
            let by = if high.abs() > 0.0 { high.abs() * 0.05 } else { 0.5 };
            (low - by, high + by)
        };
        Self { label: label.to_owned(), range, names: Vec::new(), is_log: false }
    }

    /// An axis of names, one a place from 0 on.
    pub fn named(label: &str, names: impl IntoIterator<Item = String>) -> Self {
        let names: Vec<(f64, String)> =
            names.into_iter().enumerate().map(|(place, name)| (place as f64, name)).collect();
        let range = (-0.5, names.len().max(1) as f64 - 0.5);
        Self { label: label.to_owned(), range, names, is_log: false }
    }
}

/// One of the eight hues of M. Okabe and K. Ito that every kind of colour vision tells apart, or ink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hue {
    /// The text's colour.
    Ink,
    /// The colour of what stands back.
    Faint,
    /// Blue; sky blue on a dark ground.
    Blue,
    /// Vermilion.
    Vermilion,
    /// Bluish green.
    Green,
    /// Reddish purple.
    Purple,
    /// Orange.
    Orange,
}

impl Hue {
    /// The hues of arms, in their order.
    pub const ARMS: [Self; 5] =
        [Self::Blue, Self::Vermilion, Self::Green, Self::Purple, Self::Orange];

    /// The hue of the arm at `place`.
    pub fn arm(place: usize) -> Self {
        Self::ARMS[place % Self::ARMS.len()]
    }

    /// Its name in style sheets.
    pub fn class(self) -> &'static str {
        match self {
            Self::Ink => "ink",
            Self::Faint => "faint",
            Self::Blue => "blue",
            Self::Vermilion => "vermilion",
            Self::Green => "green",
            Self::Purple => "purple",
            Self::Orange => "orange",
        }
    }
}

/// The shape of a mark, so that hues need not be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Filled.
    Dot,
    /// Lying crosswise.
    Cross,
    /// An upright bar.
    Bar,
}

impl Mark {
    /// The mark of the arm at `place`.
    pub fn arm(place: usize) -> Self {
        [Self::Dot, Self::Cross, Self::Bar][place % 3]
    }
}

/// Something drawn, with its name in the legend; one without a name is in none.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Its hue.
    pub hue: Hue,
    /// Its shape.
    pub shape: Shape,
}

impl Layer {
    /// A layer.
    pub fn new(name: &str, hue: Hue, shape: Shape) -> Self {
        Self { name: name.to_owned(), hue, shape }
    }
}

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Single values.
    Marks(Mark, Vec<(f64, f64)>),
    /// A line from point to point.
    Line {
        /// Whether it is broken into dashes.
        dashed: bool,
        /// In order.
        points: Vec<(f64, f64)>,
    },
    /// An upright bar at each x from 0 to y, of a width in units of x.
    Bars(f64, Vec<(f64, f64)>),
    /// Lying bars at a height, each from an x to an x.
    Spans(f64, Vec<(f64, f64)>),
    /// All between two heights.
    Band(f64, f64),
    /// A height.
    Level {
        /// Whether it is broken into dashes.
        dashed: bool,
        /// Where.
        at: f64,
    },
}
