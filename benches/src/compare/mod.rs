//! `compare`: the same job through the engine and through what a user would take instead.
//!
//! ```text
//! jobs ─▶ contenders ─▶ measure (rounds of A B B A) ─▶ rows ─▶ text, JSON, CSV
//!                   └─▶ quality (shares, bursts, allocations)
//! ```

mod contender;
mod floor;
mod jobs;
pub(crate) mod machine;
mod measure;
mod quality;
mod rows;

use clap::ValueEnum;

use crate::Answer;
use crate::args::{CompareArgs, PlanArgs};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::text;
use contender::Contender;
pub(crate) use jobs::Job;
use jobs::Setup;
use machine::Machine;
use measure::{Running, alone, median, pair};
pub(crate) use quality::Quality;
use quality::judge;
pub(crate) use rows::{Peer, Report, Row, RowQuality, as_text, digits, time};

/// What a comparison is made over.
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) threads: Vec<u16>,
    pub(crate) rounds: usize,
}

pub(crate) fn command(args: &CompareArgs) -> Result<Answer, Failure> {
    if let Some(path) = &args.csv {
        text::check_writable(path)?;
    }
    let report = run(&args.plan.plan())?;
    if let Some(path) = &args.csv {
        rows::write_csv(&report, path)?;
    }
    let text = if args.json { text::json(&report)? } else { as_text(&report) };
    Ok(Answer { text, nobody: None })
}

impl PlanArgs {
    pub(crate) fn plan(&self) -> Plan {
        let jobs = if self.jobs.is_empty() { Job::value_variants() } else { &self.jobs };
        Plan {
            jobs: jobs.to_vec(),
            sizes: self.sizes.clone(),
            threads: self.threads.clone(),
            rounds: self.rounds,
        }
    }
}

pub(crate) fn run(plan: &Plan) -> Result<Report, Failure> {
    let machine = Machine::this();
    let progress = Progress::new((plan.jobs.len() * plan.sizes.len() * plan.threads.len()) as u64);
    let mut rows = floors(plan);
    for job in &plan.jobs {
        progress.say(&job.name());
        for size in &plan.sizes {
            let setup = job.setup(*size)?;
            for threads in &plan.threads {
                if *threads == 1 || job.is_pick() {
                    rows.extend(
                        setup.ours.iter().map(|ours| row(*job, &setup, ours, (*size, *threads), plan)),
                    );
                }
                progress.add(1);
            }
        }
    }
    Ok(Report { machine, rows })
}

fn floors(plan: &Plan) -> Vec<Row> {
    let floor = |contender: &Contender| {
        let mut running = Running::new(contender, 1);
        alone(&mut running, 4 * plan.rounds);
        Row {
            job: "floor".to_owned(),
            api: contender.api.to_owned(),
            size: 1,
            threads: 1,
            ns: median(&mut running.blocks),
            peers: Vec::new(),
            quality: RowQuality::default(),
        }
    };
    floor::contenders().iter().map(floor).collect()
}

fn row(job: Job, setup: &Setup, ours: &Contender, (size, threads): (usize, u16), plan: &Plan) -> Row {
    let mut running = Running::new(ours, threads);
    let mut peers = Vec::new();
    let mut times = Vec::new();
    // The engine over another list is a peer of the same call only.
    for peer in setup.peers.iter().filter(|peer| peer.api.is_empty() || peer.api == ours.api) {
        let mut other = Running::new(peer, threads);
        let ratio = pair(&mut running, &mut other, plan.rounds);
        peers.push(Peer::new(peer.name, median(&mut other.blocks), ratio));
        times.push(peer);
    }
    if threads > 1 {
        let mut alone = Running::new(ours, 1);
        let ratio = pair(&mut running, &mut alone, plan.rounds);
        peers.push(Peer::new("itself_on_one_thread", median(&mut alone.blocks), ratio));
    }
    let ns = median(&mut running.blocks);
    let mut quality = RowQuality::default();
    if threads == 1 {
        let expected = setup.expected.as_deref();
        let judged = |contender: &Contender, ns| {
            let comparable = !contender.is_of_another_kind();
            let mut quality = judge(contender, expected.filter(|_| comparable), ns);
            quality.keys_moved = setup.keys_moved.get(contender.name).copied();
            quality
        };
        quality.ours = judged(ours, ns);
        let of = |(contender, peer): (&&Contender, &Peer)| (peer.name.clone(), judged(contender, peer.ns));
        quality.peers = times.iter().zip(&peers).map(of).collect();
    }
    Row { job: job.name(), api: ours.api.to_owned(), size, threads, ns, peers, quality }
}
