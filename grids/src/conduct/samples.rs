//! The requests of a series as rows: what is kept as Parquet beside its record.

use std::path::Path;

use records::samples::Sample;

use super::{ConductError, raw};
use crate::load::trace::Trace;
use crate::metric::latency::Latency;
use crate::metric::ms;
use crate::series::{Leg, Plan};

/// One row a request of every leg that was run, in the plan's order.
pub fn of(folder: &Path, plan: &Plan) -> Result<Vec<Sample>, ConductError> {
    let mut samples = Vec::new();
    for leg in &plan.legs {
        let kept = raw::read(folder, &leg.id)?;
        samples.extend(kept.iter().flat_map(|kept| &kept.traces).map(|trace| sample(leg, trace)));
    }
    Ok(samples)
}

fn sample(leg: &Leg, trace: &Trace) -> Sample {
    let latency = Latency::of(trace);
    Sample {
        leg: leg.id.clone(),
        cell: leg.cell.clone(),
        arm: leg.arm.clone(),
        role: format!("{:?}", leg.role).to_lowercase(),
        // Blocks count from 1: 0 is none.
        block: leg.block.unwrap_or(0) as u32,
        slot: leg.slot as u32,
        session: leg.session,
        request: trace.request,
        sent_ns: trace.sent_ns,
        ttft_ms: latency.ttft_token_ns.map(ms),
        tpot_ms: latency.tpot_ns.map(|ns| ns / 1e6),
        e2e_ms: latency.e2e_last_token_ns.map(ms),
        output_tokens: trace.usage.map(|usage| usage.completion_tokens),
        prompt_tokens: trace.usage.map(|usage| usage.prompt_tokens),
        end: trace.end.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::fixture::bundled;
    use crate::series::Role;

    /// The fixture: 100 ms to the first token, 64 tokens in 16 events of four, 40 ms apart.
    #[test]
    fn a_row_is_a_request() {
        let leg = Leg {
            id: "s1.c8.b003.2.plumb".to_owned(),
            session: 1,
            cell: "c8".to_owned(),
            block: Some(3),
            slot: 1,
            arm: "plumb".to_owned(),
            role: Role::Measured,
        };
        let found = sample(&leg, &bundled());
        assert_eq!((found.block, found.slot, found.role.as_str()), (3, 1, "measured"));
        assert_eq!(
            (found.ttft_ms, found.output_tokens, found.end.as_str()),
            (Some(100.0), Some(64), "ok")
        );
        assert_eq!(found.tpot_ms, Latency::of(&bundled()).tpot_ns.map(|ns| ns / 1e6));
    }
}
