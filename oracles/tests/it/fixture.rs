//! What the tests share: a home in a temporary folder, and an installation of the stand-in.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use oracles::Home;
use oracles::checkpoint::Checkpoint;
use oracles::digest::sha256_file;
use oracles::provision::{InstalledFile, Manifest, Provisioned};
use oracles::registry::OracleSpec;
use tempfile::TempDir;

/// The workspace that these tests are part of.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// A home of its own for one test.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    pub(crate) home: Home,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("oracles/checkpoints")).unwrap();
        let home = Home { root, cache: dir.path().join("cache") };
        Self { dir, home }
    }

    /// Declares a checkpoint.
    pub(crate) fn declare(&self, name: &str, toml: &str) {
        fs::write(self.home.checkpoints_dir().join(format!("{name}.toml")), toml).unwrap();
    }

    /// Every file below the cache, as paths relative to it.
    pub(crate) fn cached(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut dirs = vec![self.home.cache.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    files.push(path.strip_prefix(&self.home.cache).unwrap().display().to_string());
                }
            }
        }
        files.sort();
        files
    }
}

/// An executable of `examples/`, which cargo builds together with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.is_file(), "{} is not built: cargo test builds examples", path.display());
    path
}

/// An installation whose server is the stand-in, with a manifest that fits.
pub(crate) fn installation(place: &Place) -> Provisioned {
    let dir = place.dir.path().join("installation");
    fs::create_dir_all(dir.join("bin")).unwrap();
    fs::create_dir_all(dir.join("source/models")).unwrap();
    fs::copy(example("stand_in_server"), dir.join("bin/llama-server")).unwrap();
    fs::write(dir.join("source/models/ggml-vocab-x.gguf"), b"GGUF").unwrap();
    let home = Home { root: workspace(), cache: place.home.cache.clone() };
    let spec = OracleSpec::load(&home, "llama-cpp").unwrap();
    let files = ["bin/llama-server", "source/models/ggml-vocab-x.gguf"].map(|path| {
        let (sha256, bytes) = sha256_file(&dir.join(path)).unwrap();
        InstalledFile { path: path.to_owned(), sha256, bytes }
    });
    let manifest = Manifest {
        schema_version: 1,
        oracle: "llama-cpp".to_owned(),
        version: spec.declared.package.version.clone(),
        source_sha256: spec.declared.package.archive_sha256.clone(),
        commit: None,
        built_at: "2026-01-01T00:00:00Z".to_owned(),
        tools: BTreeMap::from([("cc".to_owned(), "cc 1".to_owned())]),
        files: files.to_vec(),
    };
    fs::write(dir.join("manifest.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
    Provisioned { spec, dir, manifest }
}

/// A file that the stand-in takes for a model.
pub(crate) fn model(place: &Place) -> Checkpoint {
    let path = place.dir.path().join("model.gguf");
    fs::write(&path, b"GGUF").unwrap();
    Checkpoint { name: "model".to_owned(), path, sha256: String::new(), bytes: 4 }
}
