//! The scenarios: worlds, and the policies that are tried in them.

use std::fmt;

use clap::ValueEnum;
use pointsman::{Load, PeakEwma, Policy, PowerOfTwo};

use super::world::{Stall, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "verbatim")]
pub(crate) enum Scenario {
    #[value(name = "equal_500_load_0.90")]
    Equal90,
    #[value(name = "equal_500_load_0.99")]
    Equal99,
    #[value(name = "slow_third_load_0.75")]
    SlowThird,
    #[value(name = "stalled_one_of_eleven")]
    Stalled,
    #[value(name = "stalled_ten_proxies")]
    StalledProxies,
    #[value(name = "stale_reports_two_hundred_proxies")]
    StaleReports,
}

/// Runs of the scenarios that are too short for one to say much.
const STALLS: usize = 20;

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

impl Scenario {
    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Equal90 => "500 equal servers at load 0.90",
            Self::Equal99 => "500 equal servers at load 0.99",
            Self::SlowThird => "100 servers, a third at half speed, load 0.75",
            Self::Stalled => "11 backends of 10 ms, one takes 2 s for 30 s",
            Self::StalledProxies => "the same behind ten proxies that see their own",
            Self::StaleReports => "200 proxies, 20 servers, loads told every second",
        }
    }

    pub(crate) fn policies(self) -> Vec<Policy> {
        let two = || Policy::PowerOfTwo(PowerOfTwo::new());
        let eight = || Policy::PowerOfTwo(PowerOfTwo::new().choices(8));
        let peak = || Policy::PeakEwma(PeakEwma::new());
        match self {
            Self::Equal90 => {
                vec![Policy::Random, Policy::RoundRobin, two(), eight(), peak(), Policy::LeastRequest]
            }
            // Random draws settle there only after a hundred thousand service times.
            Self::Equal99 => vec![two(), eight(), peak(), Policy::LeastRequest],
            Self::SlowThird => {
                vec![Policy::Random, Policy::RoundRobin, two(), eight(), peak(), Policy::LeastRequest]
            }
            Self::Stalled | Self::StalledProxies => {
                vec![Policy::Random, Policy::RoundRobin, two(), eight(), peak(), Policy::LeastRequest]
            }
            Self::StaleReports => {
                let reported = Policy::PowerOfTwo(PowerOfTwo::new().load(Load::Reported));
                vec![Policy::Random, reported, Policy::LeastLoad, Policy::LeastRequest]
            }
        }
    }

    /// How often the world runs, each time with a seed of its own.
    pub(crate) fn repetitions(self, scale: f64) -> usize {
        match self {
            Self::Stalled | Self::StalledProxies => ((STALLS as f64 * scale).round() as usize).max(1),
            _ => 1,
        }
    }

    /// The world. `scale` shortens or lengthens it; a stall keeps its length, and runs less or more often.
    pub(crate) fn world(self, scale: f64) -> World {
        match self {
            Self::Equal90 => queues(vec![1.0; 500], 0.9, 2_000.0 * scale, 8_000.0 * scale),
            Self::Equal99 => queues(vec![1.0; 500], 0.99, 2_000.0 * scale, 8_000.0 * scale),
            Self::SlowThird => {
                let speeds = (0..100).map(|at| if at % 3 == 2 { 0.5 } else { 1.0 }).collect();
                queues(speeds, 0.75, 1_000.0 * scale, 40_000.0 * scale)
            }
            Self::Stalled => stalled(1),
            Self::StalledProxies => stalled(10),
            Self::StaleReports => World {
                work_s: 0.0025,
                rate: 0.7 * 20.0 / 0.0025,
                proxies: 200,
                report_every_s: Some(1.0),
                ..queues(vec![1.0; 20], 0.7, 5.0, 60.0 * scale)
            },
        }
    }
}

/// Servers of one queue each, exponential work of a second at speed 1.
fn queues(speeds: Vec<f64>, load: f64, warm_up_s: f64, measured_s: f64) -> World {
    World {
        rate: load * speeds.iter().sum::<f64>(),
        speeds,
        queues: true,
        work_s: 1.0,
        exponential: true,
        proxies: 1,
        stall: None,
        report_every_s: None,
        warm_up_s,
        measured_s,
    }
}

/// Eleven that queue nothing, the first of them stalled between the tenth and the fortieth second.
fn stalled(proxies: usize) -> World {
    World {
        speeds: vec![1.0; 11],
        queues: false,
        work_s: 0.01,
        exponential: false,
        rate: 1_000.0,
        proxies,
        stall: Some(Stall { from_s: 10.0, until_s: 40.0, takes_s: 2.0 }),
        report_every_s: None,
        warm_up_s: 5.0,
        measured_s: 45.0,
    }
}
