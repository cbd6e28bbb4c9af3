//! Every rule asked of everything that a run keeps: the one list of them.

use super::{Rule, Violation, violation};
use crate::facts::{AnsweringGolden, Facts};
use crate::judge::Trouble;
use crate::kind::alone::{Alone, AloneSamples};
use crate::samples::Samples;
use crate::spec::Spec;

/// Every rule that a run breaks, each broken rule once.
pub fn all(spec: &Spec, facts: &Facts, collected: &Result<Samples, Trouble>) -> Vec<Violation> {
    let mut found = builds(facts);
    found.extend(engine(spec, facts));
    found.extend(oracle(spec, facts));
    found.extend(facts.golden.iter().flat_map(|answered| golden(spec, facts, answered)));
    found.extend(facts.found.iter().cloned());
    match collected {
        Ok(samples) => found.extend(answers(spec, facts, samples)),
        Err(Trouble::Void(violation)) => found.push(violation.clone()),
        Err(_) => {}
    }
    let mut each = Vec::with_capacity(found.len());
    for violation in found {
        if !each.contains(&violation) {
            each.push(violation);
        }
    }
    each
}

/// The rules about the two programs, which refuse a run before anything is asked.
pub fn builds(facts: &Facts) -> Vec<Violation> {
    let harness = facts.harness.as_ref().and_then(super::harness);
    let engine = facts.engine.as_ref().and_then(super::dirty);
    harness.into_iter().chain(engine).collect()
}

/// The rules about the engine with its model loaded.
fn engine(spec: &Spec, facts: &Facts) -> Vec<Violation> {
    let Some(loaded) = &facts.loaded else { return Vec::new() };
    let same = facts.engine.as_ref().and_then(|first| super::same_sources(first, loaded));
    same.into_iter().chain(super::profile(spec.profile.as_deref(), loaded)).collect()
}

/// The rules about who answers for the oracle.
fn oracle(spec: &Spec, facts: &Facts) -> Vec<Violation> {
    let Some(pinned) = &facts.oracle else { return Vec::new() };
    let standing = match &spec.check.oracle_consistency {
        Some(_) => super::identified(pinned),
        None => super::standing(pinned),
    };
    let mut found: Vec<Violation> = standing.into_iter().collect();
    if let Some(identity) = &facts.answered_by {
        found.extend(super::pin(identity, pinned));
        if spec.launch.production {
            found.extend(super::production(identity, pinned));
        }
    }
    if let Some(check) = spec.check.near_tie.as_ref().filter(|_| facts.answered_by.is_some()) {
        found.extend(super::band(check, facts.noise.as_ref()));
    }
    found
}

/// The rules about what a golden was captured for: gate, checkpoint, inputs, launch.
fn golden(spec: &Spec, facts: &Facts, answered: &AnsweringGolden) -> Vec<Violation> {
    let manifest = &answered.manifest;
    let pinned = facts.oracle.as_ref();
    let mut found = Vec::new();
    found.extend(pinned.and_then(|pinned| super::golden(manifest, &facts.gate, &pinned.name)));
    found.extend(facts.checkpoint.as_ref().and_then(|given| super::checkpoint(manifest, given)));
    if let Some(asked) = &facts.asked {
        found.extend(super::workload(manifest, asked));
        let is_answered = |id: &&String| answered.cases.contains(id);
        let missing = asked.cases.iter().find(|id| !is_answered(id));
        found.extend(missing.filter(|_| !spec.check.inside().is_empty()).and_then(|missing| {
            let reason = format!("the golden has no answer to {missing}: capture it again");
            violation(Rule::Workload, reason)
        }));
    }
    found.extend(
        pinned.into_iter().flat_map(|pinned| super::launch(manifest, &spec.launch, pinned)),
    );
    found
}

