//! Probabilities and quantiles of the distributions that the tests stand on. `statrs` computes them, but for the noncentral t.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

/// Terms of a series after which it counts as not converging.
const TERMS: u32 = 10_000;

/// P(Z <= z) of a standard normal variable.
pub fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The z with P(Z <= z) = p; NaN outside 0 to 1.
pub fn normal_quantile(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) { Normal::standard().inverse_cdf(p) } else { f64::NAN }
}

/// P(T <= t) of Student's t with `df` degrees of freedom; NaN unless `df` is positive.
pub fn t_cdf(t: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |distribution| distribution.cdf(t))
}

/// The t with P(T <= t) = p; NaN outside 0 to 1 or unless `df` is positive.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, df) {
        Ok(distribution) if (0.0..=1.0).contains(&p) => distribution.inverse_cdf(p),
        _ => f64::NAN,
    }
}

/// P(B <= k) of a binomial variable of `n` trials with probability `p`.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    Binomial::new(p, n).map_or(f64::NAN, |distribution| distribution.cdf(k))
}

/// P(T <= t) of a noncentral t with `df` degrees of freedom and noncentrality `delta`.
///
/// Algorithm AS 243, R. V. Lenth, Applied Statistics 38 (1989) 185-189: a Poisson mixture of incomplete beta functions. For
/// |delta| beyond 37 its weights underflow, and the normal approximation of Abramowitz and Stegun 26.7.10 stands in, as in R.
pub fn noncentral_t_cdf(t: f64, df: f64, delta: f64) -> f64 {
    if !(t.is_finite() && delta.is_finite() && df > 0.0) {
        return f64::NAN;
    }
    if t < 0.0 {
        return 1.0 - noncentral_t_cdf(-t, df, -delta);
    }
    if delta.abs() > 37.0 {
        let s = 1.0 / (4.0 * df);
        return normal_cdf((t * (1.0 - s) - delta) / (1.0 + t * t * 2.0 * s).sqrt());
    }
    let x = t * t / (t * t + df);
    if x <= 0.0 {
        return normal_cdf(-delta);
    }
    let half = delta * delta / 2.0;
    // Terms j of the mixture: weights of a Poisson variable with mean delta^2 / 2, for even and odd powers.
    let mut sum = 0.0;
    for j in 0..TERMS {
        let j = f64::from(j);
        let poisson = |shift: f64| {
            if half > 0.0 {
                (-half + j * half.ln() - ln_gamma(j + shift)).exp()
            } else if j < 0.5 {
                1.0 / ln_gamma(shift).exp()
            } else {
                0.0
            }
        };
        let even = poisson(1.0);
        let odd = delta / std::f64::consts::SQRT_2 * poisson(1.5);
        let add = even * beta_reg(j + 0.5, df / 2.0, x) + odd * beta_reg(j + 1.0, df / 2.0, x);
        sum += add;
        if j > half && add.abs() < 1e-14 {
            break;
        }
    }
    (normal_cdf(-delta) + sum / 2.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// scipy 1.17.1: `stats.t.ppf(p, df)`, `stats.t.cdf(2, 3)`, `stats.norm.ppf(.975)`.
    #[test]
    fn quantiles_as_scipy_has_them() {
        for (p, df, expected) in [
            (0.975, 1.0, T_975_1),
            (0.975, 5.0, 2.570_581_835_636_314),
            (0.975, 8.0, 2.306_004_135_204_166_6),
            (0.8, 9.0, 0.883_403_859_813_186),
            (0.9999, 3.0, T_9999_3),
            (0.025, 30.0, -2.042_272_456_301_238),
        ] {
            close(t_quantile(p, df), expected, 1e-9 * expected.abs());
        }
        close(t_cdf(2.0, 3.0), 0.930_337_015_720_578_4, 1e-12);
        close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-12);
        assert!(t_quantile(1.5, 3.0).is_nan() && t_quantile(0.5, 0.0).is_nan());
    }

    /// scipy 1.17.1: `stats.nct.cdf(t, df, delta)`.
    #[test]
    fn noncentral_t_as_scipy_has_it() {
        for (t, df, delta, expected) in NCT {
            close(noncentral_t_cdf(t, df, delta), expected, 1e-10);
        }
    }

    /// By hand: at most 1 of 6 with p = 1/2 is 7 / 64.
    #[test]
    fn binomial_by_hand() {
        close(binomial_cdf(1, 6, 0.5), 7.0 / 64.0, 1e-12);
    }

    const T_975_1: f64 = 12.706_204_736_174_694;
    const T_9999_3: f64 = 22.203_742_273_205;
    const NCT: [(f64, f64, f64, f64); 6] = [
        (2.306, 8.0, 1.0, 0.858_908_573_190_593_1),
        (2.1, 18.0, 3.0, 0.190_049_836_295_756_06),
        (0.5, 4.0, 2.0, 0.065_802_018_911_884_47),
        (-1.0, 5.0, 1.5, 0.009_387_645_621_709_156),
        (0.0, 7.0, 0.7, 0.241_963_652_223_073_03),
        (2.262, 9.0, 0.0, 0.974_993_577_248_772_7),
    ];
}
