refusals! {
    "Probes"

    /// The default is the port of the group's services, and no service uses the group.
    "no-probe-port" no_probe_port(example):
        "is missing, and no service with a port uses this group"; "add `port = {example}`";

    /// The default is the port of the group's services, and these have more than one.
    "several-probe-ports" several_probe_ports(ports, example):
        "is missing, and the group's services have several: {ports}"; "add `port = {example}`";

    /// A probe has to end before the next one begins.
    "long-timeout" long_timeout(timeout, interval):
        "{timeout} is longer than the interval"; "use at most {interval}";

    /// The path can not stand in an HTTP request (RFC 9112, 3.2.1).
    "bad-request-path" bad_request_path(given):
        "{given} is no path for a request";
        "begin with `/`, and write any letter that a URL can not hold as `%` and two hex digits";

    /// The text can not stand in a Host header.
    "bad-host" bad_host(given):
        "{given} is no host";
        "use a name or an address, with `:` and a port where it is not the usual one";

    /// Names of headers do not depend on upper and lower case.
    "header-twice" header_twice(first, second):
        "{first} and {second} are the same header"; "leave out one of them";

    /// The key can not stand before the colon of a header (RFC 9110, 5.1).
    "bad-header-name" bad_header_name():
        "is no name of a header"; "use letters, digits and `-`";

    /// Another setting, or HTTP itself, says what this header holds.
    "reserved-header" reserved_header(key_instead):
        "is set by the probe itself"; "{key_instead}";

    /// The text can not stand after the colon of a header (RFC 9110, 5.5).
    "bad-header-value" bad_header_value(given):
        "{given} is no value of a header";
        "use printable ASCII without a space at either end";

    /// `expect` lists few ranges.
    "many-ranges" many_ranges(number, most):
        "has {number} ranges"; "use at most {most}";

    /// The text is no status of HTTP and no range of them.
    "bad-status" bad_status(given, wanted):
        "{given} is no status code"; "use {wanted}";
}
