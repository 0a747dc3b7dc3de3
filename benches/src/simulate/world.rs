//! The simulated world: servers, the proxies that pick among them, and the requests.
//!
//! A request's time in the system is known when it arrives: first come, first served, so that it begins when the server has
//! done all that came before. What the engine is told comes in the order of time: a lease at each arrival, its end at each
//! departure, reports in between.

use std::time::Duration;

use pointsman::{Instance, Lease, Outcome, Picker, Policy, Pool, PoolOptions, Request, RouteSpec, Tier};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::tally::Tally;
use crate::departures::Departures;
use crate::failure::Failure;

const SECOND: f64 = 1e9;

/// Windows in which the largest share is looked for.
const WINDOW_S: f64 = 0.25;

/// Fewest requests of a window, for each server, for its shares to mean something.
const WINDOW_REQUESTS: f64 = 20.0;

/// A backlog that grows in both halves of a run by more than this part of the arrivals has no bound.
const GROWTH: f64 = 0.01;

#[derive(Clone)]
pub(crate) struct World {
    /// The speed of each server; a request's work divided by it is its service time.
    pub(crate) speeds: Vec<f64>,
    /// Whether a server takes one request at a time, and the others wait.
    pub(crate) queues: bool,
    /// Mean work of a request in seconds.
    pub(crate) work_s: f64,
    /// Whether the work is exponential; else it is always the mean.
    pub(crate) exponential: bool,
    /// Requests a second, a Poisson process.
    pub(crate) rate: f64,
    /// Pools that each see only what they sent themselves.
    pub(crate) proxies: usize,
    /// A time in which the first server takes much longer.
    pub(crate) stall: Option<Stall>,
    /// How often every proxy is told the servers' loads: the requests that each got since the last report.
    pub(crate) report_every_s: Option<f64>,
    /// Not measured.
    pub(crate) warm_up_s: f64,
    pub(crate) measured_s: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct Stall {
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
    /// What a request that comes meanwhile takes.
    pub(crate) takes_s: f64,
}

/// What a run came to.
pub(crate) struct Measured {
    pub(crate) tally: Tally,
    pub(crate) diverges: bool,
    /// The largest share of a window's requests that one server got, in multiples of the mean.
    pub(crate) largest_share: f64,
}

struct Proxy {
    pool: Pool,
    picker: Picker,
}

struct Underway {
    begun: u64,
    lease: Lease,
}

fn ns(seconds: f64) -> u64 {
    (seconds * SECOND) as u64
}

fn id(server: usize) -> String {
    format!("server-{server}")
}

fn proxy(world: &World, policy: &Policy, seed: u64) -> Result<Proxy, Failure> {
    let instances = (0..world.speeds.len()).map(|server| Instance::new(id(server)));
    let pool = Pool::with(PoolOptions::new(), instances).map_err(|error| Failure::bad("simulate", error))?;
    let route = pool
        .route(RouteSpec::new(policy.clone()).tier(Tier::new()))
        .map_err(|error| Failure::bad("simulate", error))?;
    Ok(Proxy { picker: route.picker_seeded(seed), pool })
}

/// A run in progress.
struct Run<'a> {
    world: &'a World,
    proxies: Vec<Proxy>,
    departures: Departures<Underway>,
    /// When each server has done all that came so far.
    free_at: Vec<u64>,
    in_system: u32,
    got: Vec<u32>,
    window: Vec<u32>,
    window_ends: f64,
    largest_share: f64,
    next_report: f64,
}

impl World {
    /// Runs it. The same seed gives every policy the same arrivals and the same work.
    pub(crate) fn run(&self, policy: &Policy, seed: u64) -> Result<Measured, Failure> {
        let n = self.speeds.len();
        let proxies = (0..self.proxies as u64).map(|at| proxy(self, policy, seed.wrapping_add(at)));
        let mut run = Run {
            world: self,
            proxies: proxies.collect::<Result<_, _>>()?,
            departures: Departures::new(),
            free_at: vec![0; n],
            in_system: 0,
            got: vec![0; n],
            window: vec![0; n],
            window_ends: self.warm_up_s + WINDOW_S,
            largest_share: 0.0,
            next_report: 1.0,
        };
        run.all(seed)
    }

