//! What a request comes to, by the rules as they are written.
//!
//! - A tier's members have what the tier and its `match` keys ask for. The minimum fields count members before exclusions
//!   and requirements.
//! - A tier serves where somebody available is neither excluded nor short of what is required. Otherwise it came as far as
//!   its reason says, and the furthest of all tiers is the answer, the first such tier.
//! - `stop` ends the search at a tier that has members and cannot serve, also where all are excluded; not where it is only
//!   the requirement that nobody meets.
//! - With `overflow` a tier that serves keeps its share; what no tier behind it takes comes back to the first that serves.
//! - Only where nobody serves, and only with `relax`, everything is tried once more without exclusions.

use pointsman::{
    Health, Instance, OnUnavailable, Policy, Reason, RouteSpec, SplitBy, Tier, Values, WhenAbsent, ZoneRule,
};
use xxhash_rust::xxh64::xxh64;

use super::pool::PlainPool;

/// A request that owns its parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) require: Vec<(String, String)>,
    pub(crate) exclude: Vec<String>,
    pub(crate) prefer: Option<String>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) relax: bool,
}

/// Something that can come of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// By position in the list.
    Pick {
        index: usize,
        tier: usize,
        branch: usize,
        relaxed: bool,
    },
    Refused {
        reason: Reason,
        tier: usize,
        branch: usize,
    },
}

/// Everything that can come of a request, with its probability.
pub(crate) type Outcomes = Vec<(f64, Outcome)>;

/// What a tier holds for a request.
pub(crate) struct Held {
    pub(crate) members: Vec<usize>,
    pub(crate) available: Vec<usize>,
    pub(crate) eligible: Vec<usize>,
    pub(crate) came: Result<(), Reason>,
    stops: bool,
    /// The share of what reaches the tier that it keeps.
    keeps: f64,
}

/// A route over a list, for one request.
pub(crate) struct Question<'a> {
    pub(crate) pool: &'a PlainPool,
    pub(crate) spec: &'a RouteSpec,
    pub(crate) ask: &'a Ask,
    /// Positions that were drawn before and may not come again.
    pub(crate) drawn: &'a [usize],
}

