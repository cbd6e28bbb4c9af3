//! Bundles: a provisioned oracle for a machine without a network, in parts small enough to carry.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use liblzma::read::XzDecoder;
use liblzma::stream::MtStreamBuilder;
use liblzma::write::XzEncoder;
use serde::{Deserialize, Serialize};

use super::step::workers;
use super::{ProvisionError, Provisioned, folder, tree};
use crate::digest::{Hasher, sha256_file};
use crate::place::{self, Lock, PlaceError};
use crate::registry::OracleSpec;
use crate::{Home, Progress, Result};

const NAME: &str = "bundle.json";
/// Of xz: most of what a higher one gains, in a fraction of its time.
const LEVEL: u32 = 4;

/// `bundle.json`: what the parts are, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// Version of this layout.
    pub schema_version: u32,
    /// Registry name.
    pub oracle: String,
    /// The installation's folder name: name, version and the hash of the pin.
    pub installation: String,
    /// The parts of one xz-compressed tar: `cat PARTS | xz -dc | tar xf -` is the installation.
    pub parts: Vec<Part>,
}

/// One part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its file name.
    pub name: String,
    /// sha256 of its bytes.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// Packs a provisioned oracle into `into`, in parts of at most `split` bytes.
pub fn pack(
    oracle: &Provisioned,
    into: &Path,
    split: u64,
    progress: Progress,
) -> Result<Bundle, ProvisionError> {
    let installation = oracle.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = into.join(NAME);
    if path.exists() {
        let (expected, found) = ("a folder without a bundle".to_owned(), "one".to_owned());
        return Err(ProvisionError::Bundle { path, expected, found });
    }
    place::create_dir(into)?;
    let write = |error| PlaceError::new("write", into, error);
    let encoder = MtStreamBuilder::new()
        .threads(workers() as u32)
        .preset(LEVEL)
        .encoder()
        .map_err(|error| write(error.into()))?;
    let parts = Parts::new(into, &installation, split.max(1));
    let mut tar = tar::Builder::new(XzEncoder::new_stream(parts, encoder));
    // Owner, time and order say nothing about the oracle, so the same tree gives the same bytes.
    tar.mode(tar::HeaderMode::Deterministic);
    let files = tree::files_under(&oracle.dir)?;
    let mut stage = progress.steps(&format!("packing {installation}"), Some(files.len() as u64));
    for file in files {
        let name = file.strip_prefix(&oracle.dir).unwrap_or(&file);
        tar.append_path_with_name(&file, name).map_err(write)?;
        stage.advance(1);
    }
    let parts =
        tar.into_inner().and_then(XzEncoder::finish).and_then(Parts::finish).map_err(write)?;
    let bundle =
        Bundle { schema_version: 1, oracle: oracle.spec.name.clone(), installation, parts };
    let json =
        serde_json::to_vec_pretty(&bundle).map_err(|error| write(io::Error::other(error)))?;
    place::write_whole(&path, &json)?;
    Ok(bundle)
}

/// Reads `bundle.json` of `from`.
fn read(from: &Path) -> Result<Bundle, ProvisionError> {
    let path = from.join(NAME);
    let bytes = fs::read(&path).map_err(|error| PlaceError::new("read", &path, error))?;
    serde_json::from_slice(&bytes).map_err(|error| ProvisionError::Bundle {
        path,
        expected: "a bundle's manifest".to_owned(),
        found: error.to_string(),
    })
}

/// Installs the bundle in `from`: every part is verified first, then every installed file. The bundle must be of the pin
/// that this workspace declares.
pub fn unpack(home: &Home, from: &Path, progress: Progress) -> Result<Provisioned> {
    let bundle = read(from)?;
    let spec = OracleSpec::load(home, &bundle.oracle)?;
    let dir = folder(home, &spec);
    let expected = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if bundle.installation != expected {
        let (path, found) = (from.join(NAME), bundle.installation);
        return Err(ProvisionError::Bundle { path, expected, found }.into());
    }
    let _lock = Lock::acquire(&dir, progress)?;
    if let Some(provisioned) = super::provisioned(home, &spec, progress)? {
        return Ok(provisioned);
    }
    let work = place::beside(&dir, ".work");
    let stage = work.join("stage");
    place::remove(&stage)?;
    place::create_dir(&stage)?;
    extract(&bundle, from, &stage, progress)?;
    let manifest = super::Manifest::read_verified(&stage, progress)?;
    place::rename(&stage, &dir)?;
    place::remove(&work)?;
    Ok(Provisioned { spec, dir, manifest })
}

fn extract(
    bundle: &Bundle,
    from: &Path,
    stage: &Path,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let mut readers: Vec<Box<dyn Read>> = Vec::new();
    let mut checking = progress.steps("checking parts", Some(bundle.parts.len() as u64));
    for part in &bundle.parts {
        let path = from.join(&part.name);
        let read = |error| PlaceError::new("read", &path, error);
        let (found, _) = sha256_file(&path).map_err(read)?;
        if found != part.sha256 {
            let expected = format!("sha256 {}", part.sha256);
            return Err(ProvisionError::Bundle { path, expected, found });
        }
        readers.push(Box::new(BufReader::new(File::open(&path).map_err(read)?)));
        checking.advance(1);
    }
    let whole = readers
        .into_iter()
        .fold(Box::new(io::empty()) as Box<dyn Read>, |all, next| Box::new(all.chain(next)));
    super::unpack::entries(XzDecoder::new(whole), &from.join(NAME), stage, progress)
}

/// A writer over files of at most `split` bytes each.
struct Parts<'a> {
    into: &'a Path,
    stem: &'a str,
    split: u64,
    current: Option<(File, Hasher, u64)>,
    done: Vec<Part>,
}

impl<'a> Parts<'a> {
    fn new(into: &'a Path, stem: &'a str, split: u64) -> Self {
        Self { into, stem, split, current: None, done: Vec::new() }
    }

    fn path(&self) -> PathBuf {
        self.into.join(format!("{}.part{:02}", self.stem, self.done.len()))
    }

    fn close(&mut self) -> io::Result<()> {
        let path = self.path();
        if let Some((file, hasher, _)) = self.current.take() {
            file.sync_all()?;
            let (sha256, bytes) = hasher.finish();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.done.push(Part { name, sha256, bytes });
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Vec<Part>> {
        self.close()?;
        Ok(self.done)
    }
}

impl Write for Parts<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.current.as_ref().is_some_and(|(_, _, written)| *written >= self.split) {
            self.close()?;
        }
        let path = self.path();
        let (file, hasher, written) = match &mut self.current {
            Some(current) => current,
            none => none.insert((File::create(path)?, Hasher::default(), 0)),
        };
        let room = usize::try_from(self.split - *written).unwrap_or(usize::MAX).min(bytes.len());
        let count = file.write(&bytes[..room])?;
        hasher.update(&bytes[..count]);
        *written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.current.as_mut().map_or(Ok(()), |(file, _, _)| file.flush())
    }
}
