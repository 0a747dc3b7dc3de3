//! The router of the tutorials: filters the instances into a list, then draws from it by weight.

use pointsman::Instance;
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand_xoshiro::SplitMix64;

/// The instances, and a generator.
#[derive(Clone)]
pub struct Filter {
    list: Vec<Instance>,
    rng: SplitMix64,
}

impl Filter {
    /// Over this list.
    pub fn new(list: Vec<Instance>) -> Self {
        Self { list, rng: SplitMix64::seed_from_u64(1) }
    }

    fn draw(&mut self, wanted: impl Fn(&Instance) -> bool) -> Option<usize> {
        let matching: Vec<usize> = (0..self.list.len()).filter(|at| wanted(&self.list[*at])).collect();
        let index = WeightedIndex::new(matching.iter().map(|at| self.list[*at].weight)).ok()?;
        Some(matching[index.sample(&mut self.rng)])
    }

    /// One that has all of these tags.
    pub fn tagged(&mut self, tags: &[(&str, &str)]) -> usize {
        let has = |instance: &Instance| tags.iter().all(|(key, value)| instance.tags.contains(key, value));
        self.draw(has).unwrap_or(usize::MAX)
    }

    /// One in the zone that is up, else any that is up.
    pub fn near(&mut self, zone: &str) -> usize {
        let up = |instance: &Instance| instance.healthy && instance.enabled;
        let near = |instance: &Instance| instance.zone.as_deref() == Some(zone) && up(instance);
        self.draw(near).or_else(|| self.draw(up)).unwrap_or(usize::MAX)
    }

    /// One that is none of these.
    pub fn without(&mut self, excluded: &[&str]) -> usize {
        self.draw(|instance| !excluded.contains(&&*instance.id)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::counts;

    #[test]
    fn only_what_matches_is_drawn_and_by_weight() {
        let list = vec![
            Instance::new("a").tag("version", "gray").zone("x").weight(3.0),
            Instance::new("b").tag("version", "stable").zone("y"),
            Instance::new("c").tag("version", "gray").zone("y"),
        ];
        let mut filter = Filter::new(list);
        let gray = counts(3, 10_000, || filter.tagged(&[("version", "gray")]));
        assert!(gray[1] == 0 && (gray[0] as f64 / 10_000.0 - 0.75).abs() < 0.03, "{gray:?}");
        assert_eq!(counts(3, 100, || filter.near("x")), [100, 0, 0]);
        assert!(counts(3, 1_000, || filter.near("z")).iter().all(|count| *count > 0));
        assert_eq!(counts(3, 100, || filter.without(&["a", "c"])), [0, 100, 0]);
    }
}
