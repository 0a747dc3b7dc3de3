//! Publish against threads that come and go.
//!
//! Would catch: a slot given to a thread that does not find it clear, or to two threads; a new slot that a writer's scan
//! misses or sees half made; a slot of an ended thread that holds up what was replaced.

use loom::thread;

use super::{check, instance, pick_one, pool_of, replace, route_of};

#[test]
fn a_thread_takes_over_the_slot_of_one_that_ended() {
    check(2, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let readers = [(); 2].map(|()| {
            let route = route.clone();
            thread::spawn(move || {
                pick_one(&route);
            })
        });
        readers.into_iter().for_each(|reader| reader.join().expect("the reader is done"));
        replace(&pool, instance("a", 2));
        released.settle(pool, route, 2);
    });
}

/// Two threads begin at once, and one of them updates. So many others were there before and left their slots.
fn two_begin(preemptions: usize, before: usize) {
    check(preemptions, move || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let reader = || {
            let route = route.clone();
            thread::spawn(move || {
                pick_one(&route);
            })
        };
        (0..before).for_each(|_| reader().join().expect("the reader is done"));
        let reader = reader();
        pick_one(&route);
        replace(&pool, instance("a", 2));
        reader.join().expect("the reader is done");
        released.settle(pool, route, 2);
    });
}

#[test]
fn two_threads_that_begin_at_once_have_a_slot_each() {
    two_begin(4, 0);
}

#[test]
fn a_slot_that_is_free_goes_to_one_of_two_threads() {
    two_begin(3, 1);
}
