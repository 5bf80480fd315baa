refusals! {
    "Commands to the daemon"

    /// No backend of the configuration in force has this name.
    "no-such-backend" no_such_backend(name):
        "there is no backend `{name}`"; "`waggle status backend` lists them";

    /// No group of the configuration in force has this name.
    "no-such-group" no_such_group(name):
        "there is no group `{name}`"; "`waggle status group` lists them";

    /// The group exists, and the backend is none of its members.
    "no-such-member" no_such_member(group, backend, members):
        "group `{group}` has no member `{backend}`"; "its members are {members}";

    /// No service of the configuration has this name.
    "no-such-service" no_such_service(name, known):
        "there is no service `{name}`"; "there is {known}";

    /// A client reaches a service over the family of the service's address only.
    "client-of-other-family" client_of_other_family(client, family, service, other, address):
        "{client} is an {family} address, and service `{service}` has the {other} address {address}";
        "name an {other} client";

    /// Weights are compared with those of the other members, within limits.
    "bad-weight" bad_weight(weight, least, most):
        "weight {weight} is out of range";
        "use {least} to {most}, or `drain` to give it no new flows";

    /// A backend may be in several groups, and its weight says something in each of them alone.
    "weight-of-backend" weight_of_backend():
        "a weight is set for one member of one group"; "use `waggle member GROUP/NAME weight N`";
}
