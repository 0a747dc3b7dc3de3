//! A hundred thousand instances replaced by others while threads pick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pointsman::{Instance, Policy, Pool};

use crate::Order;
use crate::common::{Hand, PLAIN, plain_route, until};
use crate::control::{Control, Progress, limit_in};
use crate::memory;

const N: usize = 100_000;

/// How long a replace may take, with the making of the list and with what it waits for a core: fifteen times what it does
/// take where four readers never rest on two busy cores, in time, or forty times what the first list took
/// alone. The latter is for builds that are slow.
const SLOWEST: Duration = Duration::from_secs(15);
const SLOWER: u32 = 40;

fn list(version: u64) -> impl Iterator<Item = Instance> {
    (0..N).map(move |at| {
        Instance::new(format!("{version}-{at}")).weight(1.0 + (at % 9) as f64).user_data(version)
    })
}

pub(crate) fn run(order: Order) -> Vec<String> {
    let before = memory::live();
    let begin = Instant::now();
    let pool = Pool::new(list(1)).expect("a good list");
    let alone = begin.elapsed();
    let routes = [Policy::WeightedRandom, Policy::RoundRobin].map(|policy| plain_route(&pool, policy));
    let one_list = memory::live() - before;
    let published = AtomicU64::new(1);
    let control = Control::new(limit_in(order.time));
    // Steps of each reader during each replace.
    let during = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let (pool, published, during, control) = (&pool, &published, &during, &control);
        let hands = routes.iter().flat_map(|route| Hand::both(route, order.seed)).enumerate();
        let read = |(at, mut hand): (usize, Hand)| {
            control.spawn(scope, format!("picks {at}"), move || {
                let at_least = published.load(Ordering::Acquire);
                let (version, user_data) = match &mut hand {
                    Hand::Route(route) => seen(&route.pick(&PLAIN).expect("an instance")),
                    Hand::Picker(picker) => seen(&picker.pick(&PLAIN).expect("an instance")),
                };
                assert!(version >= at_least && user_data == version, "{user_data} of {version}, {at_least}");
            })
        };
        let readers: Vec<Arc<Progress>> = hands.map(read).collect();
        let limit = SLOWEST.max(alone * SLOWER);
        control.spawn_within(scope, "replaces".into(), limit, move || {
            let version = published.load(Ordering::Relaxed) + 1;
            let list: Vec<Instance> = list(version).collect();
            let steps = || readers.iter().map(|reader| reader.steps());
            let before: Vec<u64> = steps().collect();
            assert_eq!(pool.replace(list), Ok(version));
            let made: Vec<u64> = steps().zip(before).map(|(after, before)| after - before).collect();
            // Behind the sign to stop there is nobody who could make steps.
            if control.goes_on() {
                during.lock().expect("no panic").push(made);
            }
            published.store(version, Ordering::Release);
        });
        let begin = Instant::now();
        control.run_while(|| begin.elapsed() < order.time || published.load(Ordering::Relaxed) < 4);
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
    let told = format!("{N} instances replaced {} times; {left} bytes left of {one_list}", times - 1);
    let during = during.into_inner().expect("no panic");
    assert!(who_sat_out(&[vec![1, 1], vec![1, 0]]) == Some(1), "a reader that stands still is seen");
    assert_eq!(who_sat_out(&during), None, "picks of the reader during each replace: {during:?}");
    let least = during.iter().flatten().min().expect("three replaces at least");
    let least = format!("{least} picks of a reader during a replace at least; one alone took {alone:.0?}");
    [told, least].into_iter().chain(control.told()).collect()
}

/// A reader that made no step during more than one replace of ten, by the steps of each during each.
fn who_sat_out(during: &[Vec<u64>]) -> Option<usize> {
    let readers = during.first().map_or(0, Vec::len);
    let sat_out = |reader: &usize| during.iter().filter(|steps| steps[*reader] == 0).count();
    (0..readers).find(|reader| sat_out(reader) > during.len() / 10)
}

fn seen(pick: &pointsman::Pick<'_>) -> (u64, u64) {
    (pick.version(), pick.instance().user_data)
}
