//! Which legs there are, in which order, and the folder that keeps them: one file a leg, written once, so that a series goes on where
//! it was stopped.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::leg::Leg;
use super::spec::NamedSpec;
use super::{ClientsError, Cores};

/// A leg to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegId {
    /// The client.
    pub client: String,
    /// Streams at any time.
    pub streams: u32,
    /// Which time, from 1.
    pub round: u32,
}

impl LegId {
    /// Its name, as in `vllm-s256-r2`: that of its folder.
    pub fn name(&self) -> String {
        format!("{}-s{}-r{}", self.client, self.streams, self.round)
    }
}

/// All legs. In each round every client runs once at each level; from round to round the order is turned by one and reversed, so that
/// no client always has the same place or the same one before it.
pub fn legs(clients: &[&str], streams: &[u32], rounds: u32) -> Vec<LegId> {
    let mut legs = Vec::new();
    for round in 0..rounds {
        let mut order = clients.to_vec();
        order.rotate_left(round as usize % clients.len().max(1));
        if round % 2 == 1 {
            order.reverse();
        }
        for &streams in streams {
            let leg =
                |client: &&str| LegId { client: (*client).to_owned(), streams, round: round + 1 };
            legs.extend(order.iter().map(leg));
        }
    }
    legs
}

/// What a folder of legs is of.
#[derive(Debug, Serialize, Deserialize)]
struct Comparison {
    spec: String,
    spec_sha256: String,
    mock_core: usize,
    client_core: usize,
}

/// A folder of legs.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Opens the folder, or begins it; one that is of another spec or other cores is refused.
    pub fn open(path: &Path, named: &NamedSpec, cores: Cores) -> Result<Self, ClientsError> {
        let file = path.join("comparison.json");
        let failed = |source| ClientsError::File { path: file.clone(), source };
        let ours = Comparison {
            spec: named.name.clone(),
            spec_sha256: named.sha256.clone(),
            mock_core: cores.mock,
            client_core: cores.client,
        };
        std::fs::create_dir_all(path.join("legs")).map_err(failed)?;
        match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => write(&file, &ours)?,
            Err(source) => return Err(failed(source)),
            Ok(text) => {
                let theirs: Comparison = serde_json::from_str(&text)
                    .map_err(|source| ClientsError::Leg { path: file.clone(), source })?;
                same(&file, &theirs, &ours)?;
            }
        }
        Ok(Self(path.to_owned()))
    }

    fn leg_folder(&self, id: &LegId) -> PathBuf {
        self.0.join("legs").join(id.name())
    }

    /// A leg that is there.
    pub fn leg(&self, id: &LegId) -> Result<Option<Leg>, ClientsError> {
        let path = self.leg_folder(id).join("leg.json");
        match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ClientsError::File { path, source }),
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|source| ClientsError::Leg { path, source }),
        }
    }

    /// An empty folder for a leg that is not there: what a stopped one left is removed.
    pub fn begin(&self, id: &LegId) -> Result<PathBuf, ClientsError> {
        empty(self.leg_folder(id))
    }

    /// Keeps a leg.
    pub fn keep(&self, leg: &Leg) -> Result<(), ClientsError> {
        write(&self.leg_folder(&leg.id).join("leg.json"), leg)
    }
}

/// A folder with nothing in it.
pub(super) fn empty(path: PathBuf) -> Result<PathBuf, ClientsError> {
    let made = match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(&path),
    };
    made.map_err(|source| ClientsError::File { path: path.clone(), source })?;
    Ok(path)
}

fn same(file: &Path, theirs: &Comparison, ours: &Comparison) -> Result<(), ClientsError> {
    let pairs = [
        ("spec", theirs.spec.clone(), ours.spec.clone()),
        ("spec_sha256", theirs.spec_sha256.clone(), ours.spec_sha256.clone()),
        ("mock_core", theirs.mock_core.to_string(), ours.mock_core.to_string()),
        ("client_core", theirs.client_core.to_string(), ours.client_core.to_string()),
    ];
    match pairs.into_iter().find(|(_, found, expected)| found != expected) {
        None => Ok(()),
        Some((key, found, expected)) => {
            Err(ClientsError::Folder { path: file.to_owned(), key, found, expected })
        }
    }
}

/// Writes a document beside its place, then into it.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<(), ClientsError> {
    let failed = |source| ClientsError::File { path: path.to_owned(), source };
    let beside = path.with_extension("json.new");
    let text = serde_json::to_vec_pretty(value).map_err(|error| failed(error.into()))?;
    std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::spec::parse;

    #[test]
    fn every_client_runs_once_a_round_and_level_and_no_order_is_repeated() {
        let legs = legs(&["a", "b", "c"], &[1, 4], 3);
        let order = |round: u32, streams: u32| {
            let here = legs.iter().filter(|leg| leg.round == round && leg.streams == streams);
            here.map(|leg| leg.client.as_str()).collect::<String>()
        };
        assert_eq!([order(1, 1), order(2, 1), order(3, 4)], ["abc", "acb", "cab"]);
        assert_eq!((legs.len(), legs[0].name().as_str()), (18, "a-s1-r1"));
    }

    #[test]
    fn a_folder_of_another_spec_is_refused() {
        let spec = parse(include_str!("../../clients/per-core.toml")).unwrap();
        let named = |sha256: &str| NamedSpec {
            name: "it".to_owned(),
            sha256: sha256.to_owned(),
            spec: spec.clone(),
        };
        let folder = tempfile::tempdir().unwrap();
        let cores = Cores { mock: 0, client: 1 };
        Folder::open(folder.path(), &named("a"), cores).unwrap();
        Folder::open(folder.path(), &named("a"), cores).unwrap();
        let error = Folder::open(folder.path(), &named("b"), cores).unwrap_err().to_string();
        assert!(error.contains("spec_sha256 is a, expected b"), "{error}");
        let cores = Cores { mock: 1, client: 0 };
        let error = Folder::open(folder.path(), &named("a"), cores).unwrap_err().to_string();
        assert!(error.contains("mock_core is 0, expected 1"), "{error}");
    }
}
