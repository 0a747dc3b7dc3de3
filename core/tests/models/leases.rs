//! Publish against lease and done.
//!
//! Would catch: a count in flight that is lost or taken twice; a limit that two leases pass at once; an entry or a slot of
//! live state that is given up, or given to another id, while a lease is open; the release hook called during the lease,
//! twice or never, also where the lease and the pool end at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loom::thread;
use pointsman::{Outcome, Pool, Route};

use super::{PLAIN, check, instance, pool_of, replace, route_of};

/// Leases in flight of the one instance there is.
fn in_flight(route: &Route) -> u32 {
    let live = route.explain(&PLAIN).live;
    live.iter().map(|state| state.in_flight).sum()
}

/// The same as the limit shows it: whether one more fits under a limit of one.
fn has_room(route: &Route) -> bool {
    route.lease(&PLAIN).is_ok()
}

#[test]
fn leases_of_two_threads_are_counted_each() {
    check(3, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let other = {
            let route = route.clone();
            thread::spawn(move || {
                let lease = route.lease(&PLAIN).expect("no limit");
                assert!(in_flight(&route) >= 1, "the thread's own lease is not counted");
                lease.done(Outcome::Success, None);
            })
        };
        let lease = route.lease(&PLAIN).expect("no limit");
        assert!(in_flight(&route) >= 1, "the thread's own lease is not counted");
        other.join().expect("the other thread is done");
        assert_eq!(in_flight(&route), 1, "one lease is open");
        drop(lease);
        assert_eq!(in_flight(&route), 0, "no lease is open");
        released.settle(pool, route, 1);
    });
}

#[test]
fn a_limit_of_one_admits_one_of_two_threads_at_a_time() {
    check(3, || {
        let (pool, released) = pool_of(instance("a", 1).max_in_flight(1));
        let route = route_of(&pool);
        let open = Arc::new(AtomicBool::new(false));
        let take = |route: &Route, open: &AtomicBool| {
            if let Ok(lease) = route.lease(&PLAIN) {
                assert!(!open.swap(true, Ordering::SeqCst), "two leases under a limit of one");
                // A step of the model, between which and the next the other thread may run.
                thread::yield_now();
                open.store(false, Ordering::SeqCst);
                lease.done(Outcome::Cancelled, None);
            }
        };
        let other = {
            let (route, open) = (route.clone(), open.clone());
            thread::spawn(move || take(&route, &open))
        };
        take(&route, &open);
        other.join().expect("the other thread is done");
        assert!(has_room(&route), "a lease that is done still counts");
        released.settle(pool, route, 1);
    });
}

/// The instance leaves while a lease of it may be open, and another takes its place. Each admits one lease at a time, so
/// that a slot shared by both would show.
fn replaced_under_a_lease(preemptions: usize, update: impl Fn(&Pool) + Copy + Send + Sync + 'static) {
    check(preemptions, move || {
        let (pool, released) = pool_of(instance("a", 1).max_in_flight(1));
        let route = route_of(&pool);
        let holder = {
            let (route, released) = (route.clone(), released.clone());
            thread::spawn(move || {
                let lease = route.lease(&PLAIN).expect("nobody else leases");
                let user_data = lease.instance().user_data;
                thread::yield_now();
                assert_eq!(lease.instance().user_data, user_data);
                assert!(!released.has(user_data), "told of an instance that a lease can return");
                lease.done(Outcome::Success, None);
            })
        };
        update(&pool);
        holder.join().expect("the lease is done");
        assert_eq!(in_flight(&route), 0, "no lease is open");
        assert!(has_room(&route), "a lease of the one before counts on its successor");
        released.settle(pool, route, 2);
    });
}

#[test]
fn a_lease_outlives_its_instance() {
    replaced_under_a_lease(4, |pool| {
        replace(pool, instance("b", 2).max_in_flight(1));
    });
}

#[test]
fn a_lease_outlives_a_change_of_its_instance() {
    replaced_under_a_lease(4, |pool| {
        replace(pool, instance("a", 2).max_in_flight(1));
    });
}

#[test]
fn a_lease_outlives_its_pool() {
    check(4, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let lease = route.lease(&PLAIN).expect("no limit");
        let holder = {
            let released = released.clone();
            thread::spawn(move || {
                assert_eq!(lease.instance().user_data, 1);
                thread::yield_now();
                assert!(!released.has(1), "told of an instance that a lease can return");
                lease.done(Outcome::Success, None);
            })
        };
        drop((route, pool));
        holder.join().expect("the lease is done");
        assert!(released.has(1), "never told of an instance that nothing can return");
    });
}
