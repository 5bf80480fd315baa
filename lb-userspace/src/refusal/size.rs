refusals! {
    "Sizes of the kernel's tables"

    /// A table of fixed size holds fewer.
    "too-many" too_many(number, what, most):
        "there are {number} {what}"; "use at most {most}, or spread them over several edges";

    /// Each group has a ring in the pool, and a new ring stands beside the old one for a moment.
    "small-ring-pool" small_ring_pool(size, rings, needed):
        "{size} is too small for the rings of {rings} groups and the change of one";
        "use at least {needed}";
}
