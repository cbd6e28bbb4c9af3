//! The pinned oracles on pinned checkpoints. Ignored by default: each needs its oracle in the cache
//! (`gate oracle provision NAME`), llama.cpp also `gate fetch smollm2-135m-instruct-q4_1`.

use oracles::checkpoint::{self, CheckpointSpec};
use oracles::launch::{LaunchSettings, launch};
use oracles::provision;
use oracles::registry::OracleSpec;
use oracles::verbs::{Completion, CompletionRequest, FinishReason, Message, Oracle};
use oracles::{Home, Progress};

use crate::fixture::workspace;

#[test]
#[ignore = "needs the provisioned oracle and the fetched checkpoint"]
fn the_capital_of_france() {
    let home = Home::find(Some(&workspace()), None).unwrap();
    let spec = OracleSpec::load(&home, "llama-cpp").unwrap();
    let oracle =
        provision::provisioned(&home, &spec, Progress::Silent).unwrap().expect("provisioned");
    let spec = CheckpointSpec::load(&home, "smollm2-135m-instruct-q4_1").unwrap();
    let checkpoint = checkpoint::resident(&home, &spec).unwrap().expect("fetched");
    let mut server =
        launch(&home, &oracle, &checkpoint, &LaunchSettings::default(), Progress::Silent).unwrap();

    let text = "The capital of France is";
    let prompt_ids = server.tokenize(text, false, false).unwrap();
    assert_eq!(prompt_ids, [504, 3575, 282, 4649, 314]);
    assert_eq!(server.detokenize(&prompt_ids).unwrap(), text);
    let messages = [Message { role: "user".to_owned(), content: "hi".to_owned() }];
    let rendered = server.render_chat(&messages).unwrap();
    assert!(rendered.ends_with("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"));

    let request =
        CompletionRequest { prompt_ids, max_tokens: 8, top_logprobs: 20, ignore_eos: false };
    let first = server.complete(&request).unwrap();
    // The ids that llama-server's own HTTP interface gave by hand for this prompt.
    assert_eq!(first.ids, [7042, 30, 198, 198, 504, 1797, 1918, 553]);
    assert_eq!(first.finish_reason, FinishReason::Length);
    assert_eq!(first.steps.len(), 8);
    assert!(first.steps.iter().all(|step| step.top.len() == 20 && step.logprob.is_some()));
    // The oracle agrees with itself, to the bit.
    assert_eq!(server.complete(&request).unwrap(), first);
    assert!(server.identity().settings["n_vocab"] == "49152");
}

/// One question to a freshly started oracle on a random Qwen3: all that it says to it.
fn asked(name: &str, ignore_eos: bool) -> Completion {
    let home = Home::find(Some(&workspace()), None).unwrap();
    let spec = OracleSpec::load(&home, name).unwrap();
    let oracle =
        provision::provisioned(&home, &spec, Progress::Silent).unwrap().expect("provisioned");
    let spec = CheckpointSpec::load(&home, "synthetic-qwen3-tiny").unwrap();
    let checkpoint = checkpoint::fetch(&home, &spec, Progress::Silent).unwrap();
    let settings = LaunchSettings::default();
    let mut server = launch(&home, &oracle, &checkpoint, &settings, Progress::Silent).unwrap();
    let text = "The cat";
    let prompt_ids = server.tokenize(text, false, false).unwrap();
    assert_eq!(prompt_ids, [84, 104, 101, 32, 99, 97, 116]);
    assert_eq!(server.detokenize(&prompt_ids).unwrap(), text);
    let messages = [Message { role: "user".to_owned(), content: "hi".to_owned() }];
    let rendered = server.render_chat(&messages).unwrap();
    assert_eq!(rendered, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
    let request = CompletionRequest { prompt_ids, max_tokens: 64, top_logprobs: 20, ignore_eos };
    let first = server.complete(&request).unwrap();
    assert_eq!(server.complete(&request).unwrap(), first, "it agrees with itself");
    first
}

#[test]
#[ignore = "needs the provisioned oracle"]
fn transformers_says_the_same_after_a_restart() {
    let first = asked("transformers", false);
    assert_eq!(first.ids[..4], [37, 262, 284, 275]);
    assert_eq!(asked("transformers", false), first);
    assert_eq!(asked("transformers", true).ids.len(), 64);
}

#[test]
#[ignore = "needs the provisioned oracle, and minutes"]
fn vllm_on_the_cpu_says_the_same_after_a_restart() {
    let first = asked("vllm-cpu", false);
    assert_eq!(first.ids[..3], [37, 262, 284]);
    assert_eq!(asked("vllm-cpu", false), first);
    assert_eq!(asked("vllm-cpu", true).ids.len(), 64);
}
