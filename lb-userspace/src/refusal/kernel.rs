refusals! {
    "Looking at the kernel's tables"

    /// The packet program does not do what the daemon decided: its tables are not what was written, or
    /// were not written yet. The lines before this one say what differs.
    "not-as-decided" not_as_decided():
        "the packet program in the kernel does not do what was decided";
        "start the daemon anew: it reads the tables back and writes what differs, while packets go on";
}
