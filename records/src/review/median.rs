//! The middle of some values.

/// The middle value of values in any order, the mean of the two middle ones for an even count; `None` of nothing.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    match half.checked_sub(1) {
        Some(below) if sorted.len().is_multiple_of(2) => Some(f64::midpoint(sorted[below], upper)),
        _ => Some(upper),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn of_an_even_count_the_mean_of_the_two_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[9.0, 1.0]), Some(5.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 8.0]), Some(3.5));
    }
}
