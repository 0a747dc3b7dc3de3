//! The answer: an instance and how it was found.

use crate::compile::Snapshot;
use crate::compile::roster::Entry;
use crate::instance::Instance;
use crate::publish::{Guarded, Hold};
use crate::route::RouteShared;

/// A picked instance, borrowed from the list that was in force. For now: it keeps a whole list from being freed, and cannot
/// leave its thread. Use [`to_owned`](Self::to_owned) for longer.
pub struct Pick<'a> {
    snapshot: Guarded<'a, Snapshot>,
    route: &'a RouteShared,
    picked: Picked,
}

/// How an instance was found, as numbers: what a pick tells besides the instance. Also an element of the array that
/// `pick_distinct` fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Picked {
    pub(crate) index: u32,
    pub(crate) tier: u16,
    pub(crate) branch: u16,
    pub(crate) relaxed: bool,
    pub(crate) keyless: bool,
}

/// Different instances in the order they were drawn, borrowed from one list.
pub struct Picks<'a> {
    snapshot: Guarded<'a, Snapshot>,
    picked: &'a [Picked],
}

/// A picked instance that is kept: it may leave its thread, and still names the same instance when that has left the pool.
#[derive(Clone)]
pub struct OwnedPick {
    entry: Hold<Entry>,
    picked: Picked,
    version: u64,
}

impl Picked {
    /// The instance's position in the list that was in force.
    #[inline]
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// The tier that was used, by its position in the route or the branch.
    #[inline]
    pub fn tier(self) -> usize {
        self.tier.into()
    }

    /// The branch of the split; 0 where the route has none.
    #[inline]
    pub fn branch(self) -> usize {
        self.branch.into()
    }

    /// Whether the instance is one that the request excluded, taken as a last resort.
    #[inline]
    pub fn relaxed(self) -> bool {
        self.relaxed
    }

    /// Whether the route hashes keys and the request had none, so that the instance was drawn by weight.
    #[inline]
    pub fn keyless(self) -> bool {
        self.keyless
    }
}

impl<'a> Pick<'a> {
    #[inline]
    pub(crate) fn new(snapshot: Guarded<'a, Snapshot>, route: &'a RouteShared, picked: Picked) -> Self {
        Self { snapshot, route, picked }
    }

    /// The instance.
    #[inline]
    pub fn instance(&self) -> &Instance {
        &self.snapshot.roster.list[self.picked.index()].instance
    }

    /// The version of the list it was picked from.
    pub fn version(&self) -> u64 {
        self.snapshot.version
    }

    /// The numbers, to keep without borrowing anything.
    #[inline]
    pub fn picked(&self) -> Picked {
        self.picked
    }

    /// The instance's position in the list it was picked from.
    #[inline]
    pub fn index(&self) -> usize {
        self.picked.index()
    }

    /// The tier that was used, by its position in the route or the branch.
    pub fn tier(&self) -> usize {
        self.picked.tier()
    }

    /// The name of that tier; empty where it has none.
    pub fn tier_name(&self) -> &str {
        let spec = &self.route.spec;
        let tiers = spec.split.get(self.branch()).map_or(&spec.tiers, |branch| &branch.tiers);
        tiers.get(self.tier()).map_or("", |tier| &tier.name)
    }

    /// The branch of the split; 0 where the route has none.
    pub fn branch(&self) -> usize {
        self.picked.branch()
    }

    /// The name of that branch; empty where it has none.
    pub fn branch_name(&self) -> &str {
        self.route.spec.split.get(self.branch()).map_or("", |branch| &branch.name)
    }

    /// Whether the instance is one that the request excluded, taken as a last resort.
    pub fn relaxed(&self) -> bool {
        self.picked.relaxed()
    }

    /// Whether the route hashes keys and the request had none, so that the instance was drawn by weight.
    pub fn keyless(&self) -> bool {
        self.picked.keyless()
    }

    /// Keeps the instance without keeping its list. One atomic addition, no allocation.
    pub fn to_owned(&self) -> OwnedPick {
        OwnedPick {
            entry: self.snapshot.roster.list[self.picked.index()].clone(),
            picked: self.picked,
            version: self.version(),
        }
    }
}

impl<'a> Picks<'a> {
    pub(crate) fn new(snapshot: Guarded<'a, Snapshot>, picked: &'a [Picked]) -> Self {
        Self { snapshot, picked }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.picked.len()
    }

    /// Whether there are none; never so for what `pick_distinct` returns.
    pub fn is_empty(&self) -> bool {
        self.picked.is_empty()
    }

    /// The instances, in the order they were drawn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Instance> {
        self.picked.iter().map(|picked| &self.snapshot.roster.list[picked.index()].instance)
    }

    /// How each was found.
    pub fn picked(&self) -> &[Picked] {
        self.picked
    }

    /// The version of the list they were picked from.
    pub fn version(&self) -> u64 {
        self.snapshot.version
    }
}

impl OwnedPick {
    /// The instance, as it was when it was picked.
    pub fn instance(&self) -> &Instance {
        &self.entry.instance
    }

    /// The version of the list it was picked from.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How it was found.
    pub fn picked(&self) -> Picked {
        self.picked
    }
}

impl std::fmt::Debug for Pick<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pick").field("instance", self.instance()).field("picked", &self.picked).finish()
    }
}

impl std::fmt::Debug for Picks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(|instance| &instance.id)).finish()
    }
}

impl std::fmt::Debug for OwnedPick {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnedPick").field("instance", self.instance()).field("picked", &self.picked).finish()
    }
}
