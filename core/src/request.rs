//! The request: what the caller knows at pick time.

/// What the caller knows of the request that is to be sent. Borrowed and `Copy`; making one costs nothing.
///
/// In `tags` and `require`, pairs with the same key are alternatives: the instance has one of the values.
///
/// ```
/// use pointsman::Request;
///
/// let request = Request::new().tags(&[("version", "gray")]).exclude(&["10.0.0.1:8080"]).relax(true);
/// # let _ = request;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub(crate) tags: &'a [(&'a str, &'a str)],
    pub(crate) require: &'a [(&'a str, &'a str)],
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) exclude: &'a [&'a str],
    pub(crate) prefer: Option<&'a str>,
    pub(crate) relax: bool,
    /// Which of the fields above are set, apart from `relax`.
    pub(crate) shape: Shape,
}

/// What a request asks for, as far as it decides how it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nothing but the route decides.
    Plain,
    /// The route and, where it hashes keys, the request's key.
    Key,
    /// The route and the request's tags.
    Tags,
    /// The same, besides whom the request excludes.
    Except,
    Other,
}

impl Shape {
    /// Whether the request may find its answer in the lane of those without constraints.
    #[inline(always)]
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::Plain | Self::Key)
    }
}

impl<'a> Request<'a> {
    /// A request without constraints.
    pub const fn new() -> Self {
        Self {
            tags: &[],
            require: &[],
            key: None,
            exclude: &[],
            prefer: None,
            relax: false,
            shape: Shape::Plain,
        }
    }

    /// What the request is. Only keys that a tier's `match` names are read; others have no effect.
    pub const fn tags(mut self, tags: &'a [(&'a str, &'a str)]) -> Self {
        self.tags = tags;
        self.shaped()
    }

    /// What the instance must have, in every tier, for this pick.
    pub const fn require(mut self, require: &'a [(&'a str, &'a str)]) -> Self {
        self.require = require;
        self.shaped()
    }

    /// Bytes that a hash policy or a split by key uses.
    pub const fn key(mut self, key: &'a [u8]) -> Self {
        self.key = Some(key);
        self.shaped()
    }

    /// Ids to keep away from: never returned while another instance is eligible in some tier, and returned at all only
    /// with [`relax`](Self::relax). Unknown ids have no effect. Up to 32 cost O(k log k) and up to four random numbers more;
    /// more are honoured too, at O(n) a pick.
    pub const fn exclude(mut self, exclude: &'a [&'a str]) -> Self {
        self.exclude = exclude;
        self.shaped()
    }

    /// An id to take where it is eligible in the tier that is used (a session's instance); otherwise the policy
    /// chooses.
    pub const fn prefer(mut self, id: &'a str) -> Self {
        self.prefer = Some(id);
        self.shape = Shape::Other;
        self
    }

    /// Whether excluded instances may be taken as a last resort, which marks the pick.
    pub const fn relax(mut self, relax: bool) -> Self {
        self.relax = relax;
        self
    }

    const fn shaped(mut self) -> Self {
        let open = self.require.is_empty() && self.prefer.is_none();
        self.shape = match (open, self.exclude, self.tags, self.key) {
            (true, [], [], None) => Shape::Plain,
            (true, [], _, None) => Shape::Tags,
            (true, [], [], Some(_)) => Shape::Key,
            (true, _, _, None) => Shape::Except,
            _ => Shape::Other,
        };
        self
    }
}

impl Default for Request<'_> {
    fn default() -> Self {
        Self::new()
    }
}
