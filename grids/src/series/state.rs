//! A series on disk: the plan, and one file a leg. A series that was killed goes on with the legs that have no file.
//!
//! ```text
//! FOLDER/plan.json          the plan, in canonical form: its SHA-256 is the plan's
//! FOLDER/legs/ID.json       the outcome of a leg, after its own SHA-256 on the first line
//! FOLDER/legs/ID.json.torn  what was found in its place and is none
//! ```
//!
//! A file is written whole beside its place, flushed to disk, and renamed into it; then the folder is flushed. It is never written
//! twice.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::outcome::{Ended, Outcome, Outcomes};
use super::plan::{Leg, Plan};

/// A series on disk.
#[derive(Debug)]
pub struct State {
    folder: PathBuf,
    plan_sha256: String,
    outcomes: Outcomes,
    torn: Vec<PathBuf>,
}

/// A series that cannot be begun, gone on with, or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A file cannot be read or written.
    #[error("cannot {action} {path}")]
    Io {
        /// `create`, `read`, `write`, `rename` or `flush`.
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The folder holds a series of another plan.
    #[error(
        "{path} holds a series of plan {found}, not of plan {expected}: finish it with its own spec, or name another folder"
    )]
    OtherPlan {
        /// The plan's file.
        path: PathBuf,
        /// SHA-256 of the plan asked for.
        expected: String,
        /// SHA-256 of what is there.
        found: String,
    },
    /// The leg is not in the plan.
    #[error("leg {leg:?} is not in the plan")]
    NoLeg {
        /// Its id.
        leg: String,
    },
    /// The outcome would not read back as it is.
    #[error("the outcome of leg {leg:?} has a time or a clock that is no finite number")]
    NotFinite {
        /// Its id.
        leg: String,
    },
    /// The leg has its outcome.
    #[error("{path} is there already: an outcome is written once")]
    Twice {
        /// The file.
        path: PathBuf,
    },
}

impl State {
    /// Opens the series of `plan` in `folder`: a new one, or the same one where it was left.
    pub fn open(folder: &Path, plan: &Plan) -> Result<Self, StateError> {
        let legs = folder.join("legs");
        std::fs::create_dir_all(&legs).map_err(failed("create", &legs))?;
        let path = folder.join("plan.json");
        let expected = plan.sha256();
        match std::fs::read(&path) {
            Ok(bytes) => {
                let found = records::sha256_hex(&bytes);
                if found != expected {
                    return Err(StateError::OtherPlan { path, expected, found });
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let text = records::canonical::canonical_json(plan).map_err(std::io::Error::from);
                write(&path, text.map_err(failed("write", &path))?.as_bytes())?;
            }
            Err(source) => return Err(failed("read", &path)(source)),
        }
        let mut state = Self {
            folder: folder.to_owned(),
            plan_sha256: expected,
            outcomes: Outcomes::new(),
            torn: Vec::new(),
        };
        for leg in &plan.legs {
            state.read(leg)?;
        }
        Ok(state)
    }

    /// The outcomes so far.
    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// Files that were no outcomes and were set aside: their legs are run again.
    pub fn torn(&self) -> &[PathBuf] {
        &self.torn
    }

    /// The legs of `plan` without an outcome, in order.
    pub fn pending<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Leg> {
        plan.legs.iter().filter(|leg| !self.outcomes.contains_key(&leg.id))
    }

    /// Keeps the outcome of a leg, for good. A metric that is no finite number is kept as absent: JSON has none, and to the judge it
    /// is the same.
    pub fn keep(&mut self, plan: &Plan, leg: &str, mut outcome: Outcome) -> Result<(), StateError> {
        let known = plan.legs.iter().find(|own| own.id == leg);
        let known = known.ok_or_else(|| StateError::NoLeg { leg: leg.to_owned() })?;
        let path = self.file(known);
        if self.outcomes.contains_key(leg) || path.exists() {
            return Err(StateError::Twice { path });
        }
        if let Ended::Measured(metrics) = &mut outcome.ended {
            metrics.retain(|_, value| value.is_finite());
        }
        let text = serde_json::to_string(&outcome).map_err(std::io::Error::from);
        let text = text.map_err(failed("write", &path))?;
        let digest = records::sha256_hex(text.as_bytes());
        let bytes = format!("{digest}\n{text}\n");
        if whole(bytes.as_bytes()).as_ref() != Some(&outcome) {
            return Err(StateError::NotFinite { leg: leg.to_owned() });
        }
        write(&path, bytes.as_bytes())?;
        self.outcomes.insert(leg.to_owned(), outcome);
        Ok(())
    }

    fn file(&self, leg: &Leg) -> PathBuf {
        self.folder.join("legs").join(format!("{}.json", leg.id))
    }

    /// Reads a leg's file, or sets it aside.
    fn read(&mut self, leg: &Leg) -> Result<(), StateError> {
        let path = self.file(leg);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(failed("read", &path)(source)),
        };
        if let Some(outcome) = whole(&bytes).filter(|found| found.plan_sha256 == self.plan_sha256) {
            self.outcomes.insert(leg.id.clone(), outcome);
            return Ok(());
        }
        let aside = free(&path);
        std::fs::rename(&path, &aside).map_err(failed("rename", &path))?;
        self.torn.push(aside);
        Ok(())
    }
}

/// The outcome in a file, if the file is whole and says what was written.
fn whole(bytes: &[u8]) -> Option<Outcome> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (digest, rest) = text.split_once('\n')?;
    let json = rest.strip_suffix('\n')?;
    (records::sha256_hex(json.as_bytes()) == digest).then(|| serde_json::from_str(json).ok())?
}

