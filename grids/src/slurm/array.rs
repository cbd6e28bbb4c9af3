//! A job array: submitted, waited for, cancelled. Thin: what is run and what the answers mean is decided elsewhere.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::queue::{self, States};
use super::script::Job;

/// An array in the queue.
#[derive(Debug)]
pub struct Array {
    /// Slurm's id of it.
    pub id: String,
}

/// The scheduler cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// A command cannot be run.
    #[error("cannot run {command}: is Slurm installed?")]
    Run {
        /// Which.
        command: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A command says no.
    #[error("{command} ended with {status}: {said}")]
    Refused {
        /// Which.
        command: &'static str,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// What it wrote to standard error.
        said: String,
    },
    /// An answer is not what it should be.
    #[error("{command} said {said:?}, expected {expected}")]
    Answer {
        /// Which.
        command: &'static str,
        /// What it said.
        said: String,
        /// What it should have said.
        expected: &'static str,
    },
}

impl Array {
    /// Submits it.
    pub fn submit(job: &Job<'_>) -> Result<Self, SlurmError> {
        let said = run("sbatch", &job.flags(), Some(&job.script()))?;
        // JOBID, or JOBID;CLUSTER.
        let id = said.trim().split(';').next().unwrap_or_default();
        if id.is_empty() || !id.bytes().all(|b| b.is_ascii_digit()) {
            let expected = "the number of the job";
            return Err(SlurmError::Answer { command: "sbatch", said, expected });
        }
        Ok(Self { id: id.to_owned() })
    }

    /// How its elements are. Slurm forgets those that ended some minutes ago: they are missing ([`super::Watch`]).
    pub fn states(&self) -> Result<States, SlurmError> {
        let flags = ["--noheader", "--states=all", "--format=%K|%T|%r", "--job", &self.id];
        let flags = flags.map(str::to_owned);
        match run("squeue", &flags, None) {
            Ok(said) => queue::parse(&said).map_err(|line| SlurmError::Answer {
                command: "squeue",
                said: line,
                expected: "INDEX|STATE|REASON",
            }),
            // All of it is forgotten.
            Err(SlurmError::Refused { said, .. }) if said.contains("Invalid job id") => {
                Ok(States::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Takes it out of the queue and ends what runs.
    pub fn cancel(&self) -> Result<(), SlurmError> {
        run("scancel", std::slice::from_ref(&self.id), None).map(drop)
    }
}

/// Runs it in a process group of its own: Ctrl-C is for us, and the question has to be answered all the same.
fn run(command: &'static str, flags: &[String], input: Option<&str>) -> Result<String, SlurmError> {
    let failed = |source| SlurmError::Run { command, source };
    let mut child = Command::new(command)
        .args(flags)
        .process_group(0)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(text.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(SlurmError::Refused { command, status: output.status, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The question's process leads its own group, so that the terminal's signal does not reach it: fields 1 and 5 of its own stat are
    /// its id and its group.
    #[test]
    fn a_question_is_in_a_group_of_its_own() {
        let said = run("cat", &["/proc/self/stat".to_owned()], None).unwrap();
        let fields: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(fields[0], fields[4], "{said}");
    }
}
