//! The files of the workspace, as git sees them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root and the files below it that are tracked, or would be.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The folder with the top `Cargo.toml`.
    pub root: PathBuf,
    /// Paths relative to it, with `/`, sorted.
    pub files: Vec<String>,
}

impl Workspace {
    /// Asks git for the files below `root`; the error is a sentence.
    pub fn open(root: &Path) -> Result<Self, String> {
        let listed = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        let mut files: Vec<String> = listed
            .split('\0')
            .filter(|path| !path.is_empty() && root.join(path).is_file())
            .map(str::to_owned)
            .collect();
        files.sort_unstable();
        files.dedup();
        Ok(Self { root: root.to_owned(), files })
    }

    /// The workspace that this program was built from.
    pub fn ours() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        Self::open(&root)
    }

    /// The text of a file; what is not UTF-8 reads as empty.
    pub fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    /// The files whose names end so.
    pub fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a String> {
        self.files.iter().filter(move |path| path.ends_with(end))
    }
}

/// What git prints, or why it could not.
pub fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .map_err(|error| format!("git does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {}: {}", arguments.join(" "), said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
