//! What the instruments are worth: samplers that are wrong in ways that samplers are wrong, each caught by the instrument
//! named beside it, at the sizes and seeds that the tests of `make test` use, and one more at the size of `make soak`. The
//! engine passes the same instrument at the same size.

mod choosing;
mod draws;
mod loaded;
mod sequences;
mod turns;

use crate::harness::Reading;
pub(crate) use crate::harness::{Dice, at_point};

/// Which of the two is measured.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sampler {
    Engine,
    Wrong,
}

use Sampler::{Engine, Wrong};

/// A way to be wrong, and what shows it.
struct Row {
    wrong: &'static str,
    instrument: &'static str,
    measure: fn(Sampler) -> Reading,
}

const fn row(wrong: &'static str, instrument: &'static str, measure: fn(Sampler) -> Reading) -> Row {
    Row { wrong, instrument, measure }
}

const TABLE: [Row; 41] = [
    row("modulo, 8 bits", "enumeration", |which| draws::modulo(which, 8)),
    row("modulo, 16 bits", "enumeration", |which| draws::modulo(which, 16)),
    row("<= for <, 8 bits", "enumeration", |which| draws::at_the_border(which, 8)),
    row("<= for <, 16 bits", "enumeration", |which| draws::at_the_border(which, 16)),
    row("the last slot of a table is never reached", "enumeration", draws::last_slot),
    row("weights rounded up to 16 bits, 1 : 10^6", "binomial", draws::rounded_up),
    row("weights rounded to 16 bits, 1 : 10^6", "borders", draws::rounded),
    row("a draw of 32 bits, 1 : 10^6", "borders", draws::short_draw),
    row("cumulative sums in single precision", "borders", draws::single_precision),
    row("cumulative sums stale behind a changed weight", "chi-square", draws::stale_sums),
    row("an alias table with owner and alias swapped", "chi-square", draws::swapped_alias),
    row("one draw in a thousand ignores the tag", "never", choosing::ignored_tag),
    row("a down instance's draws go to its neighbour", "chi-square", choosing::neighbour),
    row("a drained instance is picked once in 10^5", "never", choosing::drained),
    row("excluded: three more draws, then the first", "chi-square", choosing::impatient),
    row("candidates drawn with replacement", "chi-square", choosing::candidates_with_replacement),
    row("candidates drawn without weights", "chi-square", choosing::candidates_without_weights),
    row("ties go to the last drawn", "chi-square", choosing::last_of_equals),
    row("ties go to the first in the list", "chi-square", choosing::first_of_equals),
    row("distinct picks drawn with replacement", "chi-square", choosing::distinct_with_replacement),
    row("the second distinct pick is the neighbour", "chi-square", choosing::distinct_by_neighbour),
    row("leases compared without weights", "chi-square", loaded::without_weights),
    row("under load, ties go to the last drawn", "chi-square", loaded::last_of_equals),
    row("one pick in 2,000 goes to a busier instance", "never", loaded::busier),
    row("ties of the fewest leases drawn without weights", "chi-square", loaded::ties_without_weights),
    row("a bias of one part in sixteen, over many seeds", "uniformity", choosing::slight_bias),
    row("one part in forty, as `make soak` sees it", "uniformity", choosing::slighter_bias),
    row("a generator copied to another thread", "together", sequences::copied_generator),
    row("a generator copied across threads one draw late", "lagged", sequences::copied_late),
    row("one draw chooses branch and instance", "together", sequences::same_bits),
    row("the branch's draw chooses a candidate", "together", sequences::candidate_by_the_branch),
    row("one distinct pick in ten keeps the branch", "together", sequences::distinct_in_one_branch),
    row("the low bits of a linear congruence", "serial", sequences::low_bits),
    row("seeds that are not mixed", "repeats", sequences::raw_seeds),
    row("one pick in fifty is the last one again", "repeats", sequences::sticky),
    row("one cursor for two routes", "discrepancy", turns::shared_cursor),
    row("a rotation that an update starts anew", "discrepancy", turns::restarted),
    row("a list expanded by weight", "discrepancy", turns::expanded),
    row("smooth weighted round robin", "discrepancy", turns::smooth),
    row("a retry that takes a turn", "discrepancy", turns::retry_takes_a_turn),
    row("draws in place of turns", "discrepancy", turns::draws_for_turns),
];

#[test]
fn every_wrong_sampler_is_caught_and_the_engine_passes_the_same_instrument() {
    println!("{:50} {:32} engine", "wrong", "caught by");
    for Row { wrong, instrument, measure } in TABLE {
        let (bad, good) = (measure(Wrong), measure(Engine));
        println!("{wrong:50} {:32} {good}", bad.to_string());
        assert_eq!((bad.instrument, good.instrument), (instrument, instrument), "{wrong}");
        assert!(bad.is_caught(), "{wrong} goes unseen: {bad}");
        assert!(good.is_sound(), "{wrong}: the engine does not pass: {good}");
    }
}

/// Counts of so many picks.
pub(crate) fn tally<const N: usize>(picks: usize, mut pick: impl FnMut() -> usize) -> [u64; N] {
    let mut counts = [0; N];
    (0..picks).for_each(|_| counts[pick()] += 1);
    counts
}
