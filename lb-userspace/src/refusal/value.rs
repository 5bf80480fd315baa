refusals! {
    "Single values"

    /// The number or duration is beyond what the key takes.
    "out-of-range" out_of_range(given, wanted):
        "{given} is out of range"; "use {wanted}";

    /// The key takes one of a few words, and this is none of them.
    "unknown-word" unknown_word(given, wanted):
        "{given} is unknown"; "use {wanted}";

    /// Names stand in file names, metrics and command lines, so they hold plain letters only.
    "bad-name" bad_name(given, rule):
        "{given} is no name"; "{rule}";

    /// The text is no address: a host name, a network or an address with a port, for example.
    "bad-address" bad_address(given, wanted):
        "{given} is no IP address"; "use {wanted}";

    /// The address is one of those that no single host has for others to reach it.
    "unusable-address" unusable_address(address, kind, mend):
        "{address} is {kind}"; "{mend}";

    /// Such an address stands for an IPv4 host, which has one spelling.
    "mapped-address" mapped_address(address, v4):
        "{address} is an IPv4 address in the form of an IPv6 one"; "use \"{v4}\"";

    /// The address has something around it that has no place here: an interface, a prefix length or
    /// brackets.
    "decorated-address" decorated_address(given, what, mend):
        "{given} {what}"; "{mend}";

    /// The metrics need one address of this host to listen at, with a port.
    "bad-listener" bad_listener(given, what, wanted):
        "{given} {what}"; "use {wanted}";

    /// Ports are named by the first and the last of them. Those below 1024 are the host's own.
    "bad-ports" bad_ports(given, wanted):
        "{given} is no range of ports for that"; "use {wanted}";

    /// Packets to a `full-nat` backend come from one address of its family.
    "several-nat-sources" several_nat_sources():
        "has several addresses of one family"; "leave one of each";

    /// A bare number does not say whether it means seconds or milliseconds.
    "missing-unit" missing_unit(given):
        "{given} has no unit"; "use a number with a unit, like \"10s\" or \"250ms\"";

    /// The text is no length of time.
    "bad-duration" bad_duration(given):
        "{given} is no duration"; "use a number with a unit, like \"10s\" or \"250ms\"";

    /// The path depends on where the daemon was started, or holds control characters.
    "relative-path" relative_path(given):
        "{given} is no absolute path"; "use a path that begins with `/`";

    /// Unix sockets have short paths (unix(7)).
    "long-socket-path" long_socket_path(length):
        "a socket's path can not be {length} bytes long"; "use at most 107";

    /// The kernel has no interface of such a name.
    "bad-interface-name" bad_interface_name(given):
        "{given} is no interface name"; "use 1 to 15 letters without space, `/` or `:`";

    /// An interface takes one program.
    "interface-twice" interface_twice(name):
        "{name} is given twice"; "leave one out";

    /// The packet program's table of interfaces has a fixed size.
    "many-interfaces" many_interfaces(number, most):
        "{number} interfaces are given"; "use {most} at most";

    /// The text is no prefix, and no other way to say several addresses will do here.
    "bad-prefix" bad_prefix(given, wanted):
        "{given} is no prefix"; "use {wanted}";

    /// A tunnel comes from the addresses of one prefix of its outer family.
    "several-tunnel-sources" several_tunnel_sources():
        "has several prefixes of one family"; "leave one of each";

    /// A tag has twelve bits for its VLAN, and all of them set mean something else (IEEE 802.1Q).
    "bad-vlan" bad_vlan(given):
        "{given} is no VLAN"; "use 1 to 4094, 0 for frames without a tag, or two like `[100, 200]`, the outer first";

    /// The text has to have at least one letter.
    "empty-text" empty_text(wanted):
        "is empty"; "use {wanted}";

    /// The size is in the range, but the table is cut in such a way that it can not have it.
    "odd-size" odd_size(size, wanted):
        "{size} does not fit"; "use {wanted}";
}
