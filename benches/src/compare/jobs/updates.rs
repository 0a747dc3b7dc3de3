//! Updates: one weight of a pool with four routes, and the whole list.

use std::hint::black_box;
use std::sync::Arc;

use pointsman::{Instance, Pool, Route};
use pointsman_bench::lists::{self, address, instances, weights};
use pointsman_bench::peers::drawn::Swapped;

use super::{Setup, bad};
use crate::compare::contender::Contender;
use crate::failure::Failure;

/// Steps over the list, so that updates in a row touch different instances.
const STEP: usize = 31;

fn with_routes(list: Vec<Instance>) -> Result<(Pool, Vec<Route>), Failure> {
    let pool = Pool::new(list).map_err(bad)?;
    let routes = lists::four_routes().into_iter().map(|spec| pool.route(spec).map_err(bad));
    Ok((pool.clone(), routes.collect::<Result<_, _>>()?))
}

/// The weight of the turn's change.
fn weight(turn: usize) -> f64 {
    (turn % 50 + 1) as f64
}

fn build_anew(n: usize) -> Contender {
    let list = instances(&weights(n));
    Contender::does("build_anew", move || {
        let mut list = list.clone();
        let mut turn = 0;
        move || {
            turn += 1;
            list[turn * STEP % n].weight = weight(turn);
            black_box(with_routes(list.clone()).is_ok());
        }
    })
}

pub(super) fn update_one(n: usize) -> Result<Setup, Failure> {
    let (pool, routes) = with_routes(instances(&weights(n)))?;
    let routes = Arc::new(routes);
    let ours = Contender::does("pointsman", move || {
        let (pool, routes, mut turn) = (pool.clone(), routes.clone(), 0);
        move || {
            turn += 1;
            let changed = pool.edit(|edit| edit.set_weight(&address(turn * STEP % n), weight(turn)));
            black_box((changed.is_ok(), routes.len()));
        }
    });
    let swapped = Arc::new(Swapped::new(&weights(n)).ok_or_else(|| bad("weights"))?);
    let swap = Contender::does("arc_swap_weighted_index", move || {
        let (swapped, mut turn) = (swapped.clone(), 0);
        move || {
            turn += 1;
            swapped.set_weight(turn * STEP % n, weight(turn));
        }
    });
    Ok(Setup { ours: vec![ours.api("pool")], peers: vec![build_anew(n), swap], ..Setup::default() })
}

pub(super) fn replace_all(n: usize) -> Result<Setup, Failure> {
    let (pool, routes) = with_routes(instances(&weights(n)))?;
    let (list, routes) = (instances(&weights(n)), Arc::new(routes));
    let ours = Contender::does("pointsman", move || {
        let (pool, routes, mut list, mut turn) = (pool.clone(), routes.clone(), list.clone(), 0);
        move || {
            turn += 1;
            list.iter_mut().enumerate().for_each(|(at, instance)| instance.weight = weight(at + turn));
            black_box((pool.replace(list.clone()).is_ok(), routes.len()));
        }
    });
    let list = instances(&weights(n));
    let anew = Contender::does("build_anew", move || {
        let (mut list, mut turn) = (list.clone(), 0);
        move || {
            turn += 1;
            list.iter_mut().enumerate().for_each(|(at, instance)| instance.weight = weight(at + turn));
            black_box(with_routes(list.clone()).is_ok());
        }
    });
    Ok(Setup { ours: vec![ours.api("pool")], peers: vec![anew], ..Setup::default() })
}