/// The first name for what is set aside that nothing has.
fn free(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbered = (2..).map(|number| path.with_file_name(format!("{name}.torn{number}")));
    let mut names = std::iter::once(path.with_file_name(format!("{name}.torn"))).chain(numbered);
    names.find(|name| !name.exists()).unwrap_or_else(|| path.with_extension("torn"))
}

/// Writes a file whole or not at all.
/// Writes a file of a series whole beside its place, flushes it, and renames it into it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside).map_err(failed("create", &beside))?;
    file.write_all(bytes).map_err(failed("write", &beside))?;
    file.sync_all().map_err(failed("flush", &beside))?;
    std::fs::rename(&beside, path).map_err(failed("rename", &beside))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("flush", folder))
}

/// The error of what was tried with a file.
pub(crate) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rule::{Rule, Violation};
    use crate::series::outcome::Clock;

    fn plan() -> Plan {
        let text =
            include_str!("../../specs/cpu-sweep.toml").replacen("pairs = 10", "pairs = 4", 1);
        crate::series::build(&crate::spec::named("it", text, Path::new("it.toml")).unwrap())
    }

    fn outcome(plan: &Plan) -> Outcome {
        Outcome {
            plan_sha256: plan.sha256(),
            at_s: 0.1,
            ended: Ended::Measured(BTreeMap::from([("rate".to_owned(), 0.1 + 0.2)])),
            violations: vec![Violation::new(Rule::Failed, "request 3: TimedOut")],
            workload_sha256: "w".to_owned(),
            clock: Some(Clock { mean: 1980.5, median: 1980.0 }),
        }
    }

    #[test]
    fn a_series_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan();
        let mut state = State::open(folder.path(), &plan).unwrap();
        assert_eq!(state.pending(&plan).count(), plan.legs.len());
        for leg in &plan.legs[..3] {
            state.keep(&plan, &leg.id, outcome(&plan)).unwrap();
        }
        let twice = state.keep(&plan, &plan.legs[0].id, outcome(&plan)).unwrap_err();
        assert!(matches!(twice, StateError::Twice { .. }), "{twice}");
        let other = state.keep(&plan, "s9.c1.warm.plumb", outcome(&plan)).unwrap_err();
        assert!(matches!(other, StateError::NoLeg { .. }), "{other}");
        let again = State::open(folder.path(), &plan).unwrap();
        assert_eq!(again.outcomes(), state.outcomes());
        assert_eq!(again.pending(&plan).next().unwrap(), &plan.legs[3]);
        assert!(again.torn().is_empty());
    }

    /// Cut at every byte, or with any byte changed, a file is set aside and its leg is run again.
    #[test]
    fn a_torn_file_is_set_aside_at_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan();
        let leg = &plan.legs[0];
        let mut state = State::open(folder.path(), &plan).unwrap();
        state.keep(&plan, &leg.id, outcome(&plan)).unwrap();
        let path = state.file(leg);
        let bytes = std::fs::read(&path).unwrap();
        assert!(whole(&bytes).is_some());
        for cut in 0..bytes.len() {
            assert!(whole(&bytes[..cut]).is_none(), "cut at {cut}");
            let mut changed = bytes.clone();
            changed[cut] ^= 1;
            assert!(whole(&changed).is_none(), "changed at {cut}");
        }
        for number in 1..=2 {
            std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            let again = State::open(folder.path(), &plan).unwrap();
            assert_eq!((again.torn().len(), again.pending(&plan).count()), (1, plan.legs.len()));
            let ending = if number == 1 { "torn" } else { "torn2" };
            assert!(again.torn()[0].to_string_lossy().ends_with(ending));
        }
        let mut again = State::open(folder.path(), &plan).unwrap();
        again.keep(&plan, &leg.id, outcome(&plan)).unwrap();
    }

    #[test]
    fn what_json_cannot_say_is_absent_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan();
        let mut state = State::open(folder.path(), &plan).unwrap();
        let metrics = BTreeMap::from([("rate".to_owned(), f64::NAN), ("ttft".to_owned(), 1.0)]);
        let odd = Outcome { ended: Ended::Measured(metrics), ..outcome(&plan) };
        state.keep(&plan, &plan.legs[0].id, odd).unwrap();
        let again = State::open(folder.path(), &plan).unwrap();
        assert_eq!(again.outcomes()[&plan.legs[0].id].metric("rate"), None);
        assert_eq!(again.outcomes()[&plan.legs[0].id].metric("ttft"), Some(1.0));
        let odd = Outcome { at_s: f64::INFINITY, ..outcome(&plan) };
        let refused = state.keep(&plan, &plan.legs[1].id, odd).unwrap_err();
        assert!(matches!(refused, StateError::NotFinite { .. }), "{refused}");
    }

    #[test]
    fn another_plan_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan();
        State::open(folder.path(), &plan).unwrap();
        let other = Plan { seed: plan.seed + 1, ..plan.clone() };
        let refused = State::open(folder.path(), &other).unwrap_err();
        assert!(matches!(refused, StateError::OtherPlan { .. }), "{refused}");
        let mut state = State::open(folder.path(), &plan).unwrap();
        state
            .keep(
                &plan,
                &plan.legs[0].id,
                Outcome { plan_sha256: other.sha256(), ..outcome(&plan) },
            )
            .unwrap();
        let again = State::open(folder.path(), &plan).unwrap();
        assert_eq!((again.outcomes().len(), again.torn().len()), (0, 1));
    }
}
