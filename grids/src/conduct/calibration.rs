//! The client against a server of known truth, at the load of a cell: before its first leg and after its last.

use std::sync::atomic::Ordering;

use super::{ConductError, Setting};
use crate::load::account::SpanSummary;
use crate::selftest::certificate::{Cell as Planned, Certificate, Load, certify};
use crate::series::client::{Calibrated, When, keep, read};
use crate::series::{Calibration, Cell, Plan};

/// A machine that others share spoils a moment: so many are tried.
const TRIES: usize = 10;

/// Holds the client against the truth, unless that was done. Whether it is good enough is judged with the series; a try that is not is
/// repeated, since what is asked is what the client can do here, not what happened in three seconds. True where something was run.
pub fn calibrate(
    plan: &Plan,
    cell: &Cell,
    when: When,
    setting: &Setting<'_>,
) -> Result<bool, ConductError> {
    let Some(truth) = plan.client else { return Ok(false) };
    let kept = read(setting.folder, plan).remove(&cell.id).unwrap_or_default();
    let is_done = match when {
        When::Before => kept.before.is_some(),
        When::After => kept.after.is_some(),
    };
    if is_done {
        return Ok(false);
    }
    let mut last = None;
    for _ in 0..TRIES {
        let found = certify(&planned(plan, cell, truth), setting.stop)?;
        if setting.stop.load(Ordering::SeqCst) {
            return Ok(true);
        }
        let is_good = found.invalid.is_empty();
        last = Some(found);
        if is_good {
            break;
        }
    }
    if let Some(found) = last {
        keep(setting.folder, &cell.id, when, &calibrated(truth, found))?;
    }
    Ok(true)
}

/// The load of the cell, on one thread of ours as in its legs, from a mock on one thread.
fn planned(plan: &Plan, cell: &Cell, truth: Calibration) -> Planned {
    let nanoseconds = |ms: f64| (ms * 1e6) as u64;
    Planned {
        load: Load::Streams(cell.concurrency as usize),
        ttft_ns: nanoseconds(truth.ttft_ms),
        gap_ns: nanoseconds(truth.gap_ms),
        prompt_tokens: plan.workload.prompt_tokens.0,
        output_tokens: plan.workload.output_tokens.0,
        seconds: truth.seconds,
        threads: 1,
        cores: Vec::new(),
        mock_threads: 1,
        mock_cores: Vec::new(),
        comes_first: true,
        mock: None,
    }
}

fn calibrated(truth: Calibration, found: Certificate) -> Calibrated {
    let p99 = |span: &SpanSummary| span.p99_ns.map(|ns| ns as f64 / 1e6);
    Calibrated {
        truth,
        sent: found.sent,
        events_per_s: found.events_per_second,
        ttft_off_ms_p99: p99(&found.ttft_error),
        gap_off_ms_p99: p99(&found.gap_error),
        invalid: found.invalid,
    }
}
