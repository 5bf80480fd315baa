refusals! {
    "Groups and members"

    /// A group names each backend once.
    "member-twice" member_twice(backend, first):
        "backend \"{backend}\" is {first} too"; "name it once, with the sum of the weights";

    /// Two backends with the same address and forwarding mode are one server under two names.
    "server-twice" server_twice(backend, other, address, forward):
        "backend \"{backend}\" is the same server as \"{other}\": {address}, {forward}";
        "name one of them";

    /// The preset knows no weight that keeps a member and gives it nothing (S16, S60, D94).
    "zero-weight" zero_weight(policy, wanted):
        "weight 0 does not exist in {policy}";
        "use {wanted}, or `enabled = false`, or `waggle backend drain`";

    /// The system that a preset follows has a limit, which explicit `stages` do not have.
    "beyond-preset" beyond_preset(what, policy, mend, free):
        "{what} in {policy}"; "{mend}, or list `stages`, which take {free}";

    /// The setting belongs to a stage that the preset does not have.
    "foreign-setting" foreign_setting(policy):
        "means nothing in {policy}"; "remove it, or list `stages`";

    /// Explicit stages have their settings themselves.
    "beside-stages" beside_stages():
        "stands beside `stages`"; "remove one of them: each stage has its own settings";

    /// A stage that was asked has nothing to say again.
    "stage-twice" stage_twice(stage):
        "stage \"{stage}\" is there already"; "list it once";

    /// What is shared out can not be narrowed any more.
    "stage-after" stage_after(stage, last):
        "\"{stage}\" stands behind \"{last}\""; "put it before";

    /// Traffic Manager's methods have no affinity (4.1).
    "no-affinity" no_affinity(policy):
        "{policy} has no affinity"; "remove it, or list `stages`, which take it";

    /// A datagram has no connection that could be ended.
    "no-udp-reset" no_udp_reset():
        "UDP has no reset"; "use \"keep\" or \"reselect\"";

    /// Idle times are kept in whole seconds.
    "parts-of-seconds" parts_of_seconds():
        "has parts of a second"; "use whole seconds";

    /// A member is either a backend or a group.
    "two-members-in-one" two_members_in_one():
        "stands beside `backend`"; "make two members of them";

    /// A backend has its location and region itself, and no members.
    "key-of-groups" key_of_groups():
        "is for members that are groups"; "remove it; `location` and `region` stand at the backend";

    /// A group is as healthy as its members (D39).
    "group-always-serves" group_always_serves():
        "is for backends"; "set it for the members of the group";

    /// Traffic Manager ranks the members by their values, or else all by their order (S57).
    "some-priorities" some_priorities():
        "is missing, and others have one"; "give one to each member, or to none";

    /// In Traffic Manager's priority method no two endpoints share a value (S57).
    "priority-twice" priority_twice(priority, first):
        "{priority} is the priority of {first} too";
        "use another, or list `stages`, in which members may share one";

    /// Of two members with the same clients nobody could say which gets them (S95).
    "clients-overlap" clients_overlap(prefix, first):
        "{prefix} overlaps with {first}"; "leave these addresses to one of them";

    /// A region is mapped to one member (S81).
    "region-twice" region_twice(region, first):
        "{region} is {first} too"; "map it to one of them";

    /// A member that no region is mapped to never gets anything (D46).
    "no-region" no_region():
        "is missing"; "add `geo = [\"WORLD\"]`, or the regions that it serves";

    /// The code is none of the geographic hierarchy (D47).
    "unknown-region" unknown_region(given, mend):
        "{given} is the code of no region"; "{mend}";

    /// Multivalue takes addresses only (S90, D53).
    "group-in-multivalue" group_in_multivalue():
        "multivalue takes no groups"; "name its backends, or list `stages`";

    /// Something hands flows to the backup group, and there is none.
    "no-backup" no_backup():
        "is missing, and is to take over"; "add `backup = \"spare\"`";

    /// Nothing ever hands flows to the backup group.
    "unused-backup-group" unused_backup_group():
        "never takes over"; "add `all_down = \"backup\"` or `no_answer = \"backup\"`, or remove it";

    /// A group can not hand flows to itself, be it through others (D58).
    "group-cycle" group_cycle(path):
        "leads back to its own group: {path}"; "take one of them out of another";

    /// Groups stand in each other up to ten levels deep (D58).
    "deep-nesting" deep_nesting(levels, path):
        "groups stand {levels} levels deep here: {path}"; "use at most 10 levels";

    /// Only in the latency of its region can a member be told from others (S73).
    "no-latency-region" no_latency_region(member, there):
        "\"{member}\" is in no region of the latency files"; "add `region = \"..\"` {there}";

    /// Front-door turns probes off only where one member is all that can get traffic (S42).
    "unprobed-members" unprobed_members(enabled):
        "nothing is probed, and {enabled} members are enabled";
        "use `kind = \"http\"` or `kind = \"tcp\"`, or enable one member only";

    /// The kernel's tables know a group by a number made of its name, and two names give the same one.
    "taken-group-number" taken_group_number(group, first):
        "\"{group}\" has the same number in the kernel's tables as \"{first}\"";
        "rename one of them";
}
