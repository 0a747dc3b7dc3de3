//! Picks without constraints.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pointsman::{Policy, RouteSpec, Tier};
use pointsman_bench::lists::{turns, weights};
use pointsman_bench::peers::drawn::{Alias, Bare, Swapped};
use pointsman_bench::peers::edf::Edf;
use pointsman_bench::peers::expanded::Expanded;
use pointsman_bench::peers::roulette::Roulette;
use pointsman_bench::peers::smooth::Smooth;
use pointsman_bench::peers::stride::Stride;
use rand::RngExt;

use super::{Engine, PLAIN, Setup, bad};
use crate::compare::contender::Contender;
use crate::failure::Failure;

/// The longest list whose metadata is parsed on each pick.
const LONGEST_PARSED: usize = 10_000;

/// The size that each weighted pick is compared with itself at.
const SMALL: usize = 8;

fn spec(policy: Policy) -> RouteSpec {
    RouteSpec::new(policy).tier(Tier::new())
}

/// The engine over the short list, for a longer one to be compared with.
fn small(n: usize, weights: fn(usize) -> Vec<f64>, policy: Policy) -> Result<Vec<Contender>, Failure> {
    if n <= SMALL {
        return Ok(Vec::new());
    }
    let engine = Engine::new(&weights(SMALL), spec(policy))?;
    Ok(vec![engine.plain_picker("itself_at_8"), engine.plain_route("itself_at_8")])
}

pub(super) fn uniform(n: usize) -> Result<Setup, Failure> {
    let engine = Engine::new(&vec![1.0; n], spec(Policy::Random))?;
    let next = Arc::new(AtomicUsize::new(0));
    let peers = vec![
        Contender::picks("rand_random_range", move || move || rand::rng().random_range(0..n)),
        Contender::picks("atomic_modulo", move || {
            let next = next.clone();
            move || next.fetch_add(1, Ordering::Relaxed) % n
        }),
    ];
    Ok(Setup { ours: engine.plain(), peers, expected: engine.expected(&PLAIN), ..Setup::default() })
}

pub(super) fn weighted_random(n: usize) -> Result<Setup, Failure> {
    let weights = weights(n);
    let engine = Engine::new(&weights, spec(Policy::WeightedRandom))?;
    let none = || bad("weights");
    let bare = Bare::new(&weights).ok_or_else(none)?;
    let alias = Alias::new(&weights).ok_or_else(none)?;
    let swapped = Arc::new(Swapped::new(&weights).ok_or_else(none)?);
    let expanded = Arc::new(Expanded::new(&weights));
    let mut peers = vec![
        Contender::picks("rand_weighted_index", move || {
            let mut bare = bare.clone();
            move || bare.pick()
        }),
        Contender::picks("rand_distr_alias", move || {
            let mut alias = alias.clone();
            move || alias.pick()
        }),
        Contender::picks("arc_swap_weighted_index", move || {
            let swapped = swapped.clone();
            move || swapped.pick()
        }),
        Contender::picks("expanded_list", move || {
            let expanded = expanded.clone();
            move || expanded.at(rand::rng().random::<u64>() as usize)
        }),
    ];
    if n <= LONGEST_PARSED {
        let roulette = Arc::new(Roulette::new(&weights));
        peers.push(Contender::picks("metadata_roulette", move || {
            let roulette = roulette.clone();
            move || roulette.pick()
        }));
    }
    #[cfg(feature = "pingora")]
    peers.extend(pingora::<pingora_load_balancing::selection::Random>(&weights));
    peers.extend(small(n, self::weights, Policy::WeightedRandom)?);
    Ok(Setup { ours: engine.plain(), peers, expected: engine.expected(&PLAIN), ..Setup::default() })
}

pub(super) fn weighted_round_robin(n: usize) -> Result<Setup, Failure> {
    let weights = turns(n);
    let engine = Engine::new(&weights, spec(Policy::WeightedRoundRobin))?;
    let (smooth, edf, stride) = (Smooth::new(&weights), Edf::new(&weights), Stride::new(&weights));
    let locked = Arc::new(Mutex::new(smooth.clone()));
    let expanded = Arc::new(Expanded::new(&weights));
    let mut peers = vec![
        Contender::picks("smooth_wrr", move || {
            let mut smooth = smooth.clone();
            move || smooth.pick()
        }),
        Contender::picks("smooth_wrr_mutex", move || {
            let locked = locked.clone();
            move || locked.lock().map_or(usize::MAX, |mut smooth| smooth.pick())
        }),
        Contender::picks("edf_heap", move || {
            let mut edf = edf.clone();
            move || edf.pick()
        }),
        Contender::picks("static_stride", move || {
            let mut stride = stride.clone();
            move || stride.pick()
        }),
        Contender::picks("expanded_list", move || {
            let expanded = expanded.clone();
            move || expanded.next()
        }),
    ];
    #[cfg(feature = "pingora")]
    peers.extend(pingora::<pingora_load_balancing::selection::RoundRobin>(&weights));
    peers.extend(small(n, turns, Policy::WeightedRoundRobin)?);
    Ok(Setup { ours: engine.plain(), peers, expected: engine.expected(&PLAIN), ..Setup::default() })
}

#[cfg(feature = "pingora")]
fn pingora<S>(weights: &[f64]) -> Option<Contender>
where
    S: pingora_load_balancing::selection::BackendSelection + Send + Sync + 'static,
    S::Iter: pingora_load_balancing::selection::BackendIter,
{
    let pingora = Arc::new(pointsman_bench::peers::pingora::Pingora::<S>::new(weights)?);
    Some(Contender::picks("pingora_select", move || {
        let pingora = pingora.clone();
        move || pingora.pick()
    }))
}
