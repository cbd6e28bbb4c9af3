//! Marks of a layer as one path.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::review::chart::{Hue, Mark};

/// Half the size of a cross or a bar, in pixels.
const ARM: f64 = 3.2;

/// The path of marks at these pixels.
pub(super) fn path(mark: Mark, hue: Hue, pixels: &BTreeSet<(i32, i32)>) -> String {
    let mut line = String::with_capacity(pixels.len() * 12);
    for (x, y) in pixels {
        let (x, y) = (f64::from(*x), f64::from(*y));
        // Writing to a string cannot fail.
        let _ = match mark {
            // A line of no length with round ends is a dot.
            Mark::Dot => write!(line, "M{x} {y}h0"),
            Mark::Cross => write!(
                line,
                "M{:.1} {:.1}l{d} {d}m0 -{d}l-{d} {d}",
                x - ARM,
                y - ARM,
                d = 2.0 * ARM
            ),
            Mark::Bar => write!(line, "M{x} {:.1}v{}", y - ARM, 2.0 * ARM),
        };
    }
    let width = if mark == Mark::Dot { "6" } else { "1.8" };
    format!(
        "<path d=\"{line}\" fill=\"none\" stroke=\"var(--{})\" stroke-width=\"{width}\" stroke-linecap=\"round\" \
         stroke-opacity=\"{}\"/>",
        hue.class(),
        // Many marks lie over each other: where they do is then seen.
        if pixels.len() > 200 { "0.55" } else { "0.9" }
    )
}

/// The path of lying bars: from, to and height of each, in pixels. One that is shorter than a pixel is a pixel long.
pub(super) fn spans(hue: Hue, pixels: &BTreeSet<(i32, i32, i32)>) -> String {
    let mut line = String::with_capacity(pixels.len() * 12);
    for (from, to, y) in pixels {
        // Writing to a string cannot fail.
        let _ = write!(line, "M{from} {y}h{}", (to - from).max(1));
    }
    format!(
        "<path d=\"{line}\" fill=\"none\" stroke=\"var(--{})\" stroke-width=\"4\"/>",
        hue.class()
    )
}

/// A name under or beside an axis.
pub(super) fn name(x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = crate::review::html::escape::escape(text);
    format!(
        "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\" font-size=\"12\" fill=\"var(--ink)\">{text}</text>"
    )
}