    /// What the request takes once it is served, in nanoseconds.
    fn service(&self, server: usize, now: f64, work: f64) -> u64 {
        match self.stall {
            Some(stall) if server == 0 && (stall.from_s..stall.until_s).contains(&now) => ns(stall.takes_s),
            _ => ns(self.work_s * work / self.speeds[server]),
        }
    }
}

impl Run<'_> {
    fn all(&mut self, seed: u64) -> Result<Measured, Failure> {
        let world = self.world;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut tally = Tally::new();
        let (middle, end) = (world.warm_up_s + world.measured_s / 2.0, world.warm_up_s + world.measured_s);
        let mut backlog = Backlog { at: [world.warm_up_s, middle, end], seen: Vec::new() };
        // Behind the time at which the pools were made.
        let mut now = 1.0;
        loop {
            let gap: f64 = Exp1.sample(&mut rng);
            let work: f64 = if world.exponential { Exp1.sample(&mut rng) } else { 1.0 };
            let proxy = if world.proxies > 1 { rng.random_range(0..world.proxies) } else { 0 };
            now += gap / world.rate;
            while self.next_report <= now && world.report_every_s.is_some() {
                self.depart_until(ns(self.next_report));
                self.report()?;
            }
            self.depart_until(ns(now));
            backlog.look(now, self.in_system);
            if now > end {
                break;
            }
            let (server, took) = self.arrive(now, work, proxy)?;
            if now > world.warm_up_s {
                tally.add(took);
                self.count(now, server);
            }
        }
        let arrivals = world.rate * world.measured_s / 2.0;
        Ok(Measured { tally, diverges: backlog.grows(arrivals), largest_share: self.largest_share })
    }

    /// Lets a proxy pick. Returns the server and the request's time in the system.
    fn arrive(&mut self, now: f64, work: f64, at: usize) -> Result<(usize, u64), Failure> {
        let begun = ns(now);
        let lease = self.proxies[at]
            .picker
            .lease(&Request::new())
            .map_err(|refused| Failure::Nobody(refused.to_string()))?;
        let server = lease.picked().index();
        let service = self.world.service(server, now, work);
        let at_end =
            if self.world.queues { self.free_at[server].max(begun) + service } else { begun + service };
        self.free_at[server] = at_end;
        self.in_system += 1;
        self.got[server] += 1;
        self.departures.put(at_end, Underway { begun, lease });
        Ok((server, at_end - begun))
    }

    fn depart_until(&mut self, now: u64) {
        while let Some((at, gone)) = self.departures.next_until(now) {
            self.in_system -= 1;
            gone.lease.done_at(Outcome::Success, Duration::from_nanos(at - gone.begun), at);
        }
    }

    fn report(&mut self) -> Result<(), Failure> {
        let now = ns(self.next_report);
        for proxy in &self.proxies {
            for (server, load) in self.got.iter().enumerate() {
                let reported = proxy.pool.report_load_at(&id(server), f64::from(*load), now);
                reported.map_err(|error| Failure::bad("simulate", error))?;
            }
            proxy.pool.tick_at(now);
        }
        self.got.fill(0);
        self.next_report += self.world.report_every_s.unwrap_or(f64::INFINITY);
        Ok(())
    }

    fn count(&mut self, now: f64, server: usize) {
        let n = self.window.len() as f64;
        if now > self.window_ends {
            let sum: u32 = self.window.iter().sum();
            let most = self.window.iter().copied().max().unwrap_or(0);
            if f64::from(sum) >= WINDOW_REQUESTS * n {
                self.largest_share = self.largest_share.max(f64::from(most) * n / f64::from(sum));
            }
            self.window.fill(0);
            self.window_ends += WINDOW_S * ((now - self.window_ends) / WINDOW_S).ceil();
        }
        self.window[server] += 1;
    }
}

/// Requests in the system at the begin, the middle and the end of what is measured.
struct Backlog {
    at: [f64; 3],
    seen: Vec<f64>,
}

impl Backlog {
    fn look(&mut self, now: f64, in_system: u32) {
        while self.at.get(self.seen.len()).is_some_and(|at| *at <= now) {
            self.seen.push(f64::from(in_system));
        }
    }

    fn grows(&self, arrivals: f64) -> bool {
        self.seen.len() == 3 && self.seen.windows(2).all(|pair| pair[1] - pair[0] > GROWTH * arrivals)
    }
}
