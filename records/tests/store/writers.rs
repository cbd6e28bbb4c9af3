//! Writers in several processes, and what one leaves that is killed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use records::{Record, Store, StoreError};

use super::{names, record};

/// How many processes write, and how much each.
const PROCESSES: u64 = 6;
const RUNS: u64 = 25;

/// Starts this test program again as a process that does only `test`, and tells it the folder and its number.
fn child(test: &str, dir: &Path, number: u64) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdin = child.stdin.as_mut().unwrap();
    writeln!(stdin, "{number} {}", dir.display()).unwrap();
    child
}

/// What [`child`] told.
fn told() -> (u64, Store) {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let (number, dir) = line.trim_end().split_once(' ').unwrap();
    (number.parse().unwrap(), Store::open(dir).unwrap())
}

#[test]
#[ignore = "the process of another test"]
fn writes() {
    let (number, store) = told();
    for run in 0..RUNS {
        let mut draft = store.begin("g").unwrap();
        draft.evidence("same.txt", b"the same bytes from everyone").unwrap();
        draft.evidence("own.txt", number.to_string().as_bytes()).unwrap();
        draft.commit(Record { duration_ms: number * RUNS + run, ..record("g") }).unwrap();
    }
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let children: Vec<Child> =
        (0..PROCESSES).map(|n| child("writers::writes", dir.path(), n)).collect();
    let store = Store::open(dir.path()).unwrap();
    for mut child in children {
        // A reader meanwhile sees whole records, and takes no draft of a living writer for one that was left.
        let audit = store.audit().unwrap();
        assert!(audit.defects.is_empty() && audit.leftovers.is_empty(), "{audit:?}");
        assert!(child.wait().unwrap().success());
    }
    let mut seen: Vec<u64> = store.read_all().unwrap().iter().map(|r| r.duration_ms).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..PROCESSES * RUNS).collect::<Vec<_>>());
    let files = PROCESSES * RUNS + 1 + PROCESSES;
    assert_eq!(names(dir.path()).len() as u64, files, "no draft is left");
    assert!(store.verify().unwrap().is_empty());
}

#[test]
#[ignore = "the process of another test"]
fn begins_and_waits() {
    let (_, store) = told();
    let mut draft = store.begin("g").unwrap();
    draft.evidence("half.bin", &[0, 159, 146, 150]).unwrap();
    println!("\nbegun");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    drop(draft);
}

/// Lets files look as old as a draft must be before it counts as left.
fn age(dir: &Path) {
    let then = SystemTime::now() - Duration::from_mins(1);
    for folder in ["runs", "evidence"] {
        for entry in fs::read_dir(dir.join(folder)).unwrap() {
            let file = fs::File::options().append(true).open(entry.unwrap().path()).unwrap();
            file.set_modified(then).unwrap();
        }
    }
}

#[test]
fn a_draft_is_left_by_a_process_that_was_killed_and_by_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut writer = child("writers::begins_and_waits", dir.path(), 0);
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "begun"));
    age(dir.path());
    assert_eq!(store.leftovers().unwrap(), [], "its writer lives");

    writer.kill().unwrap();
    writer.wait().unwrap();
    let left = store.leftovers().unwrap();
    let notes: Vec<&str> = left.iter().map(|left| left.note.as_str()).collect();
    assert_eq!(notes.len(), 2, "{left:?}");
    assert_eq!(notes[0], "4 bytes");
    assert!(notes[1].starts_with("g since "), "{left:?}");
    assert!(store.read_all().unwrap().is_empty());

    let moved = store.set_aside().unwrap();
    assert_eq!(moved.len(), 2);
    for file in &moved {
        assert!(!file.from.exists() && file.to.exists(), "{file:?}");
        assert_eq!(file.to.parent().unwrap(), dir.path().join("torn"));
    }
    assert_eq!(fs::read(&moved[0].to).unwrap(), [0, 159, 146, 150]);
    assert!(store.verify().unwrap().is_empty());
    assert_eq!(store.set_aside().unwrap(), []);
}

#[test]
fn a_torn_record_is_named_and_set_aside_and_an_edited_one_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let commit = |run| {
        let record = Record { duration_ms: run, ..record("g") };
        store.begin("g").unwrap().commit(record).unwrap()
    };
    let (whole, torn, edited) = (commit(1), commit(2), commit(3));
    let half = fs::read_to_string(&torn).unwrap()[..300].to_owned();
    fs::write(&torn, &half).unwrap();
    let text = fs::read_to_string(&edited).unwrap();
    fs::write(&edited, text.replace("24/24", "23/24")).unwrap();

    let audit = store.audit().unwrap();
    assert_eq!(audit.records.len(), 1);
    assert_eq!(audit.defects.len(), 2);
    let is_of =
        |path: &Path| audit.defects.iter().any(|d| d.to_string().contains(path.to_str().unwrap()));
    assert!(is_of(&torn) && is_of(&edited));

    // A file of that name that lies there already is not overwritten.
    fs::create_dir(dir.path().join("torn")).unwrap();
    fs::write(dir.path().join("torn").join(torn.file_name().unwrap()), "older").unwrap();
    let moved = store.set_aside().unwrap();
    let [file] = &moved[..] else { panic!("{moved:?}") };
    assert_eq!(file.from, torn);
    assert!(file.to.to_str().unwrap().ends_with(".json.2"));
    assert_eq!(fs::read_to_string(&file.to).unwrap(), half);
    assert!(whole.exists() && edited.exists());
    let defects = store.verify().unwrap();
    assert!(matches!(&defects[..], [StoreError::Changed { path, .. }] if *path == edited));
}
