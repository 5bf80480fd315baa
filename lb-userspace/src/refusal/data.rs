refusals! {
    "Locations, regions, and the files that tell where clients are"

    /// The text names no place and no places: more than six qualifiers, nothing between two dots, or a
    /// quote too few.
    "bad-location" bad_location(given, why):
        "{given} {why}";
        "use up to six qualifiers with dots between them, like \"NA.US.CA.San Jose\", and quotes around one that has a dot";

    /// The name of a region in latency tables has at least one letter that can be seen.
    "bad-region" bad_region(given):
        "{given} is no name of a region"; "use the name that the latency files have";

    /// A path is not empty and has no control characters.
    "bad-data-path" bad_data_path(given):
        "{given} is no path"; "use a path, absolute or from the directory of this file";

    /// The file is not there, is no file, is far too large or may not be read by this user.
    "unreadable-data" unreadable_data(path, reason):
        "can not read {path}: {reason}"; "give the path of a file that this user may read";

    /// A file of another format most likely, or one in another encoding.
    "no-text" no_text():
        "is not in UTF-8"; "use a text in UTF-8, or a database with the ending `.mmdb`";

    /// Such a file says nothing of any client. Most likely it was cut.
    "empty-data" empty_data():
        "has no entry"; "get the file anew, or leave it out";

    /// The file is none of that format, or was cut or changed.
    "broken-mmdb" broken_mmdb(reason):
        "is no MaxMind database, or a broken one: {reason}";
        "get the file anew, or give the `format` that it has";

    /// A file in NetScaler's own format says so in its first line, and where its entries begin.
    "no-location-file" no_location_file(what):
        "has no line `{what}`";
        "begin with `NSGEO1.0`, and put `Start` before the entries; or give the file's `format`";

    /// The format of the file is most likely another one.
    "bad-columns" bad_columns(given, wanted):
        "has {given} fields"; "use {wanted}";

    /// Fields are quoted as a whole or not at all.
    "stray-quote" stray_quote():
        "has a quote within a field, or one that does not end";
        "put quotes around whole fields, and write one within twice";

    /// The field holds no address, neither in its usual form nor as one number.
    "bad-row-address" bad_row_address(given):
        "{given} is no address"; "use an address like \"192.0.2.1\", or its number";

    /// The field holds no country code of ISO 3166-1, or one that the geographic hierarchy does not know.
    "bad-country" bad_country(given, mend):
        "{given} is no country code"; "{mend}";

    /// The hierarchy has states for Australia, Canada and the United States.
    "bad-state" bad_state(given, country):
        "{given} is no state of {country}"; "use a code like \"US-CA\", or leave it out";

    /// The field holds no number.
    "bad-milliseconds" bad_milliseconds(given):
        "{given} is no number"; "use milliseconds, like 12 or 3.5";

    /// Rounded times are equal or a quantum apart, so that the window would keep the nearest only, as one of 0
    /// does.
    "coarse-quantum" coarse_quantum(quantum, group, window):
        "{quantum} is more than the latency window of group \"{group}\", {window}";
        "use at most {window}, or another window: 0s keeps those with the lowest rounded time";

    /// Of two such entries nobody could say which holds.
    "row-twice" row_twice(what, line):
        "{what} is in line {line} too"; "leave it to one of them";

    /// Many lines of one file have mistakes, and the first ones are told.
    "more-mistakes" more_mistakes(path, number):
        "{path} has mistakes in {number} more places"; "mend those above first";
}
