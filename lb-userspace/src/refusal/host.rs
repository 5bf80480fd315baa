refusals! {
    "The host of a daemon"

    /// The kernel lacks what the packet program calls.
    "old-kernel" old_kernel(oldest, release):
        "Linux {oldest} or newer is needed, this is {release}"; "boot a newer kernel";

    /// The process may not load programs.
    "missing-capabilities" missing_capabilities(capabilities):
        "loading an XDP program takes {capabilities}";
        "run as root, or give the process these capabilities";

    /// What this process may do, and under which kernel, stands in there.
    "no-proc" no_proc(path, reason):
        "can not read {path}: {reason}"; "mount /proc";

    /// The interface of the configuration is not in the daemon's network namespace.
    "no-interface" no_interface(name, known):
        "there is no interface `{name}`"; "set `edge.interfaces` to one of those there are: {known}";

    /// Frames are sent to MAC addresses, and a tunnel or the loopback interface has none.
    "no-ethernet" no_ethernet(name):
        "{name} is no Ethernet interface: it has no MAC address";
        "set `edge.interfaces` to one that has";

    /// The program would run after the kernel has taken the tags off, and only in generic mode. On the
    /// interface below it serves all VLANs of that, tags included.
    "vlan-interface" vlan_interface(name, parent):
        "{name} is a VLAN on {parent}"; "set `edge.interfaces` to {parent}";

    /// A port of a bond sees a part of its frames, and the kernel takes the program on the bond.
    "bonded-interface" bonded_interface(name, controller):
        "{name} is a port of {controller}"; "set `edge.interfaces` to {controller}";

    /// Interfaces, routes and neighbours are asked for over netlink sockets.
    "no-netlink" no_netlink(reason):
        "the kernel does not tell its interfaces and routes: {reason}";
        "let the process open netlink sockets: in a unit file, `RestrictAddressFamilies=` needs AF_NETLINK";

    /// Something listens where the metrics should be served.
    "port-in-use" port_in_use(address, port):
        "edge.metrics {address} is in use";
        "end what listens there (`ss -ltnp sport = :{port}`), or set another";

    /// No interface of this host has the address at which the metrics should be served.
    "foreign-address" foreign_address(address):
        "this host does not have the address of edge.metrics, {address}";
        "use one of its own (`ip address`)";

    /// The kernel does not let this process listen at the address for metrics.
    "refused-listener" refused_listener(address, reason):
        "nothing can listen at edge.metrics {address}: {reason}"; "set another address or port";

    /// The limits of this process, or of the system, are too low.
    "no-resources" no_resources(what, reason):
        "the system does not give {what}: {reason}";
        "raise the limits of this process (`ulimit -a`), or end others";
}
