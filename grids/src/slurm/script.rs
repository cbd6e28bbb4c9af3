//! What an allocation runs.

use std::path::Path;

/// What a job array is made of.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Where it runs.
    pub partition: &'a str,
    /// The name in the queue.
    pub name: &'a str,
    /// How many allocations.
    pub allocations: u32,
    /// The folder of the logs, one an allocation.
    pub logs: &'a Path,
    /// This program.
    pub program: &'a Path,
    /// Its arguments, all but the share.
    pub arguments: &'a [String],
}

impl Job<'_> {
    /// The flags of `sbatch`; the script comes by standard input. A node is taken whole, because whoever else computes on it is
    /// measured with us, and an allocation whose node dies is not queued again: its cells are the next command's.
    pub fn flags(&self) -> Vec<String> {
        vec![
            "--parsable".to_owned(),
            format!("--partition={}", self.partition),
            format!("--job-name={}", self.name),
            format!("--array=0-{}", self.allocations.saturating_sub(1)),
            "--exclusive".to_owned(),
            "--no-requeue".to_owned(),
            // One process with all of the node's processors: the servers choose their threads themselves.
            "--nodes=1".to_owned(),
            "--ntasks=1".to_owned(),
            "--export=NONE".to_owned(),
            format!("--output={}", self.logs.join("%a.log").display()),
        ]
    }

    /// The script. Every word is quoted, so that no name can become a command.
    pub fn script(&self) -> String {
        let words = std::iter::once(self.program.display().to_string())
            .chain(self.arguments.iter().cloned());
        let quoted: Vec<String> = words.map(|word| quoted(&word)).collect();
        format!(
            "#!/bin/sh\nexec {} --share \"$SLURM_ARRAY_TASK_ID/{}\"\n",
            quoted.join(" "),
            self.allocations
        )
    }
}

/// A word of sh(1), taken literally.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_an_allocation() {
        let arguments = ["sweep", "it's", "--series", "/shared/a b"].map(str::to_owned);
        let job = Job {
            partition: "gpu",
            name: "grid-it",
            allocations: 2,
            logs: Path::new("/shared/a b/slurm"),
            program: Path::new("/opt/grid"),
            arguments: &arguments,
        };
        assert_eq!(
            job.script(),
            "#!/bin/sh\nexec '/opt/grid' 'sweep' 'it'\\''s' '--series' '/shared/a b' --share \"$SLURM_ARRAY_TASK_ID/2\"\n"
        );
        assert!(job.flags().contains(&"--array=0-1".to_owned()));
        assert!(job.flags().contains(&"--output=/shared/a b/slurm/%a.log".to_owned()));
    }
}
