//! Random arrivals, lengths, priorities, salts and cancellations on a few blocks, against two things: a simulated store in which
//! every row remembers what it was computed from and how, and (without sharing) a scheduler that only counts.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::reference::{Reference, told};
use super::{Job, Limits, Pieces, Plan, Policy, Rows, Scheduler};
use crate::kv::BlockSize;

#[derive(Clone, Debug)]
struct Arrival {
    step: usize,
    prompt: Vec<u32>,
    answer: usize,
    cancelled: Option<usize>,
    priority: i64,
    salt: Option<String>,
    whole: bool,
}

/// What a row was computed from, and in which piece: equal rows are equal to the bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    before: u64,
    piece: (usize, usize),
}

const ALONE: (usize, usize) = (usize::MAX, 1);
const SIZE: usize = 2;
const BLOCKS: usize = 14;

fn arrival() -> impl Strategy<Value = Arrival> {
    let prompt = prop::collection::vec(0_u32..2, 1..13);
    let salt = prop::option::of(prop::sample::select(vec!["a".to_owned(), "b".to_owned()]));
    let cancelled = prop::option::weighted(0.3, 0_usize..40);
    (0_usize..30, prompt, 1_usize..14, cancelled, -1_i64..2, salt, prop::bool::weighted(0.1))
        .prop_map(|(step, prompt, answer, cancelled, priority, salt, whole)| {
            let cancelled = cancelled.map(|after| step + after);
            Arrival { step, prompt, answer, cancelled, priority, salt, whole }
        })
}

fn limits() -> impl Strategy<Value = Limits> {
    let pieces = prop_oneof![Just(Pieces::Any), Just(Pieces::Of(2)), Just(Pieces::Of(4))];
    let policy = prop_oneof![Just(Policy::Fcfs), Just(Policy::Priority)];
    (1_usize..6, 0_usize..8, pieces, policy, any::<bool>()).prop_map(
        |(max_sequences, more, pieces, policy, reuse_prefixes)| Limits {
            max_sequences,
            step_tokens: max_sequences + 4 + more,
            pieces,
            policy,
            max_waiting: 100,
            reuse_prefixes,
        },
    )
}

/// The token that follows: of three, so that answers share prefixes too.
fn next(tokens: &[u32]) -> u32 {
    (fingerprint(None, tokens) % 3) as u32
}

fn fingerprint(salt: Option<&str>, tokens: &[u32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (salt, tokens).hash(&mut hasher);
    hasher.finish()
}

/// What a row is where its request is alone.
fn expected(arrival: &Arrival, tokens: &[u32], position: usize, pieces: Pieces) -> Row {
    let before = fingerprint(arrival.salt.as_deref(), &tokens[..=position]);
    let prompt = arrival.prompt.len();
    let piece = match pieces {
        Pieces::Of(piece) if position < prompt => {
            let start = position / piece * piece;
            (start, piece.min(prompt - start))
        }
        _ => ALONE,
    };
    Row { before, piece }
}

struct World {
    limits: Limits,
    arrivals: Vec<Arrival>,
    scheduler: Scheduler,
    rows: HashMap<usize, Row>,
    lives: BTreeMap<u64, usize>,
    done: usize,
}

impl World {
    fn new(limits: Limits, arrivals: Vec<Arrival>) -> Self {
        let scheduler = Scheduler::new(limits, BlockSize::of(SIZE).unwrap(), BLOCKS);
        let (rows, lives) = (HashMap::new(), BTreeMap::new());
        Self { limits, arrivals, scheduler, rows, lives, done: 0 }
    }

    fn submit(&mut self, id: usize) {
        let Arrival { prompt, priority, salt, whole, .. } = self.arrivals[id].clone();
        let job = Job { id: id as u64, prompt, priority, salt, whole_prompt: whole };
        self.scheduler.submit(job).unwrap();
        self.lives.insert(id as u64, 0);
    }

    /// Runs a plan as a model would: every row before is read, and must be what it would be alone.
    fn run(&mut self, plan: &Plan) -> Result<(), TestCaseError> {
        prop_assert!(plan.rows() <= self.limits.step_tokens);
        for work in plan.works() {
            let arrival = &self.arrivals[work.id as usize];
            let (table, tokens) = (self.scheduler.table(work.id), self.scheduler.tokens(work.id));
            let place = |position: usize| table[position / SIZE] as usize * SIZE + position % SIZE;
            let end = work.first + work.rows.count();
            prop_assert_eq!(work.samples, end == tokens.len());
            for position in 0..end {
                let wanted = expected(arrival, tokens, position, self.limits.pieces);
                if position >= work.first {
                    let piece = match (work.rows, self.limits.pieces) {
                        (Rows::Together(rows), Pieces::Of(_)) => (work.first, rows),
                        _ => ALONE,
                    };
                    let row = Row { piece, ..wanted };
                    self.rows.insert(place(position), row);
                }
                prop_assert_eq!(
                    self.rows.get(&place(position)),
                    Some(&wanted),
                    "{:?} {}",
                    work,
                    position
                );
            }
        }
        Ok(())
    }

    /// Takes a token for every work that chooses one, and ends requests that have theirs.
    fn sample(&mut self, plan: &Plan, reference: &mut Reference) {
        self.scheduler.ran(plan);
        for work in plan.works().iter().filter(|work| work.samples) {
            let token = next(self.scheduler.tokens(work.id));
            let answered = self.lives.get_mut(&work.id).unwrap();
            *answered += 1;
            if *answered == self.arrivals[work.id as usize].answer {
                self.end(work.id, reference);
            } else {
                self.scheduler.push(work.id, token);
                reference.push(work.id);
            }
        }
    }

    fn end(&mut self, id: u64, reference: &mut Reference) {
        if self.lives.remove(&id).is_some() {
            assert!(self.scheduler.remove(id));
            reference.remove(id);
            self.done += 1;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_row_is_what_it_would_be_alone_and_all_blocks_come_back(
        limits in limits(), arrivals in prop::collection::vec(arrival(), 1..14)
    ) {
        let total = arrivals.len();
        let mut world = World::new(limits, arrivals);
        let mut reference = Reference::new(limits, SIZE, BLOCKS);
        let counted = !limits.reuse_prefixes;
        let mut step = 0;
        while world.done < total {
            for id in 0..total {
                let arrival = world.arrivals[id].clone();
                if arrival.step == step {
                    world.submit(id);
                    reference.submit(id as u64, arrival.prompt.len(), arrival.priority);
                }
                if arrival.cancelled == Some(step) {
                    world.end(id as u64, &mut reference);
                }
            }
            let plan = world.scheduler.schedule();
            prop_assert!(world.lives.is_empty() || !plan.works().is_empty(), "it stalls");
            if counted {
                prop_assert_eq!(told(plan.works()), reference.step());
            }
            world.run(&plan)?;
            world.sample(&plan, &mut reference);
            step += 1;
            prop_assert!(step < 5000);
        }
        let load = world.scheduler.load();
        prop_assert_eq!((load.used_blocks, load.running, load.waiting), (0, 0, 0));
        prop_assert!(limits.reuse_prefixes || load.cache.hits == 0);
    }
}
