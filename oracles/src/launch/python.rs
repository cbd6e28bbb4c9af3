//! A Python program on an installed tree.

use std::collections::BTreeMap;
use std::process::Command;

use super::LaunchError;
use super::start::Start;
use crate::place;
use crate::provision::Python;
use crate::registry::Venv;

/// What runs, and how it is told apart from another.
pub(super) struct Program {
    /// The interpreter with its options and environment; the program follows.
    pub(super) command: Command,
    /// The interpreter.
    pub(super) python: Python,
}

/// The interpreter on the tree alone: nothing of the user's, of the current folder or, unless the oracle takes
/// distributions from it, of the interpreter's own.
pub(super) fn program(
    start: &Start<'_>,
    venv: &Venv,
    environment: &BTreeMap<String, String>,
) -> Result<Program, LaunchError> {
    let python = Python::find(&venv.python)?;
    let mut command = Command::new(&python.path);
    // -B: the tree stays as its manifest lists it.
    command.args(["-s", "-P", "-B"]);
    if venv.host.is_empty() {
        command.arg("-S");
    }
    check_host(start, venv, &python)?;
    let site = start.oracle.site_dir().display().to_string();
    let folder = start.oracle.dir.file_name().unwrap_or_default();
    let state = start.home.cache.join("state").join(folder);
    place::create_dir(&state)?;
    let state = state.display().to_string();
    let expanded = |value: &String| value.replace("{site}", &site).replace("{state}", &state);
    command.env_clear().envs(environment.iter().map(|(key, value)| (key, expanded(value))));
    command.env("PYTHONPATH", &site);
    Ok(Program { command, python })
}

/// The distributions that the interpreter must bring have the declared versions; a local label, `+cu130`, may follow.
fn check_host(start: &Start<'_>, venv: &Venv, python: &Python) -> Result<(), LaunchError> {
    for (name, expected) in &venv.host {
        let found = python.distribution(name);
        let found = found.as_deref().unwrap_or("nothing");
        let public = found.split('+').next().unwrap_or(found);
        if found != expected && public != expected {
            start.expect(&python.path, &format!("{name} of the interpreter"), expected, found)?;
        }
    }
    Ok(())
}
