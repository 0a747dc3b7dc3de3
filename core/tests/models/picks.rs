//! Publish against pick.
//!
//! Would catch: a value freed while a pin may read it, for want of the announcement, of a barrier on either side or of an
//! ordering at the pin's begin or end; a snapshot seen before it is whole; a pick from the old list after the update has
//! returned; a replaced list that is never freed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::thread;

use super::{check, instance, pick_one, pool_of, replace, route_of};

#[test]
fn a_pick_sees_one_whole_list_and_an_update_frees_it_after_the_last_reader() {
    check(4, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let reader = {
            let route = route.clone();
            thread::spawn(move || {
                let first = pick_one(&route);
                assert!(first <= pick_one(&route), "a thread went back to an older list");
            })
        };
        replace(&pool, instance("a", 2));
        reader.join().expect("the reader is done");
        released.settle(pool, route, 2);
    });
}

#[test]
fn a_pick_that_begins_after_an_update_returned_sees_its_list() {
    check(4, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        // Relaxed: what the update published must be seen by itself, without the help of an ordering of the caller's.
        // A real clock orders calls; here the order of the model's steps does.
        let returned = Arc::new(AtomicU64::new(1));
        let reader = {
            let (route, returned) = (route.clone(), returned.clone());
            thread::spawn(move || {
                let since = returned.load(Ordering::Relaxed);
                assert!(pick_one(&route) >= since, "a pick from a list replaced before it began");
            })
        };
        returned.store(replace(&pool, instance("a", 2)), Ordering::Relaxed);
        reader.join().expect("the reader is done");
        released.settle(pool, route, 2);
    });
}

#[test]
fn two_readers_keep_a_list_until_both_are_done() {
    check(1, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let readers = [(); 2].map(|()| {
            let route = route.clone();
            thread::spawn(move || {
                pick_one(&route);
            })
        });
        replace(&pool, instance("a", 2));
        readers.into_iter().for_each(|reader| reader.join().expect("the reader is done"));
        released.settle(pool, route, 2);
    });
}
