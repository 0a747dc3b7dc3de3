//! A first look at the whole: picks, tags, edits.
use pointsman::*;
#[test]
fn works() {
    let pool = Pool::new([
        Instance::new("a").weight(8.0).tag("version", "stable"),
        Instance::new("b").weight(2.0).tag("version", "gray"),
        Instance::new("c").weight(0.0),
    ])
    .unwrap();
    for policy in Policy::all() {
        let route = pool
            .route(RouteSpec::new(policy.clone()).tier(Tier::new().matching("version")).tier(Tier::new()))
            .unwrap();
        let mut n = [0; 3];
        for _ in 0..10000 {
            n[route.pick(&Request::new()).unwrap().index()] += 1;
        }
        println!("{policy:?} {n:?}");
        let mut p = route.picker();
        let mut n = [0; 3];
        for _ in 0..10000 {
            n[p.pick(&Request::new()).unwrap().index()] += 1;
        }
        println!("{policy:?} {n:?}");
        assert_eq!(route.pick(&Request::new().tags(&[("version", "gray")])).unwrap().index(), 1);
        assert_eq!(route.pick(&Request::new().exclude(&["a"])).unwrap().index(), 1);
        assert_eq!(route.pick(&Request::new().exclude(&["a", "b"])).unwrap_err().reason, Reason::Excluded);
        println!(
            "{}",
            serde_json::to_string(&route.explain(&Request::new().tags(&[("version", "gray")]))).unwrap()
        );
    }
    pool.edit(|e| {
        e.set_weight("a", 4.0)?;
        e.remove("b")
    })
    .unwrap();
    println!("{:?}", pool.status());
}
