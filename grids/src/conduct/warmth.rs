//! At which cells a server has had the run that is discarded. The plan discards the first one of every arm; a series that goes on, or
//! an arm that died, starts servers that have had none, though the plan's own is done.

use std::collections::BTreeSet;

use crate::series::{Leg, Plan, Role};

/// Cells at which one server has run.
#[derive(Debug, Default)]
pub struct Warmth {
    cells: BTreeSet<String>,
}

impl Warmth {
    /// The leg to run first and to discard, where the server of `leg` has run nothing at its cell yet and `leg` itself counts.
    pub fn owed<'p>(&self, plan: &'p Plan, leg: &Leg) -> Option<&'p Leg> {
        if leg.role == Role::Discarded || self.cells.contains(&leg.cell) {
            return None;
        }
        plan.legs.iter().filter(|other| other.role == Role::Discarded).find(|other| {
            (other.session, &other.cell, &other.arm) == (leg.session, &leg.cell, &leg.arm)
        })
    }

    /// The server has run a leg.
    pub fn ran(&mut self, leg: &Leg) {
        self.cells.insert(leg.cell.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::verdict::fixture::{AB, Ab, ab};

    /// In the order of the plan nothing is owed; a sitting that begins in the middle owes each server its first run.
    #[test]
    fn a_new_server_owes_its_discarded_run() {
        let plan = ab(&Ab { pairs: 12, sessions: 3, ..AB });
        let mut servers: BTreeMap<(u32, &str), Warmth> = BTreeMap::new();
        for leg in &plan.legs {
            let server = servers.entry((leg.session, &leg.arm)).or_default();
            assert_eq!(server.owed(&plan, leg), None, "{}", leg.id);
            server.ran(leg);
        }
        let measured = plan.legs.iter().find(|leg| leg.role == Role::Measured).unwrap();
        let mut later = Warmth::default();
        let owed = later.owed(&plan, measured).unwrap();
        assert_eq!((owed.role, owed.session), (Role::Discarded, measured.session));
        assert_eq!((&owed.arm, &owed.cell), (&measured.arm, &measured.cell));
        later.ran(owed);
        assert_eq!(later.owed(&plan, measured), None);
        let elsewhere = Leg { cell: "another".to_owned(), ..measured.clone() };
        later.ran(&elsewhere);
        assert_eq!(later.owed(&plan, measured), None);
        // The same place in the next session is another server's, as it is after a death.
        let next = Leg { session: 2, ..measured.clone() };
        assert_eq!(Warmth::default().owed(&plan, &next).unwrap().session, 2);
        assert!(Warmth::default().owed(&plan, measured).is_some());
    }
}
