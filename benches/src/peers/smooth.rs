//! Smooth weighted round robin, O(n), as nginx has it since 1.3.1: the current weights rise by the effective ones, the
//! highest is taken and falls by their sum.

/// The weights, and where each instance stands.
#[derive(Clone)]
pub struct Smooth {
    peers: Vec<Peer>,
}

#[derive(Clone)]
struct Peer {
    weight: i64,
    effective: i64,
    current: i64,
}

impl Smooth {
    /// Over instances of these weights, cut to whole numbers.
    pub fn new(weights: &[f64]) -> Self {
        let peer = |weight: &f64| Peer { weight: *weight as i64, effective: *weight as i64, current: 0 };
        Self { peers: weights.iter().map(peer).collect() }
    }

    /// Raises all, takes the highest.
    #[inline]
    pub fn pick(&mut self) -> usize {
        let (mut total, mut best, mut highest) = (0, 0, i64::MIN);
        for (at, peer) in self.peers.iter_mut().enumerate() {
            peer.current += peer.effective;
            total += peer.effective;
            if peer.effective < peer.weight {
                peer.effective += 1;
            }
            if peer.current > highest {
                (best, highest) = (at, peer.current);
            }
        }
        self.peers[best].current -= total;
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::order;

    /// The example of nginx's own change.
    #[test]
    fn five_one_one_is_smooth() {
        let mut smooth = Smooth::new(&[5.0, 1.0, 1.0]);
        assert_eq!(order(14, || smooth.pick()), [0, 0, 1, 0, 2, 0, 0].repeat(2));
    }
}
