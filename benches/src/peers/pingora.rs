//! `pingora-load-balancing`'s own selection.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use pingora_load_balancing::selection::{BackendIter, BackendSelection};
use pingora_load_balancing::{Backend, Backends, LoadBalancer, discovery};

/// Turns that `select` may take to find a healthy backend; all are healthy.
const ITERATIONS: usize = 16;

/// More backends panic: their numbers are kept in 16 bits.
const MOST: usize = u16::MAX as usize;

/// A balancer over addresses that tell their place in the list.
pub struct Pingora<S: BackendSelection>(LoadBalancer<S>);

impl<S> Pingora<S>
where
    S: BackendSelection + 'static,
    S::Iter: BackendIter,
{
    /// Over instances of these weights, which are rounded; `None` where the crate refuses them.
    pub fn new(weights: &[f64]) -> Option<Self> {
        if weights.len() > MOST {
            return None;
        }
        let backend = |(at, weight): (usize, &f64)| {
            let address = crate::lists::address(at);
            Backend::new_with_weight(&address, weight.round().max(1.0) as usize).ok()
        };
        let backends: BTreeSet<Backend> = weights.iter().enumerate().map(backend).collect::<Option<_>>()?;
        let balancer = LoadBalancer::from_backends(Backends::new(discovery::Static::new(backends)));
        {
            // A static list is there at the first poll.
            let mut update = pin!(balancer.update());
            let Poll::Ready(Ok(())) = update.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
                return None;
            };
        }
        Some(Self(balancer))
    }

    /// Selects one, from any thread.
    #[inline]
    pub fn pick(&self) -> usize {
        self.0.select(b"", ITERATIONS).map_or(usize::MAX, |backend| index(&backend))
    }
}

/// The position that the address was made of.
#[inline]
fn index(backend: &Backend) -> usize {
    match backend.addr.as_inet() {
        Some(SocketAddr::V4(address)) => (u32::from(*address.ip()) & 0xff_ffff) as usize,
        _ => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use pingora_load_balancing::selection::RoundRobin;

    use super::*;
    use crate::peers::counts;

    #[test]
    fn a_list_that_is_too_long_is_refused() {
        assert!(Pingora::<RoundRobin>::new(&vec![1.0; MOST + 1]).is_none());
    }

    #[test]
    fn a_cycle_follows_the_weights() {
        let pingora: Pingora<RoundRobin> = Pingora::new(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(counts(3, 6, || pingora.pick()), [3, 1, 2]);
    }
}
