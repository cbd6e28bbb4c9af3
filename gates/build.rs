//! Embeds the digest of the judge's own sources, so that `gate` knows whether it was built from the tree it judges.

use std::path::Path;

// By path, not as a dependency: the feature `query` would build polars once more, for this script.
#[path = "../records/src/harness_digest.rs"]
#[allow(unreachable_pub, reason = "it is public where it belongs")]
mod harness_digest;
#[path = "../records/src/source_digest.rs"]
#[allow(dead_code, reason = "the engine's digest is not ours to embed")]
mod source_digest;

fn main() {
    // Cargo runs it in the package's folder. A path that is compiled in would be another clone's where two share a target folder.
    match harness_digest::harness_digest(Path::new("..")) {
        Ok(digest) => println!("cargo:rustc-env=GATE_HARNESS_SHA256={digest}"),
        Err(error) => println!("cargo:warning=no harness digest: {error}"),
    }
    // Relative, because two clones may share a target folder: each is to look at its own sources.
    for path in ["../Cargo.lock", "../Cargo.toml", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    for name in ["gates", "oracles", "records"] {
        for part in ["src", "Cargo.toml"] {
            println!("cargo:rerun-if-changed=../{name}/{part}");
        }
    }
}
