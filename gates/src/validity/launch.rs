//! The oracle of a golden was launched as it would be launched today.
//!
//! Its bits depend on the threads and the context that the spec names, and on what its registry file fixes. A golden keeps the
//! command line, what the process read back, and the environment; all of it is compared, and none of it by hand.

use oracles::golden::GoldenManifest;
use oracles::launch::{LaunchSettings, pinned_arguments};

use super::Violation;
use crate::facts::Pinned;
use crate::rule::Rule;
use crate::spec::LaunchSpec;

/// Flags that every launch chooses anew: they say where, not how.
const WHERE: [&str; 5] = ["--model", "--model-path", "--served-model-name", "--host", "--port"];
/// Flags of the number of threads.
const THREADS: [&str; 2] = ["--threads", "--threads-batch"];
/// Flags of the context's length, by whichever name the oracle has for it.
const CONTEXT: [&str; 4] = ["--ctx-size", "--context", THREADLESS[0], THREADLESS[1]];
/// The context's length where the server has no flag for threads: vLLM's and SGLang's.
const THREADLESS: [&str; 2] = ["--max-model-len", "--context-length"];

/// V-WORKLOAD for what the spec's `[launch]` decides, V-PIN for what the registry file does. All differences are told.
pub fn launch(golden: &GoldenManifest, spec: &LaunchSpec, oracle: &Pinned) -> Vec<Violation> {
    let Some(pinned) = &oracle.declared.launch else { return Vec::new() };
    let line = CommandLine::of(&golden.oracle.flags);
    let mut found = workload(golden, &line, spec);
    let mut pin = |what: &str, expected: String, was: String| {
        if expected != was {
            let reason = format!(
                "{} is launched with {what} {expected}, the golden was captured with {was}: capture it again",
                oracle.name
            );
            found.push(Violation { rule: Rule::Pin, reason });
        }
    };
    for (flag, expected) in decided(spec) {
        if let Some(was) = line.value(flag) {
            pin(flag, expected, was.to_owned());
        }
    }
    pin("the arguments", words(&pinned_arguments(pinned)), words(&line.rest));
    let sorted = |features: &[String]| {
        let mut features = features.to_vec();
        features.sort_unstable();
        features
    };
    let features = [&pinned.cpu_features, &golden.oracle.cpu_features].map(|list| sorted(list));
    pin("the CPU features", words(&features[0]), words(&features[1]));
    for (said, demanded) in
        [(&golden.oracle.build, &pinned.build), (&golden.oracle.settings, &pinned.settings)]
    {
        for (key, expected) in demanded {
            let was = said.get(key).map_or("(nothing)", String::as_str);
            pin(key, expected.clone(), was.to_owned());
        }
    }
    if let Some(environment) = &golden.environment {
        let pairs = |map: &std::collections::BTreeMap<String, String>| {
            words(&map.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>())
        };
        pin("the environment", pairs(&pinned.environment), pairs(environment));
    }
    found
}

/// The flags that are the same for every golden of a spec, with their values.
fn decided(spec: &LaunchSpec) -> [(&'static str, String); 5] {
    let settings = LaunchSettings::default();
    [
        ("--batch-size", settings.batch.to_string()),
        ("--ubatch-size", settings.ubatch.to_string()),
        ("--dtype", spec.dtype.name().to_owned()),
        ("--max-num-seqs", settings.sequences.to_string()),
        ("--max-running-requests", settings.sequences.to_string()),
    ]
}

/// Threads and context: as asked for, and as the process read them back where it did.
fn workload(golden: &GoldenManifest, line: &CommandLine<'_>, spec: &LaunchSpec) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut differs = |key: &str, expected: u32, name: &str, was: Option<&str>| {
        if was == Some(expected.to_string().as_str()) {
            return;
        }
        let reason = format!(
            "the spec's [launch] {key} is {expected}, the golden was captured with {name} {}: capture it again",
            was.unwrap_or("not given")
        );
        found.push(Violation { rule: Rule::Workload, reason });
    };
    if THREADLESS.into_iter().all(|flag| line.value(flag).is_none()) {
        differs("threads", spec.threads, THREADS[0], line.value(THREADS[0]));
    }
    if let Some(batch) = line.value(THREADS[1]) {
        differs("threads", spec.threads, THREADS[1], Some(batch));
    }
    let flag = CONTEXT.into_iter().find(|flag| line.value(flag).is_some()).unwrap_or(CONTEXT[0]);
    differs("context", spec.context, flag, line.value(flag));
    for (key, expected, setting) in [
        ("threads", spec.threads, "n_threads"),
        ("threads", spec.threads, "n_threads_batch"),
        ("context", spec.context, "n_ctx"),
    ] {
        if let Some(read_back) = golden.oracle.settings.get(setting) {
            differs(key, expected, setting, Some(read_back));
        }
    }
    found
}

