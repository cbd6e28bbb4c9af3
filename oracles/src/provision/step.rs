//! One step of a provisioning: a child in a group of its own, its output in a log, its progress on stderr.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use super::ProvisionError;
use crate::place::PlaceError;
use crate::process::Group;
use crate::progress::Stage;
use crate::{Progress, logs};

/// Where a step's output goes.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) label: &'a str,
    pub(super) log: &'a Path,
    pub(super) progress: Progress,
}

impl Step<'_> {
    /// Runs `command` to its end. Each line that it writes is appended to the log and shown to `follow`.
    pub(super) fn run(
        &self,
        mut command: Command,
        mut follow: impl FnMut(&str, &mut Stage),
    ) -> Result<(), ProvisionError> {
        let write = |error| PlaceError::new("write", self.log, error);
        let mut log = File::options().create(true).append(true).open(self.log).map_err(write)?;
        let program = PathBuf::from(command.get_program());
        let spawn = |source| ProvisionError::Spawn { program: program.clone(), source };
        let (reader, writer) = std::io::pipe().map_err(spawn)?;
        command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(spawn)?).stderr(writer);
        let mut group = Group::spawn(&mut command).map_err(spawn)?;
        // The child alone holds the writing ends now, so its end is the pipe's.
        drop(command);
        let mut stage = self.progress.steps(self.label, None);
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(line) = line else { break };
            log.write_all(&line).and_then(|()| log.write_all(b"\n")).map_err(write)?;
            follow(&String::from_utf8_lossy(&line), &mut stage);
        }
        let status = group.wait().map_err(spawn)?;
        if status.success() {
            return Ok(());
        }
        Err(ProvisionError::Step {
            step: self.label.to_owned(),
            status: status.to_string(),
            log: self.log.to_path_buf(),
            tail: logs::tail(self.log),
        })
    }
}

/// How many workers hash or compile side by side.
pub(super) fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
