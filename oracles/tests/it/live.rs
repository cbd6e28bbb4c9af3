//! The pinned llama.cpp on the pinned checkpoint. Ignored by default: it needs both in the cache
//! (`gate oracle provision llama-cpp`, `gate fetch smollm2-135m-instruct-q4_1`).

use oracles::checkpoint::{self, CheckpointSpec};
use oracles::launch::{LaunchSettings, launch};
use oracles::provision;
use oracles::registry::OracleSpec;
use oracles::verbs::{CompletionRequest, FinishReason, Message, Oracle};
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
