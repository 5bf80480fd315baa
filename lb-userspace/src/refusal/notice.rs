refusals! {
    "Warnings of a reload: it is done, and this is to be known"

    /// The daemon forgets the other file when it ends.
    "other-file" other_file(path):
        "this file is in use until the daemon ends";
        "the next start takes the file that it is given, so far {path}";

    /// Before a first verdict of each member nothing could be said of shares.
    "undecided-group" undecided_group(group):
        "group {group} waits for its first probe results";
        "its services stay as they are until then";

    /// Generic mode makes a socket buffer of each packet before the program sees it.
    "slow-mode" slow_mode():
        "the running program is attached in generic mode, which is slow";
        "`waggle detach` and a new start try native again";
}
