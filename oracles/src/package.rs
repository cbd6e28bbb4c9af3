//! Archives of a package index, fetched by the index's ordinary client as a child process, so
//! that the user's own configuration (mirror, proxy, certificates) holds and none is written here.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::digest::sha256_file;
use crate::place::{self, Lock, PlaceError};
use crate::spec::{self, SpecError};
use crate::{Home, Progress, logs};

/// A pinned archive of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Package {
    /// Which index.
    pub index: Index,
    /// The distribution's name.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// The archive's file name; of an image the tag that it was published under.
    #[serde(default)]
    pub archive: String,
    /// sha256 of the archive; of an image its digest. Empty where nothing can be pinned.
    #[serde(default)]
    pub archive_sha256: String,
}

/// A package index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Index {
    /// The Python package index, as the user's pip is configured to reach it.
    Pypi,
    /// A registry of container images, as the user's container engine is configured to reach it.
    Oci,
    /// Nowhere: it is not ours to install.
    None,
}

/// An archive could not be fetched, or is not the pinned one.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The client cannot be started.
    #[error("cannot run {program} -m pip: install Python 3 with pip")]
    NoClient {
        /// The interpreter.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The client failed.
    #[error("pip could not download {package}: {status}; the end of {log}:\n{tail}", log = .log.display())]
    Client {
        /// `name==version`.
        package: String,
        /// How it ended.
        status: String,
        /// Its whole output.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// The client brought something else.
    #[error("pip brought no {archive} for {package}: it brought {found}")]
    Archive {
        /// `name==version`.
        package: String,
        /// The file that was expected.
        archive: String,
        /// The files that came.
        found: String,
    },
    /// The archive is not the pinned one.
    #[error("{archive} of {package}: expected sha256 {expected}, found {found}; set aside as {aside}", aside = .aside.display())]
    Hash {
        /// `name==version`.
        package: String,
        /// The archive.
        archive: String,
        /// The pin.
        expected: String,
        /// The digest of what came.
        found: String,
        /// Where the wrong bytes are kept for a look.
        aside: PathBuf,
    },
    /// The file system refused.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

impl Package {
    /// Refuses values that cannot be a package of the index, so that none is read as an option
    /// of the client.
    pub(crate) fn check(&self, path: &Path, table: &str) -> Result<(), SpecError> {
        let mut words = vec![("name", &self.name), ("version", &self.version)];
        if self.index == Index::None {
            if !(self.archive.is_empty() && self.archive_sha256.is_empty()) {
                let key = format!("{table}.archive");
                return Err(SpecError::value(path, &key, "no archive with index none", "one"));
            }
        } else {
            let key = format!("{table}.archive-sha256");
            spec::check_sha256(path, &key, &self.archive_sha256)?;
            words.push(("archive", &self.archive));
        }
        // The repository of an image is a path.
        let plain = |text: &str| match self.index {
            Index::Oci => text.split('/').all(spec::is_plain),
            Index::Pypi | Index::None => spec::is_plain(text),
        };
        match words.into_iter().find(|(_, value)| !plain(value)) {
            Some((key, value)) => Err(SpecError::value(
                path,
                &format!("{table}.{key}"),
                "letters, digits and . _ - + only",
                &format!("{value:?}"),
            )),
            None => Ok(()),
        }
    }

    /// `name==version`, the exact requirement.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }

    /// The verified archive in the cache, downloaded when it is not there.
    pub(crate) fn fetch(&self, home: &Home, progress: Progress) -> Result<PathBuf, PackageError> {
        let path = home.cache.join("packages").join(&self.archive);
        let _lock = Lock::acquire(&path, progress)?;
        if path.is_file() {
            self.verify(&path)?;
            return Ok(path);
        }
        let work = home.cache.join("packages").join(format!(".download-{}", self.archive));
        place::remove(&work)?;
        place::create_dir(&work)?;
        self.download(home, &work, progress)?;
        let brought = work.join(&self.archive);
        if !brought.is_file() {
            return Err(PackageError::Archive {
                package: self.requirement(),
                archive: self.archive.clone(),
                found: files_of(&work),
            });
        }
        // Renamed out of the work folder first, so that wrong bytes are set aside where they stay.
        let unchecked = path.with_file_name(format!("{}.unchecked", self.archive));
        place::rename(&brought, &unchecked)?;
        place::remove(&work)?;
        self.verify(&unchecked)?;
        place::rename(&unchecked, &path)?;
        Ok(path)
    }

    fn verify(&self, path: &Path) -> Result<(), PackageError> {
        let (found, _) = sha256_file(path).map_err(|e| PlaceError::new("read", path, e))?;
        if found == self.archive_sha256 {
            return Ok(());
        }
        Err(PackageError::Hash {
            package: self.requirement(),
            archive: self.archive.clone(),
            expected: self.archive_sha256.clone(),
            found,
            aside: place::set_aside(path)?,
        })
    }

    fn download(&self, home: &Home, into: &Path, progress: Progress) -> Result<(), PackageError> {
        let program = "python3";
        let log = logs::create(home, &format!("pip-{}", self.name))?;
        let output = File::create(&log).map_err(|e| PlaceError::new("write", &log, e))?;
        let errors = output.try_clone().map_err(|e| PlaceError::new("write", &log, e))?;
        let mut command = Command::new(program);
        command.args(["-m", "pip", "download", "--no-deps", "--no-input"]);
        command.args(["--disable-pip-version-check", "--progress-bar", "off"]);
        // A source archive is asked for by name: `:all:` would build its build tools as well.
        if Path::new(&self.archive).extension().is_some_and(|extension| extension == "whl") {
            command.args(["--only-binary", ":all:"]);
        } else {
            command.args(["--no-binary", &self.name]);
        }
        command.arg("--dest").arg(into).arg(self.requirement());
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let _stage = progress.steps(&format!("pip download {}", self.requirement()), None);
        let status = command
            .status()
            .map_err(|source| PackageError::NoClient { program: program.to_owned(), source })?;
        if status.success() {
            return Ok(());
        }
        Err(PackageError::Client {
            package: self.requirement(),
            status: status.to_string(),
            tail: logs::tail(&log),
            log,
        })
    }
}

fn files_of(dir: &Path) -> String {
    let names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
