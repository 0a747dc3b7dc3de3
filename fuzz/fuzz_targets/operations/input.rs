//! Updates, routes and requests over a small world, so that they meet.

use arbitrary::Arbitrary;
use pointsman::{
    Branch, Health, Instance, OnUnavailable, Policy, RouteSpec, SplitBy, Tags, Tier, WhenAbsent, ZoneRule,
};

use crate::oracle::pool::Change;
use crate::oracle::routing::Ask;

#[derive(Arbitrary, Debug)]
pub(crate) struct Input {
    pub(crate) first: Vec<(Id, Body)>,
    pub(crate) zone: Option<Zone>,
    pub(crate) keep_last: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Step {
    Replace(Vec<(Id, Body)>),
    Again,
    Edit(Vec<Changed>),
    Report(Id, i8),
    AddRoute(Spec, u64),
    DropRoute(u8),
    Ask(u8, Asked),
}

macro_rules! words {
    ($name:ident: $($variant:ident = $word:literal),*) => {
        #[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
        pub(crate) enum $name { $($variant),* }

        impl $name {
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

words!(Id: A = "a", B = "b", C = "c", D = "d", E = "e", F = "f", G = "g", H = "h");
words!(Key: Version = "v", Key = "k", Empty = "");
words!(Word: One = "1", Two = "2", Empty = "");
words!(Zone: One = "z1", Two = "z2", Local = "local");

type Pair = (Key, Word);

fn pairs(pairs: &[Pair], most: usize) -> Vec<(String, String)> {
    let pairs = pairs.iter().take(most);
    pairs.map(|(key, word)| (key.name().to_owned(), word.name().to_owned())).collect()
}

#[derive(Arbitrary, Clone, Debug)]
pub(crate) struct Body {
    weight: Weight,
    zone: Option<Zone>,
    tags: Vec<Pair>,
    healthy: bool,
    off: (bool, bool, bool),
    load: Option<i8>,
    user_data: bool,
    flaw: Flaw,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Weight {
    Zero,
    One,
    Two,
    Five,
    /// In tenths, so that no share is lost in rounding.
    Tenths(u8),
}

impl Weight {
    fn value(self) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::One => 1.0,
            Self::Two => 2.0,
            Self::Five => 5.0,
            Self::Tenths(tenths) => f64::from(tenths) / 10.0,
        }
    }
}

/// What refuses an instance. Most have none.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Flaw {
    None1,
    None2,
    None3,
    None4,
    None5,
    Weight,
    Load,
    Address,
    Limit,
    Tags,
}

impl Body {
    fn instance(&self, id: Id) -> Instance {
        let mut instance = Instance::new("host").weight(self.weight.value()).user_data(self.user_data.into());
        instance.zone = self.zone.map(|zone| zone.name().into());
        instance.tags = Tags::from_iter(pairs(&self.tags, 4));
        instance.load = self.load.map(f64::from);
        let enabled = self.off != (true, true, true);
        instance = instance.id(id.name()).healthy(self.healthy).enabled(enabled);
        match self.flaw {
            Flaw::Weight => instance.weight(f64::NAN),
            Flaw::Load => instance.load(f64::INFINITY),
            Flaw::Address => Instance::new("").id(id.name()),
            Flaw::Limit => instance.max_in_flight(0),
            Flaw::Tags => instance.tags((0..65).map(|number| ("k", number.to_string())).collect()),
            _ => instance,
        }
    }
}

pub(crate) fn list(bodies: &[(Id, Body)]) -> Vec<Instance> {
    bodies.iter().take(10).map(|(id, body)| body.instance(*id)).collect()
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Changed {
    Upsert(Id, Body),
    Remove(Id),
    Weight(Id, Weight),
    Healthy(Id, bool),
    Enabled(Id, bool),
    Tags(Id, Vec<Pair>),
    Zone(Id, Option<Zone>),
}

impl Changed {
    pub(crate) fn change(&self) -> Change {
        let id = |id: &Id| id.name().to_owned();
        match self {
            // One that a call refuses leaves nothing to commit; the naive pool looks at the end alone.
            Self::Upsert(at, body) => {
                let sound = Body {
                    flaw: Flaw::None1,
                    load: body.load.map(|load| load.saturating_abs()),
                    ..body.clone()
                };
                Change::Upsert(sound.instance(*at))
            }
            Self::Remove(at) => Change::Remove(id(at)),
            Self::Weight(at, weight) => Change::Weight(id(at), weight.value()),
            Self::Healthy(at, healthy) => Change::Healthy(id(at), *healthy),
            Self::Enabled(at, enabled) => Change::Enabled(id(at), *enabled),
            Self::Tags(at, tags) => Change::Tags(id(at), pairs(tags, 4)),
            Self::Zone(at, zone) => Change::Zone(id(at), zone.map(|zone| zone.name().to_owned())),
        }
    }
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Spec {
    policy: PolicyName,
    tiers: Vec<Rules>,
    split: Option<Split>,
    counters: bool,
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Split {
    percents: Percents,
    by_key: bool,
    spill: bool,
    spills: [bool; 3],
    tiers: [Vec<Rules>; 3],
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Percents {
    All,
    Few,
    Halves,
    Nothing,
    Fractions,
    Thirds,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum PolicyName {
    Random,
    WeightedRandom,
    RoundRobin,
    WeightedRoundRobin,
    LeastLoad,
}

#[derive(Arbitrary, Debug)]
struct Rules {
    name: u8,
    tag: Option<Pair>,
    not_tag: Option<Pair>,
    without: Option<Key>,
    matching: [bool; 3],
    untagged: bool,
    zone: Option<Place>,
    numbers: Option<(u8, u8)>,
    overflow: Option<u8>,
    any_health: bool,
    stop: bool,
}

#[derive(Arbitrary, Debug)]
enum Place {
    Local,
    Named(Zone, Option<Zone>),
}

impl Spec {
    pub(crate) fn spec(&self) -> RouteSpec {
        let policy = match self.policy {
            PolicyName::Random => Policy::Random,
            PolicyName::WeightedRandom => Policy::WeightedRandom,
            PolicyName::RoundRobin => Policy::RoundRobin,
            PolicyName::WeightedRoundRobin => Policy::WeightedRoundRobin,
            PolicyName::LeastLoad => Policy::LeastLoad,
        };
        let spec = RouteSpec::new(policy).counters(self.counters);
        let Some(split) = &self.split else {
            return tiers(&self.tiers).into_iter().fold(spec, RouteSpec::tier);
        };
        let percents: &[f64] = match split.percents {
            Percents::All => &[100.0],
            Percents::Few => &[5.0, 95.0],
            Percents::Halves => &[50.0, 50.0],
            Percents::Nothing => &[0.0, 100.0],
            Percents::Fractions => &[12.5, 0.0, 87.5],
            Percents::Thirds => &[33.3, 33.3, 33.4],
        };
        let branches = percents.iter().enumerate().map(|(at, percent)| {
            let branch = Branch::new(if at == 1 { "second" } else { "" }, *percent).spill(split.spills[at]);
            tiers(&split.tiers[at]).into_iter().fold(branch, Branch::tier)
        });
        let by = if split.by_key { SplitBy::Key } else { SplitBy::Draw };
        branches.fold(spec, RouteSpec::branch).by(by).spill(split.spill)
    }
}

fn tiers(rules: &[Rules]) -> Vec<Tier> {
    let mut tiers: Vec<Tier> = rules.iter().take(3).map(Rules::tier).collect();
    if tiers.is_empty() {
        tiers.push(Tier::new());
    }
    tiers
}

impl Rules {
    fn tier(&self) -> Tier {
        let mut tier = Tier::new().name(["", "near", "far"][usize::from(self.name % 3)]);
        if let Some((key, word)) = self.tag {
            tier = tier.tag(key.name(), word.name());
        }
        if let Some((key, word)) = self.not_tag {
            tier = tier.not_tag(key.name(), word.name());
        }
        if let Some(key) = self.without {
            tier = tier.without(key.name());
        }
        for (key, asked) in [Key::Version, Key::Key, Key::Empty].into_iter().zip(self.matching) {
            if asked {
                tier = tier.matching(key.name());
            }
        }
        if self.untagged {
            tier = tier.when_absent(WhenAbsent::Untagged);
        }
        tier = tier.zone(match &self.zone {
            None => ZoneRule::Any,
            Some(Place::Local) => ZoneRule::Local,
            Some(Place::Named(one, other)) => {
                let other = other.filter(|other| other != one);
                ZoneRule::Named(
                    [Some(*one), other].into_iter().flatten().map(|zone| zone.name().into()).collect(),
                )
            }
        });
        if let Some((least, percent)) = self.numbers {
            tier = tier.min_available(u32::from(least % 5)).min_available_percent(f64::from(percent % 101));
        }
        if let Some(overflow) = self.overflow {
            tier = tier.overflow(f64::from(overflow % 20 + 1) / 10.0);
        }
        if self.any_health {
            tier = tier.health(Health::Any);
        }
        if self.stop {
            tier = tier.when_unavailable(OnUnavailable::Stop);
        }
        tier
    }
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Asked {
    tags: Vec<Pair>,
    require: Vec<Pair>,
    exclude: Vec<Id>,
    prefer: Option<Id>,
    key: Option<[u8; 2]>,
    relax: bool,
    /// Lists longer than the fixed room of a pick.
    long: Option<bool>,
}

impl Asked {
    pub(crate) fn ask(&self) -> Ask {
        let mut tags = pairs(&self.tags, 4);
        let mut require = pairs(&self.require, 2);
        let mut exclude: Vec<String> = self.exclude.iter().take(6).map(|id| id.name().to_owned()).collect();
        if self.long == Some(true) {
            exclude.splice(0..0, (0..40).map(|number| format!("gone-{number}")));
        }
        if self.long == Some(false) {
            for list in [&mut tags, &mut require] {
                if let Some((key, _)) = list.first().cloned() {
                    list.splice(0..0, (0..30).map(|number| (key.clone(), format!("other-{number}"))));
                }
            }
        }
        let prefer = self.prefer.map(|id| id.name().to_owned());
        Ask { tags, require, exclude, prefer, key: self.key.map(Into::into), relax: self.relax }
    }
}
