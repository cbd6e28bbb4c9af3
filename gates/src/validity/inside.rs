//! The rule about the samples of a kind that looks inside the model.

use super::{Rule, Violation, violation};
use crate::facts::Asked;
use crate::kind::inside::InsideSamples;
use crate::spec::Checks;
use crate::words::count;

/// V-COUNT: every case that the spec names, or whose inputs were asked, has its sample. A case that is passed over would leave a
/// PASS with fewer cases than were declared.
pub fn sampled(
    check: &Checks,
    asked: Option<&Asked>,
    samples: &InsideSamples,
) -> Option<Violation> {
    let owed: Vec<String> = if let Some(check) = &check.activation_fidelity {
        let pair = |case: &str, edited: &str| format!("{case} beside {edited}");
        check.edits.iter().map(|edit| pair(edit.case.get_ref(), edit.edited.get_ref())).collect()
    } else if let Some(check) = &check.op_golden {
        check.case.iter().map(|case| case.id.clone()).collect()
    } else {
        // Records older than their facts do not say what was asked.
        asked.map_or(Vec::new(), |asked| asked.cases.clone())
    };
    let found: Vec<String> = match samples {
        InsideSamples::Layers(cases) => cases.iter().map(|case| case.id.clone()).collect(),
        InsideSamples::Fidelity(cases) => {
            cases.iter().map(|case| format!("{} beside {}", case.id, case.edited)).collect()
        }
        InsideSamples::Ops(samples) => samples.iter().map(|sample| sample.id.clone()).collect(),
    };
    let missing: Vec<&str> =
        owed.iter().filter(|case| !found.contains(case)).map(String::as_str).collect();
    let first = missing.first()?;
    let (cases, owed) = (count(missing.len(), "case", "cases"), owed.len());
    violation(Rule::Count, format!("{cases} of {owed} were not compared, {first} the first"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use oracles::tensors::Form;

    use super::*;
    use crate::facts::Facts;
    use crate::judge::{Judgement, judge};
    use crate::kind::activation_fidelity::{FidelityCase, StreamSample};
    use crate::kind::comparison::RowSums;
    use crate::kind::layers::LayersCase;
    use crate::kind::op_golden::{Elements, OpSample, OutputSample};
    use crate::rule::Word;
    use crate::samples::Samples;
    use crate::spec::{Spec, parse};

    fn shipped(name: &str) -> Spec {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs").join(name);
        parse(&std::fs::read_to_string(path).unwrap(), Path::new(name)).unwrap()
    }

    fn judged(spec: &Spec, facts: &Facts, samples: InsideSamples) -> Judgement {
        judge(spec, &Ok(Samples::Inside(Box::new(samples))), facts, None)
    }

    /// Ours is the oracle's, and the edit turns the stream by a right angle.
    fn fidelity(id: &str, edited: &str) -> FidelityCase {
        let same = RowSums { error: 0.0, want: 4.0, got: 4.0, dot: 4.0 };
        let turned = RowSums { error: 8.0, want: 4.0, got: 4.0, dot: 0.0 };
        let stream = StreamSample { name: "embed".into(), rows: Ok(vec![same; 3]), edited: turned };
        FidelityCase { id: id.into(), edited: edited.into(), from: 1, values: Ok(vec![stream]) }
    }

    #[test]
    fn an_edit_that_was_passed_over_is_no_pass() {
        let spec = shipped("qwen3-tiny-activations.toml");
        let run = |cases: Vec<FidelityCase>| {
            judged(&spec, &Facts::default(), InsideSamples::Fidelity(cases))
        };
        let [river, count] = [("river", "river-edited"), ("count", "count-edited")]
            .map(|(case, edited)| fidelity(case, edited));
        let whole = run(vec![river.clone(), count.clone()]);
        assert_eq!((whole.word, whole.compared), (Word::Pass, 2), "{}", whole.reason);
        assert!(whole.reason.starts_with("2 prompts, 2 residual streams"), "{}", whole.reason);
        let short = run(vec![river.clone()]);
        assert_eq!((short.word, short.measurements.len()), (Word::Void, 0));
        assert_eq!(
            short.reason,
            "V-COUNT: 1 case of 2 were not compared, count beside count-edited the first"
        );
        // Another twin is another comparison.
        let swapped = run(vec![river, fidelity("count", "river-edited")]);
        assert_eq!(swapped.word, Word::Void);
        assert_eq!(run(Vec::new()).word, Word::Void);
    }

    #[test]
    fn an_operation_that_was_passed_over_is_no_pass() {
        let spec = shipped("ops-blocks.toml");
        let sample = |id: &String| {
            let want = Form { dtype: "F32".into(), shape: vec![1] };
            let compared =
                Ok(Elements::Floats { count: 1, not_finite: 0, differ: 0, worst: vec![] });
            let output = OutputSample { name: "out".into(), want, compared };
            OpSample { id: id.clone(), outputs: Ok(vec![output]) }
        };
        let check = spec.check.op_golden.as_ref().unwrap();
        let all: Vec<OpSample> = check.case.iter().map(|case| sample(&case.id)).collect();
        let run = |samples: &[OpSample]| {
            judged(&spec, &Facts::default(), InsideSamples::Ops(samples.to_vec()))
        };
        let whole = run(&all);
        assert_eq!((whole.word, whole.compared), (Word::Pass, all.len() as u64));
        for missing in 0..all.len() {
            let mut short = all.clone();
            let id = short.remove(missing).id;
            let short = run(&short);
            assert_eq!(short.word, Word::Void);
            assert!(
                short.reason.ends_with(&format!("not compared, {id} the first")),
                "{}",
                short.reason
            );
        }
    }

    #[test]
    fn a_prompt_that_was_passed_over_is_no_pass() {
        let spec = shipped("qwen3-tiny-layers.toml");
        let case = |id: &str| LayersCase {
            id: id.into(),
            tokens: 1,
            layers: 0,
            end_to_end: Ok(Vec::new()),
            isolated: Ok(Vec::new()),
        };
        let asked = Asked { sha256: String::new(), cases: vec!["a".into(), "b".into()] };
        let run = |cases: Vec<LayersCase>| {
            sampled(&spec.check, Some(&asked), &InsideSamples::Layers(cases))
        };
        assert_eq!(run(vec![case("a"), case("b")]), None);
        let missed = run(vec![case("b")]).unwrap();
        assert_eq!(missed.reason, "1 case of 2 were not compared, a the first");
    }
}
