//! An installation is exactly what its manifest lists.

use std::fs;

use oracles::Progress;
use oracles::provision::{Manifest, ProvisionError};

use crate::fixture::{Place, installation};

#[test]
fn every_byte_is_checked() {
    let place = Place::new();
    let oracle = installation(&place);
    assert_eq!(Manifest::read_verified(&oracle.dir, Progress::Silent).unwrap(), oracle.manifest);

    let vocabulary = oracle.vocabularies_dir().join("ggml-vocab-x.gguf");
    fs::write(&vocabulary, b"GGUG").unwrap();
    let error = Manifest::read_verified(&oracle.dir, Progress::Silent).unwrap_err();
    assert!(
        matches!(&error, ProvisionError::Changed { path, .. } if *path == vocabulary),
        "{error}"
    );

    fs::remove_file(&vocabulary).unwrap();
    let error = Manifest::read_verified(&oracle.dir, Progress::Silent).unwrap_err();
    assert!(
        matches!(&error, ProvisionError::Changed { found, .. } if found == "nothing"),
        "{error}"
    );
}

#[test]
fn a_file_too_many_is_refused() {
    let place = Place::new();
    let oracle = installation(&place);
    let library = oracle.dir.join("bin/libggml.so");
    fs::write(&library, b"").unwrap();
    let error = Manifest::read_verified(&oracle.dir, Progress::Silent).unwrap_err();
    assert!(matches!(&error, ProvisionError::Unlisted { path, .. } if *path == library), "{error}");
}

#[test]
fn a_manifest_with_an_unknown_key_is_refused() {
    let place = Place::new();
    let oracle = installation(&place);
    let path = oracle.dir.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap().replacen('{', r#"{"extra":1,"#, 1);
    fs::write(&path, text).unwrap();
    let error = Manifest::read_verified(&oracle.dir, Progress::Silent).unwrap_err();
    assert!(matches!(&error, ProvisionError::Manifest { reason, .. } if reason.contains("extra")));
}
