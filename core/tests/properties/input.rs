//! Random instances, specs, requests and updates over a small world, so that they meet.

use pointsman::{
    Branch, Health, Instance, OnUnavailable, Policy, RouteSpec, SplitBy, Tags, Tier, WhenAbsent, ZoneRule,
};
use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::oracle::pool::Change;
use crate::oracle::routing::Ask;

const IDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const KEYS: [&str; 3] = ["v", "k", ""];
const VALUES: [&str; 3] = ["1", "2", ""];
const ZONES: [&str; 3] = ["z1", "z2", "local"];

/// One step of a sequence.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Replace(Vec<Instance>),
    Again,
    Edit(Vec<Change>),
    Report(String, f64),
    AddRoute(Box<RouteSpec>),
    DropRoute(Index),
    Ask(Index, Box<Ask>),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => list().prop_map(Step::Replace),
        1 => Just(Step::Again),
        4 => vec(change(), 1..4).prop_map(Step::Edit),
        1 => (id(), load()).prop_map(|(id, load)| Step::Report(id, load)),
        3 => spec().prop_map(|spec| Step::AddRoute(Box::new(spec))),
        1 => any::<Index>().prop_map(Step::DropRoute),
        12 => (any::<Index>(), ask()).prop_map(|(route, ask)| Step::Ask(route, Box::new(ask))),
    ];
    vec(step, 1..30)
}

/// Mostly good lists.
pub(crate) fn list() -> impl Strategy<Value = Vec<Instance>> {
    prop_oneof![
        12 => good_list(),
        1 => (good_list(), any::<Index>()).prop_map(|(mut list, at)| {
            // The same id twice.
            if !list.is_empty() {
                let twice = list[at.index(list.len())].clone();
                list.push(twice);
            }
            list
        }),
        1 => vec((id(), bad_body()).prop_map(|(id, body)| named((&id, body))), 1..3),
    ]
}

fn good_list() -> impl Strategy<Value = Vec<Instance>> {
    let parts = (subsequence(IDS.to_vec(), 0..=IDS.len()).prop_shuffle(), vec(body(), IDS.len()));
    parts.prop_map(|(ids, bodies)| ids.into_iter().zip(bodies).map(named).collect())
}

pub(crate) fn zone() -> impl Strategy<Value = Option<String>> {
    of(select(&ZONES[..]).prop_map(str::to_owned))
}

fn named((id, body): (&str, Instance)) -> Instance {
    body.id(id)
}

fn id() -> impl Strategy<Value = String> {
    select(&IDS[..]).prop_map(str::to_owned)
}

fn pair() -> impl Strategy<Value = (String, String)> {
    (select(&KEYS[..]), select(&VALUES[..])).prop_map(|(key, value)| (key.to_owned(), value.to_owned()))
}

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![4 => Just(1.0), 2 => Just(2.0), 2 => Just(0.0), 1 => Just(5.0), 2 => 0.1..10.0_f64]
}

fn load() -> impl Strategy<Value = f64> {
    select(vec![0.0, 1.0, 1.0, 2.0, 7.5])
}

fn body() -> impl Strategy<Value = Instance> {
    let flags = (weighted(0.2, Just(())), weighted(0.1, Just(())));
    (weight(), zone(), vec(pair(), 0..4), flags, weighted(0.3, load()), 0..2_u64).prop_map(
        |(weight, zone, tags, (down, off), load, user_data)| {
            let mut instance = Instance::new("host").weight(weight).user_data(user_data);
            instance.zone = zone.map(Into::into);
            instance.tags = Tags::from_iter(tags);
            instance.load = load;
            instance.healthy(down.is_none()).enabled(off.is_none())
        },
    )
}

fn bad_body() -> impl Strategy<Value = Instance> {
    let ill = |instance: Instance, what: usize| match what {
        0 => instance.weight(f64::NAN),
        1 => instance.weight(-1.0),
        2 => instance.load(f64::INFINITY),
        3 => Instance::new("").id(instance.id),
        4 => instance.max_in_flight(0),
        _ => instance.tags((0..65).map(|n| ("k", n.to_string())).collect()),
    };
    (body(), 0..6_usize).prop_map(move |(instance, what)| ill(instance, what))
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (id(), body()).prop_map(|(id, body)| Change::Upsert(named((&id, body)))),
        2 => id().prop_map(Change::Remove),
        3 => (id(), weight()).prop_map(|(id, weight)| Change::Weight(id, weight)),
        3 => (id(), any::<bool>()).prop_map(|(id, healthy)| Change::Healthy(id, healthy)),
        1 => (id(), any::<bool>()).prop_map(|(id, enabled)| Change::Enabled(id, enabled)),
        2 => (id(), vec(pair(), 0..4)).prop_map(|(id, tags)| Change::Tags(id, tags)),
        1 => (id(), zone()).prop_map(|(id, zone)| Change::Zone(id, zone)),
    ]
}

pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    select(vec![
        Policy::Random,
        Policy::WeightedRandom,
        Policy::RoundRobin,
        Policy::WeightedRoundRobin,
        Policy::LeastLoad,
    ])
}

