refusals! {
    "The packet program and its interface"

    /// A running program can not change its mode.
    "other-mode" other_mode(interface, mode):
        "the running program is attached to {interface} in {mode} mode";
        "`waggle detach` and start again to change it, or set `edge.xdp_mode = \"{mode}\"`";

    /// The program that an earlier daemon has left is on another interface.
    "other-interface" other_interface(there, wanted):
        "the running program is attached to {there}, not to {wanted}";
        "`waggle detach` and start again, or set `edge.interfaces` back";

    /// An interface takes one program.
    "other-program" other_program(interface, id):
        "another XDP program{id} is attached to {interface}";
        "remove it (`ip link set dev {interface} xdp off`), or end its owner";

    /// The driver, or its present settings, take no program. With "auto" this is a warning.
    "no-native-xdp" no_native_xdp(interface, reason):
        "{interface} takes no native XDP program: {reason}";
        "set `edge.xdp_mode = \"generic\"`, or \"auto\"";

    /// The kernel refuses the interface a program in generic mode too.
    "no-generic-xdp" no_generic_xdp(interface, reason):
        "{interface} takes no generic XDP program: {reason}";
        "set `edge.interfaces` to another one";

    /// The kernel does not make the tables: they are too large for its memory, or can not be pinned.
    "no-tables" no_tables(reason):
        "the tables of the packet program can not be made: {reason}";
        "if memory is short, set a smaller `edge.flow_entries`; else see who may write `edge.pin_dir`";

    /// The kernel's verifier does not accept the program.
    "rejected-program" rejected_program(reason):
        "the kernel rejects the packet program: {reason}";
        "report it with the kernel's version (`uname -r`); another kernel may take it";

    /// The kernel refuses a step on the way from a loaded program to a running one.
    "unattached-program" unattached_program(reason):
        "the packet program can not be put on its interface: {reason}";
        "see the kernel's log (`dmesg`), and start again";

    /// The program in this binary can not be read.
    "broken-object" broken_object(reason):
        "the packet program in this waggle can not be read: {reason}"; "install waggle anew";

    /// The flow table's hash has a secret.
    "no-random" no_random(reason):
        "the kernel gives no random numbers: {reason}"; "let the process call getrandom(2)";

    /// The packet program was to tell of packets, and nobody could read what it tells.
    "no-packet-log" no_packet_log(reason):
        "the packet program's log can not be read: {reason}"; "set `edge.packet_log = false`";
}
