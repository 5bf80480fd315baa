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

    /// A class is what the rules of all services do for a client; the tables have 15 bits for one.
    "many-classes" many_classes(classes, most):
        "the rules of all services make {classes} classes of clients";
        "use fewer rules, so that there are at most {most}";

    /// Prefixes longer than /24 need a table of their own for the 256 addresses around them.
    "many-long-prefixes" many_long_prefixes(networks, most):
        "rules cut {networks} networks of 256 IPv4 addresses";
        "use fewer IPv4 prefixes longer than /24, so that it is at most {most}";

    /// The table of IPv6 clients holds fewer.
    "many-v6-prefixes" many_v6_prefixes(prefixes, most):
        "the rules need {prefixes} IPv6 prefixes"; "use at most {most}";

    /// Each service with rules has a row with a place for every class.
    "many-rows" many_rows(services, classes):
        "{services} services with rules times {classes} classes are too many";
        "use fewer rules, or spread the services over several edges";
}
