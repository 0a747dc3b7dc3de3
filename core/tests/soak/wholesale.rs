//! A hundred thousand instances replaced by others while threads pick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pointsman::{Instance, Policy, Pool};

use crate::Order;
use crate::common::{Hand, PLAIN, plain_route, until};
use crate::control::Control;
use crate::memory;

const N: usize = 100_000;

fn list(version: u64) -> impl Iterator<Item = Instance> {
    (0..N).map(move |at| {
        Instance::new(format!("{version}-{at}")).weight(1.0 + (at % 9) as f64).user_data(version)
    })
}

pub(crate) fn run(order: Order) -> Vec<String> {
    let before = memory::live();
    let pool = Pool::new(list(1)).expect("a good list");
    let routes = [Policy::WeightedRandom, Policy::RoundRobin].map(|policy| plain_route(&pool, policy));
    let one_list = memory::live() - before;
    let published = AtomicU64::new(1);
    let control = Control::default();
    std::thread::scope(|scope| {
        for (at, hand) in routes.iter().flat_map(|route| Hand::both(route, order.seed)).enumerate() {
            let (published, mut hand) = (&published, hand);
            control.spawn(scope, format!("picks {at}"), move || {
                let at_least = published.load(Ordering::Acquire);
                let (version, user_data) = match &mut hand {
                    Hand::Route(route) => seen(&route.pick(&PLAIN).expect("an instance")),
                    Hand::Picker(picker) => seen(&picker.pick(&PLAIN).expect("an instance")),
                };
                assert!(version >= at_least && user_data == version, "{user_data} of {version}, {at_least}");
            });
        }
        let end = Instant::now() + order.time;
        let mut version = 1;
        while version < 4 || Instant::now() < end {
            version += 1;
            assert_eq!(pool.replace(list(version)), Ok(version));
            published.store(version, Ordering::Release);
        }
        control.run_for(Duration::ZERO, || {});
    });
    until("the old lists are freed", || {
        let version = pool.version();
        pool.edit(|edit| {
            edit.set_weight(&format!("{}-0", published.load(Ordering::Relaxed)), version as f64 + 10.0)
        })
        .expect("it is there");
        pool.retired() <= 2
    });
    let after = memory::live() - before;
    // Room for the live state of the lists that were there at one time stays.
    assert!(after <= 3 * one_list, "{after} bytes after, {one_list} with one list");
    let times = published.load(Ordering::Relaxed);
    drop((pool, routes));
    let left = memory::live() - before;
    assert!(left < 256 << 10, "{left} bytes are left of {one_list}");
    vec![format!("{N} instances replaced {} times; {left} bytes left of {one_list}", times - 1)]
}

fn seen(pick: &pointsman::Pick<'_>) -> (u64, u64) {
    (pick.version(), pick.instance().user_data)
}
