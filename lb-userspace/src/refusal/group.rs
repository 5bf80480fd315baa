refusals! {
    "Groups and members"

    /// A group names each backend once.
    "member-twice" member_twice(backend, first):
        "backend \"{backend}\" is {first} too"; "name it once, with the sum of the weights";

    /// Two backends with the same address and forwarding mode are one server under two names.
    "server-twice" server_twice(backend, other, address, forward):
        "backend \"{backend}\" is the same server as \"{other}\": {address}, {forward}";
        "name one of them";

    /// Front-door knows no weight that keeps a member and gives it nothing.
    "zero-weight" zero_weight(wanted):
        "weight 0 does not exist in front-door";
        "use {wanted}, or `enabled = false`, or `waggle backend drain`";

    /// Front-door turns probes off only where one member is all that can get traffic (S42).
    "unprobed-members" unprobed_members(enabled):
        "nothing is probed, and {enabled} members are enabled";
        "use `kind = \"http\"` or `kind = \"tcp\"`, or enable one member only";

    /// The kernel's tables know a group by a number made of its name, and two names give the same one.
    "taken-group-number" taken_group_number(group, first):
        "\"{group}\" has the same number in the kernel's tables as \"{first}\"";
        "rename one of them";
}
