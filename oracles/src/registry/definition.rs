//! What an oracle is made of and how it is started, as one digest: a word earned against it lapses when that moves.

use crate::Home;
use crate::digest::sha256_bytes;
use crate::place::PlaceError;

use super::{OracleSpec, Protocol};

impl OracleSpec {
    /// SHA-256 of what decides its answers: package, build or lock or image, launch, and the driver's script where there is one.
    /// What the file says about it beside that (summary, role, standing) is not part of it.
    pub fn definition_sha256(&self, home: &Home) -> Result<String, PlaceError> {
        let declared = &self.declared;
        let script = match &declared.launch {
            Some(launch) if launch.protocol == Protocol::Driver => {
                let path = home.root.join("oracles/drivers").join(&launch.executable);
                let bytes = std::fs::read(&path);
                Some(sha256_bytes(&bytes.map_err(|error| PlaceError::new("read", &path, error))?))
            }
            _ => None,
        };
        let definition = (
            &declared.package,
            (&declared.build, &declared.venv, &declared.container, &declared.attach),
            self.lock.as_ref().map(|lock| lock.text.as_str()),
            &declared.launch,
            script,
        );
        // Strings, lists and sorted maps always serialise.
        Ok(sha256_bytes(&serde_json::to_vec(&definition).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> Home {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        Home { root, cache: "unused".into() }
    }

    #[test]
    fn it_moves_with_what_decides_answers_and_with_nothing_else() {
        let home = home();
        let spec = OracleSpec::load(&home, "transformers").unwrap();
        let digest = |spec: &OracleSpec| spec.definition_sha256(&home).unwrap();
        let before = digest(&spec);
        let mut praised = spec.clone();
        praised.declared.summary.push_str(" indeed");
        assert_eq!(digest(&praised), before);
        let mut threads = spec.clone();
        if let Some(launch) = &mut threads.declared.launch {
            launch.environment.insert("OMP_NUM_THREADS".to_owned(), "7".to_owned());
        }
        assert_ne!(digest(&threads), before);
        let mut script = spec.clone();
        if let Some(launch) = &mut script.declared.launch {
            launch.executable = "../drivers/transformers_driver.py".to_owned();
        }
        assert_ne!(digest(&script), before);
        let mut absent = spec;
        if let Some(launch) = &mut absent.declared.launch {
            launch.executable = "absent.py".to_owned();
        }
        assert!(absent.definition_sha256(&home).unwrap_err().to_string().contains("absent.py"));
    }
}
