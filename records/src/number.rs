//! Numbers for people: enough digits to tell two runs apart, and no more than were measured.

/// A number with this many significant digits, without an exponent between 0.0001 and 10 million. Zeros behind the point stay:
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
    use super::significant;

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
