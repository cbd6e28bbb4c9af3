//! `gate prove NAME`: plants every fault of the spec and demands that each turns the gate red.
//!
//! The first run is without a fault and must be green: a gate that is red anyway proves nothing.

mod mirror;
mod planted;
mod stand_in;

use std::time::Instant;

use oracles::checkpoint::Checkpoint;
use oracles::golden::Golden;

use crate::bench::{Bench, Circumstances};
use crate::fault::{self, Act, CheckpointFile, Fault, FaultError, Target};
use crate::interrupt::{self, Interrupted};
use crate::judge::{self, Judgement};
use crate::kind::oracle_consistency::Precedents;
use crate::rule::Word;
use crate::subject::{Subject, SubjectError, Transport};
use crate::supplies::{Supplies, Wanted};
use crate::{chain, collect, kind};
use mirror::Mirror;
use planted::{PlantedSupplies, Remembered, Tampered};

/// What became of one fault.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Proof {
    /// Name of the fault.
    pub fault: &'static str,
    /// What it planted.
    pub plants: &'static str,
    /// Whether the gate turned red.
    pub caught: bool,
    /// The word and reason it turned red with, or why it did not.
    pub how: String,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// What came of all of them.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The faults were tried.
    Tried(Vec<Proof>),
    /// The gate is not green without a fault, so nothing was tried.
    NotGreen(Judgement),
}

/// Faults could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The spec lists none.
    #[error("gate {0} lists no fault: add `faults = [...]` under [prove]")]
    NoFaults(String),
    /// Scratch space could not be had.
    #[error("cannot make a temporary folder for patched checkpoints")]
    Scratch(#[source] std::io::Error),
    /// The checkpoint could not be read.
    #[error("the engine could not read the checkpoint's offsets")]
    Inspect(#[source] SubjectError),
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Tries every fault of the gate's spec on its bench; `golden_folder` is where its golden lies, if it has an oracle.
pub fn prove(
    bench: &Bench<'_>,
    golden_folder: Option<&std::path::Path>,
) -> Result<Outcome, ProveError> {
    let names = &bench.gate.spec.prove.faults;
    if names.is_empty() {
        return Err(ProveError::NoFaults(bench.gate.name.clone()));
    }
    let remembered = Remembered::of(bench.subject.transport);
    let golden = bench.supplies.golden().ok().flatten();
    let mirror = Mirror::of(bench, &remembered);
    let mut supplies = PlantedSupplies::over(bench.supplies, golden.clone(), bench.oracle);
    supplies.mirror = mirror.as_ref();
    let started = Instant::now();
    let (judgement, circumstances) = judged(bench, &supplies, &remembered, |elapsed| elapsed)?;
    if judgement.word != Word::Pass {
        return Ok(Outcome::NotGreen(judgement));
    }
    bench.progress.note(&format!(
        "without a fault: {} ({:.1} s)",
        judgement.reason,
        started.elapsed().as_secs_f64()
    ));
    let scratch = tempfile::tempdir().map_err(ProveError::Scratch)?;
    let ground = Ground {
        bench,
        remembered: &remembered,
        mirror: mirror.as_ref(),
        checkpoint: circumstances.checkpoint.as_ref(),
        golden,
        golden_folder,
        scratch: scratch.path(),
        control_ms: circumstances.answers_ms(),
    };
    let mut proofs = Vec::with_capacity(names.len());
    for fault in names.iter().filter_map(|name| fault::by_name(&name.0)) {
        bench.progress.note(&format!("planting {}", fault.name));
        let started = Instant::now();
        let (caught, how) = ground.try_fault(fault)?;
        let seconds = started.elapsed().as_secs_f64();
        proofs.push(Proof { fault: fault.name, plants: fault.plants, caught, how, seconds });
    }
    Ok(Outcome::Tried(proofs))
}

/// How many cases the oracle of a proof has answered the same, for each of its own.
const SILENT_CASES: u64 = 8;

/// Proofs read no store: the engine is judged beside an oracle that never contradicts itself.
fn precedents(bench: &Bench<'_>) -> Option<Precedents> {
    let cases = SILENT_CASES * bench.workload?.cases.len() as u64;
    let oracle = bench.oracle.filter(|_| bench.gate.spec.compares_choices())?;
    Some(Precedents::of_a_silent_oracle(&oracle.name, cases))
}

/// Collects and judges once, the control and every fault alike: on `supplies`, over `transport`, and by a `clock` that is given the
/// milliseconds which the answers took.
fn judged(
    bench: &Bench<'_>,
    supplies: &dyn Supplies,
    transport: &dyn Transport,
    clock: impl Fn(u64) -> u64,
) -> Result<(Judgement, Circumstances), Interrupted> {
    let planted = planted_bench(bench, supplies, transport);
    let mut circumstances = Circumstances::default();
    let collected = collect::collect(&planted, &mut circumstances);
    interrupt::check()?;
    let elapsed = clock(circumstances.answers_ms());
    let spec = &bench.gate.spec;
    let precedents = precedents(bench);
    let judgement = judge::judge(spec, &collected, &circumstances.facts, precedents.as_ref());
    Ok((judgement.timed(spec, elapsed), circumstances))
}

/// A bench like `bench`, on the golden, with other supplies and another way to the subject.
fn planted_bench<'a>(
    bench: &'a Bench<'a>,
    supplies: &'a dyn Supplies,
    transport: &'a dyn Transport,
) -> Bench<'a> {
    Bench {
        gate: bench.gate,
        workload: bench.workload,
        regressions: bench.regressions,
        oracle: bench.oracle,
        subject: Subject { transport, ..bench.subject },
        identity: bench.identity,
        facts: bench.facts.clone(),
        supplies,
        // Whole distributions have no golden, and here no oracle but the mirror.
        wanted: match bench.gate.spec.check.logits {
            Some(_) => Wanted::Either,
            None => Wanted::Golden,
        },
        progress: oracles::Progress::Silent,
        journal: None,
    }
}