pub(crate) fn spec() -> impl Strategy<Value = RouteSpec> {
    let tiers = || vec(tier(), 1..4);
    let plain = tiers().prop_map(|tiers| (tiers, Vec::new()));
    let percents = select(vec![
        vec![100.0],
        vec![5.0, 95.0],
        vec![50.0, 50.0],
        vec![0.0, 100.0],
        vec![12.5, 0.0, 87.5],
        vec![33.3, 33.3, 33.4],
    ]);
    let branches = (percents, vec((tiers(), weighted(0.2, Just(()))), 3));
    let split = branches.prop_map(|(percents, parts)| {
        let branch = |at: usize, percent: f64, tiers: Vec<Tier>, spills: Option<()>| {
            let branch = Branch::new(if at == 1 { "second" } else { "" }, percent).spill(spills.is_some());
            tiers.into_iter().fold(branch, Branch::tier)
        };
        let parts = percents.into_iter().zip(parts).enumerate();
        let branches = parts.map(|(at, (percent, (tiers, spills)))| branch(at, percent, tiers, spills));
        (Vec::new(), branches.collect::<Vec<_>>())
    });
    let body = prop_oneof![3 => plain, 2 => split];
    (policy(), body, any::<bool>(), weighted(0.2, Just(())), any::<bool>()).prop_map(
        |(policy, (tiers, branches), by_key, spills, counters)| {
            let spec = RouteSpec::new(policy).counters(counters);
            let spec = tiers.into_iter().fold(spec, RouteSpec::tier);
            if branches.is_empty() {
                return spec;
            }
            let by = if by_key { SplitBy::Key } else { SplitBy::Draw };
            branches.into_iter().fold(spec, RouteSpec::branch).by(by).spill(spills.is_some())
        },
    )
}

fn tier() -> impl Strategy<Value = Tier> {
    let rules = (
        vec(pair(), 0..2),
        vec(pair(), 0..2),
        prop_oneof![4 => Just(None), 1 => select(&KEYS[..]).prop_map(Some)],
        prop_oneof![2 => Just(0..=0), 3 => Just(1..=3)]
            .prop_flat_map(|many| subsequence(KEYS.to_vec(), many)),
        any::<bool>(),
    );
    let zone = prop_oneof![
        5 => Just(ZoneRule::Any),
        2 => Just(ZoneRule::Local),
        2 => subsequence(ZONES.to_vec(), 1..3).prop_map(|names| {
            ZoneRule::Named(names.into_iter().map(str::to_owned).collect())
        }),
    ];
    let numbers = (
        prop_oneof![6 => Just(1_u32), 1 => 0..5_u32],
        prop_oneof![6 => Just(0.0), 1 => select(vec![30.0, 50.0, 100.0])],
        weighted(0.25, select(vec![0.3, 1.0, 1.4])),
    );
    let ends = (weighted(0.2, Just(())), weighted(0.25, Just(())));
    (rules, zone, numbers, ends, 0..3_usize).prop_map(|(rules, zone, numbers, (any, stop), name)| {
        let (tags, not_tags, without, matching, untagged) = rules;
        let mut tier = Tier::new().name(["", "near", "far"][name]).zone(zone);
        // One rule in two is left out: tiers that ask for everything find nobody.
        tier = tags.into_iter().take(1).fold(tier, |tier, (key, value)| tier.tag(key, value));
        tier = not_tags.into_iter().fold(tier, |tier, (key, value)| tier.not_tag(key, value));
        tier = without.into_iter().fold(tier, Tier::without);
        tier = matching.into_iter().fold(tier, Tier::matching);
        if untagged {
            tier = tier.when_absent(WhenAbsent::Untagged);
        }
        if any.is_some() {
            tier = tier.health(Health::Any);
        }
        if stop.is_some() {
            tier = tier.when_unavailable(OnUnavailable::Stop);
        }
        tier = tier.min_available(numbers.0).min_available_percent(numbers.1);
        numbers.2.into_iter().fold(tier, Tier::overflow)
    })
}

pub(crate) fn ask() -> impl Strategy<Value = Ask> {
    let few = |most: usize| prop_oneof![2 => Just(0..=0), 1 => Just(1..=most)];
    let tags = prop_oneof![1 => Just(0..=0), 2 => Just(1..=4_usize)].prop_flat_map(|many| vec(pair(), many));
    let require = few(2).prop_flat_map(|many| vec(pair(), many));
    let excluded = select([&IDS[..], &["nobody"]].concat()).prop_map(str::to_owned);
    let exclude = few(6).prop_flat_map(move |many| vec(excluded.clone(), many));
    let long = (weighted(0.1, Just(())), weighted(0.1, Just(())), weighted(0.1, Just(())));
    let key = of(vec(any::<u8>(), 0..6));
    (tags, require, exclude, weighted(0.2, id()), key, any::<bool>(), long).prop_map(
        |(mut tags, mut require, mut exclude, prefer, key, relax, (ids, values, asked))| {
            // More than is kept in the fixed room of a pick.
            if ids.is_some() {
                exclude.splice(0..0, (0..40).map(|n| format!("gone-{n}")));
            }
            if values.is_some()
                && let Some((key, _)) = require.first().cloned()
            {
                require.splice(0..0, (0..30).map(|n| (key.clone(), format!("other-{n}"))));
            }
            if asked.is_some()
                && let Some((key, _)) = tags.first().cloned()
            {
                tags.splice(0..0, (0..30).map(|n| (key.clone(), format!("other-{n}"))));
            }
            Ask { tags, require, exclude, prefer, key, relax }
        },
    )
}
