//! A pinned oracle as an arm.

use std::time::Instant;

use oracles::checkpoint::Checkpoint;
use oracles::launch::{LaunchSettings, launch};
use oracles::provision::{self, Provisioned};
use oracles::registry::{OracleSpec, Protocol};
use oracles::verbs::Oracle;
use serde_json::{Value, json};

use super::{ArmError, Ground, Held, Launch, Running, target};
use crate::load::request::Dialect;
use crate::spec::PrefixCache;

/// The oracle, verified; what it speaks.
pub(super) fn provisioned(
    arm: &Launch,
    ground: &Ground<'_>,
) -> Result<(Provisioned, Option<Protocol>), ArmError> {
    let spec = OracleSpec::load(ground.home, &arm.engine).map_err(|error| arm.failed(error))?;
    let protocol = spec.declared.launch.as_ref().map(|launch| launch.protocol);
    let found = provision::provisioned(ground.home, &spec, ground.progress);
    let absent = || ArmError::NotProvisioned { engine: arm.engine.clone() };
    let oracle = found.map_err(|error| arm.failed(error))?.ok_or_else(absent)?;
    Ok((oracle, protocol))
}

pub(super) fn start(
    arm: &Launch,
    ground: &Ground<'_>,
    checkpoint: &Checkpoint,
) -> Result<Running, ArmError> {
    let (oracle, protocol) = provisioned(arm, ground)?;
    let settings = LaunchSettings {
        threads: arm.threads,
        context: arm.context,
        sequences: arm.sequences,
        arguments: arm.arguments.clone(),
        ..LaunchSettings::default()
    };
    let started = Instant::now();
    let server = launch(ground.home, &oracle, checkpoint, &settings, ground.progress)
        .map_err(|error| arm.failed(error))?;
    let address =
        server.address().ok_or_else(|| ArmError::NoAddress { engine: arm.engine.clone() })?;
    let mut target = match protocol {
        Some(Protocol::LlamaServer) => target(address, Dialect::LlamaServer, None),
        _ => target(address, Dialect::Completions, Some(oracles::launch::MODEL)),
    };
    target.extra = counted(protocol);
    let keeps_prefixes = server
        .identity()
        .settings
        .get("enable_prefix_caching")
        .and_then(|setting| setting.parse().ok());
    // llama-server is told with every request, and does as it is told.
    let prefix_cache = match (protocol, arm.prefix_cache) {
        (Some(Protocol::LlamaServer), PrefixCache::Off) => {
            target.extra.insert("cache_prompt".to_owned(), json!(false));
            Some(false)
        }
        _ => keeps_prefixes,
    };
    Ok(Running {
        target,
        prefix_cache,
        // Strings, lists and maps of strings: this cannot fail.
        identity: serde_json::to_value(server.identity()).unwrap_or_default(),
        checkpoint_sha256: checkpoint.sha256.clone(),
        process: server.process_id(),
        ready_ms: started.elapsed().as_millis() as u64,
        _server: Held::Oracle(Box::new(server)),
    })
}

/// What makes a server of OpenAI's interface tell with each event how many tokens it carries, however it cuts the text.
fn counted(protocol: Option<Protocol>) -> serde_json::Map<String, Value> {
    let keys = match protocol {
        Some(Protocol::Vllm) => json!({"return_token_ids": true}),
        // It returns no ids there, and counts as it goes when asked to.
        Some(Protocol::Sglang) => {
            json!({"stream_options": {"include_usage": true, "continuous_usage_stats": true}})
        }
        _ => json!({}),
    };
    keys.as_object().cloned().unwrap_or_default()
}
