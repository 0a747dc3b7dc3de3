//! What no pick can do without, each alone: a random number, a pin, an atomic addition, a line that no cache holds.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::contender::Contender;

/// More than the caches hold.
const COLD_BYTES: usize = 256 << 20;
const LINE: usize = 64 / size_of::<u32>();

pub(crate) fn contenders() -> Vec<Contender> {
    let shared = Arc::new(AtomicU64::new(0));
    vec![
        Contender::does("generator", || {
            let mut rng = SplitMix64::seed_from_u64(1);
            move || {
                black_box(rng.next_u64());
            }
        })
        .api("generator"),
        Contender::does("epoch_pin", || {
            let collector = crossbeam_epoch::Collector::new();
            move || PINS.with(|pins| drop(black_box(pins.get_or_init(|| collector.register()).pin())))
        })
        .api("epoch_pin"),
        Contender::does("atomic_add", move || {
            let shared = shared.clone();
            move || {
                black_box(shared.fetch_add(1, Ordering::Relaxed));
            }
        })
        .api("atomic_add"),
        Contender::does("cold_line", || {
            let lines = cycle(COLD_BYTES / 64);
            let mut at = 0;
            move || at = black_box(lines[at as usize * LINE])
        })
        .api("cold_line"),
    ]
}

thread_local! {
    static PINS: std::cell::OnceCell<crossbeam_epoch::LocalHandle> = const { std::cell::OnceCell::new() };
}

/// Lines that each name the next, all in one cycle in random order (S. Sattolo, 1986).
fn cycle(lines: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut rng = SplitMix64::seed_from_u64(1);
    (1..lines).rev().for_each(|at| order.swap(at, rng.random_range(0..at)));
    let mut cells = vec![0; lines * LINE];
    order.iter().enumerate().for_each(|(at, next)| cells[at * LINE] = *next);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chase_comes_by_every_line() {
        let cells = cycle(1_000);
        let (mut at, mut seen) = (0_u32, 0);
        loop {
            at = cells[at as usize * LINE];
            seen += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(seen, 1_000);
    }
}
