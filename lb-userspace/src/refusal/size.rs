refusals! {
    "Sizes of the kernel's tables"

    /// A table of fixed size holds fewer.
    "too-many" too_many(number, what, most):
        "there are {number} {what}"; "use at most {most}, or spread them over several edges";

    /// Each group that services name has a ring in the pool, or several if it decides by client, and its new
    /// rings stand beside the old ones for a moment. Rings are counted with all members up; the
    /// longest of a group is as long as any health of the members makes it.
    "small-ring-pool" small_ring_pool(size, rings, needed):
        "{size} is too small for {rings} rings and the change of those of a group";
        "use at least {needed}";

    /// Clients whom all rules and policies treat alike are one class; the tables have 15 bits for its number.
    "many-classes" many_classes(classes, most):
        "rules, members' `clients` and data files make {classes} classes of clients, and at most {most} can be";
        "use fewer rules, or data files with fewer different rows: a larger `latency.quantum` makes times equal";

    /// Prefixes longer than /24 need a table of their own for the 256 addresses around them.
    "many-long-prefixes" many_long_prefixes(networks, most):
        "rules, members' `clients` and data files cut {networks} networks of 256 IPv4 addresses, and at most {most} can be";
        "use fewer IPv4 prefixes longer than /24, in data files too";

    /// The table of IPv6 clients holds fewer.
    "many-v6-prefixes" many_v6_prefixes(prefixes, most):
        "rules, members' `clients` and data files need {prefixes} IPv6 prefixes, and at most {most} can be";
        "use fewer of them, in data files too";

    /// Each service that tells clients apart has a row with a place for every class, and each group has a
    /// place.
    "many-rows" many_rows(services, classes, needed, most):
        "{services} services that tell clients apart, with {classes} classes, need {needed} places, and there are {most}";
        "use fewer rules, or data files with fewer different rows, or spread the services over several edges";
}
