//! Installing locked wheels: `site/`, a folder for PYTHONPATH that knows nothing of where it lies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::manifest::Manifest;
use super::step::{Step, workers};
use super::{ProvisionError, Python, globs, tools};
use crate::digest::sha256_bytes;
use crate::place;
use crate::registry::{Lock, OracleSpec, Venv};
use crate::{Home, Progress};

/// Installs into `stage` and writes the manifest. Archives that an earlier run fetched are in the cache.
pub(super) fn install(
    home: &Home,
    spec: &OracleSpec,
    (venv, lock): (&Venv, &Lock),
    work: &Path,
    progress: Progress,
) -> Result<PathBuf, ProvisionError> {
    let python = Python::find(&venv.python)?;
    let uv = tools::environment(home, &venv.tools, progress)?.join("bin/uv");
    let stage = work.join("stage");
    place::remove(&stage)?;
    let site = stage.join("site");
    place::create_dir(&site)?;
    let log = work.join("build.log");

    let label = format!("installing {} distributions of {}", lock.entries.len(), spec.name);
    let step = Step { label: &label, log: &log, progress };
    step.run(fetch(home, &uv, &python, lock, &site), |line, stage| {
        // What it says about large archives: `Downloading NAME (SIZE)`, then ` Downloaded NAME`.
        if line.contains("Download") {
            stage.say(line.trim());
        }
    })?;

    for relative in globs::chosen(&site, "venv.omit", &venv.omit)? {
        place::remove(&site.join(relative))?;
    }
    // Compiled once and listed like every other file; never again, see `launch::python`.
    let mut compile = Command::new(&python.path);
    compile.args(["-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]);
    compile.args(["-j", &workers().to_string()]).arg(&site);
    let label = format!("compiling {}", spec.name);
    match (Step { label: &label, log: &log, progress }).run(compile, |_, _| ()) {
        // Some distributions carry templates and old code that are not Python as it is today.
        Ok(()) | Err(ProvisionError::Step { .. }) => {}
        Err(error) => return Err(error),
    }
    let identities = BTreeMap::from([
        ("python".to_owned(), python.version.clone()),
        ("python_sha256".to_owned(), python.sha256()?),
        ("uv".to_owned(), venv.tools["uv"].clone()),
        ("lock_sha256".to_owned(), sha256_bytes(lock.text.as_bytes())),
    ]);
    Manifest::of_stage(spec, &stage, identities, progress)?.write(&stage)?;
    super::copy(&log, &stage.join("build.log"))?;
    Ok(stage)
}

/// uv installs what the lock says and nothing else. It reaches the index as the user has configured it.
fn fetch(home: &Home, uv: &Path, python: &Python, lock: &Lock, site: &Path) -> Command {
    let mut command = Command::new(uv);
    command.args(["pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:"]);
    // Copied, so that a changed file of one oracle is not changed in the cache and in the next one.
    command.args(["--link-mode", "copy", "--no-progress"]);
    command.arg("--cache-dir").arg(home.cache.join("uv"));
    command.arg("--python").arg(&python.path).arg("--target").arg(site);
    command.arg("--requirement").arg(&lock.path);
    command
}
