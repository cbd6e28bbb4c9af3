//! A CMake build with Ninja in the environment of the registry file and no other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ProvisionError;
use super::step::Step;
use super::tools::Tools;
use crate::Progress;
use crate::registry::Build;

/// What is built, from where, into where.
pub(super) struct Plan<'a> {
    pub(super) name: &'a str,
    pub(super) spec: &'a Build,
    pub(super) source: &'a Path,
    pub(super) dir: &'a Path,
    pub(super) log: &'a Path,
    pub(super) tools: &'a Tools,
    pub(super) progress: Progress,
}

/// Configures and builds; the tools' own names for themselves.
pub(super) fn build(plan: &Plan<'_>) -> Result<BTreeMap<String, String>, ProvisionError> {
    let mut configure = plan.command(&plan.tools.cmake);
    configure.arg("-S").arg(plan.source).arg("-B").arg(plan.dir).args(["-G", "Ninja"]);
    configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", plan.tools.ninja.display()));
    for (key, value) in &plan.spec.definitions {
        configure.arg(format!("-D{key}={value}"));
    }
    plan.run("configuring", configure)?;
    let mut ninja = plan.command(&plan.tools.ninja);
    ninja.arg("-C").arg(plan.dir).args(&plan.spec.targets);
    plan.run("building", ninja)?;
    Ok(plan.identities())
}

impl Plan<'_> {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.spec.environment);
        command
    }

    /// Runs one step; its `[n/m]` is the progress.
    fn run(&self, step: &str, command: Command) -> Result<(), ProvisionError> {
        let label = format!("{step} {}", self.name);
        let step = Step { label: &label, log: self.log, progress: self.progress };
        step.run(command, |line, stage| {
            if let Some((done, total)) = ninja_status(line) {
                stage.set_total(total);
                stage.set(done);
            }
        })
    }

    /// The version of everything that decided the bits, as it says it itself.
    fn identities(&self) -> BTreeMap<String, String> {
        let cache = fs::read_to_string(self.dir.join("CMakeCache.txt")).unwrap_or_default();
        let mut programs =
            vec![("cmake", self.tools.cmake.clone()), ("ninja", self.tools.ninja.clone())];
        for (name, key) in [
            ("cc", "CMAKE_C_COMPILER"),
            ("cxx", "CMAKE_CXX_COMPILER"),
            ("nvcc", "CMAKE_CUDA_COMPILER"),
        ] {
            if let Some(path) = cache_entry(&cache, key) {
                programs.push((name, PathBuf::from(path)));
            }
        }
        let version = |program: &Path| {
            let output = self.command(program).arg("--version").output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            // nvcc names itself first and its release further down.
            let release = text.lines().find(|line| line.contains(" release "));
            release.or_else(|| text.lines().next()).map(str::to_owned)
        };
        programs
            .into_iter()
            .filter_map(|(name, path)| Some((name.to_owned(), version(&path)?)))
            .collect()
    }
}

/// `[12/345] Building ...` as (12, 345).
fn ninja_status(line: &str) -> Option<(u64, u64)> {
    let (done, total) = line.strip_prefix('[')?.split_once(']')?.0.split_once('/')?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

/// The value of `KEY:TYPE=VALUE`.
fn cache_entry<'a>(cache: &'a str, key: &str) -> Option<&'a str> {
    cache.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.split_once(':')?.0 == key).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ninja_and_cmake() {
        assert_eq!(ninja_status("[12/345] Building CXX object a.o"), Some((12, 345)));
        assert_eq!(ninja_status("-- Found OpenMP"), None);
        assert_eq!(ninja_status("[x/y] z"), None);
        let cache =
            "# c\nCMAKE_C_COMPILER_AR:FILEPATH=/ar\nCMAKE_C_COMPILER:FILEPATH=/usr/bin/cc\n";
        assert_eq!(cache_entry(cache, "CMAKE_C_COMPILER"), Some("/usr/bin/cc"));
        assert_eq!(cache_entry(cache, "CMAKE_CXX_COMPILER"), None);
    }
}
