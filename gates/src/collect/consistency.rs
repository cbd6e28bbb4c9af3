//! Collecting what an oracle answers to itself: alone, again, together, in a prefill pass, from a warm cache, executed otherwise.

use std::error::Error;
use std::time::Instant;

use oracles::checkpoint::Checkpoint;
use oracles::launch::Variant;
use oracles::verbs::{Cached, Completion, CompletionRequest, Oracle, PrefillRequest, Step};

use super::{answered_by, checkpoint, elapsed_ms, prompt, request, trouble};
use crate::bench::{Bench, Circumstances, ReferenceInfo};
use crate::capture::spread;
use crate::chain;
use crate::facts::Pinned;
use crate::interrupt;
use crate::judge::Trouble;
use crate::kind::oracle_consistency::{Answer, Arm, ConsistencySample};
use crate::samples::Samples;
use crate::spec::{Condition, GenerateSpec, OracleConsistencyCheck};
use crate::supplies::{Wanted, Way};
use crate::validity;
use crate::workload::Workload;

/// Why a condition was not seen.
type Unseen = String;

pub(super) fn collect(
    bench: &Bench<'_>,
    check: &OracleConsistencyCheck,
    circumstances: &mut Circumstances,
) -> Result<Samples, Trouble> {
    let (Some(workload), Some(generate)) = (bench.workload, &bench.gate.spec.generate) else {
        return Err(Trouble::Skip("the gate has no inputs".to_owned()));
    };
    let checkpoint = checkpoint(bench, circumstances)?;
    let mut oracle = first(bench, &checkpoint, circumstances)?;
    let started = Instant::now();
    let requests = requests(oracle.as_mut(), workload, generate)?;
    let bench = Asking { bench, check, generate, checkpoint: &checkpoint, requests: &requests };
    let sample = bench.sample(workload, oracle)?;
    circumstances.oracle_ms = Some(elapsed_ms(started));
    Ok(Samples::Consistency(Box::new(sample)))
}

/// The oracle as it is pinned. It may have no standing yet to judge others; without a pin it would be nobody.
fn first(
    bench: &Bench<'_>,
    checkpoint: &Checkpoint,
    circumstances: &mut Circumstances,
) -> Result<Box<dyn Oracle>, Trouble> {
    let pinned = bench.pinned()?;
    if let Some(violation) = validity::identified(&Pinned::from(pinned)) {
        return Err(Trouble::Void(violation));
    }
    let provision = bench.wanted == Wanted::Live;
    let oracle = bench.supplies.launched(checkpoint, Way::default(), provision);
    let Some(oracle) = oracle.map_err(|error| trouble(&error))? else {
        let name = &pinned.name;
        return Err(Trouble::Skip(format!(
            "{name} is not provisioned: `gate oracle provision {name}`, or `gate run {} --live`",
            bench.gate.name
        )));
    };
    let info = ReferenceInfo::live(oracle.identity().clone());
    answered_by(info, circumstances);
    Ok(oracle)
}

fn requests(
    oracle: &mut dyn Oracle,
    workload: &Workload,
    generate: &GenerateSpec,
) -> Result<Vec<CompletionRequest>, Trouble> {
    let ask = |case| {
        let (_, ids) = prompt(oracle, case).map_err(|error| trouble(&error.into()))?;
        Ok(request(ids, generate.max_tokens.0, generate))
    };
    workload.cases.iter().map(ask).collect()
}

/// What is asked under every condition.
struct Asking<'a> {
    bench: &'a Bench<'a>,
    check: &'a OracleConsistencyCheck,
    generate: &'a GenerateSpec,
    checkpoint: &'a Checkpoint,
    requests: &'a [CompletionRequest],
}

