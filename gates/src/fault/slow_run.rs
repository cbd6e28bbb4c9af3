//! Fault: the run takes far longer than it did.

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "slow-run",
    plants: "a clock on which the run takes ten thousand times as long",
    act: Act::Clock(plant),
};

fn plant(elapsed_ms: u64) -> u64 {
    elapsed_ms.saturating_mul(10_000)
}
