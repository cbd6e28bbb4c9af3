//! Who a driver says it is, compared with what was pinned and asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::Said;
use crate::launch::LaunchError;
use crate::launch::start::Start;
use crate::launch::variant::Words;
use crate::logs;
use crate::process::{Group, POLL};
use crate::provision::Python;
use crate::registry::LaunchSpec;
use crate::verbs::{Identity, VerbError};

/// What was started, to be compared with what it says.
pub(super) struct Question<'a> {
    pub(super) start: &'a Start<'a>,
    pub(super) launch: &'a LaunchSpec,
    pub(super) variant: &'a Words,
    pub(super) python: &'a Python,
    pub(super) script_sha256: &'a str,
    pub(super) flags: &'a [String],
    pub(super) log: &'a Path,
}

impl Question<'_> {
    /// The identity, when every value is the one that was asked for.
    pub(super) fn check(&self, said: Said) -> Result<Identity, LaunchError> {
        let settings = self.start.settings;
        let package = &self.start.oracle.spec.declared.package;
        let asked = [
            ("n_threads", settings.threads.to_string()),
            ("n_ctx", settings.context.to_string()),
            ("dtype", settings.dtype.name().to_owned()),
        ];
        let asked = asked.iter().map(|(key, value)| (*key, value.as_str()));
        self.expect(&said.build, [(package.name.as_str(), package.version.as_str())])?;
        self.expect(&said.settings, asked)?;
        let declared = self.variant.expected(&self.launch.settings);
        for (found, pinned) in [(&said.build, &self.launch.build), (&said.settings, &declared)] {
            self.expect(found, pinned.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
        }
        let features = said.settings.get("cpu_capability").map_or("nothing", String::as_str);
        self.start.expect(
            self.log,
            "CPU features",
            &self.launch.cpu_features.join(" "),
            features,
        )?;
        self.identity(said)
    }

    fn expect<'a>(
        &self,
        found: &BTreeMap<String, String>,
        expected: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), LaunchError> {
        for (key, expected) in expected {
            match found.get(key) {
                Some(found) => self.start.expect(self.log, key, expected, found)?,
                None => return Err(self.start.silent(key, self.log)),
            }
        }
        Ok(())
    }

    fn identity(&self, said: Said) -> Result<Identity, LaunchError> {
        let manifest = &self.start.oracle.manifest;
        let mut build = manifest.tools.clone();
        build.extend(said.build);
        build.insert("driver".to_owned(), self.launch.executable.clone());
        build.insert("driver_sha256".to_owned(), self.script_sha256.to_owned());
        build.insert("built_at".to_owned(), manifest.built_at.clone());
        let cpu_features = said.settings.get("cpu_capability").cloned().into_iter().collect();
        Ok(Identity {
            name: self.start.name().to_owned(),
            version: manifest.version.clone(),
            source_sha256: manifest.source_sha256.clone(),
            binary_sha256: self.python.sha256()?,
            build,
            flags: self.start.portable(self.flags),
            cpu_features,
            settings: said.settings,
        })
    }
}

/// Why the first line did not come: that the process ended, if it did.
pub(super) fn not_started(
    start: &Start<'_>,
    group: &mut Group,
    log: &Path,
    error: VerbError,
) -> LaunchError {
    let oracle = start.name().to_owned();
    let deadline = Instant::now() + Duration::from_secs(1);
    let broke = matches!(&error, VerbError::Transport { reason, .. } if reason == "the pipe broke");
    while broke && Instant::now() < deadline {
        if let Some(status) = group.ended().ok().flatten() {
            let (log, tail, status) = (log.to_path_buf(), logs::tail(log), status.to_string());
            return LaunchError::Died { oracle, status, log, tail };
        }
        thread::sleep(POLL);
    }
    if !matches!(error, VerbError::Transport { .. }) {
        return LaunchError::Verb(error);
    }
    LaunchError::NotReady {
        oracle,
        seconds: start.settings.ready_timeout.as_secs(),
        last: error.to_string(),
        log: log.to_path_buf(),
        tail: logs::tail(log),
    }
}
