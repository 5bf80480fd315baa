refusals! {
    "Services and backends"

    /// Two services have the same address, protocol and port.
    "taken-endpoint" taken_endpoint(address, port, protocol, service):
        "{address} port {port} {protocol} is the service \"{service}\" already";
        "remove one of them, or use another port";

    /// Packets to that address are for the service: they would never reach the server.
    "backend-is-service" backend_is_service(address, service):
        "{address} is the address of the service \"{service}\"";
        "use the server's own address";

    /// Only `full-nat` rewrites ports; with the other modes the packet reaches the server as it came.
    "port-without-nat" port_without_nat(forward):
        "packets keep their port with \"{forward}\"";
        "remove it, or use `forward = \"full-nat\"`";

    /// Only the datagrams of `gue` go to a port of their own.
    "gue-port-without-gue" gue_port_without_gue(forward):
        "\"{forward}\" makes no datagrams";
        "remove it, or use `forward = \"gue\"`";

    /// Tunnels alone carry packets of one family to a backend's address of the other, and the group has
    /// backends of the other family only, none of them behind a tunnel.
    "group-of-other-family" group_of_other_family(service, family, group, other):
        "\"{service}\" has an {family} address, and all backends of group \"{group}\" have {other} ones";
        "use backends of the service's family, or a tunnel: `forward = \"ipip\"` or `\"gue\"`";

    /// As for the whole group, for one of its backends.
    "backend-of-other-family" backend_of_other_family(backend, family, address, service, other, vip):
        "backend \"{backend}\" has the {family} address {address}, and service \"{service}\" of this group has the {other} address {vip}";
        "use backends of the service's family, or a tunnel: `forward = \"ipip\"` or `\"gue\"`";

    /// A rule has to say what becomes of its clients.
    "rule-without-route" rule_without_route():
        "is missing, and so is `group`"; "add `group = \"office\"` or `answer = \"reject\"`";

    /// A rule speaks of clients by their addresses, their regions or their location.
    "rule-by-several" rule_by_several():
        "stands beside another key that says which clients"; "make two rules of it";

    /// A preferred location chooses between the members of a group.
    "answer-that-prefers" answer_that_prefers():
        "stands beside `prefer`"; "remove one of them";

    /// NetScaler takes up to eight preferred locations (S102).
    "many-preferred" many_preferred(given):
        "{given} locations are given"; "use at most 8";

    /// What a rule prefers is decided in the group, whoever asks it.
    "shared-preference" shared_preference(group, other):
        "group \"{group}\" is used by service \"{other}\" too";
        "give the service a group of its own for that";

    /// No stage of the group looks at preferred locations.
    "idle-preference" idle_preference(group):
        "group \"{group}\" does not look at it";
        "use the policy \"static-proximity\" or \"dynamic-rtt\", or a stage \"prefer\"";

    /// A rule says one thing of its clients.
    "rule-with-two-routes" rule_with_two_routes():
        "stands beside `group`"; "remove one of them";

    /// Of two equal prefixes in the rules of one service nobody could say which holds.
    "clients-twice" clients_twice(prefix, first):
        "{prefix} is in {first} too"; "leave it to one of them";

    /// The text names no clients.
    "bad-clients" bad_clients(given, wanted):
        "{given} is no prefix, range or address"; "use {wanted}";

    /// The address has bits that the length cuts off, so one of the two is a mistake.
    "host-bits" host_bits(given, prefix):
        "{given} has bits beyond its length"; "use \"{prefix}\"";

    /// A range lies in one family.
    "mixed-range" mixed_range(given):
        "{given} mixes IPv4 and IPv6"; "use two addresses of the same family";

    /// The last address of a range is not below its first.
    "reversed-range" reversed_range(given, instead):
        "{given} ends before it begins"; "use \"{instead}\"";

    /// IPv4 clients have one spelling.
    "mapped-clients" mapped_clients(given, instead):
        "{given} is IPv4 written as IPv6"; "write it as \"{instead}\"";
}
