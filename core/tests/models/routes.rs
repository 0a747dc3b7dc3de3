//! Publish against the creation and the drop of routes.
//!
//! Would catch: a route that picks from a snapshot without it; an update and a new route that undo each other; a snapshot
//! freed under the picks of another route; a route that is dropped and compiled for ever after.

use loom::thread;

use super::{check, instance, pick_one, pool_of, replace, route_of};

#[test]
fn a_route_made_during_an_update_picks_and_leaves_nothing_behind() {
    check(2, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let maker = {
            let pool = pool.clone();
            thread::spawn(move || {
                let route = route_of(&pool);
                pick_one(&route);
            })
        };
        replace(&pool, instance("a", 2));
        assert_eq!(pick_one(&route), 2, "a new route brought the old list back");
        maker.join().expect("the maker is done");
        replace(&pool, instance("a", 3));
        assert_eq!(pool.status().routes, 1, "a dropped route is still compiled");
        assert_eq!(pick_one(&route), 3);
        released.settle(pool, route, 3);
    });
}

#[test]
fn picks_of_one_route_go_on_while_another_comes_and_goes() {
    check(2, || {
        let (pool, released) = pool_of(instance("a", 1));
        let route = route_of(&pool);
        let reader = {
            let route = route.clone();
            thread::spawn(move || {
                pick_one(&route);
            })
        };
        drop(route_of(&pool));
        pick_one(&route);
        reader.join().expect("the reader is done");
        released.settle(pool, route, 1);
    });
}
