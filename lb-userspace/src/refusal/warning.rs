refusals! {
    "Warnings: the file is taken, but this looks unintended"

    /// The edge forwards nothing.
    "no-service" no_service():
        "there is none"; "add a `[[service]]`, or nothing is forwarded";

    /// Nothing is ever sent to this backend.
    "unused-backend" unused_backend(backend):
        "backend \"{backend}\" is in no group"; "add it to one or remove it";

    /// The group is not probed, and nothing is sent to its members.
    "unused-group" unused_group(group):
        "no service uses group \"{group}\""; "add one or remove it";

    /// Clients are pinned where a service names the group, not where another group has it as a member.
    "unused-affinity" unused_affinity(group):
        "no service names group \"{group}\", and only there its affinity counts";
        "set it in the groups that services name";

    /// A target is of the group that a service names, and so is what becomes of its flows.
    "unused-on-down" unused_on_down(group):
        "no service names group \"{group}\", and only there its `on_down` counts";
        "set it in the groups that services name";

    /// New flows of the group's services are dropped.
    "disabled-group" disabled_group(group):
        "all members of \"{group}\" are disabled"; "its services answer nobody until one is enabled";

    /// The service takes the clients of something that this host serves itself.
    "served-here" served_here(address, port, listener):
        "{address} port {port} is also served on this host, by a listener on {listener}";
        "stop that listener or use another port: its clients reach the backends now";

    /// A connection of this host to a backend may get a port that a translated flow has there: then one of
    /// the two gets what is meant for the other.
    "own-ports" own_ports(port, first, last):
        "{port} is a port that this host may use for its own connections";
        "run `sysctl -w net.ipv4.ip_local_reserved_ports={first}-{last}`, or set `edge.nat_source`";
}
