//! Lines of many points, thinned to what a drawing can show.

/// Points of a line beyond which a drawing of 760 pixels shows nothing more.
const MOST: usize = 1500;

/// The same line for the eye: in each of at most `MOST / 2` stretches, the lowest and the highest point, in their order.
pub(super) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MOST / 2);
    let mut kept = Vec::with_capacity(MOST);
    for part in points.chunks(stretch) {
        let by = |a: &(usize, &(f64, f64)), b: &(usize, &(f64, f64))| a.1.1.total_cmp(&b.1.1);
        let lowest = part.iter().enumerate().min_by(by).map(|(at, _)| at);
        let highest = part.iter().enumerate().max_by(by).map(|(at, _)| at);
        let mut ends: Vec<usize> = lowest.into_iter().chain(highest).collect();
        ends.sort_unstable();
        ends.dedup();
        kept.extend(ends.into_iter().map(|at| part[at]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_stay() {
        let mut line: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), 1.0)).collect();
        line[54_321].1 = 9.0;
        line[77_777].1 = -9.0;
        let thin = thinned(&line);
        assert!(thin.len() <= MOST + 2, "{}", thin.len());
        for extreme in [line[54_321], line[77_777]] {
            assert!(thin.contains(&extreme));
        }
        assert!(thin.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(thinned(&line[..10]), line[..10]);
    }
}
