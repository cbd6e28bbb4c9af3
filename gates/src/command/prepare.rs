//! From a gate's name to what its bench is made of.

use std::path::Path;
use std::time::Duration;

use oracles::Progress;
use oracles::checkpoint::CheckpointSpec;
use oracles::registry::OracleSpec;

use super::{CommandError, Context};
use crate::bench::{Bench, SubjectIdentity};
use crate::facts::{Build, EngineBuild, Facts};
use crate::journal::{Header, Host};
use crate::regressions::{self, Regressions};
use crate::spec::{self, NamedSpec};
use crate::subject::{PlumbBinary, ProcessTransport, Subject, find};
use crate::supplies::{HomeSupplies, Wanted};
use crate::workload::{self, Workload};

/// A gate's declarations, read and checked.
pub(super) struct Declared {
    pub(super) gate: NamedSpec,
    pub(super) workload: Option<Workload>,
    pub(super) regressions: Option<Regressions>,
    pub(super) oracle: Option<OracleSpec>,
}

impl Declared {
    pub(super) fn read(context: &Context, name: &str) -> Result<Self, CommandError> {
        let gate = spec::load(&context.home.root, name)?;
        let root = &context.home.root;
        let (mut workload, mut regressions) = (None, None);
        match gate.spec.inputs.as_deref() {
            Some(path) if gate.spec.check.regression.is_some() => {
                regressions = Some(regressions::read(root, path)?);
            }
            Some(path) => {
                let inputs = workload::read(root, path)?;
                spec::names_its_inputs(&gate, &inputs)?;
                workload = Some(inputs);
            }
            None => {}
        }
        let named = gate.spec.oracle.as_deref();
        let oracle = named.map(|name| OracleSpec::load(&context.home, name)).transpose()?;
        // Read here so that a declaration with an error is one of the program, and never a skip.
        if let Some(checkpoint) = &gate.spec.checkpoint {
            CheckpointSpec::load(&context.home, checkpoint)?;
        }
        Ok(Self { gate, workload, regressions, oracle })
    }

    /// The same gate, compared with the oracle of that name.
    pub(super) fn against(mut self, context: &Context, name: &str) -> Result<Self, CommandError> {
        if self.oracle.is_none() {
            return Err(CommandError::NothingToCross(self.gate.name));
        }
        self.oracle = Some(OracleSpec::load(&context.home, name)?);
        Ok(self)
    }

    /// Only the cases that faults are tried on, and of the edits those whose cases are among them.
    pub(super) fn for_proofs(mut self) -> Result<Self, CommandError> {
        if let (Some(workload), Some(path)) = (&self.workload, &self.gate.spec.inputs) {
            let subset = workload::subset(workload, path, &self.gate.spec.prove.cases)?;
            if let Some(check) = &mut self.gate.spec.check.activation_fidelity {
                let is_tried = |id: &str| subset.cases.iter().any(|case| case.id == id);
                check
                    .edits
                    .retain(|edit| edit.cases().iter().all(|(_, case)| is_tried(case.get_ref())));
            }
            self.workload = Some(subset);
        }
        Ok(self)
    }

    pub(super) fn supplies<'a>(&'a self, context: &'a Context) -> HomeSupplies<'a> {
        HomeSupplies {
            home: &context.home,
            gate: &self.gate.name,
            oracle: self.oracle.as_ref(),
            launch: &self.gate.spec.launch,
            progress: context.progress,
            journal: None,
        }
    }

    /// What a run of this gate is remembered by.
    pub(super) fn header(
        &self,
        context: &Context,
        identity: &SubjectIdentity,
    ) -> Result<Header, CommandError> {
        let checkpoint = self.gate.spec.checkpoint.as_deref();
        let declaration = checkpoint.map(|name| {
            let path = CheckpointSpec::load(&context.home, name)?.path;
            ::records::sha256_file(&path).map_err(|source| CommandError::Inputs { path, source })
        });
        let definition = self.oracle.as_ref().map(|oracle| oracle.definition_sha256(&context.home));
        let inputs = self.workload.as_ref().map(|workload| workload.sha256.clone());
        let regressions = || self.regressions.as_ref().map(|list| list.sha256.clone());
        Ok(Header {
            gate: self.gate.name.clone(),
            spec_sha256: self.gate.sha256.clone(),
            inputs_sha256: inputs.or_else(regressions),
            harness_sha256: crate::HARNESS_SHA256.map(str::to_owned),
            host: Host::here(),
            found_by: identity.found_by,
            binary_sha256: identity.binary_sha256.clone(),
            oracle: self.oracle.as_ref().map(|oracle| oracle.name.clone()),
            oracle_sha256: definition.transpose().map_err(oracles::Error::from)?,
            checkpoint_sha256: declaration.transpose()?,
        })
    }

    pub(super) fn bench<'a>(
        &'a self,
        engine: &'a Engine,
        identity: &'a SubjectIdentity,
        supplies: &'a HomeSupplies<'a>,
        wanted: Wanted,
    ) -> Bench<'a> {
        let spec = &self.gate.spec;
        Bench {
            gate: &self.gate,
            workload: self.workload.as_ref(),
            regressions: self.regressions.as_ref(),
            oracle: self.oracle.as_ref(),
            subject: Subject {
                transport: &engine.transport,
                budget: Duration::from_secs(spec.budget_seconds),
                profile: spec.profile.as_deref(),
            },
            facts: Facts {
                gate: self.gate.name.clone(),
                harness: Some(Build {
                    embedded: crate::HARNESS_SHA256.map(str::to_owned),
                    tree: engine.harness.clone(),
                }),
                engine: spec.asks_engine().then(|| EngineBuild {
                    embedded: identity.info.source_sha256.clone(),
                    tree: engine.tree.clone(),
                    found_by: identity.found_by,
                }),
                ..Facts::default()
            },
            identity,
            supplies,
            wanted,
            progress: supplies.progress,
            journal: supplies.journal.as_deref(),
        }
    }

    /// What the engine says about itself, under this gate's profile.
    pub(super) fn identify(&self, engine: &Engine) -> Result<SubjectIdentity, CommandError> {
        let subject = Subject {
            transport: &engine.transport,
            budget: Duration::from_secs(self.gate.spec.budget_seconds),
            profile: self.gate.spec.profile.as_deref(),
        };
        Ok(SubjectIdentity {
            binary_sha256: engine.binary.sha256.clone(),
            found_by: engine.binary.found_by,
            info: subject.info(None)?,
        })
    }
}

/// The engine's binary, and the digest of the tree it should be of.
pub(super) struct Engine {
    pub(super) binary: PlumbBinary,
    pub(super) transport: ProcessTransport,
    /// Digest of the tree's sources; `None` where there is no tree.
    pub(super) tree: Option<String>,
    /// Digest of the tree's harness; `None` where there is no tree.
    pub(super) harness: Option<String>,
}

impl Engine {
    /// `progress` shows how far each of its answers is.
    pub(super) fn find(
        context: &Context,
        named: Option<&Path>,
        progress: Progress,
    ) -> Result<Self, CommandError> {
        let root = &context.home.root;
        let binary = find(root, named)?;
        let transport = ProcessTransport { path: binary.path.clone(), progress };
        Ok(Self {
            binary,
            transport,
            tree: ::records::source_digest(root).ok(),
            harness: harness(root),
        })
    }
}

/// Digest of the tree's harness. One that is there and cannot be read is the one that nobody was built from.
fn harness(root: &Path) -> Option<String> {
    let is_there = root.join("gates/src").is_dir();
    is_there.then(|| ::records::harness_digest(root).unwrap_or_else(|_| "unreadable".to_owned()))
}
