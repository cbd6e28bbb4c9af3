//! Axes, grid and layers of a chart.

use std::collections::BTreeSet;

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{Color, IntoFont, TextStyle};

use super::{Failure, Size, colour, marks, thin};
use crate::number::digits;
use crate::review::chart::{Axis, Chart, Hue, Layer, Shape};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plane<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Names of an axis that fit beside each other.
const MOST_NAMES: usize = 12;
/// Pixels of a character of an axis' name, roughly: there is no font to ask.
const CHARACTER: f64 = 6.6;

/// Draws all but the marks, and gives those, which lie over it.
pub(super) fn draw(root: &Area<'_>, chart: &Chart, size: Size) -> Result<String, Failure> {
    let left = left(&chart.y);
    let mut builder = ChartBuilder::on(root);
    builder.margin_top(12).margin_right(18).margin_bottom(4).margin_left(4);
    builder.x_label_area_size(44).y_label_area_size(left);
    let (x, y) = (span(&chart.x), span(&chart.y));
    let mut plane = builder.build_cartesian_2d(x.0..x.1, y.0..y.1)?;
    mesh(&mut plane, chart, size)?;
    let mut over = String::new();
    for layer in &chart.layers {
        over += &draw_layer(&mut plane, chart, layer)?;
    }
    Ok(over + &names(&plane, chart, size))
}

/// Room for what stands left of the y axis.
fn left(axis: &Axis) -> u32 {
    let longest = axis.names.iter().map(|(_, name)| name.chars().count()).max();
    longest.map_or(66, |longest| (longest as f64 * CHARACTER).clamp(50.0, 220.0) as u32 + 24)
}

/// The ends of an axis as they are drawn.
fn span(axis: &Axis) -> (f64, f64) {
    (place(axis, axis.range.0), place(axis, axis.range.1))
}

/// Where a value lies: on a logarithmic axis, at its binary logarithm.
fn place(axis: &Axis, value: f64) -> f64 {
    if axis.is_log { value.log2() } else { value }
}

fn mesh(plane: &mut Plane<'_, '_>, chart: &Chart, size: Size) -> Result<(), Failure> {
    let text = |size: u32| -> TextStyle<'static> {
        ("sans-serif", size).into_font().color(&colour(Hue::Ink))
    };
    let label = |axis: &Axis, value: f64| {
        if !axis.names.is_empty() {
            return String::new();
        }
        digits(if axis.is_log { value.exp2() } else { value })
    };
    let (x, y) = (chart.x.clone(), chart.y.clone());
    let (of_x, of_y) = (move |value: &f64| label(&x, *value), move |value: &f64| label(&y, *value));
    let count = |axis: &Axis, some: usize| if axis.names.is_empty() { some } else { 0 };
    let mut mesh = plane.configure_mesh();
    mesh.disable_x_mesh()
        .light_line_style(plotters::style::TRANSPARENT)
        .bold_line_style(colour(Hue::Faint).mix(0.35))
        .axis_style(colour(Hue::Faint))
        .label_style(text(12))
        .axis_desc_style(text(12))
        .x_labels(count(&chart.x, if size.width > 500 { 8 } else { 5 }))
        .y_labels(count(&chart.y, 6))
        .x_label_formatter(&of_x)
        .y_label_formatter(&of_y)
        .x_desc(&chart.x.label)
        .y_desc(if chart.y.names.is_empty() { chart.y.label.as_str() } else { "" });
    mesh.draw()
}

fn draw_layer(plane: &mut Plane<'_, '_>, chart: &Chart, layer: &Layer) -> Result<String, Failure> {
    let at = |&(x, y): &(f64, f64)| (place(&chart.x, x), place(&chart.y, y));
    let inside = |point: &(f64, f64)| point.0.is_finite() && point.1.is_finite();
    let (x, y) = (span(&chart.x), span(&chart.y));
    let paint = colour(layer.hue);
    match &layer.shape {
        Shape::Marks(mark, points) => {
            let points = points.iter().map(at).filter(inside);
            // Marks of one path that fall on one pixel are one mark to the eye.
            let pixels: BTreeSet<(i32, i32)> =
                points.map(|point| plane.backend_coord(&point)).collect();
            return Ok(marks::path(*mark, layer.hue, &pixels));
        }
        Shape::Spans(height, spans) => {
            let ends = |&(from, to): &(f64, f64)| {
                let ends = [from, to].map(|across| at(&(across, *height)));
                ends.iter().all(inside).then(|| ends.map(|end| plane.backend_coord(&end)))
            };
            let pixels: BTreeSet<(i32, i32, i32)> =
                spans.iter().filter_map(ends).map(|[from, to]| (from.0, to.0, from.1)).collect();
            return Ok(marks::spans(layer.hue, &pixels));
        }
        Shape::Line { dashed, points } => {
            let points: Vec<(f64, f64)> =
                thin::thinned(points).iter().map(at).filter(inside).collect();
            line(plane, *dashed, points, layer.hue)?;
        }
        Shape::Bars(width, bars) => {
            let half = width / 2.0;
            let bars = bars.iter().filter(|bar| inside(bar)).map(|&(at, height)| {
                let corners = [(at - half, y.0.max(0.0).min(y.1)), (at + half, height)];
                Rectangle::new(corners, paint.mix(0.85).filled())
            });
            plane.draw_series(bars)?;
        }
        Shape::Band(low, high) => {
            let ends = [place(&chart.y, *low).max(y.0), place(&chart.y, *high).min(y.1)];
            if ends[0] < ends[1] {
                let corners = [(x.0, ends[0]), (x.1, ends[1])];
                let band = Rectangle::new(corners, paint.mix(0.16).filled());
                plane.draw_series(std::iter::once(band))?;
            }
        }
        Shape::Level { dashed, at } => {
            let height = place(&chart.y, *at);
            if (y.0..=y.1).contains(&height) {
                line(plane, *dashed, vec![(x.0, height), (x.1, height)], layer.hue)?;
            }
        }
    }
    Ok(String::new())
}

fn line(
    plane: &mut Plane<'_, '_>,
    dashed: bool,
    points: Vec<(f64, f64)>,
    hue: Hue,
) -> Result<(), Failure> {
    let style = colour(hue).stroke_width(2);
    if points.len() == 1 {
        plane.draw_series(std::iter::once(PathElement::new(points, style)))?;
    } else if dashed {
        plane.draw_series(DashedLineSeries::new(points, 6, 5, style))?;
    } else {
        plane.draw_series(LineSeries::new(points, style))?;
    }
    Ok(())
}

/// The names of named axes: plotters would put them where round numbers are.
fn names(plane: &Plane<'_, '_>, chart: &Chart, size: Size) -> String {
    let (x, y) = (span(&chart.x), span(&chart.y));
    let mut all = String::new();
    let every = chart.x.names.len().div_ceil(MOST_NAMES * size.width as usize / 760).max(1);
    for (at, name) in chart.x.names.iter().step_by(every) {
        let (across, down) = plane.backend_coord(&(place(&chart.x, *at), y.0));
        all += &marks::name(f64::from(across), f64::from(down) + 18.0, "middle", name);
    }
    for (at, name) in &chart.y.names {
        let (across, down) = plane.backend_coord(&(x.0, place(&chart.y, *at)));
        all += &marks::name(f64::from(across) - 10.0, f64::from(down) + 4.0, "end", name);
    }
    all
}
