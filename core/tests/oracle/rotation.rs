//! Rotations in integer arithmetic, and the bounds they are held to.

/// Tijdeman's rule by brute force: in every turn, of the members that are released the one that is due first, the first in
/// the list among equals.
pub(crate) fn cycle(weights: &[u64]) -> Vec<usize> {
    let total: u64 = weights.iter().sum();
    let unit = 2 * weights.len() as u64 - 2;
    let mut counts = vec![0; weights.len()];
    // The first turn t with t·w/W − c ≥ part/unit.
    let first_turn = |weight: u64, count: u64, part: u64| {
        (1..).find(|turn| turn * weight * unit >= total * (count * unit + part)).unwrap_or(u64::MAX)
    };
    (1..=total)
        .map(|turn| {
            let released = (0..weights.len()).filter(|at| first_turn(weights[*at], counts[*at], 1) <= turn);
            let next = released.min_by_key(|at| (first_turn(weights[*at], counts[*at], unit - 1), *at));
            let next = next.expect("somebody is released in every turn");
            counts[next] += 1;
            next
        })
        .collect()
}

/// The largest distance from the ideal count over all prefixes and members, as a numerator over the sum of the weights.
pub(crate) fn prefix_deviation(weights: &[u64], turns: &[usize]) -> u64 {
    let total: u64 = weights.iter().sum();
    let mut counts = vec![0_u64; weights.len()];
    let mut worst = 0;
    for (turn, at) in turns.iter().enumerate() {
        counts[*at] += 1;
        for (count, weight) in counts.iter().zip(weights) {
            worst = worst.max((count * total).abs_diff((turn as u64 + 1) * weight));
        }
    }
    worst
}

/// The largest distance over all windows: how far apart the distances of prefixes lie for one member.
pub(crate) fn window_deviation(weights: &[u64], turns: &[usize]) -> u64 {
    let total: i64 = weights.iter().sum::<u64>() as i64;
    let mut distance = vec![0_i64; weights.len()];
    let (mut low, mut high) = (distance.clone(), distance.clone());
    for at in turns {
        for (member, weight) in weights.iter().enumerate() {
            distance[member] += i64::from(member == *at) * total - *weight as i64;
            low[member] = low[member].min(distance[member]);
            high[member] = high[member].max(distance[member]);
        }
    }
    low.iter().zip(&high).map(|(low, high)| (high - low) as u64).max().unwrap_or(0)
}
