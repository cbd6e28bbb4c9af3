//! A series on disk: the plan, and one file a leg. A series that was killed goes on with the legs that have no file.
//!
//! ```text
//! FOLDER/plan.json           the plan, in canonical form: its SHA-256 is the plan's
//! FOLDER/legs/ID.json        the outcome of a leg, after its own SHA-256 on the first line
//! FOLDER/legs/ID.json.torn   what was found in its place and is none
//! FOLDER/legs/ID.json.again  an outcome whose leg is run again, with its whole block
//! ```
//!
//! A file is written whole beside its place, flushed to disk, and linked into it, which fails where something is; then the folder is
//! flushed. It is never written twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::outcome::{Ended, Outcome, Outcomes};
use super::plan::{Leg, Plan};
use super::spare;

/// A series on disk.
#[derive(Debug)]
pub struct State {
    folder: PathBuf,
    plan_sha256: String,
    outcomes: Outcomes,
    torn: BTreeMap<String, PathBuf>,
}

/// A series that cannot be begun, gone on with, or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A file cannot be read or written.
    #[error("cannot {action} {path}")]
    Io {
        /// `create`, `read`, `write`, `link`, `rename` or `flush`.
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
    /// Another program began the series.
    #[error(
        "{path} names the `grid` that began this series, {found}; this one is {expected}: a load from two programs is not one series, begin another with --series DIR"
    )]
    OtherHarness {
        /// The file.
        path: PathBuf,
        /// SHA-256 of this program.
        expected: String,
        /// SHA-256 of the one that began it.
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
    /// Opens the series of `plan` in `folder`: a new one, or the same one where it was left. Of what is there nothing is changed.
    pub fn open(folder: &Path, plan: &Plan) -> Result<Self, StateError> {
        let legs = folder.join("legs");
        std::fs::create_dir_all(&legs).map_err(failed("create", &legs))?;
        let path = folder.join("plan.json");
        let expected = plan.sha256();
        if !path.exists() {
            publish(&path, canonical(&path, plan)?.as_bytes())?;
        }
        let found = std::fs::read(&path).map_err(failed("read", &path))?;
        let found = records::sha256_hex(&found);
        if found != expected {
            return Err(StateError::OtherPlan { path, expected, found });
        }
        let mut state = Self {
            folder: folder.to_owned(),
            plan_sha256: expected,
            outcomes: Outcomes::new(),
            torn: BTreeMap::new(),
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

    /// Files that are no outcomes of the plan: their legs have none, and are run again.
    pub fn torn(&self) -> impl Iterator<Item = &Path> {
        self.torn.values().map(PathBuf::as_path)
    }

    /// The legs of `plan` that are still to run, in order: without an outcome, and of spare blocks those that are called for by now.
    pub fn pending<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Leg> {
        plan.legs.iter().filter(|leg| self.is_pending(plan, leg))
    }

    /// Whether a leg of `plan` is still to run.
    pub fn is_pending(&self, plan: &Plan, leg: &Leg) -> bool {
        !self.outcomes.contains_key(&leg.id)
            && (!plan.is_spare(leg) || spare::is_called_for(plan, &self.outcomes, leg))
    }

    /// Makes sure that a leg has no outcome yet: what it leaves beside its outcome may be written.
    pub fn vacant(&self, leg: &Leg) -> Result<(), StateError> {
        let path = self.file(leg);
        if path.exists() { Err(StateError::Twice { path }) } else { Ok(()) }
    }

    /// Sets aside what would keep a block from being measured in one sitting, and gives the ids of those legs: skips of arms that
    /// are here by now, and the clean runs of every block that has a leg to come. A run that failed or broke a rule stays where it
    /// is: what is void is not repeated here, and nothing is compared with it. Files that are no outcomes make way too.
    pub fn reopen(
        &mut self,
        plan: &Plan,
        is_ours: impl Fn(&Leg) -> bool,
        has_come: impl Fn(&Leg) -> bool,
    ) -> Result<Vec<String>, StateError> {
        let ours: Vec<&Leg> = plan.legs.iter().filter(|leg| is_ours(leg)).collect();
        for torn in ours.iter().filter_map(|leg| self.torn.remove(&leg.id)) {
            set_aside(&torn, "torn")?;
        }
        let is_skipped = |outcome: &Outcome| !outcome.was_begun();
        let skipped = ours
            .iter()
            .copied()
            .filter(|leg| self.outcomes.get(&leg.id).is_some_and(is_skipped) && has_come(leg));
        let mut aside: Vec<&Leg> = skipped.collect();
        let is_to_come = |leg: &Leg| {
            !self.outcomes.contains_key(&leg.id) || aside.iter().any(|again| again.id == leg.id)
        };
        let place = |leg: &Leg| leg.block.map(|block| (leg.session, leg.cell.clone(), block));
        let open: BTreeSet<_> =
            ours.iter().filter(|leg| is_to_come(leg)).filter_map(|leg| place(leg)).collect();
        for block in &open {
            let legs = ours.iter().copied().filter(|leg| place(leg).as_ref() == Some(block));
            aside.extend(
                legs.filter(|leg| self.outcomes.get(&leg.id).is_some_and(Outcome::is_clean)),
            );
        }
        for leg in &aside {
            set_aside(&self.file(leg), "again")?;
            self.outcomes.remove(&leg.id);
        }
        Ok(aside.into_iter().map(|leg| leg.id.clone()).collect())
    }

    /// Keeps the outcome of a leg, for good. A metric that is no finite number is kept as absent: JSON has none, and to the judge it
    /// is the same.
    pub fn keep(&mut self, plan: &Plan, leg: &str, mut outcome: Outcome) -> Result<(), StateError> {
        let known = plan.legs.iter().find(|own| own.id == leg);
        let known = known.ok_or_else(|| StateError::NoLeg { leg: leg.to_owned() })?;
        let path = self.file(known);
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
        if !publish(&path, bytes.as_bytes())? {
            return Err(StateError::Twice { path });
        }
        self.outcomes.insert(leg.to_owned(), outcome);
        Ok(())
    }

    fn file(&self, leg: &Leg) -> PathBuf {
        self.folder.join("legs").join(format!("{}.json", leg.id))
    }

    /// Reads a leg's file.
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
        self.torn.insert(leg.id.clone(), path);
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

/// How many legs of `plan` have a file in `folder`, which is not opened further: what is told while others work in it.
pub fn count(folder: &Path, plan: &Plan) -> Result<usize, StateError> {
    let legs = folder.join("legs");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(&legs).map_err(failed("read", &legs))? {
        let name = entry.map_err(failed("read", &legs))?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned));
    }
    Ok(plan.legs.iter().filter(|leg| names.contains(&leg.id)).count())
}

/// Renames a file to the first free name with that ending, and gives it.
pub(crate) fn set_aside(path: &Path, ending: &str) -> Result<PathBuf, StateError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbered = (2_u32..).map(|number| format!("{name}.{ending}{number}"));
    let names = std::iter::once(format!("{name}.{ending}")).chain(numbered);
    let mut free = names.map(|name| path.with_file_name(name)).filter(|name| !name.exists());
    let aside = free.next().unwrap_or_else(|| path.with_extension(ending));
    std::fs::rename(path, &aside).map_err(failed("rename", path))?;
    Ok(aside)
}

