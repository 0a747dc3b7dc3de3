//! Times in the system: mean, quantiles, and the part within a second.

use hdrhistogram::Histogram;

/// Three significant digits; recorded in microseconds.
const DIGITS: u8 = 3;
const MICROSECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;

pub(crate) struct Tally {
    /// `None` only if the fixed number of digits were not one the histogram knows.
    times: Option<Histogram<u64>>,
    sum_s: f64,
    count: u64,
    within_1s: u64,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self { times: Histogram::new(DIGITS).ok(), sum_s: 0.0, count: 0, within_1s: 0 }
    }

    pub(crate) fn add(&mut self, ns: u64) {
        self.sum_s += ns as f64 / SECOND as f64;
        self.count += 1;
        self.within_1s += u64::from(ns <= SECOND);
        if let Some(times) = &mut self.times {
            // It resizes itself, so it refuses nothing.
            let _ = times.record(ns / MICROSECOND);
        }
    }

    pub(crate) fn plus(&mut self, other: Self) {
        self.sum_s += other.sum_s;
        self.count += other.count;
        self.within_1s += other.within_1s;
        if let (Some(times), Some(more)) = (&mut self.times, other.times) {
            // The same.
            let _ = times.add(more);
        }
    }

    pub(crate) fn mean_s(&self) -> f64 {
        self.sum_s / self.count.max(1) as f64
    }

    pub(crate) fn quantile_s(&self, quantile: f64) -> f64 {
        let micros = self.times.as_ref().map_or(0, |times| times.value_at_quantile(quantile));
        (micros * MICROSECOND) as f64 / SECOND as f64
    }

    /// The part of the requests that took at most a second.
    pub(crate) fn within_1s(&self) -> f64 {
        self.within_1s as f64 / self.count.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_known_list() {
        let mut tally = Tally::new();
        (1..=1_000).for_each(|ms| tally.add(ms * 2_000_000));
        assert!((tally.mean_s() - 1.001).abs() < 1e-9);
        assert!((tally.quantile_s(0.99) - 1.98).abs() < 0.002);
        assert_eq!(tally.within_1s(), 0.5);
        let mut twice = Tally::new();
        twice.plus(tally);
        twice.add(SECOND);
        assert_eq!((twice.within_1s, twice.count), (501, 1_001));
    }
}
