//! Evidence that is too large for git.

use std::fs;

use records::store::EXTERNAL_BYTES;
use records::{External, Store, StoreError};

use super::record;

#[test]
fn large_evidence_lies_outside_and_its_absence_is_told() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = outside.path().join("evidence");
    let store = Store::open(inside.path()).unwrap().with_external(External::folder(&folder));
    let (small, large) = (vec![b's'; EXTERNAL_BYTES], vec![b'l'; EXTERNAL_BYTES + 1]);
    let mut draft = store.begin("g").unwrap();
    let small_entry = draft.evidence("small.txt", &small).unwrap();
    let large_entry = draft.evidence("samples.parquet", &large).unwrap();
    assert_eq!((small_entry.external, large_entry.external), (false, true));
    let path = draft.commit(record("g")).unwrap();

    assert_eq!(store.evidence_file(&large_entry), folder.join(&large_entry.sha256));
    assert!(!inside.path().join(&large_entry.path).exists());
    assert_eq!(store.evidence(&large_entry).unwrap(), large);
    assert_eq!(store.evidence(&small_entry).unwrap(), small);
    assert!(store.verify().unwrap().is_empty());
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"external\": true").count(), 1);
    assert_eq!(text.matches("external").count(), 1, "what lies inside is written as ever");

    // A flipped byte outside is named as one inside is.
    let mut flipped = large.clone();
    flipped[7] ^= 1;
    fs::write(store.evidence_file(&large_entry), &flipped).unwrap();
    let audit = store.audit().unwrap();
    assert!(
        matches!(&audit.defects[..], [StoreError::Changed { expected, .. }] if *expected == large_entry.sha256)
    );

    fs::remove_file(store.evidence_file(&large_entry)).unwrap();
    let audit = store.audit().unwrap();
    assert!(audit.defects.is_empty());
    let [absent] = &audit.absent[..] else { panic!("{audit:?}") };
    for part in
        ["samples.parquet", &large_entry.sha256, folder.to_str().unwrap(), path.to_str().unwrap()]
    {
        assert!(absent.to_string().contains(part), "{absent}");
    }
    assert_eq!(audit.records.len(), 1, "the record itself is whole");
    assert!(matches!(store.evidence(&large_entry), Err(StoreError::Absent { .. })));
}

#[test]
fn without_a_place_outside_everything_is_kept_inside() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut draft = store.begin("g").unwrap();
    let entry = draft.evidence("samples.parquet", &vec![0; EXTERNAL_BYTES + 1]).unwrap();
    assert!(!entry.external);
    draft.commit(record("g")).unwrap();
    assert!(dir.path().join(&entry.path).exists());
}
