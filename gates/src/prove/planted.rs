//! Supplies and transports with a fault in them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oracles::checkpoint::Checkpoint;
use oracles::golden::tensors::TensorGolden;
use oracles::golden::{Golden, GoldenCase};
use oracles::registry::OracleSpec;
use oracles::tensors::Tensors;
use oracles::verbs::Oracle;
use serde_json::Value;

use crate::fault::{Act, Fault, Occasion, OracleAnswer};
use crate::subject::{Question, RawAnswer, SubjectError, Transport, Verb};
use crate::supplies::{Supplies, Way};

use super::mirror::Mirror;
use super::stand_in::StandIn;

/// A transport that asks each question once: faults on answers need not compute them anew.
pub(super) struct Remembered<'a> {
    inner: &'a dyn Transport,
    memory: RefCell<BTreeMap<Question, RawAnswer>>,
}

impl<'a> Remembered<'a> {
    /// Remembers what `inner` answers.
    pub(super) fn of(inner: &'a dyn Transport) -> Self {
        Self { inner, memory: RefCell::new(BTreeMap::new()) }
    }
}

impl Transport for Remembered<'_> {
    fn ask(&self, question: &Question, budget: Duration) -> Result<RawAnswer, SubjectError> {
        if let Some(answer) = self.memory.borrow().get(question) {
            return Ok(answer.clone());
        }
        let mut answer = self.inner.ask(question, budget)?;
        // What is tried is the judge, and no time is told: a proof needs no quiet host.
        answer.watch.foreign_percent = answer.watch.foreign_percent.map(|_| 0.0);
        self.memory.borrow_mut().insert(question.clone(), answer.clone());
        Ok(answer)
    }
}

/// A transport with a fault on its requests, its answers or the end of its process.
pub(super) struct Tampered<'a> {
    pub(super) inner: &'a dyn Transport,
    pub(super) fault: &'a Fault,
    pub(super) references: &'a [GoldenCase],
}

impl Transport for Tampered<'_> {
    fn ask(&self, question: &Question, budget: Duration) -> Result<RawAnswer, SubjectError> {
        if let Act::Exchange(plant) = self.fault.act {
            let mut answer = self.inner.ask(question, budget)?;
            plant(question, &mut answer);
            return Ok(answer);
        }
        if let Act::Given(plant) = self.fault.act {
            return self.inner.ask(&given(question, plant), budget);
        }
        if !matches!(question.verb, Verb::Generate | Verb::Tokenize) {
            return self.inner.ask(question, budget);
        }
        let mut question = question.clone();
        if let Act::Request(plant) = self.fault.act {
            edit(&mut question.lines, |lines| plant(self.references, lines));
        }
        let mut answer = self.inner.ask(&question, budget)?;
        match self.fault.act {
            Act::Answer(plant) => {
                let mut lines: Vec<String> = answer.stdout.lines().map(str::to_owned).collect();
                edit(&mut lines, plant);
                answer.stdout = lines.iter().fold(String::new(), |text, line| text + line + "\n");
            }
            Act::Process(plant) => plant(&mut answer),
            Act::Request(_)
            | Act::Checkpoint(_)
            | Act::Given(_)
            | Act::Exchange(_)
            | Act::Clock(_)
            | Act::Oracle(_)
            | Act::Scored(_)
            | Act::Golden(_) => {}
        }
        Ok(answer)
    }
}

/// The question with a fault in it and in the copy of its file of tensors that it then names. One without such a file, or
/// whose file cannot be copied, passes as it is.
fn given(question: &Question, plant: fn(&mut Question, &mut Tensors)) -> Question {
    let mut planted = question.clone();
    let flag = question.arguments.iter().position(|flag| flag == "--inputs" || flag == "--given");
    let path = flag.and_then(|flag| question.arguments.get(flag + 1));
    let Some((path, mut tensors)) =
        path.and_then(|path| Some((path, Tensors::read(Path::new(path)).ok()?)))
    else {
        return planted;
    };
    plant(&mut planted, &mut tensors);
    let copy = format!("{path}.planted");
    if tensors.write(Path::new(&copy)).is_ok() {
        for argument in planted.arguments.iter_mut().filter(|argument| *argument == path) {
            argument.clone_from(&copy);
        }
    }
    planted
}

/// Edits JSON lines as values. Lines that are not JSON pass as they are: the gate will say so.
fn edit(lines: &mut Vec<String>, change: impl FnOnce(&mut Vec<Value>)) {
    let parsed: Result<Vec<Value>, _> =
        lines.iter().map(|line| serde_json::from_str(line)).collect();
    if let Ok(mut values) = parsed {
        change(&mut values);
        *lines = values.iter().map(Value::to_string).collect();
    }
}

/// Supplies with another checkpoint file under the same name and hash, or another golden folder.
pub(super) struct PlantedSupplies<'a> {
    inner: &'a dyn Supplies,
    golden: Option<Golden>,
    oracle: Option<&'a OracleSpec>,
    pub(super) mirror: Option<&'a Mirror>,
    pub(super) plant_oracle: Option<fn(Occasion, &mut OracleAnswer)>,
    pub(super) checkpoint_path: Option<PathBuf>,
    pub(super) golden_folder: Option<PathBuf>,
}

impl<'a> PlantedSupplies<'a> {
    /// Like `inner`, with a golden that was read before, and a stand-in for the oracle where it is compared with itself.
    pub(super) fn over(
        inner: &'a dyn Supplies,
        golden: Option<Golden>,
        oracle: Option<&'a OracleSpec>,
    ) -> Self {
        Self {
            inner,
            golden,
            oracle,
            mirror: None,
            plant_oracle: None,
            checkpoint_path: None,
            golden_folder: None,
        }
    }
}

impl Supplies for PlantedSupplies<'_> {
    fn checkpoint(&self, name: &str) -> oracles::Result<Checkpoint> {
        let mut checkpoint = self.inner.checkpoint(name)?;
        if let Some(path) = &self.checkpoint_path {
            checkpoint.path.clone_from(path);
        }
        Ok(checkpoint)
    }

    fn oracle(&self, _: &Checkpoint, _: bool) -> oracles::Result<Option<Box<dyn Oracle>>> {
        Ok(self.mirror.map(|mirror| Box::new(mirror.clone()) as Box<_>))
    }

    fn launched(
        &self,
        _: &Checkpoint,
        way: Way,
        _: bool,
    ) -> oracles::Result<Option<Box<dyn Oracle>>> {
        let stand_in = |oracle| Box::new(StandIn::of(oracle, way, self.plant_oracle)) as Box<_>;
        Ok(self.oracle.map(stand_in))
    }

    fn golden(&self) -> oracles::Result<Option<Golden>> {
        match &self.golden_folder {
            Some(folder) => Golden::read_dir(folder),
            // Where it could not be read, why that is.
            None if self.golden.is_none() => self.inner.golden(),
            None => Ok(self.golden.clone()),
        }
    }

    fn tensor_golden(&self) -> oracles::Result<Option<TensorGolden>> {
        match &self.golden_folder {
            Some(folder) => TensorGolden::read_dir(folder),
            None => self.inner.tensor_golden(),
        }
    }

    fn vocabularies(&self, provision: bool) -> oracles::Result<Option<PathBuf>> {
        self.inner.vocabularies(provision)
    }
}
