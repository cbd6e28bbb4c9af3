//! Numbers for people: as many digits as say something, with a unit that fits. Every page and every terminal's table has them from here.

/// Four significant digits, without zeros that say nothing; a power of ten where plain digits would hide the size.
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "no number".to_owned();
    }
    let size = value.abs();
    if size > 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.2e}");
    }
    if size >= 1000.0 {
        return grouped(value);
    }
    let before = if size >= 1.0 { size.log10().floor() as usize + 1 } else { 0 };
    let leading = if size > 0.0 && size < 1.0 { (-size.log10()).floor() as usize } else { 0 };
    let text = format!("{value:.*}", 4_usize.saturating_sub(before) + leading);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Whole, with a thin space between thousands.
fn grouped(value: f64) -> String {
    let whole = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(whole.len() + whole.len() / 3);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// A value in the unit of a metric, scaled where the unit would be unwieldy.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "byte" => bytes(value),
        "ms" if value.abs() >= 10_000.0 => format!("{} s", digits(value / 1000.0)),
        "count" | "rank" | "1" => digits(value),
        other => format!("{} {other}", digits(value)),
    }
}

/// Bytes in the decimal unit that fits.
pub fn bytes(value: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(size, _)| value.abs() >= *size) {
        Some((size, unit)) => format!("{} {unit}", digits(value / size)),
        None => format!("{} B", digits(value)),
    }
}

/// A time span from milliseconds.
pub fn span(ms: u64) -> String {
    let seconds = ms as f64 / 1000.0;
    match ms {
        0..10_000 => format!("{} ms", digits(ms as f64)),
        10_000..600_000 => format!("{} s", digits(seconds)),
        _ => format!("{} min", digits(seconds / 60.0)),
    }
}

/// A ratio of two measured values.
pub fn ratio(value: f64) -> String {
    format!("{value:.4}")
}

/// A ratio with the interval around it.
pub fn ratio_within(estimate: f64, low: f64, high: f64) -> String {
    format!("{} [{}, {}]", ratio(estimate), ratio(low), ratio(high))
}

/// A factor as a change in percent, with its sign.
pub fn percent_off(factor: f64) -> String {
    format!("{:+.2} %", (factor - 1.0) * 100.0)
}

/// A number for a table of a query, whose reader may be a program: with this many significant digits and no sign between thousands, without an exponent between 0.0001 and 10 million. Zeros behind the point stay:
/// they are digits too. Whole numbers that need more digits than that are written whole.
pub fn significant(value: f64, digits: u32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..7).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1) as usize);
    }
    let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
    // A whole count is exact: it has no digits behind the point.
    let decimals = if value.fract().abs() < f64::EPSILON { 0 } else { decimals };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_say_something() {
        let found =
            [0.0, -0.0, 0.355_115_09, 889.413_83, 1730.0, 134_515_008.0, 0.000_012, 31.25, 0.0005]
                .map(digits);
        let expected =
            ["0", "0", "0.3551", "889.4", "1\u{202f}730", "1.35e8", "1.20e-5", "31.25", "0.0005"];
        assert_eq!(found, expected);
        assert_eq!(digits(f64::NAN), "no number");
        assert_eq!(with_unit(28857.0, "ms"), "28.86 s");
        assert_eq!(with_unit(96_576_768.0, "byte"), "96.58 MB");
        assert_eq!(span(105_716), "105.7 s");
        assert_eq!(ratio_within(1.25, 1.2, 1.300_04), "1.2500 [1.2000, 1.3000]");
        assert_eq!(percent_off(0.975), "-2.50 %");
    }

    #[test]
    fn four_digits_of_anything() {
        for (value, expected) in [
            (0.0, "0"),
            (24.0, "24"),
            (-24.0, "-24"),
            (123_456.0, "123456"),
            (50.123_45, "50.12"),
            (1234.56, "1235"),
            (0.012_346, "0.01235"),
            (1.000_04, "1.000"),
            (1.5e9, "1.500e9"),
            (2.5e-7, "2.500e-7"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(significant(value, 4), expected);
        }
    }
}
