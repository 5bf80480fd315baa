refusals! {
    "Pins: what stays in the kernel without a daemon"

    /// Programs, links and maps can be pinned on a BPF file system only.
    "no-bpf-file-system" no_bpf_file_system(dir):
        "{dir} is not on a BPF file system";
        "`mount -t bpf bpf /sys/fs/bpf`, or set another `edge.pin_dir`";

    /// To detach an edge is to remove the directory of its pins.
    "shared-pins" shared_pins(dir, example):
        "{dir} is the root of a BPF file system, which others use too";
        "set `edge.pin_dir` to a directory in it, like {example}";

    /// Names on a BPF file system have no dots.
    "dotted-pins" dotted_pins(dir):
        "a BPF file system takes no dots in names, as in {dir}";
        "set `edge.pin_dir` to a path without";

    /// A directory or a pin can not be made, replaced or looked at.
    "unusable-pins" unusable_pins(path, reason):
        "{path} can not be used: {reason}";
        "see what stands there and who may write it, or set another `edge.pin_dir`";

    /// The flow table and the ring pool get their sizes when they are made.
    "other-size" other_size(map, there, wanted, setting):
        "map {map} of the running program has {there} entries, and {wanted} are wanted";
        "set `edge.{setting}` back, or `waggle detach` and start again; until then the running program is left alone";

    /// The pinned maps are of another version of Waggle, or not Waggle's.
    "other-layout" other_layout(map, differs):
        "map {map} of the running program does not fit this waggle: {differs}";
        "`waggle detach` and start again; until then the running program is left alone";

    /// The kernel refused to open, read or write a table.
    "unusable-map" unusable_map(map, reason):
        "map {map} can not be used: {reason}"; "if it stays so, `waggle detach` and start again";

    /// Nothing says whether the pin is the link of an earlier daemon, so it is left alone.
    "unknown-link" unknown_link(path, reason):
        "can not tell what {path} holds: {reason}";
        "if it is the link of a waggle, `waggle detach` and start again; if not, set another `edge.pin_dir`";

    /// `waggle detach` found no pins in that place.
    "nothing-pinned" nothing_pinned(dir):
        "nothing is attached or pinned in {dir}";
        "if the edge keeps its pins elsewhere, name its configuration with `--config`";

    /// `waggle detach` could not remove a pin; those before it are gone.
    "kept-pin" kept_pin(path, reason):
        "{path} can not be removed: {reason}"; "mend that, and `waggle detach` again";

    /// Someone else keeps things in the directory, or another version of Waggle did.
    "foreign-pins" foreign_pins(dir, names):
        "the pins are removed, but not {dir}, which holds what this waggle has not made: {names}";
        "remove that by hand if nothing needs it";

    /// A link lives as long as some process has it open.
    "still-attached" still_attached(interface):
        "the pins are removed, but the program is still on {interface}: another process keeps its link open";
        "end that process (`bpftool link` names it)";
}
