refusals! {
    "Looking at the kernel's tables"

    /// The packet program does not do what the daemon decided: its tables are not what was written. The
    /// lines before this one say what differs.
    "not-as-decided" not_as_decided():
        "the packet program in the kernel does not do what was decided";
        "start the daemon anew: it reads the tables back and writes what differs, while packets go on";

    /// The packet program does not do what the daemon decided, and not all of that could be written yet.
    /// The lines before this one say what differs, and what the tables wait for.
    "not-yet-as-decided" not_yet_as_decided():
        "the packet program in the kernel does not do yet what was decided";
        "ask again in a few seconds; if it stays so, `waggle status` says what is in the way";

    /// Neither a daemon nor one that has ended has made tables on this host, or `waggle detach` has removed
    /// them.
    "no-pinned-tables" no_pinned_tables(place):
        "there are no tables in {place}";
        "start a daemon with `waggle run --config FILE`, or choose another edge with --edge or --config";

    /// No target in the kernel's tables is of this group, or leads to this backend.
    "no-such-target" no_such_target(what, name):
        "no target is of {what} `{name}`"; "`waggle flows` lists them";

    /// No client whose packets come to the service has this class by its number in the kernel's tables.
    "no-such-class" no_such_class(class, known):
        "no client is of class {class}"; "the classes are {known}";
}
