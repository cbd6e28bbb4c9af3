//! What is cheapest to do about a word that is not established.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::decide::Bounds;
use crate::rule::Rule;
use crate::spec::Claim;
use crate::statistics::power::units_needed;

/// The cheapest next action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// The word stands.
    Nothing,
    /// Legs of the plan are still to be run, until the next look.
    Run(usize),
    /// So many pairs more, if they spread as these do.
    MorePairs(usize),
    /// So many sessions more, if they spread as these do.
    MoreSessions(usize),
    /// So many pairs more until the null arm resolves the margin.
    MoreNullPairs(usize),
    /// The effect lies on the bound, or the null arm beyond it: no number of pairs that is a plan would do.
    OtherBound,
    /// Let the machine come to rest before the first leg, and plan anew.
    Settle,
    /// Hold the clocks of both arms at one value, and plan anew.
    EqualiseClocks,
    /// Mend what broke these rules, and plan anew: a void run is never repeated in place.
    Mend(Vec<Rule>),
    /// Provide what is missing.
    Provide(Vec<String>),
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Run(legs) => write!(f, "run the {legs} legs that are still to come"),
            Self::MorePairs(pairs) => write!(f, "{pairs} more pairs"),
            Self::MoreSessions(sessions) => write!(f, "{sessions} more sessions"),
            Self::MoreNullPairs(pairs) => write!(f, "{pairs} more pairs, for the null arm"),
            Self::OtherBound => {
                f.write_str("another bound, or a quieter machine: more pairs would not do")
            }
            Self::Settle => f.write_str("let the machine settle, then a new series"),
            Self::EqualiseClocks => f.write_str("hold the clocks equal, then a new series"),
            Self::Mend(rules) => {
                let ids: Vec<&str> = rules.iter().map(|rule| rule.id()).collect();
                write!(f, "mend {}, then a new series", ids.join(", "))
            }
            Self::Provide(missing) => write!(f, "provide {}", missing.join("; ")),
        }
    }
}

/// How an estimate spreads, for what more of it would do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    /// The estimate.
    pub estimate: f64,
    /// Sample deviation of a unit.
    pub deviation: f64,
    /// Units: pairs of one session, or sessions.
    pub units: usize,
    /// Degrees of freedom fewer than units.
    pub lost: usize,
    /// Whether the units are sessions.
    pub is_sessions: bool,
}

impl Spread {
    /// How many more units until an interval at `alpha` no longer reaches the nearest bound.
    pub(super) fn until_established(&self, bounds: &Bounds, alpha: f64) -> Next {
        let distances: Vec<(f64, f64)> = match bounds.claim {
            Claim::Parity => vec![
                (self.estimate + bounds.margin, alpha),
                (-bounds.margin.max(bounds.floor) - self.estimate, alpha),
            ],
            Claim::Change => {
                let band = bounds.equivalence.unwrap_or(0.0);
                vec![
                    (self.estimate - bounds.floor, alpha),
                    (-bounds.floor - self.estimate, alpha),
                    (band - self.estimate.abs(), 2.0 * alpha),
                ]
            }
        };
        let needed = distances
            .into_iter()
            .filter_map(|(distance, level)| {
                units_needed(self.deviation, self.lost, distance, level)
            })
            .min();
        needed.map_or(Next::OtherBound, |needed| self.more(needed))
    }

    /// The difference to `needed` units: at least one session, or two pairs, as many in each order.
    pub(super) fn more(&self, needed: usize) -> Next {
        let more = needed.saturating_sub(self.units);
        if self.is_sessions {
            Next::MoreSessions(more.max(1))
        } else {
            Next::MorePairs(more.max(2).next_multiple_of(2))
        }
    }
}
