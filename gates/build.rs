//! Embeds the digest of the judge's own sources, so that `gate` knows whether it was built from the tree it judges.

use std::path::PathBuf;

fn main() {
    // As it is run and not as it was compiled: clones that share a target folder share the compiled script.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
    let root = here.join("..");
    match records::harness_digest(&root) {
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
