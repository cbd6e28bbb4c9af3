//! What a series keeps of each request and of the machine around each leg: two files of its evidence, by the ids of its legs.
//!
//! Cells, arms and places of the legs stand in the plan that lies beside them. Only what these files hold can be drawn or asked for a
//! request at a time; the words rest on `outcomes.json.gz`, which has the numbers of whole legs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The file of the requests: a [`Requests`].
pub const REQUESTS: &str = "requests.json.gz";
/// The file of clocks and power: an [`Around`].
pub const AROUND: &str = "around.json.gz";

/// The requests of every leg that was begun, in the order of each leg's plan.
pub type Requests = BTreeMap<String, Vec<Request>>;
/// The machine around every leg that was begun.
pub type Around = BTreeMap<String, Sampled>;

/// One request. Times are nanoseconds from the moment its first byte was handed to the socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its place in the leg.
    pub request: u32,
    /// When it was sent, from the beginning of the leg's load.
    pub sent_ns: u64,
    /// TTFT: the first token; none where none came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_ns: Option<u64>,
    /// TPOT: (last token - first token) / (n - 1); none below two tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot_ns: Option<f64>,
    /// E2E: the last token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e_ns: Option<u64>,
    /// Tokens of the prompt, as the server counted them; none where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u32>,
    /// Tokens of the answer, as the server counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// How it ended: `ok`, or what went wrong.
    pub end: String,
}

impl Request {
    /// How a request ends that counts.
    pub const OK: &str = "ok";

    /// Whether it counts.
    pub fn is_ok(&self) -> bool {
        self.end == Self::OK
    }
}

/// The machine around one leg. Times are seconds from [`Sampled::at_s`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// When the leg's window was opened, in seconds of the series.
    pub at_s: f64,
    /// When its load began.
    pub began_s: f64,
    /// When its last request ended.
    pub ended_s: f64,
    /// The stand-in for the core's clock: spins before the load and after it, in their order. During the load the processor is the
    /// load's.
    pub spins: Vec<Spin>,
    /// The GPUs; empty where none was seen.
    pub gpus: Vec<Gpu>,
}

/// Some samples of the spin in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spin {
    /// When the last of them ended.
    pub until_s: f64,
    /// How long each lasted, in milliseconds.
    pub each_ms: u64,
    /// Nanoseconds of a step, a sample each.
    pub step_ns: Vec<f64>,
}

/// What was sampled of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its place as the driver counts.
    pub index: u32,
    /// Its model.
    pub name: Option<String>,
    /// In order.
    pub samples: Vec<GpuSample>,
}

/// A GPU at one moment. What it did not tell is none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuSample {
    /// When.
    pub at_s: f64,
    /// Clock of the multiprocessors, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<u32>,
    /// Power, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Share of the last moments in which something ran, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<u32>,
}
