//! The numbers of a leg by the names that axes use: `METRIC_UNIT[_STATISTIC]`, the most significant word first.

use std::collections::BTreeMap;

use crate::metric::distribution::Distribution;
use crate::metric::leg::Leg;

/// Every number of a leg that could be derived. A percentile without samples enough is not among them.
pub fn of(leg: &Leg) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let windows = [("", &leg.full), ("steady_", &leg.steady)];
    for (window, rates) in
        windows.into_iter().filter_map(|(name, rates)| Some((name, rates.as_ref()?)))
    {
        all.extend([
            (format!("{window}requests_per_s"), rates.requests),
            (format!("{window}input_tokens_per_s"), rates.input),
            (format!("{window}output_tokens_per_s"), rates.output),
            (format!("{window}total_tokens_per_s"), rates.total),
        ]);
    }
    let latencies = &leg.latencies;
    let named = [
        ("ttft", &latencies.ttft_token),
        ("tpot", &latencies.tpot),
        ("itl", &latencies.itl_gap),
        ("stall", &latencies.stall_max_gap),
        ("e2e", &latencies.e2e_last_token),
    ];
    for (name, found) in named.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?)))
    {
        all.extend(distribution(name, found));
    }
    all
}

fn distribution<'a>(
    name: &'a str,
    found: &'a Distribution,
) -> impl Iterator<Item = (String, f64)> + 'a {
    let percentile = move |percentile: &crate::metric::distribution::Percentile| {
        let p = percentile.p.to_string().replace('.', "_");
        percentile.value_ms.map(|value| (format!("{name}_ms_p{p}"), value))
    };
    let few =
        [(format!("{name}_ms_mean"), found.mean_ms), (format!("{name}_ms_max"), found.max_ms)];
    few.into_iter().chain(found.percentiles.iter().filter_map(percentile))
}