impl Question<'_> {
    pub(crate) fn outcomes(&self) -> Outcomes {
        let mut all = Outcomes::new();
        for (first, share) in self.first_branches() {
            let mut came = self.from(first, true);
            if let [(_, Outcome::Refused { .. })] = came[..]
                && self.ask.relax
                && !self.ask.exclude.is_empty()
            {
                let again = self.from(first, false);
                if !matches!(again[..], [(_, Outcome::Refused { .. })]) {
                    came = again;
                }
            }
            all.extend(came.into_iter().map(|(part, outcome)| (share * part, outcome)));
        }
        all
    }

    /// The branches that such requests begin with.
    pub(crate) fn first_branches(&self) -> Vec<(usize, f64)> {
        if self.spec.split.is_empty() {
            return vec![(0, 1.0)];
        }
        let parts = || self.spec.split.iter().map(|branch| branch.percent / 100.0).enumerate();
        match &self.ask.key {
            Some(key) if self.spec.by == SplitBy::Key => {
                let point = xxh64(key, 0) as f64 / 2_f64.powi(64);
                let mut end = 0.0;
                let hit = parts().find(|(_, part)| {
                    end += part;
                    point < end
                });
                let last = || parts().rfind(|(_, part)| *part > 0.0);
                vec![(hit.or_else(last).map_or(0, |(at, _)| at), 1.0)]
            }
            _ => parts().filter(|(_, part)| *part > 0.0).collect(),
        }
    }

    fn tiers(&self, branch: usize) -> &[Tier] {
        self.spec.split.get(branch).map_or(&self.spec.tiers, |branch| &branch.tiers)
    }

    /// What comes of a request that begins with this branch.
    fn from(&self, first: usize, exclude: bool) -> Outcomes {
        let count = self.spec.split.len().max(1);
        let mut furthest: Option<(Reason, usize, usize)> = None;
        for step in 0..count {
            let branch = (first + step) % count;
            let mut served = Outcomes::new();
            let mut left = 1.0;
            for (tier, rules) in self.tiers(branch).iter().enumerate() {
                let held = self.held(rules, exclude);
                match held.came {
                    Ok(()) => {
                        let share = left * held.keeps;
                        left -= share;
                        served.extend(self.spread(&held, share, tier, branch, !exclude));
                        if held.keeps >= 1.0 {
                            break;
                        }
                    }
                    Err(reason) => {
                        if furthest.is_none_or(|(before, ..)| reason > before) {
                            furthest = Some((reason, tier, branch));
                        }
                        if held.stops {
                            break;
                        }
                    }
                }
            }
            if let Some((_, Outcome::Pick { tier, .. })) = served.first().copied() {
                // Nobody behind takes what a tier gave away.
                let held = self.held(&self.tiers(branch)[tier], exclude);
                served.extend(self.spread(&held, left, tier, branch, !exclude));
                return served;
            }
            if !(self.spec.spill || self.spec.split.get(branch).is_some_and(|branch| branch.spill)) {
                break;
            }
        }
        let (reason, tier, branch) = furthest.unwrap_or((Reason::NoMatch, 0, first));
        let reason = if self.pool.list.is_empty() { Reason::Empty } else { reason };
        vec![(1.0, Outcome::Refused { reason, tier, branch })]
    }

    /// How a tier's share falls on its instances.
    fn spread(&self, held: &Held, share: f64, tier: usize, branch: usize, relaxed: bool) -> Outcomes {
        let by_instance = self.shares(&held.eligible);
        let picks = held.eligible.iter().zip(by_instance).filter(|(_, part)| *part > 0.0);
        picks
            .map(|(index, part)| (share * part, Outcome::Pick { index: *index, tier, branch, relaxed }))
            .collect()
    }

    fn shares(&self, eligible: &[usize]) -> Vec<f64> {
        let id = |index: &usize| &*self.pool.list[*index].id;
        if let Some(prefer) = &self.ask.prefer
            && eligible.iter().any(|index| id(index) == prefer)
        {
            return eligible.iter().map(|index| f64::from(u8::from(id(index) == prefer))).collect();
        }
        let parts: Vec<f64> = match self.spec.policy {
            Policy::Random | Policy::RoundRobin => vec![1.0; eligible.len()],
            Policy::WeightedRandom | Policy::WeightedRoundRobin => {
                eligible.iter().map(|index| self.pool.list[*index].weight).collect()
            }
            Policy::LeastLoad => {
                let reported: Vec<Option<f64>> =
                    eligible.iter().map(|index| self.pool.loads.get(id(index)).copied()).collect();
                let known: Vec<f64> = reported.iter().flatten().copied().collect();
                let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
                let loads: Vec<f64> = reported.iter().map(|load| load.unwrap_or(mean)).collect();
                let lowest = loads.iter().copied().fold(f64::INFINITY, f64::min);
                loads.iter().map(|load| f64::from(u8::from(*load == lowest))).collect()
            }
            _ => panic!("the oracle does not know {:?}", self.spec.policy),
        };
        let sum: f64 = parts.iter().sum();
        parts.iter().map(|part| part / sum).collect()
    }

    pub(crate) fn held(&self, tier: &Tier, exclude: bool) -> Held {
        let list = &self.pool.list;
        let all = |of: &[usize], keep: &dyn Fn(&Instance) -> bool| -> Vec<usize> {
            of.iter().copied().filter(|index| keep(&list[*index])).collect()
        };
        let every: Vec<usize> = (0..list.len()).collect();
        let is_available = |instance: &Instance| {
            instance.enabled && instance.weight > 0.0 && (instance.healthy || tier.health == Health::Any)
        };
        let members = all(&every, &|instance| self.is_member(tier, instance));
        let available = all(&members, &is_available);
        let meets = |instance: &Instance| has_each(instance, &self.ask.require);
        let is_excluded = |instance: &Instance| self.ask.exclude.iter().any(|id| **id == *instance.id);
        let mut eligible =
            all(&available, &|instance| meets(instance) && !(exclude && is_excluded(instance)));
        eligible.retain(|index| !self.drawn.contains(index));
        let is_drained = |index: &usize| list[*index].weight == 0.0;
        let enough = available.len() >= tier.min_available.max(1) as usize
            && available.len() as f64 * 100.0 >= tier.min_available_percent * members.len() as f64;
        let asked = all(&members, &meets);
        let came = if members.is_empty() {
            Err(Reason::NoMatch)
        } else if members.iter().all(is_drained) {
            Err(Reason::Drained)
        } else if !enough {
            Err(Reason::Unavailable)
        } else if !eligible.is_empty() {
            Ok(())
        } else if asked.is_empty() {
            Err(Reason::NoMatch)
        } else if asked.iter().all(is_drained) {
            Err(Reason::Drained)
        } else if all(&asked, &is_available).is_empty() {
            Err(Reason::Unavailable)
        } else {
            Err(Reason::Excluded)
        };
        let stops = tier.when_unavailable == OnUnavailable::Stop
            && came.is_err_and(|reason| reason > Reason::NoMatch);
        let share = available.len() as f64 / members.len().max(1) as f64;
        let keeps = tier.overflow.map_or(1.0, |factor| (factor * share).min(1.0));
        Held { members, available, eligible, came, stops, keeps }
    }

    fn is_member(&self, tier: &Tier, instance: &Instance) -> bool {
        let has = |key: &str, values: &Values| values.0.iter().any(|value| has_pair(instance, key, value));
        let has_key = |key: &str| instance.tags.iter().any(|(held, _)| held == key);
        let zone = match &tier.zone {
            ZoneRule::Any => true,
            ZoneRule::Local => {
                self.pool.zone.as_deref().is_none_or(|own| instance.zone.as_deref() == Some(own))
            }
            ZoneRule::Named(names) => {
                instance.zone.as_deref().is_some_and(|zone| names.iter().any(|name| name == zone))
            }
            other => panic!("the oracle does not know {other:?}"),
        };
        let matched = tier.matching.iter().all(|key| {
            let mut asked = self.ask.tags.iter().filter(|(tag, _)| tag == key).peekable();
            match asked.peek() {
                Some(_) => asked.any(|(_, value)| has_pair(instance, key, value)),
                None => tier.when_absent == WhenAbsent::Any || !has_key(key),
            }
        });
        zone && matched
            && tier.tags.iter().all(|(key, values)| has(key, values))
            && !tier.not_tags.iter().any(|(key, values)| has(key, values))
            && !tier.without.iter().any(|key| has_key(key))
    }
}

fn has_pair(instance: &Instance, key: &str, value: &str) -> bool {
    instance.tags.iter().any(|pair| pair == (key, value))
}

/// For every key, one of its values.
fn has_each(instance: &Instance, pairs: &[(String, String)]) -> bool {
    pairs
        .iter()
        .all(|(key, _)| pairs.iter().any(|(other, value)| other == key && has_pair(instance, key, value)))
}
