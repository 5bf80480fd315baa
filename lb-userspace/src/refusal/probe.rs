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

    /// A probe takes few headers beside its own.
    "many-headers" many_headers(number, most):
        "has {number} headers"; "use at most {most}";

    /// One health rule holds, and each has keys of its own.
    "other-health-rule" other_health_rule(keys):
        "belongs to another rule than {keys}"; "leave out the keys of all rules but one";

    /// `expect` lists few ranges.
    "many-ranges" many_ranges(number, most):
        "has {number} ranges"; "use at most {most}";

    /// The text is no status of HTTP and no range of them.
    "bad-status" bad_status(given, wanted):
        "{given} is no status code"; "use {wanted}";

    /// Probes of this kind have no use for the key.
    "meaningless-key" meaningless_key(kind, mend):
        "{kind} probes have no such key"; "{mend}";

    /// The name in the certificate is that of `host`, unless `sni` gives another.
    "no-server-name" no_server_name(host):
        "is missing, and {host} is no name for a server"; "add `sni = \"www.example.com\"`";

    /// No certificate is for such a name.
    "bad-server-name" bad_server_name(given, wanted):
        "{given} is no name for a server"; "use {wanted}";

    /// Who does not look at certificates needs no authorities.
    "unasked-authorities" unasked_authorities():
        "no authority is asked with `verify = false`"; "leave out one of them";

    /// The file with the certificates of authorities can not be read.
    "unreadable-authorities" unreadable_authorities(path, reason):
        "can not read {path}: {reason}"; "name a file with the certificates of the authorities";

    /// Without `ca_file` the system's authorities are asked, and there are none.
    "no-system-authorities" no_system_authorities():
        "is missing, and this host has no certificates of authorities";
        "install the package `ca-certificates`, or name a file with them";

    /// The file was cut or changed, or holds a certificate that is no authority's.
    "broken-certificate" broken_certificate(number, path):
        "certificate {number} in {path} is broken"; "get the file anew from the authority";

    /// The file is another than was meant, or not in the form PEM.
    "no-certificate" no_certificate(path):
        "{path} holds no certificate"; "name a PEM file, with `-----BEGIN CERTIFICATE-----` in it";
}
