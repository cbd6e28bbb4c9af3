//! The rules over recorded windows: pure functions, each with its id. A number that is missing or is no number breaks the rule that
//! needs it.

pub mod clock;
pub mod host;
pub mod memory;

#[cfg(test)]
pub(crate) mod fixture;

use crate::clocks::window::Window;
use crate::rule::Violation;
use clock::{Clock, Source};

/// Everything that one leg's window can break; a leg without a window breaks V-CLOCK-MISS and nothing else.
pub fn leg(window: Option<&Window>, source: Source, ours: &[u32]) -> Vec<Violation> {
    let Some(window) = window else { return clock::miss(None, source).into_iter().collect() };
    let clock = Clock::of(&[window], source);
    let mut found: Vec<Violation> = [
        clock::miss(Some(window), source),
        clock::spread(&clock),
        clock::cover(&clock),
        host::stolen(window),
        host::foreign(window),
        host::boot(&[window]),
    ]
    .into_iter()
    .flatten()
    .collect();
    if source == Source::Gpu {
        let gpus = [
            clock::throttle(&window.gpus),
            host::persistence(&window.gpus),
            host::foreign_on_gpu(&window.gpus, ours),
        ];
        found.extend(gpus.into_iter().flatten());
    }
    found
}