/// What faults are planted on.
struct Ground<'a> {
    bench: &'a Bench<'a>,
    remembered: &'a Remembered<'a>,
    mirror: Option<&'a Mirror>,
    checkpoint: Option<&'a Checkpoint>,
    golden: Option<Golden>,
    golden_folder: Option<&'a std::path::Path>,
    scratch: &'a std::path::Path,
    /// Milliseconds that the answers of the control took.
    control_ms: u64,
}

impl Ground<'_> {
    /// Whether the fault was caught, and by what.
    fn try_fault(&self, fault: &'static Fault) -> Result<(bool, String), ProveError> {
        let mut supplies =
            PlantedSupplies::over(self.bench.supplies, self.golden.clone(), self.bench.oracle);
        let mut mirror = None;
        let planted = match fault.act {
            Act::Checkpoint(plant) => self.plant_checkpoint(fault, plant)?.map(|path| {
                supplies.checkpoint_path = Some(path);
            }),
            Act::Golden(plant) => self.plant_golden(plant).map(|folder| {
                supplies.golden_folder = Some(folder);
            }),
            Act::Oracle(plant) => {
                supplies.plant_oracle = Some(plant);
                Ok(())
            }
            Act::Scored(plant) => {
                mirror = self.mirror.map(|mirror| mirror.planted(plant));
                mirror.is_some().then_some(()).ok_or_else(|| FaultError::Absent {
                    what: "oracle of whole distributions".to_owned(),
                })
            }
            Act::Request(_)
            | Act::Answer(_)
            | Act::Process(_)
            | Act::Given(_)
            | Act::Exchange(_)
            | Act::Clock(_) => Ok(()),
        };
        if let Err(error) = planted {
            return Ok((false, format!("could not be planted: {}", chain::of(&error))));
        }
        supplies.mirror = mirror.as_ref().or(self.mirror);
        let references = self.golden.as_ref().map_or(&[][..], |golden| golden.cases.as_slice());
        let tampered = Tampered { inner: self.remembered, fault, references };
        // What is remembered takes no time: a clock runs wrong on that of the control, which asked.
        let clock = |elapsed| match fault.act {
            Act::Clock(plant) => plant(self.control_ms),
            _ => elapsed,
        };
        let (judgement, _) = judged(self.bench, &supplies, &tampered, clock)?;
        let spec = &self.bench.gate.spec;
        let red = matches!(judgement.word, Word::Fail | Word::Void)
            && fault::located::words(&kind::names(spec), fault.name)
                .is_none_or(|words| judgement.reason.contains(words));
        Ok((red, format!("{}: {}", judgement.word.as_str(), judgement.reason)))
    }

    fn plant_checkpoint(
        &self,
        fault: &Fault,
        plant: fn(&Target<'_>, &mut CheckpointFile) -> Result<(), FaultError>,
    ) -> Result<Result<std::path::PathBuf, FaultError>, ProveError> {
        let Some(checkpoint) = self.checkpoint else {
            return Ok(Err(FaultError::Absent { what: "file: the gate has none".to_owned() }));
        };
        let inspection =
            self.bench.subject.inspect(&checkpoint.path).map_err(ProveError::Inspect)?;
        let asked = |id: &str| {
            self.bench
                .workload
                .is_none_or(|workload| workload.cases.iter().any(|case| case.id == id))
        };
        let references: Vec<_> = self
            .golden
            .iter()
            .flat_map(|golden| &golden.cases)
            .filter(|case| asked(&case.id))
            .cloned()
            .collect();
        let target = Target { inspection: &inspection, references: &references };
        let copy = self.scratch.join(format!("{}.gguf", fault.name));
        let patched = || {
            let mut file = CheckpointFile::read(&checkpoint.path)?;
            plant(&target, &mut file)?;
            file.write(&copy)?;
            Ok(copy.clone())
        };
        Ok(patched())
    }

    fn plant_golden(
        &self,
        plant: fn(&std::path::Path) -> std::io::Result<()>,
    ) -> Result<std::path::PathBuf, FaultError> {
        let golden = self.golden_folder;
        let golden = golden.ok_or_else(|| FaultError::Absent { what: "golden".to_owned() })?;
        let folder = self.scratch.join("golden");
        let copy = || {
            std::fs::create_dir_all(&folder)?;
            for entry in std::fs::read_dir(golden)? {
                let entry = entry?;
                std::fs::copy(entry.path(), folder.join(entry.file_name()))?;
            }
            plant(&folder)
        };
        copy().map_err(|source| FaultError::Io {
            action: "copy",
            path: golden.to_owned(),
            source,
        })?;
        Ok(folder)
    }
}
