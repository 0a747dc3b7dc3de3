//! Picks, for counting instructions: cost MODE COUNT. A twin of `tests/cost.c`.

#![allow(missing_docs)]

use std::hint::black_box;

use pointsman::{Instance, Policy, Pool, Request, RouteSpec, Tier};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mode = arguments.get(1).map_or("route", String::as_str);
    let picks: u64 = arguments.get(2).and_then(|count| count.parse().ok()).unwrap_or(1);
    let list =
        (0..64u64).map(|i| Instance::new(format!("10.0.0.{i}:80")).weight((1 + i % 7) as f64).user_data(i));
    let pool = Pool::new(list).expect("the list is sound");
    let route =
        pool.route(RouteSpec::new(Policy::WeightedRandom).tier(Tier::new())).expect("the route is sound");
    let mut picker = route.picker_seeded(1);
    let request = Request::new();
    let mut sum = 0;
    match mode {
        "route" => {
            for _ in 0..picks {
                let pick = black_box(&route).pick(black_box(&request)).expect("there are instances");
                sum += black_box((pick.instance().user_data, pick.version(), pick.picked())).0;
            }
        }
        _ => {
            for _ in 0..picks {
                let pick = black_box(&mut picker).pick(black_box(&request)).expect("there are instances");
                sum += black_box((pick.instance().user_data, pick.version(), pick.picked())).0;
            }
        }
    }
    println!("{sum}");
}