/// Puts a file of a series into its place, whole and flushed, unless something is there, which stays; whether it was put. Of several
/// who try at once, on one machine or many, one succeeds.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> Result<bool, StateError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed("create", folder))?;
    let mut beside = tempfile::Builder::new()
        .prefix(".")
        .suffix(".new")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(failed("create", path))?;
    beside.write_all(bytes).map_err(failed("write", path))?;
    beside.as_file().sync_all().map_err(failed("flush", path))?;
    match beside.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed("link", path)(error.error)),
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("flush", folder))?;
    Ok(true)
}

/// The canonical text of what is to lie at `path`.
pub(crate) fn canonical(path: &Path, value: &impl Serialize) -> Result<String, StateError> {
    let text = records::canonical::canonical_json(value).map_err(std::io::Error::from);
    text.map_err(failed("write", path))
}

/// What the file at `path` holds; `None` where there is none.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StateError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| failed("read", path)(error.into())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed("read", path)(source)),
    }
}

/// Every `NAME.json` of a folder by NAME; nothing where there is no folder.
pub(crate) fn read_folder<T: DeserializeOwned>(
    folder: &Path,
) -> Result<BTreeMap<String, T>, StateError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => return Err(failed("read", folder)(source)),
    };
    let mut all = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(failed("read", folder))?.path();
        let is_one = path.extension().is_some_and(|extension| extension == "json");
        if let (true, Some(stem)) = (is_one, path.file_stem()) {
            let stem = stem.to_string_lossy().into_owned();
            all.extend(read_json(&path)?.map(|value| (stem, value)));
        }
    }
    Ok(all)
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
        let text = include_str!("../../specs/cpu-sweep.toml").replacen(
            "pairs = 12\nspares = 8",
            "pairs = 4",
            1,
        );
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
            machine: "m".to_owned(),
            spoilt: vec![],
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
        assert_eq!(again.torn().count(), 0);
    }

    /// Cut at every byte, or with any byte changed, a file is no outcome; who runs its leg again sets it aside, and nobody else.
    #[test]
    fn a_torn_file_is_known_at_every_byte_and_set_aside() {
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
            let mut again = State::open(folder.path(), &plan).unwrap();
            assert_eq!((again.torn().count(), again.pending(&plan).count()), (1, plan.legs.len()));
            assert!(path.exists(), "who only reads changes nothing");
            again.reopen(&plan, |_| false, |_| false).unwrap();
            assert!(path.exists(), "it is another share's");
            again.reopen(&plan, |_| true, |_| false).unwrap();
            let ending = if number == 1 { "torn" } else { "torn2" };
            let aside = path.with_file_name(format!("{}.json.{ending}", leg.id));
            assert!(aside.exists() && !path.exists() && again.torn().count() == 0);
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
        assert_eq!((again.outcomes().len(), again.torn().count()), (0, 1));
    }

    /// A block is measured in one sitting: its clean half is set aside, and so is a skip whose arm has come; what is void stays.
    #[test]
    fn a_block_is_measured_whole() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan();
        let mut state = State::open(folder.path(), &plan).unwrap();
        let block = |number: usize| -> Vec<&Leg> {
            plan.legs_of("c1").filter(|leg| leg.block == Some(number)).collect()
        };
        let clean = Outcome { violations: vec![], ..outcome(&plan) };
        let skip = || Outcome { ended: Ended::Skipped("not here".to_owned()), ..clean.clone() };
        // Whole but for a skipped arm; half; half, of which a part is void.
        for leg in block(1) {
            let own = if leg.arm == "vllm-cpu" { skip() } else { clean.clone() };
            state.keep(&plan, &leg.id, own).unwrap();
        }
        state.keep(&plan, &block(2)[0].id, clean.clone()).unwrap();
        state.keep(&plan, &block(3)[0].id, outcome(&plan)).unwrap();
        state.keep(&plan, &block(3)[1].id, clean.clone()).unwrap();
        let before = count(folder.path(), &plan).unwrap();
        assert_eq!(before, block(1).len() + 3);
        assert!(state.reopen(&plan, |_| false, |_| true).unwrap().is_empty(), "not ours");
        let again = state.reopen(&plan, |_| true, |_| false).unwrap();
        let halves = [block(2)[0].id.clone(), block(3)[1].id.clone()];
        assert_eq!(BTreeSet::from_iter(again), BTreeSet::from(halves), "the arm has not come");
        let mut again = state.reopen(&plan, |_| true, |leg| leg.arm == "vllm-cpu").unwrap();
        again.sort_unstable();
        let mut expected: Vec<String> = block(1).iter().map(|leg| leg.id.clone()).collect();
        expected.sort_unstable();
        assert_eq!(again, expected);
        assert_eq!(count(folder.path(), &plan).unwrap(), 1);
        let read = State::open(folder.path(), &plan).unwrap();
        assert_eq!(read.outcomes().keys().collect::<Vec<_>>(), [&block(3)[0].id]);
        assert!(folder.path().join(format!("legs/{}.json.again", block(2)[0].id)).exists());
    }

    /// Two who put the same file at once: one succeeds, and its text stays.
    #[test]
    fn a_file_is_put_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("arms/ours.json");
        let put: Vec<bool> = std::thread::scope(|scope| {
            let each = |text: String| {
                let path = &path;
                scope.spawn(move || publish(path, text.as_bytes()).unwrap())
            };
            let all: Vec<_> = (0..8).map(|number| each(number.to_string())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(put.iter().filter(|put| **put).count(), 1);
        let winner = put.iter().position(|put| *put).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), winner.to_string());
        let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing is left beside it");
    }
}
