//! A thread that is parked while it holds a pick keeps what was replaced since, and gives it back.

use std::sync::mpsc;

use pointsman::{Instance, Policy, Pool};

use crate::Order;
use crate::common::{PLAIN, plain_route, until};

pub(crate) fn run(_order: Order) -> Vec<String> {
    const UPDATES: u64 = 500;
    let pool = Pool::new((0..100).map(|at| Instance::new(format!("i{at}")))).expect("a good list");
    let route = plain_route(&pool, Policy::WeightedRandom);
    let update = |weight: u64| pool.edit(|edit| edit.set_weight("i0", weight as f64)).expect("a good weight");
    let (held, is_held) = mpsc::channel();
    let (let_go, may_let_go) = mpsc::channel::<()>();
    let most = std::thread::scope(|scope| {
        let route = &route;
        let parked = scope.spawn(move || {
            let pick = route.pick(&PLAIN).expect("an instance");
            held.send(pick.version()).expect("the test listens");
            may_let_go.recv().expect("the test goes on");
            assert_eq!((pick.version(), pick.instance().weight), (1, 1.0), "it is what it was");
        });
        assert_eq!(is_held.recv(), Ok(1));
        (2..2 + UPDATES).for_each(|weight| assert_eq!(update(weight), weight, "nobody waits for the pick"));
        let most = pool.retired();
        assert!(most as u64 >= UPDATES - 1, "{most} wait, of {UPDATES} lists that the pick may be reading");
        let_go.send(()).expect("the thread waits");
        parked.join().expect("no panic");
        most
    });
    until("what was held is freed", || {
        update(pool.version() + 1);
        pool.retired() <= 2
    });
    vec![format!("{most} values waited for one parked pick, {} after it", pool.retired())]
}
