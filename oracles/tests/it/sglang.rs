//! SGLang's protocol against a stand-in of its server.

use oracles::launch::{LaunchError, LaunchSettings, Variant};
use oracles::verbs::{CompletionRequest, Message, Oracle, PrefillRequest, VerbError};

use crate::fixture::Place;
use crate::venv::{failed, provisioned, settings, start};

const SGLANG: &str = "protocol = 'sglang'\nexecutable = 'stand_in_sglang'\n\
                      arguments = ['--attention-backend', 'fa3']\nenvironment = {}\n\
                      settings = { attention_backend = 'fa3', decode_cuda_graph = 'full' }";

fn request(prompt_ids: &[u32], top_logprobs: u32) -> CompletionRequest {
    let prompt_ids = prompt_ids.to_vec();
    CompletionRequest { prompt_ids, max_tokens: 2, top_logprobs, ignore_eos: false }
}

#[test]
fn sglang_says_who_it_is_and_answers() {
    let place = Place::new();
    let oracle = provisioned(&place, SGLANG);
    let settings = LaunchSettings { production: true, ..settings("") };
    let mut server = start(&place, &oracle, &settings).unwrap();
    let identity = server.identity();
    for (key, expected) in [
        ("version", "1.0"),
        ("attention_backend", "fa3"),
        ("decode_cuda_graph", "full"),
        ("prefill_cuda_graph", "breakable"),
        ("disable_radix_cache", "true"),
        ("n_ctx", "4096"),
        ("kv_cache_tokens", "4096"),
    ] {
        assert_eq!(identity.settings[key], expected, "{key}");
    }
    // The whole command line but for the port, which is a free one.
    let mut flags = identity.flags.clone();
    let port = flags.iter().position(|flag| flag == "--port").unwrap() + 1;
    flags[port] = "PORT".to_owned();
    assert_eq!(
        flags.join(" "),
        "--model-path checkpoint --served-model-name oracle --host 127.0.0.1 --port PORT --dtype bfloat16 \
         --context-length 4096 --max-running-requests 1 --attention-backend fa3 --stand-in  --disable-radix-cache"
    );

    // More alternatives than there are tokens: as many as there are.
    let completion = server.complete(&request(&[1], 20)).unwrap();
    assert_eq!(completion.ids, [2, 2]);
    assert_eq!(completion.steps[1].top, [(2, -0.25), (0, -2.0), (1, -2.5)]);
    assert_eq!(server.tokenize("ab", false, true).unwrap(), [1, 2]);
    let user = Message { role: "user".to_owned(), content: "x".to_owned() };
    assert_eq!(server.render_chat(&[user]).unwrap(), "ab");
    let error = server.detokenize(&[9]).unwrap_err();
    assert!(
        matches!(&error, VerbError::Refused { status: 400, message, .. } if message.contains("no such token")),
        "{error}"
    );

    let together = server.complete_together(&[request(&[1], 0), request(&[2], 0)], 2).unwrap();
    assert_eq!(together.completions.len(), 2);
    let asked = PrefillRequest {
        prompt_ids: vec![1],
        ids: vec![2, 0],
        positions: vec![1],
        top_logprobs: 2,
    };
    let steps = server.prefill(&asked).unwrap();
    assert_eq!((steps[0].id, steps[0].top.len()), (2, 2));
    let chunks = server.score("ab", 2).unwrap();
    assert_eq!(chunks.len(), 1);
    // Of a server that keeps nothing it is no question what it had.
    let error = server.complete_cached(&request(&[1], 0)).unwrap_err();
    assert!(matches!(&error, VerbError::Unanswerable { .. }), "{error}");
}

#[test]
fn an_end_that_is_forbidden_and_chosen_is_no_answer_with_rankings() {
    let place = Place::new();
    let oracle = provisioned(&place, SGLANG);
    let folder = crate::venv::folder(&place);
    let mut server = start(&place, &oracle, &settings("")).unwrap();
    let forbidden = CompletionRequest { ignore_eos: true, ..request(&[1], 2) };
    assert_eq!(server.complete(&forbidden).unwrap().ids, [2, 2]);
    drop(server);
    std::fs::write(folder.path.join("generation_config.json"), r#"{"eos_token_id": [2]}"#).unwrap();
    let mut server = start(&place, &oracle, &settings("")).unwrap();
    let error = server.complete(&forbidden).unwrap_err();
    assert!(matches!(&error, VerbError::Unanswerable { verb: "complete", .. }), "{error}");
}

#[test]
fn a_sglang_that_contradicts_its_pin_is_refused() {
    let place = Place::new();
    let oracle = provisioned(&place, SGLANG);
    let cases = [
        ("version", "version"),
        ("dtype", "dtype"),
        ("context", "n_ctx"),
        ("memory", "effective_max_running_requests"),
        ("device", "device"),
        ("attention", "attention_backend"),
        ("eager", "decode_cuda_graph"),
    ];
    for (fault, expected) in cases {
        match failed(&place, &oracle, &settings(fault)) {
            LaunchError::Contradiction { key, .. } => assert_eq!(key, expected),
            other => panic!("{fault}: {other}"),
        }
    }
    let error = failed(&place, &oracle, &settings("no-graphs-told"));
    assert!(
        matches!(&error, LaunchError::Silent { key, .. } if key == "decode_cuda_graph"),
        "{error}"
    );
    let error = failed(&place, &oracle, &settings("die-at-start"));
    assert!(matches!(&error, LaunchError::Died { .. }), "{error}");
}

#[test]
fn sglang_keeps_prefixes_or_runs_without_graphs_where_that_is_asked() {
    let place = Place::new();
    let oracle = provisioned(&place, SGLANG);
    let kept = LaunchSettings { variant: Variant::PrefixCache, ..settings("") };
    let mut server = start(&place, &oracle, &kept).unwrap();
    assert_eq!(server.identity().settings["disable_radix_cache"], "false");
    let asked = request(&[1, 1, 2], 0);
    let cached = [(); 2].map(|()| server.complete_cached(&asked).unwrap().cached_tokens);
    assert_eq!(cached, [0, 2]);

    let eager = LaunchSettings { variant: Variant::OtherExecution, ..settings("") };
    let server = start(&place, &oracle, &eager).unwrap();
    let graphs = ["decode_cuda_graph", "prefill_cuda_graph"];
    assert_eq!(graphs.map(|key| server.identity().settings[key].as_str()), ["disabled"; 2]);
    drop(server);
    let error = failed(&place, &oracle, &LaunchSettings { production: true, ..eager });
    assert!(
        matches!(&error, LaunchError::NotProduction { key, .. } if key == "decode_cuda_graph"),
        "{error}"
    );
}

#[test]
fn a_sglang_that_dies_or_answers_another_prompt_gives_no_answer() {
    let place = Place::new();
    let oracle = provisioned(&place, SGLANG);
    let ask = |fault: &str| {
        start(&place, &oracle, &settings(fault)).unwrap().complete(&request(&[1], 0)).unwrap_err()
    };
    assert!(matches!(ask("die"), VerbError::Died { .. }));
    let error = ask("prompt");
    assert!(
        matches!(&error, VerbError::Malformed { key, .. } if key == "prompt_token_ids"),
        "{error}"
    );
}
