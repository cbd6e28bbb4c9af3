//! A container engine by its command line: which image it has, and how it runs it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::ProvisionError;
use super::manifest::Manifest;
use super::step::Step;
use crate::Progress;
use crate::package::Package;
use crate::place;
use crate::registry::{Container, Engine, OracleSpec};

/// An engine that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineClient {
    /// Which.
    pub engine: Engine,
}

/// The first of the wanted engines that can be started.
pub fn find_engine(container: &Container) -> Result<EngineClient, ProvisionError> {
    let clients = container.engines.iter().map(|engine| EngineClient { engine: *engine });
    clients.into_iter().find(|client| client.version().is_ok()).ok_or_else(|| {
        let wanted: Vec<&str> = container.engines.iter().map(|engine| engine.program()).collect();
        ProvisionError::NoEngine { wanted: wanted.join(", ") }
    })
}

/// `REPOSITORY@sha256:DIGEST`, which names the same bytes for ever.
pub fn image_reference(package: &Package) -> String {
    format!("{}@sha256:{}", package.name, package.archive_sha256)
}

impl EngineClient {
    /// Its executable, which PATH finds.
    pub fn program(self) -> &'static str {
        self.engine.program()
    }

    /// What it says that it is.
    pub fn version(self) -> Result<String, ProvisionError> {
        Ok(self.ask(&["--version"])?.trim().to_owned())
    }

    /// What the engine says about the pinned image, which must carry the pinned digest: its id.
    pub fn inspect(self, package: &Package) -> Result<String, ProvisionError> {
        let said = self.ask(&["image", "inspect", &image_reference(package)])?;
        let image = serde_json::from_str::<Value>(&said).ok();
        let image = image.as_ref().and_then(|list| list.get(0));
        let digests: Vec<&str> = image
            .and_then(|image| image.get("RepoDigests")?.as_array())
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let digest = format!("@sha256:{}", package.archive_sha256);
        let id = image.and_then(|image| image.get("Id")?.as_str());
        match id {
            Some(id) if digests.iter().any(|found| found.ends_with(&digest)) => Ok(id.to_owned()),
            _ => Err(ProvisionError::Image {
                engine: self.program().to_owned(),
                image: package.name.clone(),
                expected: package.archive_sha256.clone(),
                found: if digests.is_empty() { "no digest".to_owned() } else { digests.join(", ") },
            }),
        }
    }

    /// Standard output of one command of the engine.
    fn ask(self, arguments: &[&str]) -> Result<String, ProvisionError> {
        let output =
            Command::new(self.program()).args(arguments).stdin(Stdio::null()).output().map_err(
                |source| ProvisionError::Spawn { program: self.program().into(), source },
            )?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(ProvisionError::Engine {
            command: format!("{} {}", self.program(), arguments.join(" ")),
            status: output.status.to_string(),
            message: said.trim().lines().last().unwrap_or("nothing").to_owned(),
        })
    }

    /// Removes a container that may have outlived its client; that there is none is fine.
    pub(crate) fn remove(self, name: &str) {
        let _ = self.ask(&["rm", "--force", name]);
    }
}

/// Pulls the image by its digest, unless the engine has it, and notes what it is. Only here is anything pulled.
pub(super) fn install(
    spec: &OracleSpec,
    container: &Container,
    work: &Path,
    progress: Progress,
) -> Result<PathBuf, ProvisionError> {
    let client = find_engine(container)?;
    let package = &spec.declared.package;
    let log = work.join("build.log");
    if client.inspect(package).is_err() {
        let mut pull = Command::new(client.program());
        pull.args(["pull", &image_reference(package)]);
        let label = format!("pulling {}", image_reference(package));
        Step { label: &label, log: &log, progress }.run(pull, |_, _| ())?;
    }
    let identities = BTreeMap::from([
        ("image_id".to_owned(), client.inspect(package)?),
        ("engine".to_owned(), client.version()?),
    ]);
    let stage = work.join("stage");
    place::remove(&stage)?;
    place::create_dir(&stage)?;
    Manifest::of_stage(spec, &stage, identities, progress)?.write(&stage)?;
    Ok(stage)
}
