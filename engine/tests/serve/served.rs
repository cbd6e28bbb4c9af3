//! A server of the tiny Llama in this process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::chat_template::ChatTemplate;
use engine::checkpoint::Checkpoint;
use engine::engine::Engine;
use engine::generation::EndIds;
use engine::kv::{BlockSize, Budget};
use engine::model::Model;
use engine::numerics::Profile;
use engine::scheduler::{Limits, Policy};
use engine::serve::{App, Ender, Keys, Metrics, Server, Settings, Worker, engine_handle};
use engine::tokenizer::Tokenizer;
use kernels::Pool;
use serde_json::json;

pub(crate) const CONTEXT: usize = 512;
const TEMPLATE: &str = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}\
    {% if add_generation_prompt %}assistant:{% endif %}";

/// What differs between servers.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) max_sequences: usize,
    pub(crate) max_waiting: usize,
    pub(crate) queue_timeout: Duration,
    pub(crate) keys: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        let queue_timeout = Duration::from_mins(1);
        Self { max_sequences: 8, max_waiting: 500, queue_timeout, keys: Vec::new() }
    }
}

/// A server; it ends with this.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) ender: Ender,
    thread: Option<JoinHandle<()>>,
}

pub(crate) fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny-llama.gguf")
}

impl Served {
    pub(crate) fn start(options: Options) -> Self {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            let server = Server::bind("127.0.0.1", 0).unwrap();
            let (address, ender) = (server.address(), server.ender());
            let checkpoint = Checkpoint::open(&fixture()).unwrap();
            let pool = Arc::new(Pool::new(1).unwrap());
            let model = Model::load(&checkpoint, Profile::LlamaCppCpu, pool).unwrap();
            let tokenizer = Tokenizer::of_checkpoint(&checkpoint).unwrap().map(Arc::new);
            let ends = EndIds::new([258]);
            let runner = model.runner(CONTEXT).unwrap();
            let limits = Limits {
                max_sequences: options.max_sequences,
                step_tokens: 512 + options.max_sequences,
                pieces: runner.pieces(),
                policy: Policy::Fcfs,
                max_waiting: options.max_waiting,
                reuse_prefixes: true,
            };
            let (shape, size) = (runner.kv_shape(), BlockSize::DEFAULT);
            // Few enough for some to be set back.
            let budget = Budget { shape, size, blocks: 64, max_model_len: CONTEXT };
            let engine = Engine::new(runner, limits, &budget, ends.clone(), model.pool());
            let metrics = Arc::new(Metrics::new("tiny"));
            let (handle, commands) = engine_handle();
            let settings = Settings {
                names: vec!["tiny".to_owned(), "also".to_owned()],
                path: "here".to_owned(),
                version: "0".to_owned(),
                max_model_len: CONTEXT,
                vocabulary: model.config().vocabulary,
                ends,
                policy: Policy::Fcfs,
                max_logprobs: 5,
                max_body_bytes: 100_000,
                max_concurrent_requests: 500,
                keys: Keys::new(&options.keys),
                info: json!({"model": "here"}),
            };
            let template = ChatTemplate::new(TEMPLATE, []).ok();
            let app = App::new(settings, handle, Arc::clone(&metrics), tokenizer, template);
            let mut worker = Worker::new(engine, commands, metrics, options.queue_timeout);
            let running = server.start(app, Duration::from_secs(30)).unwrap();
            worker.warm_up();
            sender.send((address, ender)).unwrap();
            worker.run();
            running.finish();
        });
        let (address, ender) = receiver.recv().unwrap();
        Self { address, ender, thread: Some(thread) }
    }

    /// Waits until it has ended by itself.
    pub(crate) fn join(mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.ender.end();
        if let Some(thread) = self.thread.take() {
            // A test that has failed already tells enough.
            let _ = thread.join();
        }
    }
}
