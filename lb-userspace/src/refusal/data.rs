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
}
