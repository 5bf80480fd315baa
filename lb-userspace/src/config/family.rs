//! Tunnels alone carry packets of one family to a backend's address of the other.

use std::collections::BTreeMap;

use super::{
    nesting::Links,
    raw::{Found, Table},
};
use crate::{
    model::{Backend, Group, Member, Name, Policy, Service, family},
    refusal,
};

/// Compares every service with the backends that it leads to. Where it can use none of a group, with
/// the groups in it, the service is wrong; else those members that it can not use, each of them once.
/// Multivalue may mix families (D52), and so may explicit stages; and a backend behind a tunnel is of both.
pub(super) fn check(
    root: &Table<'_>,
    services: &[Found<Service>],
    groups: &[Found<Group>],
    backends: &[Found<Backend>],
    links: &Links,
) {
    let backends: BTreeMap<&Name, &Backend> = backends
        .iter()
        .map(|Found { value, .. }| (&value.name, value))
        .collect();
    let members_of = |group: &Group| -> Vec<(usize, &Backend)> {
        let found = |(i, _, name): (usize, &Member, &Name)| Some((i, *backends.get(name)?));
        group.backends().filter_map(found).collect()
    };
    let takes = |backend: &Backend, service: &Service| backend.takes(service.address.is_ipv4());
    for Found { path, value: group } in groups {
        let members = members_of(group);
        let mut partly_served = Vec::new();
        for Found { path, value } in services {
            let serves = members.iter().any(|(_, it)| takes(it, value));
            if let Some(key) = key_of(value, &group.name) {
                let within = links.within(&group.name);
                let inner = groups.iter().filter(|it| within.contains(&it.value.name));
                let all: Vec<_> = inner.flat_map(|it| members_of(&it.value)).collect();
                match all.first() {
                    Some((_, other)) if !all.iter().any(|(_, it)| takes(it, value)) => {
                        let [ours, theirs] = [value.address, other.address].map(family);
                        let (service, group) = (&value.name, &group.name);
                        let wrong =
                            refusal::service::group_of_other_family(service, ours, group, theirs);
                        root.wrong_at(format!("{path}.{key}"), wrong);
                        continue;
                    }
                    _ => {}
                }
            } else if !value
                .groups()
                .any(|it| links.within(it).contains(&group.name))
            {
                continue;
            }
            if serves && !matches!(group.policy, Policy::Multivalue | Policy::Stages) {
                partly_served.push(value);
            }
        }
        for (i, backend) in members {
            if let Some(service) = partly_served.iter().find(|it| !takes(backend, it)) {
                let wrong = refusal::service::backend_of_other_family(
                    &backend.name,
                    family(backend.address),
                    backend.address,
                    &service.name,
                    family(service.address),
                    service.address,
                );
                root.wrong_at(format!("{path}.member[{i}].backend"), wrong);
            }
        }
    }
}

/// The key by which a service first names a group, if it does.
fn key_of(service: &Service, group: &Name) -> Option<String> {
    if service.group == *group {
        return Some("group".to_owned());
    }
    let mut rules = service.rules.iter();
    let rule = rules.position(|rule| rule.route.group() == Some(group))?;
    Some(format!("rule[{rule}].group"))
}

#[cfg(test)]
mod tests {
    use crate::config::tests::{GOOD, mistakes};

    /// What is wrong when the service and the backends have these addresses, and all are forwarded
    /// to in this way.
    fn with(service: &str, backends: [&str; 2], forward: &str) -> Vec<String> {
        let [a, b] = backends.map(|it| format!("\"{it}\"\nforward = \"{forward}\""));
        let text = GOOD.replace("\"10.0.0.1\"", &a).replace("\"10.0.0.2\"", &b);
        mistakes(&text.replace("203.0.113.10", service))
    }

    const V4: [&str; 3] = ["203.0.113.10", "10.0.0.1", "10.0.0.2"];
    const V6: [&str; 3] = ["2001:db8::10", "2001:db8::1", "2001:db8::2"];
    const MEND: &str =
        "use backends of the service's family, or a tunnel: `forward = \"ipip\"` or `\"gue\"`";

