//! Running an image: the command line of the engine, and that no container outlives us.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use super::LaunchError;
use super::start::Start;
use crate::provision::{EngineClient, find_engine, image_reference};
use crate::registry::{Container, Device, Engine};

/// A container that is removed when this is dropped, whatever became of the engine's client.
#[derive(Debug)]
pub(super) struct Running {
    client: EngineClient,
    name: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.client.remove(&self.name);
    }
}

/// The engine's command line up to the program's own arguments, and the container it starts. The engine must have the
/// pinned image: nothing is pulled here.
pub(super) fn program(
    start: &Start<'_>,
    container: &Container,
    environment: &BTreeMap<String, String>,
) -> Result<(Command, Running), LaunchError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let client = find_engine(container)?;
    let package = &start.oracle.spec.declared.package;
    client.inspect(package)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("plumbline-{}-{}-{count}", start.name(), std::process::id());
    let mut command = Command::new(client.program());
    let image = image_reference(package);
    let device = start.oracle.spec.declared.device;
    command.args(arguments(client.engine, device, &name, &start.checkpoint.path, environment));
    command.args(["--entrypoint", &container.interpreter, &image]);
    Ok((command, Running { client, name }))
}

/// `run` with its options: the checkpoint at its own path and read only, the network of the host (the server listens on
/// the loopback address alone), the whole environment, the GPUs where they are wanted.
fn arguments(
    engine: Engine,
    device: Device,
    name: &str,
    checkpoint: &Path,
    environment: &BTreeMap<String, String>,
) -> Vec<String> {
    let checkpoint = checkpoint.display();
    let mut arguments: Vec<String> =
        ["run", "--rm", "--pull=never", "--network=host", "--ipc=host"].map(str::to_owned).to_vec();
    arguments.extend(["--name".to_owned(), name.to_owned()]);
    arguments.extend(["--volume".to_owned(), format!("{checkpoint}:{checkpoint}:ro")]);
    match (device, engine) {
        (Device::Cpu, _) => {}
        (Device::Cuda, Engine::Docker) => arguments.extend(["--gpus".to_owned(), "all".to_owned()]),
        (Device::Cuda, Engine::Podman) => {
            arguments.extend(["--device".to_owned(), "nvidia.com/gpu=all".to_owned()]);
        }
    }
    for (key, value) in environment {
        arguments.extend(["--env".to_owned(), format!("{key}={value}")]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(engine: Engine, device: Device) -> String {
        let environment = BTreeMap::from([("A".to_owned(), "b c".to_owned())]);
        arguments(engine, device, "n", Path::new("/m"), &environment).join(" ")
    }

    #[test]
    fn command_lines() {
        let common = "run --rm --pull=never --network=host --ipc=host --name n --volume /m:/m:ro";
        assert_eq!(line(Engine::Docker, Device::Cpu), format!("{common} --env A=b c"));
        assert_eq!(line(Engine::Docker, Device::Cuda), format!("{common} --gpus all --env A=b c"));
        let podman = format!("{common} --device nvidia.com/gpu=all --env A=b c");
        assert_eq!(line(Engine::Podman, Device::Cuda), podman);
    }
}
