//! The servers of a session: each arm is started when a leg first asks for it, and all of them are stopped before the next session
//! starts them anew. A null arm's twin is its arm once more, on the same server: what differs is its place in the block.

use std::collections::BTreeMap;

use super::known::{self, Known};
use super::{ConductError, Setting};
use crate::arm::{ArmError, Launch, Running};
use crate::series::{Leg, Plan};

/// The servers that run.
pub struct Servers<'a> {
    setting: &'a Setting<'a>,
    plan: &'a Plan,
    session: u32,
    /// By arm; of one that is missing the reason.
    running: BTreeMap<String, Result<Running, String>>,
}

impl<'a> Servers<'a> {
    /// None yet.
    pub fn new(setting: &'a Setting<'a>, plan: &'a Plan) -> Self {
        Self { setting, plan, session: 0, running: BTreeMap::new() }
    }

    /// The server of a leg, started if need be, or what of it is missing, which is asked once a session.
    pub fn of(&mut self, leg: &Leg) -> Result<Result<&Running, &str>, ConductError> {
        if leg.session != self.session {
            self.running.clear();
            self.session = leg.session;
        }
        let arm = self.arm(leg).to_owned();
        if !self.running.contains_key(&arm) {
            let started = match self.start(&arm) {
                Ok((launch, server)) => {
                    let known = Known::of(&launch.engine, &launch.checkpoint, &server);
                    known::keep(self.setting.folder, &arm, &known)?;
                    Ok(server)
                }
                Err(error) if error.is_absence() => Err(error.to_string()),
                Err(error) => return Err(error.into()),
            };
            self.running.insert(arm.clone(), started);
        }
        Ok(self.running[&arm].as_ref().map_err(String::as_str))
    }

    /// Stops the server of a leg: the next leg of its arm starts another.
    pub fn stop(&mut self, leg: &Leg) {
        let arm = self.arm(leg).to_owned();
        self.running.remove(&arm);
    }

    fn arm<'l>(&'l self, leg: &'l Leg) -> &'l str {
        if leg.arm == self.plan.null.twin { &self.plan.null.of } else { &leg.arm }
    }

    fn start(&self, arm: &str) -> Result<(Launch, Running), ArmError> {
        let declared = self.setting.arms.get(arm);
        let declared = declared.ok_or_else(|| ArmError::Undeclared { arm: arm.to_owned() })?;
        let launch = &self.plan.launch;
        let most = self.plan.cells.iter().map(|cell| cell.concurrency).max();
        let launch = Launch {
            engine: declared.engine.clone(),
            binary: declared.binary.clone(),
            checkpoint: declared.checkpoint.clone().unwrap_or_else(|| launch.checkpoint.clone()),
            threads: launch.threads.0,
            context: launch.context.0,
            prefix_cache: launch.prefix_cache,
            sequences: most.unwrap_or(1),
            arguments: declared.arguments.clone(),
        };
        let running = launch.start(&self.setting.ground)?;
        Ok((launch, running))
    }
}