/// The rules about the answers themselves.
fn answers(spec: &Spec, facts: &Facts, samples: &Samples) -> Vec<Violation> {
    let cases =
        |answered: &[&str]| facts.asked.as_ref().and_then(|asked| super::cases(answered, asked));
    match samples {
        Samples::Generations(samples) => {
            let ids: Vec<&str> =
                samples.iter().map(|sample| sample.reference.id.as_str()).collect();
            let counted = spec.generate.iter().flat_map(|generate| {
                samples.iter().filter_map(|sample| super::count(&sample.reference, generate))
            });
            cases(&ids).into_iter().chain(counted).collect()
        }
        Samples::Texts(corpora) => {
            let texts = corpora.iter().flat_map(|corpus| &corpus.texts);
            cases(&texts.map(|text| text.id.as_str()).collect::<Vec<_>>()).into_iter().collect()
        }
        Samples::Consistency(sample) => match (&spec.check.oracle_consistency, &spec.generate) {
            (Some(check), Some(generate)) => super::consistency(sample, check, generate),
            _ => Vec::new(),
        },
        Samples::Alone(samples) => match (spec.check.alone().first(), samples.as_ref()) {
            (Some(Alone::Startup(check)), AloneSamples::Startup(sample)) => {
                let busy = sample.starts.iter().map(|start| start.answer.watch.foreign_percent);
                super::contended(check, busy).into_iter().collect()
            }
            _ => Vec::new(),
        },
        Samples::Inside(samples) => {
            super::sampled(&spec.check, facts.asked.as_ref(), samples).into_iter().collect()
        }
        Samples::Logits(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use oracles::Home;
    use oracles::golden::Golden;
    use oracles::registry::OracleSpec;

    use super::*;
    use crate::facts::{Asked, Build, EngineBuild, Pinned};
    use crate::judge::judge;
    use crate::rule::Word;
    use crate::samples::{GenerationSample, top_of};
    use crate::spec::BandSource;
    use crate::subject::{FoundBy, Generated, Info};

    /// Breaks one fact.
    type Break = fn(&mut Facts);

    /// A run of a committed gate on its committed golden, by an engine that answers what the oracle answered.
    fn committed() -> (Spec, Facts, Vec<GenerationSample>) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let gate = crate::spec::load(&root, "smollm2-greedy").unwrap();
        let home = Home { root, cache: "unused".into() };
        let golden = Golden::read(&home, "llama-cpp", "smollm2-greedy").unwrap().unwrap();
        let sample = |reference: oracles::golden::GoldenCase| {
            // Where the oracle reported no ranking, ours has the chosen token alone.
            let ranked = reference.steps.iter().zip(&reference.ids).map(|(step, id)| {
                let top = top_of(step);
                if top.is_empty() { vec![(*id, 0.0)] } else { top }
            });
            let steps = ranked.collect();
            let generated = Generated {
                prompt_ids: reference.prompt_ids.clone(),
                ids: reference.ids.clone(),
                text: reference.text.clone(),
                steps,
            };
            let subject = Ok(generated.clone());
            GenerationSample {
                reference,
                subject,
                rendered: None,
                forced: Some(Ok(generated)),
                reread: None,
            }
        };
        let cases: Vec<String> = golden.cases.iter().map(|case| case.id.clone()).collect();
        let manifest = golden.manifest;
        let loaded = Info {
            version: "1".to_owned(),
            commit: None,
            source_sha256: "e".repeat(64),
            profile: gate.spec.profile.clone(),
            threads: 1,
            value: serde_json::Value::Null,
        };
        let facts = Facts {
            gate: gate.name,
            harness: Some(Build { embedded: Some("h".repeat(64)), tree: Some("h".repeat(64)) }),
            engine: Some(EngineBuild {
                embedded: "e".repeat(64),
                tree: Some("e".repeat(64)),
                found_by: FoundBy::Build,
            }),
            loaded: Some(loaded),
            oracle: Some(Pinned::from(&OracleSpec::load(&home, "llama-cpp").unwrap())),
            answered_by: Some(manifest.oracle.clone()),
            noise: manifest.noise.clone(),
            checkpoint: Some(manifest.checkpoint.clone()),
            asked: Some(Asked { sha256: manifest.prompts_sha256.clone(), cases: cases.clone() }),
            golden: Some(AnsweringGolden { manifest, cases }),
            ..Facts::default()
        };
        (gate.spec, facts, golden.cases.into_iter().map(sample).collect())
    }

    /// The word, the rules and how many numbers, of facts that were kept and read back.
    fn judged(
        spec: &Spec,
        facts: &Facts,
        samples: Result<Vec<GenerationSample>, Trouble>,
    ) -> (Word, Vec<Rule>, usize) {
        let kept = serde_json::to_string(facts).unwrap();
        let facts: Facts = serde_json::from_str(&kept).unwrap();
        let judgement = judge(spec, &samples.map(Samples::Generations), &facts, None);
        (judgement.word, judgement.rules, judgement.measurements.len())
    }

    #[test]
    fn every_fact_that_breaks_a_rule_voids_what_was_compared() {
        let (mut spec, facts, samples) = committed();
        let check = spec.check.near_tie.as_mut().unwrap();
        (check.source, check.band_mnats.0) = (BandSource::OracleNoise, 1.0);
        let collected = Ok(Samples::Generations(samples.clone()));
        assert_eq!(all(&spec, &facts, &collected), []);
        assert_ne!(judged(&spec, &facts, Ok(samples.clone())).2, 0);
        let cases: [(Rule, Break); 14] = [
            (Rule::Dirty, |facts| facts.harness.as_mut().unwrap().embedded = None),
            (Rule::Dirty, |facts| facts.engine.as_mut().unwrap().tree = None),
            (Rule::Dirty, |facts| facts.loaded.as_mut().unwrap().source_sha256.clear()),
            (Rule::Profile, |facts| facts.loaded.as_mut().unwrap().profile = None),
            (Rule::Pin, |facts| facts.answered_by.as_mut().unwrap().version.push('1')),
            (Rule::Pin, |facts| {
                facts.oracle.as_mut().unwrap().declared.gateable.debt = Some("owed".into());
            }),
            (Rule::Band, |facts| facts.noise = None),
            (Rule::Golden, |facts| facts.gate.push('x')),
            (Rule::Checkpoint, |facts| facts.checkpoint.as_mut().unwrap().sha256.clear()),
            (Rule::Workload, |facts| facts.asked.as_mut().unwrap().sha256.clear()),
            (Rule::Workload, |facts| facts.asked.as_mut().unwrap().cases.push("more".into())),
            (Rule::Workload, |facts| facts.asked.as_mut().unwrap().cases.reverse()),
            (Rule::Pin, |facts| {
                facts.golden.as_mut().unwrap().manifest.oracle.flags.push("-x".into());
            }),
            (Rule::Count, |facts| {
                facts.found.push(Violation { rule: Rule::Count, reason: "a row too few".into() });
            }),
        ];
        for (index, (rule, break_it)) in cases.into_iter().enumerate() {
            let mut broken = facts.clone();
            break_it(&mut broken);
            let found = judged(&spec, &broken, Ok(samples.clone()));
            assert_eq!(found, (Word::Void, vec![rule], 0), "fact {index}");
        }
    }

    #[test]
    fn broken_answers_are_found_in_what_was_kept() {
        let (spec, facts, samples) = committed();
        let mut short = samples.clone();
        short[3].reference.ids.pop();
        assert_eq!(judged(&spec, &facts, Ok(short)), (Word::Void, vec![Rule::Count], 0));
        let mut fewer = samples;
        fewer.remove(3);
        assert_eq!(judged(&spec, &facts, Ok(fewer)), (Word::Void, vec![Rule::Workload], 0));
    }

    #[test]
    fn what_stopped_a_run_is_told_once_and_beside_what_else_is_broken() {
        let (spec, mut facts, _) = committed();
        facts.harness.as_mut().unwrap().embedded = None;
        let refused = builds(&facts).remove(0);
        let stopped = Err(Trouble::Void(refused.clone()));
        assert_eq!(all(&spec, &facts, &stopped), std::slice::from_ref(&refused));
        let other = Violation { rule: Rule::Golden, reason: "damaged".into() };
        assert_eq!(all(&spec, &facts, &Err(Trouble::Void(other.clone()))), [refused, other]);
    }
}
