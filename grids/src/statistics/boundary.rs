//! The highest load at which a share of requests meets its objective: doubling, then bisection, each probe judged by Wilson's
//! interval. A probe that is judged neither way asks for more requests at the same load, and after enough of them counts as missed.

use serde::{Deserialize, Serialize};

use super::wilson;

/// What is searched for, and when the search ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Objective {
    /// Share of all requests sent that must meet the objective.
    pub share: f64,
    /// Probability with which the interval of a probe misses.
    pub alpha: f64,
    /// The first load.
    pub from: f64,
    /// The highest load that is tried.
    pub to: f64,
    /// The search ends when the bracket is within this share of its lower end.
    pub bracket: f64,
    /// The most probes, repeated ones counted.
    pub probes: usize,
}

/// One load, asked and answered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The load.
    pub load: f64,
    /// Requests that met the objective.
    pub met: u64,
    /// Requests sent: failed ones and ones of which it cannot be said are among them.
    pub sent: u64,
}

/// What a load is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    /// The whole interval is at or above the share.
    Meets,
    /// The whole interval is below it.
    Misses,
    /// The interval holds the share.
    Undetermined,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// Ask this load, or ask it again.
    Probe(f64),
    /// Between the highest load that meets and the lowest that was not seen to.
    Bracket {
        /// Meets; `None` if not even the first does.
        meets: Option<f64>,
        /// Does not, or was not determined; `None` if even the highest meets.
        misses: Option<f64>,
    },
    /// The probes are used up before the bracket is narrow enough.
    Unfinished {
        /// Meets.
        meets: Option<f64>,
        /// Does not.
        misses: Option<f64>,
    },
}

/// How often one load is asked before undetermined counts as missed.
const REPEATS: usize = 3;

/// The verdict of all probes at one load together.
pub fn judge(objective: &Objective, met: u64, sent: u64) -> Judged {
    match wilson::interval(met, sent, objective.alpha) {
        Some((lower, _)) if lower >= objective.share => Judged::Meets,
        Some((_, upper)) if upper < objective.share => Judged::Misses,
        _ => Judged::Undetermined,
    }
}

/// The next step of the search, from the probes so far alone.
pub fn next(objective: &Objective, probes: &[Probe]) -> Next {
    let mut meets: Option<f64> = None;
    let mut misses: Option<f64> = None;
    let mut open = None;
    for load in loads(probes) {
        let own = probes.iter().filter(|probe| is_same(probe.load, load));
        let (met, sent) =
            own.clone().fold((0, 0), |(met, sent), probe| (met + probe.met, sent + probe.sent));
        match judge(objective, met, sent) {
            Judged::Meets => meets = Some(load),
            Judged::Undetermined if own.count() < REPEATS => open = Some(load),
            Judged::Misses | Judged::Undetermined => {
                misses = Some(load);
                break;
            }
        }
    }
    let step = match (open, meets, misses) {
        (Some(load), ..) => Some(load),
        (None, None, None) => Some(objective.from),
        (None, Some(meets), None) if meets < objective.to => Some((2.0 * meets).min(objective.to)),
        (None, Some(meets), Some(misses)) if misses - meets > objective.bracket * meets => {
            Some(f64::midpoint(meets, misses))
        }
        _ => None,
    };
    match step {
        None => Next::Bracket { meets, misses },
        Some(_) if probes.len() >= objective.probes => Next::Unfinished { meets, misses },
        Some(load) => Next::Probe(load),
    }
}

/// The loads that were asked, ascending, once each.
fn loads(probes: &[Probe]) -> Vec<f64> {
    let mut loads = super::sorted(&probes.iter().map(|probe| probe.load).collect::<Vec<_>>());
    loads.dedup_by(|a, b| is_same(*a, *b));
    loads
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTIVE: Objective =
        Objective { share: 0.95, alpha: 0.05, from: 4.0, to: 1024.0, bracket: 0.1, probes: 20 };

    /// Searches where every load up to `capacity` meets on all of 200 requests and every other on none.
    fn search(capacity: f64) -> (Next, usize) {
        let mut probes = Vec::new();
        loop {
            match next(&OBJECTIVE, &probes) {
                Next::Probe(load) => {
                    let met = if load <= capacity { 200 } else { 0 };
                    probes.push(Probe { load, met, sent: 200 });
                }
                end => return (end, probes.len()),
            }
        }
    }

    /// By hand for 100: 4 to 64 meet, 128 misses, then 96 meets, 112 and 104 miss: 104 is within a tenth of 96.
    #[test]
    fn the_bracket_closes() {
        let (found, probes) = search(100.0);
        assert_eq!(found, Next::Bracket { meets: Some(96.0), misses: Some(104.0) });
        assert_eq!(probes, 9);
        assert_eq!(search(1.0).0, Next::Bracket { meets: None, misses: Some(4.0) });
        assert_eq!(search(5000.0).0, Next::Bracket { meets: Some(1024.0), misses: None });
    }

    /// 48 of 50: Wilson's interval is 0.865 to 0.989 and holds 0.95; asked three times it counts as missed.
    #[test]
    fn undetermined_is_no_pass() {
        let probe = Probe { load: 4.0, met: 48, sent: 50 };
        assert_eq!(judge(&OBJECTIVE, 48, 50), Judged::Undetermined);
        assert_eq!(judge(&OBJECTIVE, 0, 0), Judged::Undetermined);
        assert_eq!(next(&OBJECTIVE, &[probe; 2]), Next::Probe(4.0));
        assert_eq!(next(&OBJECTIVE, &[probe; 3]), Next::Bracket { meets: None, misses: Some(4.0) });
        let few = Objective { probes: 2, ..OBJECTIVE };
        assert_eq!(next(&few, &[probe; 2]), Next::Unfinished { meets: None, misses: None });
    }
}
