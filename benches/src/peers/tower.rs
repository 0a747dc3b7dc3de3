//! `tower`'s balancer: power of two choices by pending requests. Polled by hand; its services answer at once.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tower::Service;
use tower::balance::p2c::Balance;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, PendingRequests};

/// A service that answers with its own number.
struct Answers(usize);

impl Service<()> for Answers {
    type Response = usize;
    type Error = Infallible;
    type Future = Ready<Result<usize, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: ()) -> Self::Future {
        ready(Ok(self.0))
    }
}

/// A balance over services that are always ready.
pub struct Tower {
    balance: Balance<ServiceList<Vec<PendingRequests<Answers>>>, ()>,
}

impl Tower {
    /// Over so many services.
    pub fn new(n: usize) -> Self {
        let service = |at| PendingRequests::new(Answers(at), CompleteOnResponse::default());
        Self { balance: Balance::new(ServiceList::new((0..n).map(service).collect::<Vec<_>>())) }
    }

    /// A call: ready, sent, answered.
    pub fn call(&mut self) -> usize {
        let mut context = Context::from_waker(Waker::noop());
        if !matches!(self.balance.poll_ready(&mut context), Poll::Ready(Ok(()))) {
            return usize::MAX;
        }
        let mut answer = pin!(self.balance.call(()));
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(Ok(at)) => at,
            _ => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::counts;

    #[test]
    fn idle_services_share_evenly() {
        let mut tower = Tower::new(4);
        let counts = counts(4, 40_000, || tower.call());
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 1_000), "{counts:?}");
    }
}
