//! Every key that is wrong is refused, at its line.

use super::*;

const SWEEP: &str = include_str!("../../specs/cpu-sweep.toml");

fn refused(text: &str) -> String {
    parse(text, Path::new("grids/specs/it.toml")).unwrap_err().to_string()
}

/// How the sweep says how often it measures.
const PAIRS: &str = "pairs = 12\nspares = 8\nattempts = 30";

/// The sweep with one text in place of another.
fn with(old: &str, new: &str) -> String {
    assert!(SWEEP.contains(old), "{old:?} does not stand in the spec");
    SWEEP.replacen(old, new, 1)
}

#[test]
fn the_specs_of_this_folder_parse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let names = names(&root).unwrap();
    assert!(!names.is_empty());
    for name in names {
        load(&root, &name).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn what_does_not_parse_is_shown_at_its_line() {
    let reason = "because = \"the margin, to either side\"";
    let found: Vec<String> = [
        with("waves = 2", "wave = 2"),
        with("waves = 2", "waves = 2\nfast = true"),
        with(reason, "because = \" \""),
        with(", because = \"the margin, to either side\"", ""),
        with("percent = 3.0", "percent = 100.0"),
        with("alpha = 0.05", "alpha = 0.5"),
        with("[arms.plumb]", "[arms.plumb-null]"),
    ]
    .iter()
    .map(|text| refused(text))
    .collect();
    insta::assert_snapshot!(found.join("\n\n"));
}

#[test]
fn what_does_not_fit_together_is_said() {
    let found: Vec<String> = [
        with("null-of = \"plumb\"", "null-of = \"sglang\""),
        with("subject = \"plumb\"", "subject = \"vllm-cpu\""),
        with("[1, 2, 4, 8, 16, 32]", "[1, 4, 2]"),
        with("pairs = 12", "pairs = 9"),
        with(PAIRS, "pairs = 12\nsessions = 2"),
        with(PAIRS, "pairs = 20\nlooks = [8, 14]"),
        with(PAIRS, "pairs = 20\nlooks = [7, 14]\nboundary = \"pocock\""),
        with(PAIRS, "pairs = 12\nlooks = [12]"),
        with("pairs = 12", "pairs = 12\nsessions = 3"),
        with("context = 2048", "context = 2048\nprefix-cache = \"on\""),
        with("claim = \"parity\"", "claim = \"change\""),
        with("metric = \"ttft_ms_p50\"", "metric = \"tpot_ms_p50\""),
        with("equivalence = { percent = 2.0", "equivalence = { percent = 2.5"),
        with("claim = \"parity\"", "claim = \"parity\"\nstatistic = \"odd\""),
        with("context = 2048", "context = 256"),
        with("against = [\"llama-cpp\", \"vllm-cpu\"]", "against = [\"llama-cpp\"]"),
        format!(
            "{SWEEP}\n[ab]\nreference = \"plumb\"\nsubject = \"llama-cpp\"\nconcurrency = [1]\n"
        ),
    ]
    .iter()
    .map(|text| refused(text))
    .collect();
    insta::assert_snapshot!(found.join("\n"));
}

/// No key is taken that nothing reads: prompts that share a beginning are not among the workloads of a grid.
#[test]
fn a_shared_prefix_is_refused() {
    let found = refused(&with("waves = 2", "waves = 2\nshared-prefix-tokens = 64"));
    assert!(found.contains("unknown field `shared-prefix-tokens`"), "{found}");
}

#[test]
fn looks_that_can_decide_are_taken() {
    let text = with(PAIRS, "pairs = 20\nlooks = [10, 14]");
    assert_eq!(
        parse(&text, Path::new("it.toml")).unwrap().plan.looks,
        [Positive(10), Positive(14)]
    );
    let text = with(PAIRS, "pairs = 20\nlooks = [8, 14]\nboundary = \"pocock\"");
    assert!(parse(&text, Path::new("it.toml")).is_ok());
}

/// 36 words at 5 %: the strictest level is 0.139 %, which 10 pairs do not reach and 11 do (2 / 2^10, 2 / 2^11).
#[test]
fn a_file_has_pairs_enough_for_its_words() {
    let found = |pairs: &str| {
        let spec = parse(&with("pairs = 12", pairs), Path::new("it.toml")).unwrap();
        check::undecidable(&spec)
    };
    let expected = "[plan] pairs: 10 cannot establish the first of 36 words, it takes 11";
    assert_eq!(found("pairs = 10").as_deref(), Some(expected));
    assert_eq!(found("pairs = 12"), None);
}

#[test]
fn a_bound_as_a_log_ratio() {
    let bound = Bound { percent: Percent(2.0), because: Because("test".to_owned()) };
    assert!((bound.log() + 0.98_f64.ln()).abs() < 1e-15);
}

#[test]
fn a_missing_grid_is_named() {
    let error = load(Path::new("."), "nowhere").unwrap_err().to_string();
    let expected = "no grid named `nowhere`: grids/specs/nowhere.toml does not exist (`grid list` names them all)";
    assert_eq!(error, expected);
}
