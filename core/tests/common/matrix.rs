//! Everything that makes a pick take a way of its own: policies in all their forms, tiers, and requests. For tests that hold
//! for every combination of them.

use pointsman::{
    Algorithm, Branch, ConsistentHash, Instance, Load, PeakEwma, Policy, PowerOfTwo, Request, RouteSpec,
    Tier, WhenAbsent, ZoneRule,
};

const PLAIN: Request<'static> = Request::new();

/// Every policy in each of its forms that picks by code of its own.
pub(crate) fn variants() -> Vec<Policy> {
    let hashing = |algorithm| ConsistentHash::new().algorithm(algorithm).slots(1_009);
    let algorithms = [Algorithm::Rendezvous, Algorithm::Maglev, Algorithm::Ketama];
    let hashings = algorithms.into_iter().flat_map(|algorithm| {
        [hashing(algorithm), hashing(algorithm).bound(1.25)].map(Policy::ConsistentHash)
    });
    let choices = [
        Policy::PowerOfTwo(PowerOfTwo::new().choices(3)),
        Policy::PowerOfTwo(PowerOfTwo::new().load(Load::Reported)),
        Policy::PeakEwma(PeakEwma::new().choices(8)),
    ];
    let plain = Policy::all().into_iter().filter(|policy| !matches!(policy, Policy::ConsistentHash(_)));
    plain.chain(choices).chain(hashings).collect()
}

/// Enough instances for sparse and dense tags, and for more than one word of a set.
pub(crate) fn instances() -> Vec<Instance> {
    let one = |at: usize| {
        Instance::new(format!("i{at}"))
            .weight([1.0, 2.0, 5.0, 0.0, 1.3][at % 5])
            .zone(["z1", "z2", "z3"][at % 3])
            .tag("version", ["stable", "gray"][at % 2])
            .tag("rack", &format!("r{}", at % 7))
            .tag("pod", &format!("p{at}"))
            .load((at % 11) as f64)
            .healthy(!at.is_multiple_of(13))
            .user_data(at as u64)
    };
    (0..200).map(one).collect()
}

/// Tiers, splits and overflow under a policy.
pub(crate) fn specs(policy: &Policy) -> Vec<RouteSpec> {
    let spec = || RouteSpec::new(policy.clone());
    let matched = || Tier::new().matching("version").matching("rack");
    vec![
        spec().tier(Tier::new()),
        spec().tier(matched()).tier(Tier::new().matching("version")).tier(Tier::new()).counters(true),
        spec().tier(matched().when_absent(WhenAbsent::Untagged)).tier(Tier::new().zone(ZoneRule::Local)),
        spec()
            .branch(Branch::new("gray", 10.0).tier(Tier::new().tag("version", "gray")))
            .branch(Branch::new("stable", 90.0).tier(matched()).tier(Tier::new()))
            .spill(true)
            .counters(true),
        spec().tier(Tier::new().tag("rack", "r1").overflow(0.7)).tier(Tier::new().not_tag("rack", "r1")),
        spec().tier(Tier::new().min_available(10_000)).tier(Tier::new().tag("pod", "p4").overflow(0.5)),
    ]
}

/// Ids to exclude, more than are skipped by rank.
pub(crate) const IDS: [&str; 40] = [
    "i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9", "i10", "i11", "i12", "i13", "i14", "i15",
    "i16", "i17", "i18", "i19", "i20", "i21", "i22", "i23", "i24", "i25", "i26", "i27", "i28", "i29", "i30",
    "i31", "i32", "i33", "i34", "nobody", "i36", "i37", "i38", "i39",
];

/// One key with more values than are looked up in the index.
pub(crate) const MANY_VALUES: [(&str, &str); 25] = {
    let mut values = [("rack", "elsewhere"); 25];
    values[24] = ("rack", "r3");
    values
};

/// Tags, exclusions, requirements and preferences, alone and together.
pub(crate) fn requests() -> Vec<Request<'static>> {
    let ids: &'static [&'static str] = &IDS;
    let both = PLAIN.tags(&[("version", "gray"), ("rack", "r2")]);
    vec![
        PLAIN,
        PLAIN.key(b"somebody"),
        both,
        PLAIN.tags(&[("version", "gray")]),
        PLAIN.tags(&[("version", "gray"), ("version", "stable"), ("rack", "r2")]),
        PLAIN.tags(&[("version", "none"), ("rack", "none")]),
        PLAIN.exclude(&ids[..3]),
        PLAIN.exclude(&ids[..32]),
        PLAIN.exclude(ids),
        both.exclude(ids).relax(true),
        both.key(b"somebody").exclude(&ids[..3]),
        PLAIN.key(b"somebody").require(&[("version", "stable")]),
        PLAIN.require(&[("version", "stable")]),
        PLAIN.require(&[("pod", "p17")]),
        PLAIN.require(&[("pod", "nobody")]),
        PLAIN.require(&[("pod", "p2"), ("pod", "p4"), ("version", "stable")]).exclude(&ids[2..3]),
        PLAIN.require(&[("pod", "p4")]).exclude(&ids[4..5]),
        PLAIN.require(&[("pod", "p4")]).exclude(&ids[4..5]).relax(true),
        PLAIN.prefer("i7"),
        PLAIN.prefer("i7").exclude(&ids[7..8]),
        PLAIN.prefer("nobody"),
        both.require(&[("rack", "r2")]).prefer("i9").exclude(&ids[..33]),
    ]
}
