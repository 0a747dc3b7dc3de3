//! `explain`: what a request finds, tier by tier, and why.

use pointsman::{BranchExplanation, Explanation, TierExplanation};

use crate::Answer;
use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::input::{Asked, Input, Spec};
use crate::text::{self, Paint, ROWS, bar, counted, cut, grouped, id, id_width, pad, percent};

const TIER: usize = 24;
const BAR: usize = 24;

pub(crate) fn command(args: &ExplainArgs) -> Result<Answer, Failure> {
    let input = Input::read(&args.input)?;
    let spec = Spec::read(&args.route)?;
    let route = spec.route(&input.pool(None)?)?;
    let asked = Asked::new(&args.request);
    let explained = route.explain(&asked.request());
    let text = if args.json { text::json(&explained)? } else { as_text(&explained, &input) };
    let nobody = explained.reason.filter(|_| serves_nobody(&explained));
    Ok(Answer { text, nobody: nobody.map(|reason| format!("{}: no instance: {reason}", input.name)) })
}

fn as_text(explained: &Explanation, input: &Input) -> String {
    let paint = Paint::for_stdout();
    let mut text = format!(
        "{} over {} from {} ({})\n",
        explained.policy,
        counted(explained.instances, "instance"),
        cut(&input.name, 36),
        input.found.report.format,
    );
    for branch in &explained.branches {
        text += &tiers(branch, &paint);
    }
    if explained.relaxed {
        text += "\nonly excluded instances are left, and the request takes them as a last resort\n";
    }
    if let Some(reason) = explained.reason {
        let who = if serves_nobody(explained) { "no instance" } else { "some requests find none" };
        text += &format!("\n{}\n", paint.bad(&format!("{who}: {reason}")));
    }
    if !explained.shares_defined {
        text += "\nthe policy defines no shares while loads differ\n";
    }
    text + &shares(explained, &paint)
}

fn serves_nobody(explained: &Explanation) -> bool {
    explained.branches.iter().flat_map(|branch| &branch.tiers).all(|tier| tier.share == 0.0)
}

fn tiers(branch: &BranchExplanation, paint: &Paint) -> String {
    let mut text = String::from("\n");
    if !branch.name.is_empty() {
        text += &paint.strong(&format!("branch {}, {}", cut(&branch.name, 40), percent(branch.share)));
        text.push('\n');
    }
    text += &paint.strong(&format!(
        "{}  {:>8}  {:>9}  {:>8}  {:>9}",
        pad("tier", TIER),
        "members",
        "available",
        "eligible",
        "share"
    ));
    text.push('\n');
    for tier in &branch.tiers {
        let row = format!(
            "{}  {:>8}  {:>9}  {:>8}  {:>9}",
            pad(&cut(&tier.name, TIER), TIER),
            grouped(tier.members as u64),
            grouped(tier.available as u64),
            grouped(tier.eligible as u64),
            percent(tier.share),
        );
        text += &if tier.share > 0.0 { paint.good(&row) } else { row };
        text.push('\n');
        for remark in remarks(tier) {
            text += &paint.faint(&format!("  {remark}"));
            text.push('\n');
        }
    }
    text
}

/// What there is to say of a tier besides its numbers.
fn remarks(tier: &TierExplanation) -> Vec<String> {
    let mut remarks = Vec::new();
    if !tier.reached {
        remarks.push("not reached: a tier before it takes or ends the search".to_owned());
    } else if let Some(reason) = tier.reason {
        let then = if tier.stopped { "; the search ends here" } else { "; the next tier is tried" };
        remarks.push(format!("not used: {reason}{then}"));
    }
    if tier.share > 0.0 {
        if let Some(form) = tier.rotation {
            let turns = !tier.at_pick_time && tier.eligible == tier.available;
            remarks.push(match turns {
                true => format!("{form} rotation"),
                false => "no turn of the rotation: drawn by weight".to_owned(),
            });
        }
        if let Some(algorithm) = tier.hashing {
            remarks.push(format!("hashing by {algorithm}"));
        }
        if tier.at_pick_time {
            remarks.push("worked out at pick time, no table for this request".to_owned());
        }
    }
    remarks
}

fn shares(explained: &Explanation, paint: &Paint) -> String {
    if explained.shares.is_empty() {
        return String::new();
    }
    let mut order: Vec<_> = explained.shares.iter().collect();
    if order.len() > ROWS {
        order.sort_by(|one, other| other.share.total_cmp(&one.share));
    }
    let left = order.split_off(order.len().min(ROWS));
    let width = id_width(order.iter().map(|share| &*share.id)).max("instance".len());
    let largest = order.iter().map(|share| share.share).fold(0.0, f64::max);
    let head = format!("{}  {}  {:>9}", pad("instance", width), pad("", BAR), "share");
    let mut text = format!("\n{}\n", paint.strong(&head));
    for share in order {
        let drawn = paint.good(&pad(&bar(share.share, largest, BAR), BAR));
        text += &format!("{}  {drawn}  {:>9}\n", id(&share.id, width), percent(share.share));
    }
    if !left.is_empty() {
        let sum = left.iter().map(|share| share.share).sum();
        let count = format!("… and {} more, together", grouped(left.len() as u64));
        text += &format!("{}  {:>9}\n", pad(&count, width + 2 + BAR), percent(sum));
    }
    text
}
