//! One way to do a job, in the two forms it is needed in: blocks to time, and single picks to judge.

use std::hint::black_box;

/// Does the job so many times, and tells what the last pick was. The loop is inside, so that no call is indirect but the first,
/// and it is the one user of the job's code, so that the compiler puts that into it.
pub(crate) type Block = Box<dyn FnMut(u64) -> usize + Send>;

pub(crate) type Single = Box<dyn FnMut() -> usize>;

pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// How it is called: `picker`, `route` or `pool` for the engine's.
    pub(crate) api: &'static str,
    block: Box<dyn Fn() -> Block>,
    is_pick: bool,
    /// Heap bytes of what it picks from, for each instance.
    pub(crate) bytes: Option<f64>,
}

impl Contender {
    /// One that picks. `make` gives each thread its own hand.
    pub(crate) fn picks<P: FnMut() -> usize + Send + 'static>(
        name: &'static str,
        make: impl Fn() -> P + 'static,
    ) -> Self {
        Self { name, api: "", block: Box::new(move || repeat(make())), is_pick: true, bytes: None }
    }

    /// One that does something else.
    pub(crate) fn does<P: FnMut() + Send + 'static>(
        name: &'static str,
        make: impl Fn() -> P + 'static,
    ) -> Self {
        let block = move || -> Block {
            let mut once = make();
            Box::new(move |times| {
                (0..times).for_each(|_| once());
                0
            })
        };
        Self { name, api: "", block: Box::new(block), is_pick: false, bytes: None }
    }

    pub(crate) fn api(mut self, api: &'static str) -> Self {
        self.api = api;
        self
    }

    /// Whether it does something else than the job, so that only its time is to be compared.
    pub(crate) fn is_of_another_kind(&self) -> bool {
        const KIND: [&str; 4] =
            ["itself_at_8", "itself_without_leases", "itself_hashing_alone", "scan_of_arcs"];
        KIND.contains(&self.name)
    }

    pub(crate) fn bytes(mut self, bytes: f64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// A hand for one thread.
    pub(crate) fn hand(&self) -> Block {
        (self.block)()
    }

    /// A hand that tells what it picks, if this is a way to pick.
    pub(crate) fn single(&self) -> Option<Single> {
        let mut hand = self.is_pick.then(|| self.hand())?;
        Some(Box::new(move || hand(1)))
    }
}

fn repeat<P: FnMut() -> usize + Send + 'static>(pick: P) -> Block {
    let mut kept = Some(pick);
    Box::new(move |times| {
        // On the stack, where a thread that picks in a loop has its hand.
        let Some(mut pick) = kept.take() else { return usize::MAX };
        let mut last = usize::MAX;
        for _ in 0..times {
            last = black_box(pick());
        }
        kept = Some(pick);
        last
    })
}
