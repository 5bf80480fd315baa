refusals! {
    "What a daemon keeps for itself"

    /// Each edge has one daemon, which alone writes its tables.
    "edge-taken" edge_taken(edge, pid):
        "another waggle daemon runs edge `{edge}` (pid {pid})";
        "end that one first, or give it another configuration with `waggle reload`";

    /// The daemon of another edge has its pins in the same place.
    "pins-taken" pins_taken(dir):
        "another waggle daemon has its pins in {dir}"; "set another `edge.pin_dir` for this one";

    /// Someone answers at the path of the control socket: the daemon of another edge, most likely.
    "socket-taken" socket_taken(path):
        "another daemon listens at {path}"; "give each edge its own `edge.control`";

    /// A file or a directory stands where the control socket should be.
    "no-socket" no_socket(path):
        "{path} is there, and no socket"; "remove it, or set another `edge.control`";

    /// The control socket can not be made, or an old one not be removed.
    "unusable-socket" unusable_socket(path, reason):
        "the control socket {path} can not be made: {reason}";
        "set `edge.control` to a path where this user may make one";

    /// The directory for the lock and for what outlives the daemon can not be made or read.
    "unusable-state" unusable_state(path, reason):
        "{path} can not be used: {reason}";
        "set `edge.state_dir` to a directory that this user may write and that has room";

    /// What the operator has set is in force, but a daemon that is started now would not know it.
    "unsaved-state" unsaved_state(path, reason):
        "{path} can not be written, and the next start will not know what was set: {reason}";
        "make room, or let this user write there";
}