/// A recorded command line, taken apart.
struct CommandLine<'a> {
    /// The flags with a value that a launch decides, each with its first value.
    decided: Vec<(&'a str, &'a str)>,
    /// What is left, in its order. A flag given twice is left: the last one counts, and it was not ours.
    rest: Vec<String>,
}

impl<'a> CommandLine<'a> {
    fn of(flags: &'a [String]) -> Self {
        let fixed = decided(&LaunchSpec::default()).map(|(flag, _)| flag);
        let is_decided = |flag: &str| {
            WHERE.iter().chain(&THREADS).chain(&CONTEXT).chain(&fixed).any(|name| *name == flag)
        };
        let mut line = Self { decided: Vec::new(), rest: Vec::new() };
        let mut flags = flags.iter().map(String::as_str);
        while let Some(flag) = flags.next() {
            if is_decided(flag) && line.value(flag).is_none() {
                line.decided.push((flag, flags.next().unwrap_or_default()));
            } else {
                line.rest.push(flag.to_owned());
            }
        }
        line
    }

    fn value(&self, flag: &str) -> Option<&'a str> {
        self.decided.iter().find(|(name, _)| *name == flag).map(|(_, value)| *value)
    }
}

/// Words of a command line, so that nothing is still something to read.
fn words(list: &[String]) -> String {
    if list.is_empty() { "(none)".to_owned() } else { format!("`{}`", list.join(" ")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use oracles::Home;
    use oracles::golden::Golden;
    use oracles::registry::OracleSpec;

    use super::*;

    /// A committed golden, and how its oracle is launched today.
    fn committed() -> (GoldenManifest, LaunchSpec, Pinned) {
        committed_of("llama-cpp", "smollm2-greedy")
    }

    fn committed_of(oracle: &str, gate: &str) -> (GoldenManifest, LaunchSpec, Pinned) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let spec = crate::spec::load(&root, gate).unwrap().spec.launch;
        let home = Home { root, cache: "unused".into() };
        let golden = Golden::read(&home, oracle, gate).unwrap().unwrap();
        let mut manifest = golden.manifest;
        let oracle = Pinned::from(&OracleSpec::load(&home, oracle).unwrap());
        manifest.environment = Some(oracle.declared.launch.as_ref().unwrap().environment.clone());
        (manifest, spec, oracle)
    }

    fn set(flags: &mut [String], flag: &str, value: &str) {
        let at = flags.iter().position(|found| found == flag).unwrap();
        value.clone_into(&mut flags[at + 1]);
    }

    /// Ids and how many reasons.
    fn rules(golden: &GoldenManifest, spec: &LaunchSpec, oracle: &Pinned) -> BTreeSet<Rule> {
        launch(golden, spec, oracle).into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_golden_of_todays_launch_breaks_no_rule() {
        let (golden, spec, oracle) = committed();
        assert_eq!(launch(&golden, &spec, &oracle), []);
        let older = GoldenManifest { environment: None, ..golden };
        assert_eq!(launch(&older, &spec, &oracle), []);
    }

    #[test]
    fn another_launch_table_of_the_spec_is_another_workload() {
        let (golden, spec, oracle) = committed();
        for other in [
            LaunchSpec { threads: 2, ..spec.clone() },
            LaunchSpec { context: 8192, ..spec.clone() },
        ] {
            assert_eq!(rules(&golden, &other, &oracle), [Rule::Workload].into());
        }
    }

    #[test]
    fn whatever_the_golden_says_of_its_launch_is_compared() {
        let (golden, spec, oracle) = committed();
        let flags = |change: &dyn Fn(&mut Vec<String>)| {
            let mut golden = golden.clone();
            change(&mut golden.oracle.flags);
            golden
        };
        let mut features = golden.clone();
        features.oracle.cpu_features.pop();
        let mut environment = golden.clone();
        environment.environment.as_mut().unwrap().insert("OMP_NUM_THREADS".into(), "2".into());
        let mut read_back = golden.clone();
        read_back.oracle.settings.insert("n_threads".into(), "2".into());
        let cases = [
            (flags(&|flags| set(flags, "--threads", "2")), Rule::Workload),
            (flags(&|flags| set(flags, "--threads-batch", "2")), Rule::Workload),
            (flags(&|flags| set(flags, "--ctx-size", "512")), Rule::Workload),
            (read_back, Rule::Workload),
            (flags(&|flags| set(flags, "--batch-size", "64")), Rule::Pin),
            (flags(&|flags| set(flags, "--ubatch-size", "64")), Rule::Pin),
            (flags(&|flags| set(flags, "--parallel", "2")), Rule::Pin),
            (flags(&|flags| flags.push("--flash-attn".into())), Rule::Pin),
            (flags(&|flags| flags.extend(["--threads".into(), "4".into()])), Rule::Pin),
            (flags(&|flags| drop(flags.pop())), Rule::Pin),
            (features, Rule::Pin),
            (environment, Rule::Pin),
        ];
        for (golden, rule) in cases {
            assert_eq!(rules(&golden, &spec, &oracle), [rule].into(), "{:?}", golden.oracle.flags);
        }
        let mut silent = golden.clone();
        silent.oracle.flags.clear();
        silent.oracle.settings.clear();
        assert_eq!(rules(&silent, &spec, &oracle), [Rule::Pin, Rule::Workload].into());
    }

    /// SGLang has names of its own for what a launch decides, and is told what to keep of prompts without its registry file.
    #[test]
    fn a_golden_of_sglang_is_compared_by_sglangs_own_flags() {
        let (golden, spec, oracle) = committed_of("sglang", "qwen3-tiny-sglang");
        assert_eq!(launch(&golden, &spec, &oracle), []);
        let mut keeping = golden.clone();
        assert_eq!(keeping.oracle.flags.pop().as_deref(), Some("--disable-radix-cache"));
        assert_eq!(rules(&keeping, &spec, &oracle), [Rule::Pin].into());
        for (flag, rule) in [
            ("--context-length", Rule::Workload),
            ("--max-running-requests", Rule::Pin),
            ("--mem-fraction-static", Rule::Pin),
        ] {
            let mut other = golden.clone();
            set(&mut other.oracle.flags, flag, "8");
            assert_eq!(rules(&other, &spec, &oracle), [rule].into(), "{flag}");
        }
    }

    /// What an oracle must say of itself, and the type it computes in.
    #[test]
    fn what_the_registry_demands_is_demanded_of_a_golden() {
        let (mut golden, spec, mut oracle) = committed();
        let launched = oracle.declared.launch.as_mut().unwrap();
        launched.settings.insert("kv_type_k".into(), "f16".into());
        launched.build.insert("build_info".into(), "b1-0c1e570".into());
        golden.oracle.flags.extend(["--dtype".into(), "bfloat16".into()]);
        assert_eq!(launch(&golden, &spec, &oracle), []);
        let mut other = golden.clone();
        set(&mut other.oracle.flags, "--dtype", "float32");
        assert_eq!(rules(&other, &spec, &oracle), [Rule::Pin].into());
        let mut other = golden.clone();
        other.oracle.settings.insert("kv_type_k".into(), "q8_0".into());
        assert_eq!(rules(&other, &spec, &oracle), [Rule::Pin].into());
        golden.oracle.build.remove("build_info");
        assert_eq!(rules(&golden, &spec, &oracle), [Rule::Pin].into());
    }

    #[test]
    fn where_a_launch_was_is_not_how() {
        let (mut golden, spec, oracle) = committed();
        set(&mut golden.oracle.flags, "--port", "1");
        set(&mut golden.oracle.flags, "--model", "elsewhere.gguf");
        assert_eq!(launch(&golden, &spec, &oracle), []);
    }
}