    #[test]
    fn a_tunnel_takes_both_families_from_services_of_either() {
        let second = "[[service]]\nname = \"s6\"\naddress = \"2001:db8:9::10\"\nprotocol = \"tcp\"\n\
            port = 80\ngroup = \"g\"\n";
        for [vip, a, b] in [V4, V6] {
            for backends in [
                [a, b],
                [V4[1], V6[1]],
                [V6[1], V4[1]],
                [V4[1], V4[2]],
                [V6[1], V6[2]],
            ] {
                for tunnel in ["ipip", "gue"] {
                    assert_eq!(with(vip, backends, tunnel), [""; 0]);
                }
            }
        }
        let tunnels = GOOD.replace("\"10.0.0.2\"", "\"2001:db8::2\"\nforward = \"ipip\"");
        let tunnels = tunnels.replace("\"10.0.0.1\"", "\"10.0.0.1\"\nforward = \"ipip\"");
        assert_eq!(mistakes(&format!("{tunnels}{second}")), [""; 0]);
    }

    #[test]
    fn without_a_tunnel_every_mode_takes_either_family_and_no_mixture() {
        for mode in ["l2-dsr", "full-nat"] {
            for ([vip, a, b], [other, _, c], [family, strange]) in
                [(V4, V6, ["IPv4", "IPv6"]), (V6, V4, ["IPv6", "IPv4"])]
            {
                assert_eq!(with(vip, [a, b], mode), [""; 0]);
                let all = format!(
                    "service[0].group: \"s\" has an {strange} address, and all backends of group \
                     \"g\" have {family} ones; {MEND}"
                );
                assert_eq!(with(other, [a, b], mode), [all]);
                let one = format!(
                    "group[0].member[1].backend: backend \"b\" has the {strange} address {c}, and \
                     service \"s\" of this group has the {family} address {vip}; {MEND}"
                );
                assert_eq!(with(vip, [a, c], mode), [one]);
            }
        }
    }

    #[test]
    fn without_a_tunnel_services_of_both_families_share_no_group() {
        let second = "[[service]]\nname = \"s6\"\naddress = \"2001:db8::10\"\nprotocol = \"tcp\"\n\
            port = 80\ngroup = \"g\"\n";
        let all = format!(
            "service[1].group: \"s6\" has an IPv6 address, and all backends of group \"g\" have \
             IPv4 ones; {MEND}"
        );
        assert_eq!(mistakes(&format!("{GOOD}{second}")), [all]);
        let mixed = GOOD.replace("10.0.0.2", "2001:db8::2");
        let each = [
            format!(
                "group[0].member[0].backend: backend \"a\" has the IPv4 address 10.0.0.1, and \
                 service \"s6\" of this group has the IPv6 address 2001:db8::10; {MEND}"
            ),
            format!(
                "group[0].member[1].backend: backend \"b\" has the IPv6 address 2001:db8::2, and \
                 service \"s\" of this group has the IPv4 address 203.0.113.10; {MEND}"
            ),
        ];
        assert_eq!(mistakes(&format!("{mixed}{second}")), each);
    }

    #[test]
    fn a_group_that_a_rule_names_serves_the_family_too() {
        let rule = "rule = [{ clients = [\"192.0.2.0/24\"], group = \"h\" }]\n";
        let other = "[[backend]]\nname = \"c\"\naddress = \"2001:db8::3\"\n[[group]]\nname = \"h\"\n\
            member = [{ backend = \"c\" }]\nprobe = { kind = \"none\" }\n";
        let found = mistakes(&format!("{GOOD}{rule}{other}"));
        let expected = format!(
            "service[0].rule[0].group: \"s\" has an IPv4 address, and all backends of group \"h\" \
             have IPv6 ones; {MEND}"
        );
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_backend_with_a_mistake_of_its_own_is_not_compared() {
        let text = GOOD.replace("10.0.0.2", "fe80::1");
        assert_eq!(mistakes(&text).len(), 1);
    }
}
