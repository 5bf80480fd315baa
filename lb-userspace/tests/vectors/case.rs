//! A vector as a configuration of Waggle, with what is observed and who asks.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::Duration,
};

use lb_userspace::{
    class::Clients,
    config,
    model::{Admin, Group, Health, Initial, MemberState, Model, Ramp, Region, Share},
    policy::{Client, Decision, Destination, Scene, decide},
    whereabouts::LatencyRegion,
};

use crate::file::vector;

/// A configuration and observations: what is not named is healthy and unmeasured.
#[derive(Clone)]
pub(crate) struct Case {
    backends: Vec<(&'static str, String)>,
    groups: String,
    down: BTreeSet<&'static str>,
    checking: BTreeSet<&'static str>,
    disabled: BTreeSet<&'static str>,
    probed: BTreeMap<&'static str, u64>,
    client: &'static str,
    region: Region,
    location: Option<&'static str>,
    row: Option<&'static [(&'static str, u64)]>,
    prefer: &'static [&'static str],
}

impl Case {
    /// Backends, and groups, of which `g` serves.
    pub(crate) fn new(backends: &[&'static str], groups: &str) -> Self {
        Self {
            backends: backends.iter().map(|name| (*name, String::new())).collect(),
            groups: groups.to_owned(),
            down: BTreeSet::new(),
            checking: BTreeSet::new(),
            disabled: BTreeSet::new(),
            probed: BTreeMap::new(),
            client: "203.0.113.9",
            region: Region::World,
            location: None,
            row: None,
            prefer: &[],
        }
    }

    /// One group `g` with all backends as members.
    pub(crate) fn of_all(backends: &[&'static str], settings: &str) -> Self {
        let members = backends
            .iter()
            .map(|it| format!("{{ backend = \"{it}\" }}"));
        let members = members.collect::<Vec<_>>().join(", ");
        Self::new(
            backends,
            &group("g", &format!("{settings}, member = [{members}]")),
        )
    }

    /// Another key of a backend.
    pub(crate) fn with(mut self, backend: &str, key: &str, value: &str) -> Self {
        let (_, keys) = self
            .backends
            .iter_mut()
            .find(|it| it.0 == backend)
            .expect("a backend");
        *keys += &format!(", {key} = \"{value}\"");
        self
    }

    pub(crate) fn down(mut self, backends: &[&'static str]) -> Self {
        self.down.extend(backends);
        self
    }

    pub(crate) fn all_down(self) -> Self {
        let all: Vec<_> = self.backends.iter().map(|it| it.0).collect();
        self.down(&all)
    }

    pub(crate) fn checking(mut self, backend: &'static str) -> Self {
        self.checking.insert(backend);
        self
    }

    pub(crate) fn disabled(mut self, backends: &[&'static str]) -> Self {
        self.disabled.extend(backends);
        self
    }

    pub(crate) fn latency(mut self, probed: &[(&'static str, u64)]) -> Self {
        self.probed.extend(probed.iter().copied());
        self
    }

    pub(crate) fn client(self, client: &'static str) -> Self {
        Self { client, ..self }
    }

    pub(crate) fn region(self, code: &str) -> Self {
        let region = code.parse().expect("a region");
        Self { region, ..self }
    }

    pub(crate) fn location(self, location: &'static str) -> Self {
        Self {
            location: Some(location),
            ..self
        }
    }

    pub(crate) fn row(self, row: &'static [(&'static str, u64)]) -> Self {
        Self {
            row: Some(row),
            ..self
        }
    }

    pub(crate) fn prefer(self, prefer: &'static [&'static str]) -> Self {
        Self { prefer, ..self }
    }

    /// Its configuration.
    pub(crate) fn model(&self) -> Model {
        let mut text = "edge = { name = \"e\", interfaces = [\"eth0\"] }\n".to_owned();
        let v6 = self.client.contains(':');
        for (number, (name, keys)) in (1..).zip(&self.backends) {
            let address = match keys.contains("address") {
                true => String::new(),
                false if v6 => format!(", address = \"2001:db8::{number}\""),
                false => format!(", address = \"10.0.0.{number}\""),
            };
            text += &format!("[[backend]]\nname = \"{name}\"\n");
            for key in format!("{address}{keys}")
                .split(", ")
                .filter(|it| !it.is_empty())
            {
                text += &format!("{key}\n");
            }
        }
        let vip = if v6 {
            "2001:db8:203::10"
        } else {
            "203.0.113.10"
        };
        text += &self.groups;
        text += &format!(
            "[[service]]\nname = \"s\"\naddress = \"{vip}\"\nprotocol = \"tcp\"\nport = 80\ngroup = \"g\"\n"
        );
        match config::parse(&text) {
            Ok(checked) => checked.model,
            Err(errors) => panic!("{errors}\n{text}"),
        }
    }

    /// The decision for the client.
    pub(crate) fn decision(&self) -> Decision {
        let model = self.model();
        let states = model.groups.iter();
        let states = states.map(|(name, group)| (name.clone(), self.states(group)));
        let clients = Clients::of(&model);
        let scene = Scene {
            groups: &model.groups,
            backends: &model.backends,
            states: &states.collect(),
            regions: clients.regions(),
        };
        let address: IpAddr = self.client.parse().expect("an address");
        let latency = |region: &LatencyRegion| {
            let told = self.row?.iter().find(|it| it.0 == region.as_str())?;
            Some(Duration::from_millis(told.1))
        };
        let row = clients.regions().iter().map(latency);
        let prefer = self.prefer.iter().map(|it| it.parse().expect("a pattern"));
        let group = "g".parse().expect("a name");
        let client = Client {
            region: self.region,
            location: self.location.map(|it| it.parse().expect("a location")),
            latencies: row.collect(),
            prefer: prefer.collect(),
            ..clients.client(&model, &group, clients.class_of(address))
        };
        decide(&scene, &group, &client)
    }

    fn states(&self, group: &Group) -> Vec<MemberState> {
        let state = |name: &str| MemberState {
            admin: match self.disabled.contains(name) {
                true => Admin::Disable,
                false => Admin::Enable,
            },
            unreachable: None,
            health: match (self.down.contains(name), self.checking.contains(name)) {
                (true, _) => Health::Down,
                (_, true) => Health::Checking,
                _ => Health::Up,
            },
            serves_unchecked: group
                .probe
                .as_ref()
                .is_some_and(|it| it.initial == Initial::Checking),
            ramp: Ramp::FULL,
            latency: self.probed.get(name).map(|ms| Duration::from_millis(*ms)),
            why: String::new(),
        };
        let members = group.members.iter();
        members
            .map(|member| state(member.name().as_str()))
            .collect()
    }

    /// The part of each backend; `no answer` has that of all answers.
    pub(crate) fn shares(&self) -> BTreeMap<String, Share> {
        let mut shares = BTreeMap::new();
        for (to, share) in self.decision().rows.total() {
            let name = match to {
                Destination::Backend(name) => name.to_string(),
                Destination::Answer(_) => "no answer".to_owned(),
            };
            *shares.entry(name).or_default() += share;
        }
        shares
    }

    /// Compares the shares with those of the vector.
    #[track_caller]
    pub(crate) fn check(self, id: &str) {
        assert_eq!(self.shares(), vector(id).shares(), "{id}");
    }
}

/// A group with a probe.
pub(crate) fn group(name: &str, settings: &str) -> String {
    let mut text = format!("[[group]]\nname = \"{name}\"\nprobe = {{ kind = \"http\" }}\n");
    for setting in cut(settings) {
        text += &format!("{setting}\n");
    }
    text
}

/// Cuts `a = 1, b = [2, 3]` at the commas outside of brackets.
fn cut(settings: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in settings.char_indices() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(settings[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(settings[start..].trim());
    parts
}
