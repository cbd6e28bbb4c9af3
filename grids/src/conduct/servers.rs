//! The servers of a session: each arm is started when a leg first asks for it, and all of them are stopped before the next session
//! starts them anew. A null arm's twin is its arm once more, on the same server: what differs is its place in the block.

use std::collections::{BTreeMap, BTreeSet};

use super::warmth::Warmth;
use super::{ConductError, Setting};
use crate::arm::{ArmError, Launch, Running};
use crate::series::{Known, Leg, Plan, State, known};

/// The servers that run.
pub struct Servers<'a> {
    setting: &'a Setting<'a>,
    plan: &'a Plan,
    session: u32,
    /// By arm; of one that is missing the reason.
    running: BTreeMap<String, Result<Server, String>>,
}

/// A server that runs, with what it has run.
pub struct Server {
    /// It.
    pub running: Running,
    /// Where it has run already.
    pub warmth: Warmth,
}

impl<'a> Servers<'a> {
    /// None yet.
    pub fn new(setting: &'a Setting<'a>, plan: &'a Plan) -> Self {
        Self { setting, plan, session: 0, running: BTreeMap::new() }
    }

    /// The server of a leg, started if need be, or what of it is missing, which is asked once a session.
    pub fn of(&mut self, leg: &Leg) -> Result<Result<&mut Server, &str>, ConductError> {
        if leg.session != self.session {
            self.running.clear();
            self.session = leg.session;
        }
        let arm = self.arm(leg).to_owned();
        if !self.running.contains_key(&arm) {
            let started = match self.start(&arm) {
                Ok((launch, running)) => {
                    known::keep(self.setting.folder, &arm, &Known::of(&launch, &running))?;
                    Ok(Server { running, warmth: Warmth::default() })
                }
                Err(error) if error.is_absence() => Err(error.to_string()),
                Err(error) => return Err(error.into()),
            };
            self.running.insert(arm.clone(), started);
        }
        let server = self.running.get_mut(&arm).ok_or(ArmError::Undeclared { arm })?;
        Ok(server.as_mut().map_err(|missing| missing.as_str()))
    }

    /// Stops the server of a leg: the next leg of its arm starts another.
    pub fn stop(&mut self, leg: &Leg) {
        let arm = self.arm(leg).to_owned();
        self.running.remove(&arm);
    }

    /// The arms with skipped legs of which nothing is missing any more.
    pub fn come(&self, state: &State) -> Result<BTreeSet<String>, ConductError> {
        let is_skipped =
            |leg: &&Leg| state.outcomes().get(&leg.id).is_some_and(|own| !own.was_begun());
        let mut here: BTreeMap<&str, bool> = BTreeMap::new();
        for leg in self.plan.legs.iter().filter(is_skipped) {
            if !here.contains_key(leg.arm.as_str()) {
                let launch = self.launch(self.arm(leg))?;
                here.insert(&leg.arm, launch.missing(&self.setting.ground)?.is_none());
            }
        }
        Ok(here
            .into_iter()
            .filter(|(_, is_here)| *is_here)
            .map(|(arm, _)| arm.to_owned())
            .collect())
    }

    fn arm<'l>(&'l self, leg: &'l Leg) -> &'l str {
        if leg.arm == self.plan.null.twin { &self.plan.null.of } else { &leg.arm }
    }

    fn start(&self, arm: &str) -> Result<(Launch, Running), ArmError> {
        let launch = self.launch(arm)?;
        let running = launch.start(&self.setting.ground)?;
        Ok((launch, running))
    }

    fn launch(&self, arm: &str) -> Result<Launch, ArmError> {
        let declared = self.setting.arms.get(arm);
        let declared = declared.ok_or_else(|| ArmError::Undeclared { arm: arm.to_owned() })?;
        let launch = &self.plan.launch;
        let most = self.plan.cells.iter().map(|cell| cell.concurrency).max();
        Ok(Launch {
            engine: declared.engine.clone(),
            binary: declared.binary.clone(),
            checkpoint: declared.checkpoint.clone().unwrap_or_else(|| launch.checkpoint.clone()),
            threads: launch.threads.0,
            context: launch.context.0,
            prefix_cache: launch.prefix_cache,
            sequences: most.unwrap_or(1),
            arguments: declared.arguments.clone(),
        })
    }
}
