//! Which servers have had the run at a cell that is discarded. The plan discards the first one of every arm; a series that goes on, or
//! an arm that died, starts servers that have had none, though the plan's own is done.

use std::collections::BTreeSet;

use crate::series::{Leg, Plan, Role};

/// What the servers of this sitting have run.
#[derive(Debug, Default)]
pub struct Warmth {
    session: u32,
    /// Server and cell.
    ran: BTreeSet<(String, String)>,
}

impl Warmth {
    /// The leg to run first and to discard, where the server of `leg` has run nothing at its cell yet and `leg` itself counts.
    pub fn owed<'p>(&self, plan: &'p Plan, server: &str, leg: &Leg) -> Option<&'p Leg> {
        let is_warm = self.session == leg.session
            && self.ran.contains(&(server.to_owned(), leg.cell.clone()));
        if is_warm || leg.role == Role::Discarded {
            return None;
        }
        plan.legs.iter().filter(|other| other.role == Role::Discarded).find(|other| {
            (other.session, &other.cell, &other.arm) == (leg.session, &leg.cell, &leg.arm)
        })
    }

    /// The server has run a leg; each session starts all servers anew.
    pub fn ran(&mut self, server: &str, leg: &Leg) {
        if self.session != leg.session {
            self.ran.clear();
            self.session = leg.session;
        }
        self.ran.insert((server.to_owned(), leg.cell.clone()));
    }

    /// The server is no more.
    pub fn stopped(&mut self, server: &str) {
        self.ran.retain(|(other, _)| other != server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::fixture::{AB, Ab, ab};

    /// In the order of the plan nothing is owed; a sitting that begins in the middle owes each server its first run.
    #[test]
    fn a_new_server_owes_its_discarded_run() {
        let plan = ab(&Ab { pairs: 12, sessions: 3, ..AB });
        let mut warmth = Warmth::default();
        for leg in &plan.legs {
            assert_eq!(warmth.owed(&plan, &leg.arm, leg), None, "{}", leg.id);
            warmth.ran(&leg.arm, leg);
        }
        let measured = plan.legs.iter().find(|leg| leg.role == Role::Measured).unwrap();
        let mut later = Warmth::default();
        let owed = later.owed(&plan, &measured.arm, measured).unwrap();
        assert_eq!((owed.role, owed.session), (Role::Discarded, measured.session));
        assert_eq!((&owed.arm, &owed.cell), (&measured.arm, &measured.cell));
        later.ran(&measured.arm, owed);
        assert_eq!(later.owed(&plan, &measured.arm, measured), None);
        later.stopped("another");
        assert_eq!(later.owed(&plan, &measured.arm, measured), None);
        later.stopped(&measured.arm);
        assert!(later.owed(&plan, &measured.arm, measured).is_some());
        // The same place in the next session is another server's.
        later.ran(&measured.arm, measured);
        let next = Leg { session: 2, ..measured.clone() };
        assert_eq!(later.owed(&plan, &next.arm, &next).unwrap().session, 2);
    }
}
