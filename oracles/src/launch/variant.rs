//! The ways in which an oracle is launched to be compared with itself: the pinned launch but for one thing.

use std::collections::BTreeMap;

use super::error::LaunchError;
use super::start::Start;
use crate::registry::{LaunchSpec, Protocol};

/// What a launch does otherwise than the pinned one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Variant {
    /// Nothing.
    #[default]
    Pinned,
    /// What was computed of a prompt is kept for the next one that begins with it.
    PrefixCache,
    /// The model is executed in the oracle's other way: eager where it is compiled, a fused attention where it is eager.
    OtherExecution,
}

/// What keeps SGLang from keeping prefixes of prompts.
const NO_PREFIXES: &str = "--disable-radix-cache";

/// The arguments of a pinned launch that the spec of a gate does not decide: those of its registry file, and what the
/// protocol adds where it is not launched otherwise.
pub fn pinned_arguments(launch: &LaunchSpec) -> Vec<String> {
    let added = said(Variant::Pinned, launch.protocol).map_or(&[][..], |(arguments, _)| arguments);
    launch.arguments.iter().cloned().chain(added.iter().map(|word| (*word).to_owned())).collect()
}

/// Arguments, and what the process must say of itself.
type Said = (&'static [&'static str], &'static [(&'static str, &'static str)]);

/// How a variant is said to a server of `protocol`; `None` where it has no word for it.
fn said(variant: Variant, protocol: Protocol) -> Option<Said> {
    Some(match (variant, protocol) {
        // SGLang keeps prefixes unless it is told not to.
        (Variant::Pinned, Protocol::Sglang) => (&[NO_PREFIXES], &[("disable_radix_cache", "true")]),
        (Variant::PrefixCache, Protocol::Sglang) => (&[], &[("disable_radix_cache", "false")]),
        (Variant::OtherExecution, Protocol::Sglang) => (
            &[
                NO_PREFIXES,
                "--cuda-graph-backend-decode",
                "disabled",
                "--cuda-graph-backend-prefill",
                "disabled",
            ],
            &[
                ("disable_radix_cache", "true"),
                ("decode_cuda_graph", "disabled"),
                ("prefill_cuda_graph", "disabled"),
            ],
        ),
        // llama.cpp's server is told with each request what to keep.
        (Variant::Pinned, _) | (Variant::PrefixCache, Protocol::LlamaServer) => (&[], &[]),
        (Variant::PrefixCache, Protocol::Vllm) => (
            &["--enable-prefix-caching", "--enable-prompt-tokens-details"],
            &[("enable_prefix_caching", "true")],
        ),
        (Variant::OtherExecution, Protocol::Vllm) => (
            &["--enforce-eager"],
            &[("enforce_eager", "true"), ("compilation_mode", "NONE"), ("compilation_backend", "")],
        ),
        (Variant::OtherExecution, Protocol::Driver) => {
            (&["--attention", "sdpa"], &[("attention", "sdpa")])
        }
        (Variant::PrefixCache, Protocol::Driver)
        | (Variant::OtherExecution, Protocol::LlamaServer) => return None,
    })
}

/// A variant in the words of one protocol.
pub(super) struct Words {
    /// More arguments; of one that occurs twice the last counts.
    pub(super) arguments: Vec<String>,
    /// What the process must say of itself instead of what the registry file declares.
    pub(super) settings: BTreeMap<String, String>,
}

impl Words {
    /// How `start`'s variant is said to a server of `protocol`.
    pub(super) fn of(start: &Start<'_>, protocol: Protocol) -> Result<Self, LaunchError> {
        let variant = start.settings.variant;
        let (arguments, settings) = said(variant, protocol)
            .ok_or_else(|| LaunchError::NoVariant { oracle: start.name().to_owned(), variant })?;
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Ok(Self {
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            settings: settings.iter().map(text).collect(),
        })
    }

    /// What must be said: what is `declared`, but for what the variant changes; what it leaves empty is not asked.
    pub(super) fn expected(&self, declared: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut expected = declared.clone();
        expected.extend(self.settings.clone());
        expected.retain(|_, value| !value.is_empty());
        expected
    }
}
