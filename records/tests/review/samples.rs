//! Requests of the legs of a series that never ran, and the machine around them.

use serde_json::{Map, Value, json};

use crate::fixture::HOSTILE;
use crate::fixture_series::wobble;

/// Requests of a leg; the last of each fails.
pub(crate) const REQUESTS: u64 = 8;

/// Eight requests a leg around the medians of its outcome, a failed one that was fast.
pub(crate) fn requests(outcomes: &Map<String, Value>) -> Value {
    let of = |(place, (leg, outcome)): (usize, (&String, &Value))| {
        let metrics = &outcome["ended"]["measured"];
        let request = |at: u64| {
            let noise = 1.0 + 0.1 * wobble(place as u64 * 64 + at);
            let metric = |name: &str| metrics[name].as_f64().unwrap() * 1e6 * noise;
            let (ttft, tpot) = (metric("ttft_ms_p50").round(), metric("tpot_ms_p50"));
            let is_last = at + 1 == REQUESTS;
            json!({
                "request": at, "sent_ns": at * 1_000_000, "ttft_ns": if is_last { 1 } else { ttft as u64 }, "tpot_ns": tpot,
                "e2e_ns": (ttft + 63.0 * tpot) as u64, "prompt_tokens": 256, "output_tokens": 64,
                "end": if is_last { "truncated" } else { "ok" },
            })
        };
        (leg.clone(), (0..REQUESTS).map(request).collect())
    };
    Value::Object(outcomes.iter().enumerate().map(of).collect())
}

/// Three spins before and after a load of 20 s, and two GPUs of which the second tells no power.
pub(crate) fn around(outcomes: &Map<String, Value>) -> Value {
    let of = |(place, (leg, outcome)): (usize, (&String, &Value))| {
        let near = |value: f64, at: u64| value * (1.0 + 0.01 * wobble(place as u64 * 64 + at));
        let spin = |until_s: f64, from: u64| {
            let step_ns: Vec<f64> = (from..from + 3).map(|at| near(1.6, at)).collect();
            json!({ "until_s": until_s, "each_ms": 100, "step_ns": step_ns })
        };
        let gpu = |index: u64, tells_power: bool| {
            let sample = |at: u64| {
                let at_s = 1.5 + at as f64 * 5.0;
                let power_w = tells_power.then(|| near(610.0, at));
                json!({ "at_s": at_s, "sm_mhz": near(1900.0, at + 8 * index) as u64, "power_w": power_w })
            };
            let samples: Vec<Value> = (0..4).map(sample).collect();
            json!({ "index": index, "name": format!("a GPU {HOSTILE}"), "samples": samples })
        };
        let sampled = json!({
            "at_s": outcome["at_s"], "began_s": 1.5, "ended_s": 21.5, "spins": [spin(1.5, 0), spin(22.0, 8)],
            "gpus": [gpu(0, true), gpu(1, false)],
        });
        (leg.clone(), sampled)
    };
    Value::Object(outcomes.iter().enumerate().map(of).collect())
}
