//! Clients that leave, clients that do not read, and the end of the server.

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{answer, metric, receive, start};
use crate::served::{Options, Served};

/// Waits until nothing runs or waits; whether that came to be.
fn rests(served: &Served) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_mins(1) {
        let busy = ["vllm:num_requests_running", "vllm:num_requests_waiting"]
            .map(|name| metric(served.address, name));
        if busy.iter().sum::<f64>() < 0.5 {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn who_leaves_takes_its_blocks_along() {
    let served = Served::start(Options::default());
    thread::scope(|scope| {
        for worker in 0..8_usize {
            let address = served.address;
            scope.spawn(move || {
                for turn in 0..40_usize {
                    let choice = worker * 40 + turn;
                    let body = json!({
                        "prompt": "the quick brown fox ".repeat(1 + choice % 9), "ignore_eos": true,
                        "max_tokens": 1 + (choice * 37) % 200, "stream": choice % 3 != 0, "n": 1 + choice % 3,
                    });
                    let mut socket = start(address, "/v1/completions", &body);
                    // Some leave at once, some after some bytes, some stay.
                    match choice % 5 {
                        0 => {}
                        4 => drop(receive(socket)),
                        n => {
                            let mut bytes = vec![0; n * 150];
                            let _ = socket.read(&mut bytes);
                        }
                    }
                }
            });
        }
    });
    assert!(rests(&served));
    assert!(metric(served.address, "vllm:kv_cache_usage_perc") <= 0.0);
    let body = json!({"prompt": "a", "max_tokens": 3, "ignore_eos": true});
    assert_eq!(answer(served.address, "/v1/completions", &body)["usage"]["completion_tokens"], 3);
}

#[test]
fn who_does_not_read_holds_nobody_up() {
    let served = Served::start(Options::default());
    let long = json!({
        "prompt": "a", "max_tokens": 500, "ignore_eos": true, "stream": true, "logprobs": 5, "n": 4,
    });
    let silent = start(served.address, "/v1/completions", &long);
    let body = json!({"prompt": "b", "max_tokens": 20, "ignore_eos": true});
    for _ in 0..5 {
        answer(served.address, "/v1/completions", &body);
    }
    assert!(rests(&served), "the engine has finished though nobody has read");
    let events = receive(silent).events();
    assert_eq!(events.len(), 4 * 500, "and nothing was lost");
}

#[test]
fn at_its_end_a_server_answers_what_is_at_work() {
    let served = Served::start(Options::default());
    let long = json!({"prompt": "a", "max_tokens": 400, "ignore_eos": true, "stream": true});
    let mut socket = start(served.address, "/v1/completions", &long);
    let mut first = [0; 1];
    socket.read_exact(&mut first).unwrap();
    served.ender.end();
    let mut rest = String::new();
    socket.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("data: [DONE]"), "{rest}");
    assert_eq!(rest.matches("\"object\":\"text_completion\"").count(), 400);
    served.join();
}
