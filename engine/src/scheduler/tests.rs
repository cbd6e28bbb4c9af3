//! Single decisions, worked out by hand.

use super::reference::told;
use super::{Job, Limits, Pieces, Policy, QueueFull, Rows, Scheduler};
use crate::kv::BlockSize;

const LIMITS: Limits = Limits {
    max_sequences: 3,
    step_tokens: 8,
    pieces: Pieces::Any,
    policy: Policy::Fcfs,
    max_waiting: 3,
    reuse_prefixes: true,
};

fn scheduler(limits: Limits, blocks: usize) -> Scheduler {
    Scheduler::new(limits, BlockSize::of(2).unwrap(), blocks)
}

fn job(id: u64, prompt: &[u32]) -> Job {
    Job { id, prompt: prompt.to_vec(), priority: 0, salt: None, whole_prompt: false }
}

/// Runs a step; every request that samples goes on with token 7.
fn step(scheduler: &mut Scheduler) -> Vec<(u64, usize, Rows)> {
    let plan = scheduler.schedule();
    scheduler.ran(&plan);
    for work in plan.works().iter().filter(|work| work.samples) {
        scheduler.push(work.id, 7);
    }
    told(plan.works())
}

#[test]
fn a_step_serves_answers_first_then_prompts_in_pieces() {
    let mut scheduler = scheduler(LIMITS, 20);
    scheduler.submit(job(0, &[1])).unwrap();
    assert_eq!(step(&mut scheduler), [(0, 0, Rows::Together(1))]);
    scheduler.submit(job(1, &[2; 10])).unwrap();
    assert_eq!(step(&mut scheduler), [(0, 1, Rows::Single(1)), (1, 0, Rows::Together(7))]);
    assert_eq!(step(&mut scheduler), [(0, 2, Rows::Single(1)), (1, 7, Rows::Together(3))]);
    assert_eq!(step(&mut scheduler), [(0, 3, Rows::Single(1)), (1, 10, Rows::Single(1))]);
}

#[test]
fn a_prompt_that_must_run_together_waits_for_the_budget() {
    let limits = Limits { pieces: Pieces::Of(4), step_tokens: 7, ..LIMITS };
    assert_eq!(limits.fault(BlockSize::of(2).unwrap()), None);
    assert!(Limits { step_tokens: 6, ..limits }.fault(BlockSize::of(2).unwrap()).is_some());
    assert!(limits.fault(BlockSize::of(8).unwrap()).is_some(), "4 rows are no whole blocks of 8");
    let mut scheduler = scheduler(limits, 20);
    scheduler.submit(job(0, &[1; 6])).unwrap();
    scheduler.submit(job(1, &[2; 6])).unwrap();
    assert_eq!(step(&mut scheduler), [(0, 0, Rows::Together(4))]);
    assert_eq!(step(&mut scheduler), [(0, 4, Rows::Together(2)), (1, 0, Rows::Together(4))]);
}

#[test]
fn a_prompt_seen_before_is_not_run_again_unless_the_salt_differs() {
    let mut scheduler = scheduler(LIMITS, 20);
    scheduler.submit(job(0, &[1, 2, 3, 4, 5])).unwrap();
    step(&mut scheduler);
    scheduler.remove(0);
    scheduler.submit(job(1, &[1, 2, 3, 4, 5])).unwrap();
    assert_eq!(step(&mut scheduler), [(1, 4, Rows::Together(1))]);
    // Whole blocks only, and never all of a prompt.
    scheduler.submit(job(2, &[1, 2, 3, 4])).unwrap();
    scheduler.submit(Job { salt: Some("s".to_owned()), ..job(3, &[1, 2, 3, 4]) }).unwrap();
    let expected = [(1, 5, Rows::Single(1)), (2, 2, Rows::Together(2)), (3, 0, Rows::Together(4))];
    assert_eq!(step(&mut scheduler), expected);
    let counts = scheduler.load().cache;
    assert_eq!((counts.queries, counts.hits), (5 + 5 + 4 + 4, 4 + 2));
}

#[test]
fn the_last_to_come_gives_up_its_blocks_and_is_computed_again() {
    let mut scheduler = scheduler(Limits { reuse_prefixes: false, ..LIMITS }, 4);
    scheduler.submit(job(0, &[1, 1, 1])).unwrap();
    scheduler.submit(job(1, &[2, 2, 2])).unwrap();
    step(&mut scheduler);
    // 4 positions each; the fifth of request 0 takes the blocks of request 1.
    assert_eq!(step(&mut scheduler).len(), 2);
    assert_eq!(step(&mut scheduler), [(0, 4, Rows::Single(1))]);
    assert!(scheduler.is_waiting(1));
    assert_eq!(scheduler.load().preemptions, 1);
    scheduler.remove(0);
    assert_eq!(step(&mut scheduler), [(1, 0, Rows::Together(3))]);
    assert_eq!(step(&mut scheduler), [(1, 3, Rows::Single(2))]);
}

#[test]
fn priority_goes_first_and_the_queue_has_an_end() {
    let limits = Limits { policy: Policy::Priority, max_sequences: 1, ..LIMITS };
    let mut scheduler = scheduler(limits, 20);
    scheduler.submit(Job { priority: 5, ..job(0, &[1]) }).unwrap();
    scheduler.submit(Job { priority: -1, ..job(1, &[1]) }).unwrap();
    scheduler.submit(Job { priority: 5, ..job(2, &[1]) }).unwrap();
    assert_eq!(scheduler.submit(job(3, &[1])), Err(QueueFull { waiting: 3 }));
    let mut order = Vec::new();
    while !scheduler.is_idle() {
        let id = step(&mut scheduler)[0].0;
        scheduler.remove(id);
        order.push(id);
    }
    assert_eq!(order, [1, 0, 2]);
}
