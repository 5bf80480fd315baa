refusals! {
    "Room in the kernel's tables"

    /// New rings and prefixes stand beside the old ones for a moment. Nothing is lost: what stood
    /// before stands on.
    "waits-for-room" waits_for_room():
        "some rings or client prefixes wait for room beside the old ones";
        "they get it within seconds: look at `waggle status` again";

    /// What left a table is free again once no packet and no flow needs it.
    "no-room-yet" no_room_yet(map, needed, size, when):
        "no room in map {map} yet: {needed} needed, {size} there"; "try again {when}";

    /// New rings stand beside the old ones for a moment.
    "full-ring-pool" full_ring_pool(needed, size):
        "map SLOTS is too small: {needed} slots needed, {size} there";
        "raise `edge.ring_slots` to at least {needed}";

    /// New classes stand beside the old ones for a moment.
    "full-classes" full_classes(needed, size):
        "there are too many client classes: {needed}, and at most {size} can be";
        "change less at a time, or use fewer rules, or data files with fewer different rows";

    /// Prefixes longer than /24 cut more networks of 256 addresses than the table holds. Its size is fixed.
    "full-long-prefixes" full_long_prefixes(needed, size):
        "map CLIENTS_V4_LONG is too small: {needed} networks of 256 IPv4 addresses are cut, {size} there";
        "use fewer IPv4 prefixes that are longer than /24, in data files too";

    /// One element per group that a service uses and one per client class for each service that tells
    /// clients apart, and new ones stand beside the old ones for a moment. The size is fixed.
    "full-rows" full_rows(needed, size):
        "map RINGS is too small: {needed} elements needed, {size} there";
        "change less at a time, use fewer rules, or data files with fewer different rows, or spread the services over several edges";

    /// Pairs of a service and a further group that serves it. The size is fixed.
    "full-service-groups" full_service_groups(needed, size):
        "map SERVICE_GROUPS is too small: {needed} pairs of a service and a further group, {size} there";
        "name fewer groups in rules, or spread the services over several edges";

    /// The size is fixed.
    "full-services" full_services(needed, size):
        "map TABLES is too small: {needed} services, {size} there";
        "spread the services over several edges";

    /// The size is fixed.
    "full-targets" full_targets(needed, size):
        "map TABLES is too small: {needed} members of groups, {size} there";
        "spread the groups over several edges";

    /// The size is fixed.
    "full-v6-prefixes" full_v6_prefixes(needed, size):
        "maps CLIENTS_V6_0 and CLIENTS_V6_1 are too small: {needed} IPv6 prefixes needed, {size} there";
        "use fewer IPv6 prefixes, in data files too";
}
