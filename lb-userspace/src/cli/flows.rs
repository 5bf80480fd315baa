mod client;
mod counts;
#[cfg(test)]
mod fixtures;

use std::net::IpAddr;

use clap::Args;
use lb_common::tick;
use serde::Serialize;

use super::{
    examples,
    names::Names,
    pinned::{Pinned, Read},
};
use crate::{
    dataplane::{Tables, monotonic},
    model::Name,
    refusal::{Refusal, Refused, kernel::no_such_target},
};

/// Count the connections that are remembered, by group, backend and state, and how full the flow table
/// is; or list those of one client with one service.
///
/// It is read from the kernel's maps, with or without a daemon. Names are not in there: a daemon tells
/// them, or --config, and what nobody names is shown by its number or address. An entry says to which
/// backend of which group its packets go, and neither the client nor the service; the group is the one
/// that a service names. Entries of backends that were removed are there until they end.
///
/// With --client and --service each of the client's 65,536 ports is looked up as the packet program does
/// it. The table has 48 bits of a keyed hash of each flow: of a full one of the default size an entry of
/// another flow is taken for one of the client's in less than one of a hundred million lists.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle flows", "waggle flows --group web --backend a", "waggle flows --client 198.51.100.7 --service web", "waggle flows --config waggle.toml --format json"]))]
pub(super) struct Arguments {
    #[command(flatten)]
    wanted: Wanted,
    /// List the flows of this client with --service, by the client's ports.
    #[arg(long, value_name = "IP", requires = "service")]
    client: Option<IpAddr>,
    /// The service of --client, by its name or as ADDRESS:PORT or ADDRESS:PORT/PROTOCOL.
    #[arg(long, value_name = "SERVICE", requires = "client")]
    service: Option<String>,
    #[command(flatten)]
    pub(super) pinned: Pinned,
}

/// Which entries to look at.
#[derive(Args, Debug)]
struct Wanted {
    /// Only those of this group, by its name or number.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Only those to this backend, by its name or address.
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
}

/// Where flows go, and what it is called.
#[derive(Clone, Serialize)]
struct Target {
    #[serde(rename = "target")]
    id: u16,
    group: Option<Name>,
    group_id: u32,
    backend: Option<Name>,
    address: IpAddr,
}

impl Arguments {
    pub(super) fn run(self) -> Result<String, Refused> {
        let format = self.pinned.format;
        let Read {
            kernel,
            tables,
            names,
        } = self.pinned.read()?;
        let targets = self.wanted.of(Target::all(&tables, &names))?;
        let now = tick(monotonic());
        match (self.client, &self.service) {
            (Some(client), Some(service)) => {
                let from = (&kernel, &tables, &names);
                format.print(&client::View::of(client, service, &targets, from, now)?)
            }
            _ => format.print(&counts::View::of(targets, &kernel, now)),
        }
    }
}

impl Wanted {
    /// The targets to be shown, by group and backend.
    fn of(&self, mut targets: Vec<Target>) -> Result<Vec<Target>, Refusal> {
        if let Some(group) = &self.group {
            targets.retain(|it| {
                it.group_shown() == *group || format!("{:08x}", it.group_id) == *group
            });
            if targets.is_empty() {
                return Err(no_such_target("group", group));
            }
        }
        if let Some(backend) = &self.backend {
            let is_named =
                |it: &Target| it.backend.as_ref().is_some_and(|it| it.as_str() == backend);
            targets.retain(|it| is_named(it) || it.address.to_string() == *backend);
            if targets.is_empty() {
                return Err(no_such_target("backend", backend));
            }
        }
        targets.sort_by_key(|it| (it.group_shown(), it.backend.clone(), it.address, it.id));
        Ok(targets)
    }
}

impl Target {
    fn all(tables: &Tables, names: &Names) -> Vec<Self> {
        let shown = |(id, target): (u16, &lb_common::Target)| Self {
            id,
            group: names.group(target.group).cloned(),
            group_id: target.group,
            backend: names.backend(target).cloned(),
            address: target.address.into(),
        };
        tables.targets().map(shown).collect()
    }

    fn group_shown(&self) -> String {
        let number = || format!("{:08x}", self.group_id);
        self.group.as_ref().map_or_else(number, Name::to_string)
    }

    /// Group, backend, address.
    fn cells(&self) -> [String; 3] {
        let backend = self.backend.as_ref().map_or("-", Name::as_str);
        [
            self.group_shown(),
            backend.to_owned(),
            self.address.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{fixtures::targets, *};

    fn kept(group: Option<&str>, backend: Option<&str>) -> Result<Vec<u16>, Refusal> {
        let [group, backend] = [group, backend].map(|it| it.map(str::to_owned));
        let targets = Wanted { group, backend }.of(targets())?;
        Ok(targets.iter().map(|it| it.id).collect())
    }

    #[test]
    fn what_has_no_name_is_asked_for_by_number_and_address() {
        for (group, backend, expected) in [
            (None, None, &[3, 2, 1][..]),
            (Some("web"), None, &[2, 1]),
            (Some("0000beef"), Some("b"), &[1]),
            (None, Some("10.0.0.3"), &[3]),
        ] {
            assert_eq!(kept(group, backend).unwrap(), expected);
        }
        for (group, backend) in [(Some("x"), None), (Some("web"), Some("10.0.0.9"))] {
            assert_eq!(kept(group, backend).unwrap_err().code, "no-such-target");
        }
    }
}
