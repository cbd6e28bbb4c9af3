//! Embeds what the binary was built from: the commit, and the digest of the sources that decide its bits.

#[path = "../records/src/source_digest.rs"]
mod source_digest;

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match source_digest::source_digest(&root) {
        Ok(digest) => println!("cargo:rustc-env=PLUMB_SOURCE_SHA256={digest}"),
        Err(error) => println!("cargo:warning=no source digest: {error}"),
    }
    // Relative, because two clones may share a target folder: each is to look at its own sources.
    for path in ["Cargo.lock", "Cargo.toml", "engine/src", "engine/build.rs", "engine/Cargo.toml"]
        .into_iter()
        .chain([
            "kernels/src",
            "kernels/Cargo.toml",
            "records/src/source_digest.rs",
            "records/src/dependencies.rs",
        ])
    {
        println!("cargo:rerun-if-changed=../{path}");
    }
    if let Some(commit) = git(&root, &["rev-parse", "HEAD"]) {
        println!("cargo:rustc-env=PLUMB_COMMIT={commit}");
        for name in ["HEAD", "logs/HEAD"] {
            if let Some(path) = git(&root, &["rev-parse", "--git-path", name]) {
                println!("cargo:rerun-if-changed={}", Path::new("..").join(path).display());
            }
        }
    }
}

/// What git answers, if there is a repository and a git.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !answer.trim().is_empty()).then(|| answer.trim().to_owned())
}
