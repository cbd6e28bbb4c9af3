//! A chart as SVG, by plotters. Colours are names of style-sheet properties, so that one drawing serves light and dark.
//!
//! Marks are one path a layer however many there are, and lines of many points are thinned to what pixels can show: a series of
//! a thousand pairs is as quick to scroll as one of ten.

mod axes;
mod marks;
mod thin;

use plotters::backend::SVGBackend;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::style::RGBColor;

use super::chart::{Chart, Hue};
use super::html::escape::escape;

/// Pixels of a drawing; it scales with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

impl Size {
    /// As wide as a page's column.
    pub const WIDE: Self = Self { width: 760, height: 300 };
    /// As high as its rows need where they have names, of the same width.
    #[must_use]
    pub fn fitting(self, chart: &Chart) -> Self {
        match chart.y.names.len() as u32 {
            0 => self,
            rows => Self { height: 76 + 30 * rows, ..self },
        }
    }

    /// Half as wide, for two beside each other.
    pub const HALF: Self = Self { width: 440, height: 280 };
}

/// plotters writes into memory here and has no way to fail; if it did, the figure's table still says everything.
type Failure = DrawingAreaErrorKind<std::io::Error>;

/// The drawing as an `<svg>` element with title and description. Where nothing can be drawn it says so.
pub fn svg(chart: &Chart, size: Size, id: &str, title: &str, description: &str) -> String {
    let size = size.fitting(chart);
    let (title, description) = (escape(title), escape(description));
    let head = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
         <desc id=\"{id}-d\">{description}</desc>",
        size.width, size.height
    );
    let body = draw(chart, size).unwrap_or_else(|_| {
        "<text x=\"16\" y=\"32\" fill=\"var(--ink)\">cannot be drawn: see the table</text>"
            .to_owned()
    });
    format!("{head}{body}</svg>")
}

/// What stands between `<svg>` and `</svg>`.
fn draw(chart: &Chart, size: Size) -> Result<String, Failure> {
    let mut drawn = String::new();
    let over = {
        let root =
            SVGBackend::with_string(&mut drawn, (size.width, size.height)).into_drawing_area();
        let over = axes::draw(&root, chart, size)?;
        root.present()?;
        over
    };
    // plotters closes its own element and names its own fonts; the page has both.
    let from = drawn.find('>').map_or(0, |at| at + 1);
    let to = drawn.rfind("</svg>").unwrap_or(drawn.len());
    let mut body =
        drawn.get(from..to).unwrap_or_default().replace(" font-family=\"sans-serif\"", "");
    for hue in HUES {
        let RGBColor(red, green, blue) = colour(hue);
        let drawn_as = format!("#{red:02X}{green:02X}{blue:02X}");
        body = body.replace(&drawn_as, &format!("var(--{})", hue.class()));
    }
    Ok(body.replace('\n', "") + &over)
}

const HUES: [Hue; 7] =
    [Hue::Ink, Hue::Faint, Hue::Blue, Hue::Vermilion, Hue::Green, Hue::Purple, Hue::Orange];

/// A colour that stands for a hue until the drawing is done: no reader ever sees it.
fn colour(hue: Hue) -> RGBColor {
    let place = HUES.iter().position(|other| *other == hue).unwrap_or(0);
    RGBColor(1, 0, place as u8)
}
