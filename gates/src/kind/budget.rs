//! Kind `budget`: the answers of a run keep to the wall time that its spec declares; what is fetched or built first has its own. It stands beside any other kind and fails with the time.

use crate::spec::BudgetCheck;

/// The kind's name in specs and records.
pub const NAME: &str = "budget";

/// What it judges, in words.
pub fn explain(check: &BudgetCheck) -> String {
    format!(
        "all answers of a run, loading included, come within {} s, because: {}",
        check.seconds.0, check.because.0
    )
}

/// The words for a run that took too long.
pub fn judge(check: &BudgetCheck, elapsed_ms: u64) -> Option<String> {
    let allowed = u64::from(check.seconds.0) * 1000;
    (elapsed_ms > allowed).then(|| {
        let seconds = elapsed_ms as f64 / 1000.0;
        format!("took {seconds:.1} s where the budget is {} s", check.seconds.0)
    })
}