impl Asking<'_> {
    fn sample(
        &self,
        workload: &Workload,
        mut oracle: Box<dyn Oracle>,
    ) -> Result<ConsistencySample, Trouble> {
        let alone = self.alone(oracle.as_mut(), None).map_err(Trouble::NotEstablished)?;
        let (mut arms, mut unseen) = (vec![alone], Vec::new());
        for condition in self.check.conditions() {
            interrupt::check().map_err(|_| Trouble::NotEstablished("interrupted".to_owned()))?;
            self.bench.progress.note(&format!("asking {condition}"));
            let seen = match condition {
                Condition::Repeated => (1..self.check.repeats.0)
                    .map(|_| self.alone(oracle.as_mut(), Some(condition)))
                    .collect(),
                Condition::Prefilled => {
                    self.prefilled(oracle.as_mut(), &arms[0]).map(|arm| vec![arm])
                }
                _ => self.launched(condition).map(|arm| vec![arm]),
            };
            match seen {
                Ok(seen) => arms.extend(seen),
                Err(reason) => unseen.push((condition, reason)),
            }
        }
        let cases = workload.cases.iter().map(|case| case.id.clone()).collect();
        let prompts = self.requests.iter().map(|request| request.prompt_ids.clone()).collect();
        Ok(ConsistencySample { cases, prompts, arms, unseen })
    }

    /// One request at a time.
    fn alone(&self, oracle: &mut dyn Oracle, condition: Option<Condition>) -> Result<Arm, Unseen> {
        let mut stage = self.stage(condition.map_or("alone", Condition::name));
        let mut answers = Vec::with_capacity(self.requests.len());
        for request in self.requests {
            interrupt::check().map_err(|_| "interrupted".to_owned())?;
            answers.push(free(oracle.complete(request).map_err(|error| why(&error))?));
            stage.advance(1);
        }
        let flags = oracle.identity().flags.clone();
        Ok(Arm { condition, flags, answers, at_once: None, cached_tokens: None })
    }

    /// Each choice of the first answers, read in prefill passes along them.
    fn prefilled(&self, oracle: &mut dyn Oracle, first: &Arm) -> Result<Arm, Unseen> {
        let mut stage = self.stage(Condition::Prefilled.name());
        let mut answers = Vec::with_capacity(self.requests.len());
        for (request, answer) in self.requests.iter().zip(&first.answers) {
            interrupt::check().map_err(|_| "interrupted".to_owned())?;
            let positions = positions(answer.ids.len(), self.check.prefill_positions.0 as usize);
            let request = PrefillRequest {
                prompt_ids: request.prompt_ids.clone(),
                ids: answer.ids.clone(),
                positions: positions.clone(),
                top_logprobs: self.generate.top_logprobs.0 as u32,
            };
            let steps = oracle.prefill(&request).map_err(|error| why(&error))?;
            let read: Vec<(usize, Step)> = positions.into_iter().zip(steps).collect();
            answers.push(Answer { ids: answer.ids.clone(), read });
            stage.advance(1);
        }
        let flags = oracle.identity().flags.clone();
        let condition = Some(Condition::Prefilled);
        Ok(Arm { condition, flags, answers, at_once: None, cached_tokens: None })
    }

    /// The conditions that need a launch of their own.
    fn launched(&self, condition: Condition) -> Result<Arm, Unseen> {
        let way = match condition {
            Condition::Together => Way { sequences: self.check.batch.0, variant: Variant::Pinned },
            Condition::Warm => Way { variant: Variant::PrefixCache, ..Way::default() },
            _ => Way { variant: Variant::OtherExecution, ..Way::default() },
        };
        let launched = self.bench.supplies.launched(self.checkpoint, way, false);
        let oracle = launched.map_err(|error| why(&error))?;
        let mut oracle = oracle.ok_or_else(|| "the oracle is not provisioned".to_owned())?;
        match condition {
            Condition::Together => self.together(oracle.as_mut()),
            Condition::Warm => self.warm(oracle.as_mut()),
            _ => self.alone(oracle.as_mut(), Some(condition)),
        }
    }

    fn together(&self, oracle: &mut dyn Oracle) -> Result<Arm, Unseen> {
        let together = oracle
            .complete_together(self.requests, self.check.batch.0)
            .map_err(|error| why(&error))?;
        Ok(Arm {
            condition: Some(Condition::Together),
            flags: oracle.identity().flags.clone(),
            answers: together.completions.into_iter().map(free).collect(),
            at_once: Some(together.at_once),
            cached_tokens: None,
        })
    }

    /// Each request twice; the second time its prompt is known.
    fn warm(&self, oracle: &mut dyn Oracle) -> Result<Arm, Unseen> {
        let mut stage = self.stage(Condition::Warm.name());
        let (mut answers, mut cached_tokens) = (Vec::new(), Vec::new());
        for request in self.requests {
            interrupt::check().map_err(|_| "interrupted".to_owned())?;
            oracle.complete_cached(request).map_err(|error| why(&error))?;
            let cached = oracle.complete_cached(request).map_err(|error| why(&error))?;
            let Cached { completion, cached_tokens: tokens } = cached;
            answers.push(free(completion));
            cached_tokens.push(tokens);
            stage.advance(1);
        }
        Ok(Arm {
            condition: Some(Condition::Warm),
            flags: oracle.identity().flags.clone(),
            answers,
            at_once: None,
            cached_tokens: Some(cached_tokens),
        })
    }

    fn stage(&self, name: &str) -> oracles::progress::Stage {
        self.bench.progress.steps(name, Some(self.requests.len() as u64))
    }
}

/// The first line of an error: an oracle that died brings the end of its log, whose path the first line names.
fn why(error: &dyn Error) -> Unseen {
    let whole = chain::of(error);
    let first = whole.lines().next().unwrap_or_default();
    first.trim_end_matches(':').to_owned()
}

/// An answer of the oracle's own, read at every position.
fn free(completion: Completion) -> Answer {
    let Completion { ids, steps, .. } = completion;
    Answer { ids, read: steps.into_iter().enumerate().collect() }
}

/// All positions where so many are asked for, else some that are spread over the answer.
fn positions(length: usize, count: usize) -> Vec<usize> {
    if count >= length { (0..length).collect() } else { spread(length, count).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_oracle_that_died_the_first_line_is_told() {
        let error = oracles::launch::LaunchError::Died {
            oracle: "o".into(),
            status: "exit status: 1".into(),
            log: "state/o.log".into(),
            tail: "Traceback\n  File \"engine.py\"".into(),
        };
        let told = why(&error);
        assert_eq!(told, "oracle o died while starting: exit status: 1; the end of state/o.log");
    }
}
