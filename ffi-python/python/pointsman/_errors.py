"""The exceptions of the package."""


class NoInstance(LookupError):
    """No instance can take the request.

    >>> import pointsman
    >>> try:
    ...     pointsman.Pool().route("random").pick()
    ... except pointsman.NoInstance as error:
    ...     error.reason
    'empty'
    """

    reason: str
    """The furthest that any tier came: empty, no_match, unavailable, drained, excluded or saturated."""
    tier: int
    """The first tier that came so far, by its position in the branch."""
    branch: int
    """The branch of the split; 0 where the route has none."""

    def __init__(
        self,
        message: str = "no instance: the pool is empty",
        reason: str = "empty",
        tier: int = 0,
        branch: int = 0,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.tier = tier
        self.branch = branch


class UpdateError(ValueError):
    """An update was refused. The pool is as it was before."""

    instance: str | None
    """The id of the instance, where one instance is at fault."""
    field: str
    """The field at fault."""

    def __init__(self, message: str, instance: str | None = None, field: str = "") -> None:
        super().__init__(message)
        self.instance = instance
        self.field = field


class RouteError(ValueError):
    """A route spec or a pool spec was refused."""

    path: str
    """Where in the spec, ``tiers[1].min_available_percent`` say; ``.`` is the spec as a whole."""

    def __init__(self, message: str, path: str = ".") -> None:
        super().__init__(message)
        self.path = path


class FormatError(ValueError):
    """A discovery document was refused."""

    path: str
    """Where in the document, ``hosts[3].weight`` say; ``.`` is the document as a whole."""

    def __init__(self, message: str, path: str = ".") -> None:
        super().__init__(message)
        self.path = path
