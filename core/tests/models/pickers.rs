//! Publish against reclamation: counts and the retired list.
//!
//! Would catch: a count that two threads change at once and lose; a value that its last holder frees before another's reads
//! are over; a value that is lost when two threads hand theirs over at once, or when a writer empties the list meanwhile; a
//! picker that takes an old list for the one in force.

use loom::thread;

use super::{PLAIN, check, instance, pool_of, replace, route_of};

#[test]
fn a_picker_keeps_its_list_and_hands_it_over_when_it_takes_up_the_next() {
    check(3, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let reader = {
            let route = route.clone();
            thread::spawn(move || {
                let mut picker = route.picker_seeded(0);
                let mut pick = || {
                    let pick = picker.pick(&PLAIN).expect("an instance");
                    assert_eq!(pick.instance().user_data, pick.version());
                    pick.version()
                };
                let first = pick();
                assert!(first <= pick(), "a picker went back to an older list");
            })
        };
        replace(&pool, instance("a", 2));
        reader.join().expect("the reader is done");
        released.settle(pool, route, 2);
    });
}

#[test]
fn what_two_threads_let_go_of_at_once_is_freed_once() {
    check(3, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let first = route.pick(&PLAIN).expect("an instance").to_owned();
        replace(&pool, instance("a", 2));
        let second = route.pick(&PLAIN).expect("an instance").to_owned();
        let shared = first.clone();
        let holders = [(first, 1), (second, 2)].map(|(held, user_data)| {
            let released = released.clone();
            thread::spawn(move || {
                assert_eq!(held.instance().user_data, user_data);
                assert!(!released.has(user_data), "told of an instance that is held");
                drop(held);
            })
        });
        replace(&pool, instance("a", 3));
        assert_eq!(shared.instance().user_data, 1);
        drop(shared);
        pool.tick();
        holders.into_iter().for_each(|holder| holder.join().expect("the holder is done"));
        released.settle(pool, route, 3);
    });
}
