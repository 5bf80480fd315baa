refusals! {
    "Files, tables and keys"

    /// The path is that of a directory, a pipe or a device.
    "no-regular-file" no_regular_file(path):
        "{path} is no regular file"; "give the path of a file";

    /// The file is not there, may not be read by this user, or is not in UTF-8.
    "unreadable-file" unreadable_file(path, reason):
        "can not read {path}: {reason}"; "give the path of a text file that this user may read";

    /// No configuration is that large: the path is most likely another file's.
    "huge-file" huge_file(path, most):
        "{path} is no configuration: it is larger than {most} MiB";
        "give the path of a configuration";

    /// The text breaks the rules of TOML. Nothing after this place was looked at.
    "no-toml" no_toml(mistake):
        "{mistake}"; "mend it to have the rest of the file checked";

    /// Nothing reads this key where it stands: it is misspelt, in the wrong table or of another version.
    "unknown-key" unknown_key(known_keys):
        "unknown key"; "{known_keys}";

    /// The table can not do without this key.
    "missing-key" missing_key(what_to_add):
        "is missing"; "{what_to_add}";

    /// The list has to have at least one element.
    "empty-list" empty_list(what_to_add):
        "is empty"; "{what_to_add}";

    /// The value is of another type than the key takes: a number where a text is wanted, for example.
    "wrong-type" wrong_type(what_it_is, wanted):
        "{what_it_is}"; "use {wanted}";

    /// Two tables of one kind have the same name, so that nobody could say which is meant.
    "taken-name" taken_name(name, first):
        "{name} is also the name of {first}"; "give each its own name";

    /// The key names a backend, group or service that the file does not have.
    "unknown-name" unknown_name(kind, name, known_names):
        "no {kind} is named {name}"; "{known_names}";

    /// The setting will exist one day, and would change nothing now.
    "not-there-yet" not_there_yet():
        "is not there yet"; "leave it out";
}
