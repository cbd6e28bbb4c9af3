//! Each foreign alias beside that tool's own number of the same stream: the real tool asks the mock through the [`relay`], its
//! numbers are read from what it printed, ours are computed from what the relay recorded.
//!
//! [`relay`]: super::relay

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::ClientsError;
use super::leg::{Bench, Order, ask, mock};
use super::relay::Relay;
use super::said::number;
use super::series::{empty, write};
use super::spec::{AliasesSpec, ClientSpec, Spec, Statistic};
use crate::load::trace::Trace;
use crate::metric::foreign::{Series, all};
use crate::mock::Mode;

/// One number of a tool beside ours, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Where the tool's number stands in what it printed.
    pub key: String,
    /// The tool's number; `None` if it did not print one.
    pub theirs: Option<f64>,
    /// The name of our series.
    pub alias: String,
    /// Which number of it.
    pub statistic: Statistic,
    /// Ours; `None` if the record gives none.
    pub ours: Option<f64>,
    /// What is allowed.
    pub allowed: Option<f64>,
    /// The distance is within it. Nothing beside nothing is not.
    pub is_same: bool,
}

/// A tool in a mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// The tool.
    pub client: String,
    /// How the mock answered.
    pub mode: Mode,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every number of the tool that has an alias.
    Compared(Vec<Compared>),
    /// The tool cannot be asked so, or is not there.
    Skipped(String),
    /// The tool has no numbers.
    Failed(String),
}

/// Runs a tool in a mode, in a folder of its own, which keeps the record.
pub fn case(
    spec: &Spec,
    bench: &Bench,
    (name, client): (&str, &ClientSpec),
    mode: Mode,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<Case, ClientsError> {
    let case = |outcome| Case { client: name.to_owned(), mode, outcome };
    if let Some(why) = client.refuses.get(&mode) {
        return Ok(case(Outcome::Skipped(why.0.clone())));
    }
    let folder = empty(folder.join(format!("{name}-{}", mode.name())))?;
    let mock = mock(mode, &spec.aliases.load, bench.cores)?;
    let system = |source| ClientsError::System { action: "starting the relay", source };
    let relay = Relay::start(mock.address(), bench.cores.mock).map_err(system)?;
    let requests = spec.aliases.requests.0;
    let order = Order {
        name,
        client,
        address: relay.address(),
        streams: spec.aliases.streams.0,
        requests,
        load: &spec.aliases.load,
        folder: &folder,
        deadline: Duration::from_secs(spec.deadline_s.0.into()),
    };
    let printed = ask(bench, &order, stop)?;
    let traces = relay.stop();
    write(&folder.join("traces.json"), &traces)?;
    let printed = match printed {
        Ok(printed) => printed,
        Err(why) => return Ok(case(Outcome::Failed(why))),
    };
    let said = number(&printed.document, &client.said.completed);
    let completed = match said {
        Ok(completed) => completed,
        Err(unsaid) => return Ok(case(Outcome::Failed(unsaid.to_string()))),
    };
    if completed < f64::from(requests) || traces.len() != requests as usize {
        let seen = traces.len();
        return Ok(case(Outcome::Failed(format!(
            "it counts {completed} whole answers of {requests}, the relay recorded {seen}"
        ))));
    }
    let compared = compare(client, &printed.document, &traces, &spec.aliases);
    let case = case(Outcome::Compared(compared));
    write(&folder.join("case.json"), &case)?;
    Ok(case)
}

/// Every number of the tool that has an alias, beside it.
pub fn compare(
    client: &ClientSpec,
    document: &Value,
    traces: &[Trace],
    bounds: &AliasesSpec,
) -> Vec<Compared> {
    let all = all(traces);
    let compared = client.aliases.iter().map(|alias| {
        let theirs = number(document, &alias.said).ok();
        let series = all.iter().find(|series| series.name == alias.alias);
        let ours = series.and_then(|series| value(series, alias.statistic));
        let apart = if alias.from_start { &bounds.apart_from_start } else { &bounds.apart };
        let allowed = theirs.map(|theirs| apart.ms.max(theirs.abs() * apart.percent.0 / 100.0));
        let is_same = match (theirs, ours, allowed) {
            (Some(theirs), Some(ours), Some(allowed)) => (theirs - ours).abs() <= allowed,
            _ => false,
        };
        Compared {
            key: alias.said.at.clone(),
            theirs,
            alias: alias.alias.clone(),
            statistic: alias.statistic,
            ours,
            allowed,
            is_same,
        }
    });
    compared.collect()
}

fn value(series: &Series, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Mean => series.mean(),
        Statistic::P50 => series.percentile(50.0),
        Statistic::P99 => series.percentile(99.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clients::spec::parse;
    use crate::metric::fixture::bundled;

    /// What vLLM's own functions print for the bundled stream (see `metric::foreign`), and what they do not.
    #[test]
    fn a_tools_number_is_held_against_its_own_alias() {
        let spec = parse(include_str!("../../clients/per-core.toml")).unwrap();
        let (_, vllm) = spec.chosen(&["vllm".to_owned()]).unwrap()[0];
        let document = json!({
            "mean_ttft_ms": 100.0, "median_itl_ms": 40.0, "mean_tpot_ms": 40.0, "mean_itl_ms": null,
        });
        let compared = compare(vllm, &document, &[bundled()], &spec.aliases);
        assert_eq!(compared.len(), vllm.aliases.len());
        let of = |key: &str| compared.iter().find(|compared| compared.key == key).unwrap();
        assert!(of("/mean_ttft_ms").is_same);
        assert!(of("/median_itl_ms").is_same);
        // A gap a chunk is not a time a token.
        assert!(!of("/mean_tpot_ms").is_same);
        // Nothing is not the same as something.
        assert_eq!((of("/mean_itl_ms").theirs, of("/mean_itl_ms").is_same), (None, false));
        let compared = compare(vllm, &document, &[], &spec.aliases);
        assert!(compared.iter().all(|compared| !compared.is_same));
    }
}
