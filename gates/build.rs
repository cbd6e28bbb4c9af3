//! Embeds the digest of the judge's own sources, so that `gate` knows whether it was built from the tree it judges.

use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match records::harness_digest(&root) {
        Ok(digest) => println!("cargo:rustc-env=GATE_HARNESS_SHA256={digest}"),
        Err(error) => println!("cargo:warning=no harness digest: {error}"),
    }
    for path in ["Cargo.lock", "Cargo.toml", "gates/build.rs"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    for name in ["gates", "oracles", "records"] {
        for part in ["src", "Cargo.toml"] {
            println!("cargo:rerun-if-changed={}", root.join(name).join(part).display());
        }
    }
}
