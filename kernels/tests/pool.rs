//! The pool: every index once, panics come out, nothing hangs.
#![allow(missing_docs, reason = "a test binary")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use kernels::{Error, Pool};

#[test]
fn every_index_is_taken_once() {
    for threads in 1..5 {
        let pool = Pool::new(threads).expect("threads");
        assert_eq!(pool.threads(), threads);
        for count in [0, 1, 2, 7, 1000] {
            let taken: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            pool.run(count, &|index| {
                taken[index].fetch_add(1, Ordering::Relaxed);
            });
            assert!(taken.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{threads} x {count}");
        }
    }
}

#[test]
fn many_short_jobs_in_a_row() {
    let pool = Pool::new(3).expect("threads");
    let sum = AtomicUsize::new(0);
    for job in 0..20_000 {
        pool.run(3, &|index| {
            sum.fetch_add(index + 1, Ordering::Relaxed);
        });
        if job % 5000 == 0 {
            // Long enough for the workers to sleep.
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    assert_eq!(sum.into_inner(), 20_000 * 6);
}

#[test]
fn chunks_cover_the_slice() {
    let pool = Pool::new(2).expect("threads");
    let mut data = vec![0_usize; 101];
    pool.chunks_mut(&mut data, 10, |index, chunk| {
        assert_eq!(chunk.len(), if index == 10 { 1 } else { 10 });
        for (i, value) in chunk.iter_mut().enumerate() {
            *value += index * 10 + i;
        }
    });
    assert_eq!(data, (0..101).collect::<Vec<_>>());
}

#[test]
fn a_panic_comes_out_and_the_pool_goes_on() {
    let pool = Pool::new(3).expect("threads");
    for bad in [0, 50, 99] {
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(100, &|index| assert!(index != bad, "index {bad}"));
        }));
        let payload = result.expect_err("the panic of the job");
        assert_eq!(payload.downcast_ref::<String>(), Some(&format!("index {bad}")));
    }
    let sum = AtomicUsize::new(0);
    pool.run(10, &|index| {
        sum.fetch_add(index, Ordering::Relaxed);
    });
    assert_eq!(sum.into_inner(), 45);
}

#[test]
fn a_loop_within_a_loop_runs_on_its_own_thread() {
    let pool = Pool::new(2).expect("threads");
    let sum = AtomicUsize::new(0);
    pool.run(8, &|_| {
        pool.run(8, &|index| {
            sum.fetch_add(index, Ordering::Relaxed);
        });
    });
    assert_eq!(sum.into_inner(), 8 * 28);
}

#[test]
fn callers_take_turns() {
    let pool = Pool::new(2).expect("threads");
    let sum = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    pool.run(4, &|index| {
                        sum.fetch_add(index, Ordering::Relaxed);
                    });
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), 4 * 500 * 6);
}

#[test]
fn no_threads_is_an_error() {
    assert!(matches!(Pool::new(0), Err(Error::NoThreads)));
}
