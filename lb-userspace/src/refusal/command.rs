refusals! {
    "The command line and its way to the daemon"

    /// Nothing listens at the control socket. `waggle status` shows then what a daemon has left.
    "no-daemon" no_daemon(path):
        "no daemon listens at {path}";
        "start it with `waggle run --config FILE`, or name its socket with `--control`";

    /// The control socket is open to its owner and group only.
    "closed-socket" closed_socket(path):
        "{path} may not be opened by this user"; "use root or the socket's group";

    /// The path leads to no socket that could be connected to.
    "bad-socket" bad_socket(path, reason):
        "can not connect to {path}: {reason}"; "give the path of a daemon's socket";

    /// A member is told by its group and its backend. It is wrong usage, with exit status 2.
    "bad-member" bad_member(given):
        "`{given}` is no member of a group"; "write it as GROUP/NAME, for example web/a";

    /// The sockets of several daemons are in the usual place.
    "several-edges" several_edges(names):
        "several edges run here"; "choose one with `--edge`: {names}";

    /// No daemon runs, and the tables of several are in the usual place.
    "several-tables" several_tables(dir):
        "no daemon runs here, and several edges have left their tables in {dir}";
        "choose one with `--edge` or `--config`";

    /// The daemon ended or hangs; it may have done what it was asked to do.
    "no-answer" no_answer(path, reason):
        "the daemon at {path} does not answer: {reason}";
        "look at its log, and start it anew if it hangs: packets go on meanwhile";

    /// Daemon and command line are of different versions, or something else listens there.
    "bad-answer" bad_answer(path, reason):
        "the daemon's answer at {path} is not understood: {reason}";
        "use the `waggle` of the daemon's version";

    /// What came over the control socket is not what this version of the command line sends.
    "bad-request" bad_request(reason):
        "the request is not understood: {reason}"; "use the `waggle` of the daemon's version";

    /// A client of the control socket said nothing for too long.
    "late-request" late_request(seconds):
        "no request came within {seconds} s"; "send it as soon as the connection stands";

    /// The daemon was told to end, and takes no more requests.
    "daemon-ends" daemon_ends():
        "the daemon is ending"; "ask again once it is started anew";

    /// Some settings are in use from start to end.
    "fixed-setting" fixed_setting(settings):
        "edge.{settings} can not change while the daemon runs";
        "stop it and start it with the new file";

    /// What the command has to say can not be written to its standard output.
    "unwritten-output" unwritten_output(reason):
        "the answer can not be written: {reason}"; "write it where there is room";
}
