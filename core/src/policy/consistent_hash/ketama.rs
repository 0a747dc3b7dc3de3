//! Ketama: points on a ring, the way nginx's `hash … consistent` lays them (its documentation calls it compatible with
//! Cache::Memcached::Fast).
//!
//! A member has 160 points for each unit of weight. A point is the CRC-32 of host, a zero byte, port, and the point before it
//! in four bytes, least significant first, starting from 0. A key belongs to the first point at or behind its CRC-32, round
//! the end. For integer weights the owners are those of nginx, up to a total of [`MOST_POINTS`], above which the number of
//! points halves until it fits.

/// Points for each unit of weight.
const PER_WEIGHT: f64 = 160.0;

/// Points at most, but for the one that every member has.
pub(super) const MOST_POINTS: f64 = 262_144.0;

/// The ring.
#[derive(Debug)]
pub(super) struct Ketama {
    points: Box<[Point]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    hash: u32,
    rank: u32,
}

impl Ketama {
    /// O(points · log points).
    pub(super) fn build(addresses: &[&str], weights: &[f64]) -> Self {
        let weights = in_units(weights);
        let per_weight = per_weight(&weights);
        let mut points = Vec::new();
        for (rank, (address, weight)) in addresses.iter().zip(&weights).enumerate() {
            let base = base(address);
            let mut hash = 0_u32;
            for _ in 0..count(*weight, per_weight) {
                let mut hasher = base.clone();
                hasher.update(&hash.to_le_bytes());
                hash = hasher.finalize();
                points.push((Point { hash, rank: rank as u32 }, *address));
            }
        }
        // Of points that fall together one stays, the same whatever the order of the list.
        points.sort_unstable_by_key(|(point, address)| (point.hash, *address));
        points.dedup_by_key(|(point, _)| point.hash);
        Self { points: points.into_iter().map(|(point, _)| point).collect() }
    }

    /// The owner of the first point at or behind the key whose owner takes it.
    pub(super) fn owner(&self, key: &[u8], takes: impl Fn(usize) -> bool) -> Option<usize> {
        let hash = crc32fast::hash(key);
        let begin = self.points.partition_point(|point| point.hash < hash);
        let (before, behind) = self.points.split_at_checked(begin)?;
        behind.iter().chain(before).map(|point| point.rank as usize).find(|rank| takes(*rank))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.points)
    }
}

/// The weights; relative to the heaviest where all are below 1. What is as light as can be has no inverse, so that the weights
/// are divided and not the number of points.
fn in_units(weights: &[f64]) -> Vec<f64> {
    let heaviest = weights.iter().copied().fold(0.0, f64::max);
    let unit = if heaviest < 1.0 { heaviest } else { 1.0 };
    weights.iter().map(|weight| weight / unit).collect()
}

/// Points for each unit of weight, so that the total fits.
fn per_weight(weights: &[f64]) -> f64 {
    let mut per_weight = PER_WEIGHT;
    let total = |per_weight: f64| weights.iter().map(|weight| weight * per_weight).sum::<f64>();
    while total(per_weight) > MOST_POINTS {
        per_weight /= 2.0;
    }
    per_weight
}

fn count(weight: f64, per_weight: f64) -> u64 {
    (weight * per_weight).round().max(1.0) as u64
}

/// Host, zero, port.
fn base(address: &str) -> crc32fast::Hasher {
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (address, ""),
    };
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(host.as_bytes());
    hasher.update(&[0]);
    hasher.update(port.as_bytes());
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_those_of_the_published_algorithm() {
        // Worked out by a script in another language from the description above, with its library's CRC-32.
        let ring = Ketama::build(&["10.0.0.1:8080"], &[1.0]);
        assert_eq!(ring.points.len(), 160);
        let lowest: Vec<u32> = ring.points.iter().take(3).map(|point| point.hash).collect();
        assert_eq!(lowest, [18_170_467, 104_148_483, 137_631_303]);
        let addresses = ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8081"];
        let ring = Ketama::build(&addresses, &[1.0, 2.0, 1.0]);
        let owners = [
            ("alice", 0),
            ("bob", 0),
            ("carol", 1),
            ("dave", 1),
            ("erin", 2),
            ("frank", 2),
            ("grace", 2),
            ("heidi", 0),
        ];
        for (key, owner) in owners {
            assert_eq!(ring.owner(key.as_bytes(), |_| true), Some(owner), "{key}");
        }
    }

    #[test]
    fn a_point_is_made_of_host_and_port_where_the_address_has_one() {
        let of = |address: &str| base(address).finalize();
        assert_eq!(of("10.0.0.1:80"), crc32fast::hash(b"10.0.0.1\x0080"));
        assert_eq!(of("[fd00::1]:80"), crc32fast::hash(b"[fd00::1]\x0080"));
        for address in ["10.0.0.1", "a:b", "unix:/run/a.sock", "a:80b", ""] {
            assert_eq!(of(address), crc32fast::hash(&[address.as_bytes(), &[0]].concat()), "{address}");
        }
    }

    #[test]
    fn the_lightest_weights_have_a_ring_too() {
        let lightest = f64::from_bits(1);
        let ring = Ketama::build(&["10.0.0.1:80", "10.0.0.2:80"], &[lightest, lightest]);
        let alike = Ketama::build(&["10.0.0.1:80", "10.0.0.2:80"], &[1.0, 1.0]);
        assert_eq!(ring.points, alike.points);
    }

    #[test]
    fn the_number_of_points_does_not_depend_on_the_scale_of_weights() {
        let addresses: Vec<String> = (0..10).map(|at| format!("10.0.0.{at}:80")).collect();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        for weight in [1_000.0, 1e9, f64::MAX / 16.0] {
            let points = Ketama::build(&addresses, &[weight; 10]).points.len();
            assert!(points as f64 <= MOST_POINTS, "{points} points of weight {weight}");
        }
        assert_eq!(count(5.0, per_weight(&[1_024.0, 1_024.0, 5.0])), 400);
        // Exactly as many as there is room for, and more.
        assert_eq!([1_638.4, 1_638.5, 3_276.8].map(|weight| per_weight(&[weight])), [160.0, 80.0, 80.0]);
        let halves = in_units(&[0.5, 0.25]);
        assert_eq!(count(halves[1], per_weight(&halves)), 80);
    }
    #[test]
    fn a_key_that_falls_on_a_point_belongs_to_it() {
        let addresses = ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8081"];
        let ring = Ketama::build(&addresses, &[1.0; 3]);
        let mut passed_on = 0;
        for (rank, address) in addresses.iter().enumerate() {
            let mut hash = 0_u32;
            for _ in 0..160 {
                // What a point is the hash of is a key too.
                let key = [address.replace(':', "\0").as_bytes(), &hash.to_le_bytes()].concat();
                assert_eq!(ring.owner(&key, |_| true), Some(rank));
                passed_on +=
                    usize::from(ring.owner(&key, |other| other != rank).is_some_and(|to| to != rank));
                hash = crc32fast::hash(&key);
            }
        }
        assert_eq!(passed_on, 480);
    }
}
