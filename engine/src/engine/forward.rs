//! A plan's rows through the model.
//!
//! Rows of different shape take different kernels in some profiles, so that a step is several batches: prompts of equally many
//! rows together; then rows that are only computed again; then, as the last, one row of each request that is generating. No row's
//! bits depend on who is with it.

use std::collections::{BTreeMap, HashMap};

use super::Engine;
use crate::batch::{Batch, Outputs};
use crate::hidden::Hidden;
use crate::scheduler::{Plan, RequestId, Rows, Work};
use crate::taps::Taps;

/// The logits that a step was run for.
#[derive(Debug, Default)]
pub(super) struct Logits {
    batches: Vec<Hidden>,
    /// Batch and row of the logits that choose a request's next token.
    last: HashMap<RequestId, (usize, usize)>,
    /// Batch, first row, and position and number of rows, of a request's prompt.
    prompts: HashMap<RequestId, (usize, usize, std::ops::Range<usize>)>,
}

/// Equally many rows of some requests.
#[derive(Debug, Default)]
struct Group<'p> {
    ids: Vec<u32>,
    firsts: Vec<usize>,
    tables: Vec<&'p [u32]>,
    works: Vec<Work>,
}

impl Logits {
    /// Whether there are any of a request.
    pub(super) fn concern(&self, id: RequestId) -> bool {
        self.last.contains_key(&id) || self.prompts.contains_key(&id)
    }

    /// The row that chooses a request's next token.
    pub(super) fn last(&self, id: RequestId) -> Option<&[f32]> {
        let &(batch, row) = self.last.get(&id)?;
        Some(self.batches[batch].row(row))
    }

    /// The rows of a request's prompt, with their positions.
    pub(super) fn of_prompt(&self, id: RequestId) -> impl Iterator<Item = (usize, &[f32])> {
        let rows = self.prompts.get(&id).cloned();
        rows.into_iter().flat_map(move |(batch, first, positions)| {
            let rows = first..;
            positions.zip(rows).map(move |(at, row)| (at, self.batches[batch].row(row)))
        })
    }

    /// Files the rows of a group's requests.
    fn add(&mut self, works: &[Work], outputs: Outputs, logits: Option<Hidden>) {
        let Some(logits) = logits else { return };
        let batch = self.batches.len();
        let each = logits.rows() / works.len().max(1);
        for (index, work) in works.iter().enumerate() {
            if work.samples {
                self.last.insert(work.id, (batch, (index + 1) * each - 1));
            }
            if outputs == Outputs::All {
                let positions = work.first..work.first + work.rows.count();
                self.prompts.insert(work.id, (batch, index * each, positions));
            }
        }
        self.batches.push(logits);
    }
}

impl Engine<'_> {
    /// Runs a plan.
    pub(super) fn forward(&mut self, plan: &Plan) -> Logits {
        let mut groups: BTreeMap<(bool, usize, u8), (Outputs, Group<'_>)> = BTreeMap::new();
        let mut add = |work: Work, rows: usize, first: usize, single: bool, outputs: Outputs| {
            // False before true: rows of prompts first; and rows computed again before those that follow them.
            let key = (single, rows, outputs as u8);
            let (_, group) = groups.entry(key).or_insert_with(|| (outputs, Group::default()));
            group.ids.extend_from_slice(&self.scheduler.tokens(work.id)[first..first + rows]);
            group.firsts.push(first);
            group.tables.push(self.scheduler.table(work.id));
            group.works.push(work);
        };
        for &work in plan.works() {
            match work.rows {
                Rows::Together(rows) => {
                    let outputs = match (work.all_logits, work.samples) {
                        (true, _) => Outputs::All,
                        (false, true) => Outputs::Last,
                        (false, false) => Outputs::None,
                    };
                    add(work, rows, work.first, false, outputs);
                }
                Rows::Single(rows) => {
                    let sampling = usize::from(work.samples);
                    let end = work.first + rows - sampling;
                    (work.first..end).for_each(|at| add(work, 1, at, true, Outputs::None));
                    if work.samples {
                        add(work, 1, end, true, Outputs::Last);
                    }
                }
            }
        }
        let mut logits = Logits::default();
        for (outputs, group) in groups.into_values() {
            let Group { ids, firsts, tables, works } = group;
            let batch = Batch { ids: &ids, firsts: &firsts, outputs };
            let hidden = self.runner.forward(&mut self.store, &tables, &batch, &mut Taps::none());
            logits.add(&works, outputs, hidden);
        }
        logits
    }
}
