//! Unpacking a source archive: regular files and folders, inside the target and nowhere else.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Component, Path};

use flate2::read::GzDecoder;
use tar::EntryType;

use super::ProvisionError;
use crate::Progress;
use crate::place::{self, PlaceError};

/// Unpacks the gzipped tar `archive` so that `target` appears as a whole.
pub(super) fn unpack(
    archive: &Path,
    target: &Path,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let partial = place::beside(target, ".partial");
    place::remove(&partial)?;
    place::create_dir(&partial)?;
    let unreadable = |source| ProvisionError::Archive { archive: archive.to_path_buf(), source };
    let file = File::open(archive).map_err(unreadable)?;
    entries(GzDecoder::new(BufReader::new(file)), archive, &partial, progress)?;
    place::rename(&partial, target)?;
    Ok(())
}

/// Unpacks the tar that `stream` of `archive` is into the folder `target`.
pub(super) fn entries(
    stream: impl Read,
    archive: &Path,
    target: &Path,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let unreadable = |source| ProvisionError::Archive { archive: archive.to_path_buf(), source };
    let mut tar = tar::Archive::new(stream);
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let mut stage = progress.steps(&format!("unpacking {name}"), None);
    for entry in tar.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let refuse = |reason| ProvisionError::Member {
            archive: archive.to_path_buf(),
            member: path.display().to_string(),
            reason,
        };
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(refuse("its path leaves the folder"));
        }
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Directory => {}
            EntryType::XGlobalHeader => continue,
            _ => return Err(refuse("it is neither a file nor a folder")),
        }
        let inside = entry
            .unpack_in(target)
            .map_err(|error| PlaceError::new("write", &target.join(&path), error))?;
        if !inside {
            return Err(refuse("its path leaves the folder"));
        }
        stage.advance(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};
    use tar::{Builder, Header};

    use super::*;

    /// An archive whose one member has exactly these bytes as its name.
    fn archive(dir: &Path, name: &str, kind: EntryType) -> std::path::PathBuf {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(if kind == EntryType::Regular { 2 } else { 0 });
        header.set_mode(0o644);
        if kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        let path = dir.join("archive.tar.gz");
        let gz = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        let mut tar = Builder::new(gz);
        let bytes: &[u8] = if kind == EntryType::Regular { b"hi" } else { b"" };
        tar.append(&header, bytes).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        path
    }

    #[test]
    fn a_file_is_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let archive = archive(dir.path(), "a/b.txt", EntryType::Regular);
        unpack(&archive, &dir.path().join("out"), Progress::Silent).unwrap();
        assert_eq!(std::fs::read(dir.path().join("out/a/b.txt")).unwrap(), b"hi");
    }

    #[test]
    fn what_leaves_the_folder_is_refused() {
        let cases = [
            ("../evil", EntryType::Regular),
            ("a/../../evil", EntryType::Regular),
            ("/tmp/evil", EntryType::Regular),
            ("link", EntryType::Symlink),
            ("hard", EntryType::Link),
            ("fifo", EntryType::Fifo),
        ];
        for (name, kind) in cases {
            let dir = tempfile::tempdir().unwrap();
            let archive = archive(dir.path(), name, kind);
            let target = dir.path().join("out");
            let error = unpack(&archive, &target, Progress::Silent).unwrap_err();
            assert!(matches!(error, ProvisionError::Member { .. }), "{name}: {error}");
            assert!(!target.exists() && !dir.path().join("evil").exists());
        }
    }

    #[test]
    fn a_truncated_archive_leaves_nothing_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let archive = archive(dir.path(), "a/b.txt", EntryType::Regular);
        let bytes = std::fs::read(&archive).unwrap();
        std::fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
        let target = dir.path().join("out");
        unpack(&archive, &target, Progress::Silent).unwrap_err();
        assert!(!target.exists());
    }
}
