use std::{collections::BTreeSet, fmt, net::IpAddr};

use lb_common::{Answer, Target};
use serde::Serialize;

use crate::{
    cli::{
        columns::{columns, header, without_empty},
        names::Names,
        service::{self, listed, none_called},
    },
    dataplane::{ClassContents, Fate, RingContents, ServiceContents, Tables},
    model::{Name, Prefix},
    policy::percent,
    refusal::{Refusal, kernel},
};

/// What the tables hold, with names.
#[derive(Debug, Serialize)]
pub(super) struct View {
    /// The client that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<Client>,
    services: Vec<Service>,
}

#[derive(Debug, Serialize)]
struct Client {
    address: IpAddr,
    /// Its class for services with rules.
    class: u32,
    /// The longest prefix that it is in, which gives it the class.
    prefix: Prefix,
}

#[derive(Debug, Serialize)]
struct Service {
    #[serde(flatten)]
    shown: service::Service,
    group: Option<Name>,
    group_id: u32,
    /// Whether clients are of more than one class.
    #[serde(skip)]
    told_apart: bool,
    classes: Vec<Class>,
}

#[derive(Debug, Serialize)]
struct Class {
    class: u32,
    /// All its prefixes: of those that a client is in, among all classes, the longest holds.
    clients: Vec<Prefix>,
    outcome: Outcome,
    group: Option<Name>,
    group_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    affinity: Option<Affinity>,
    ring: Option<Ring>,
    shares: Vec<Share>,
}

/// How long new flows of a client go where its last one went.
#[derive(Debug, Serialize)]
struct Affinity {
    idle_s: u32,
    /// Bits of the prefix whose clients stay together.
    prefix: u8,
    scope: &'static str,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Drop,
    Forward,
    NoAnswer,
    Pass,
    Reject,
}

#[derive(Debug, Serialize)]
struct Ring {
    length: usize,
    /// Slots of a row, which a client chooses; left out where there is but one row.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<u32>,
    /// None: a slot names no target.
    hash: Option<String>,
}

/// What a backend, or an answer, has of a ring.
#[derive(Debug, Serialize)]
struct Share {
    target: u16,
    backend: Option<Name>,
    address: Option<IpAddr>,
    /// What becomes of these flows instead of going to a backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'static str>,
    slots: usize,
    /// From 0 to 1.
    share: f64,
}

impl View {
    pub(super) fn of(tables: &Tables, names: &Names) -> Self {
        let contents = tables.contents();
        let services = contents.iter().map(|it| Service::of(it, tables, names));
        Self {
            client: None,
            services: services.collect(),
        }
    }

    /// Leaves out all services but those that are called so.
    pub(super) fn keep_service(&mut self, service: &str) -> Result<(), Refusal> {
        let is_called = |it: &Service| it.shown.is_called(service);
        if !self.services.iter().any(is_called) {
            let all = self.services.iter().map(|it| &it.shown);
            return Err(none_called(service, all));
        }
        self.services.retain(is_called);
        Ok(())
    }

    /// Leaves out all classes but that of this client, and services that it can not reach.
    pub(super) fn keep_client(&mut self, client: IpAddr, tables: &Tables) -> Result<(), Refusal> {
        if let [only] = &self.services[..] {
            only.shown.check_client(client)?;
        }
        self.services.retain(|it| it.shown.is_reached_by(client));
        let number = tables.clients_in_use().class_of(client).into();
        for service in &mut self.services {
            let told_apart = service.told_apart;
            service
                .classes
                .retain(|it| !told_apart || it.class == number);
        }
        let clients = match client {
            IpAddr::V4(_) => tables.clients_in_use().clients_v4(),
            IpAddr::V6(_) => tables.clients_in_use().clients_v6(),
        };
        let prefixes = clients.into_values().flatten();
        let around = prefixes.filter(|prefix| prefix.contains(client));
        let longest = around.max_by_key(|prefix| prefix.length());
        self.client = longest.map(|prefix| Client {
            address: client,
            class: number,
            prefix,
        });
        Ok(())
    }

    /// Leaves out all classes but this one, and services whose clients have another.
    pub(super) fn keep_class(&mut self, class: u32) -> Result<(), Refusal> {
        let classes = self.services.iter().flat_map(|it| &it.classes);
        let known: BTreeSet<u32> = classes.map(|it| it.class).collect();
        if !known.contains(&class) {
            return Err(kernel::no_such_class(class, listed(known)));
        }
        for service in &mut self.services {
            service.classes.retain(|it| it.class == class);
        }
        self.services.retain(|it| !it.classes.is_empty());
        Ok(())
    }
}

impl Service {
    fn of(contents: &ServiceContents, tables: &Tables, names: &Names) -> Self {
        let ServiceContents {
            key,
            group,
            classes,
        } = contents;
        let is_v4 = key.address.is_v4();
        let class = |it: &ClassContents| Class::of(it, is_v4, tables, names);
        Self {
            shown: service::Service::of(key, names),
            group: names.group(*group).cloned(),
            group_id: *group,
            told_apart: classes.len() > 1,
            classes: classes.iter().map(class).collect(),
        }
    }
}

impl Class {
    fn of(contents: &ClassContents, is_v4: bool, tables: &Tables, names: &Names) -> Self {
        let ClassContents {
            class,
            clients,
            fate,
        } = contents;
        let ring = match fate {
            Fate::Forward(ring) => Some(ring),
            Fate::Drop | Fate::NoAnswer | Fate::Pass | Fate::Reject => None,
        };
        let group_id = ring.and_then(|ring| ring.group);
        Self {
            class: *class,
            clients: clients.to_vec(),
            outcome: match fate {
                Fate::Drop => Outcome::Drop,
                Fate::Forward(_) => Outcome::Forward,
                Fate::NoAnswer => Outcome::NoAnswer,
                Fate::Pass => Outcome::Pass,
                Fate::Reject => Outcome::Reject,
            },
            group: group_id.and_then(|id| names.group(id)).cloned(),
            group_id,
            affinity: ring.and_then(|ring| Affinity::of(ring.affinity, is_v4)),
            ring: ring.map(|ring| Ring {
                length: ring.length,
                columns: (ring.columns > 0).then_some(ring.columns),
                hash: ring.hash.map(|hash| format!("{hash:016x}")),
            }),
            shares: ring.map_or_else(Vec::new, |ring| shares(ring, tables, names)),
        }
    }
}

impl Affinity {
    fn of(affinity: lb_common::Affinity, is_v4: bool) -> Option<Self> {
        affinity.is_some().then(|| Self {
            idle_s: affinity.idle_seconds(),
            prefix: if is_v4 { affinity.v4() } else { affinity.v6() },
            scope: affinity.scope().as_str(),
        })
    }
}

impl fmt::Display for Affinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{} {} s, {}", self.prefix, self.idle_s, self.scope)
    }
}

fn shares(ring: &RingContents, tables: &Tables, names: &Names) -> Vec<Share> {
    let share = |(id, slots): (&u16, &usize)| {
        let target: Option<&Target> = tables.target(*id);
        Share {
            target: *id,
            backend: target.and_then(|it| names.backend(it)).cloned(),
            address: target.map(|it| it.address.into()),
            answer: Answer::of_slot(*id).map(answer),
            slots: *slots,
            share: *slots as f64 / ring.length as f64,
        }
    };
    let mut shares: Vec<_> = ring.slots.iter().map(share).collect();
    shares.sort_by(|a, b| (&a.backend, a.address).cmp(&(&b.backend, b.address)));
    shares
}

fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::PASS => "pass",
        Answer::REJECT => "reject",
        _ => "drop",
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(client) = &self.client {
            writeln!(f, "{client}\n")?;
        }
        if self.services.is_empty() {
            writeln!(f, "no service is published")?;
        }
        for (i, service) in self.services.iter().enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            write!(f, "{gap}{service}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            class,
            prefix,
        } = self;
        match prefix.length() {
            0 => write!(f, "client {address}: class {class}, with all others"),
            _ => write!(f, "client {address}: class {class}, by {prefix}"),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.shown)?;
        let mut rows = vec![header(&[
            "CLASS", "CLIENTS", "GOES TO", "AFFINITY", "RING", "BACKEND", "SLOTS", "SHARE",
        ])];
        let classes = self.classes.iter();
        rows.extend(classes.flat_map(|it| it.rows(self.told_apart)));
        f.write_str(&columns(2, &without_empty("AFFINITY", rows)))
    }
}

impl Class {
    /// As many rows as there are backends, or prefixes that are shown; the first has the rest.
    fn rows(&self, told_apart: bool) -> Vec<Vec<String>> {
        let clients = self.shown_clients(told_apart);
        let shares: Vec<_> = self
            .shares
            .iter()
            .map(|it| it.cells(self.ring.as_ref()))
            .collect();
        let count = clients.len().max(shares.len()).max(1);
        let nothing = || [const { String::new() }; 3];
        let row = |i: usize| {
            let client = clients.get(i).cloned().unwrap_or_default();
            let [backend, slots, share] = shares.get(i).cloned().unwrap_or_else(nothing);
            let [class, goes, ring] = if i > 0 {
                nothing()
            } else {
                [self.class.to_string(), self.goes(), self.shown_ring()]
            };
            let affinity = self.affinity.as_ref().filter(|_| i == 0);
            let affinity = affinity.map(ToString::to_string).unwrap_or_default();
            vec![class, client, goes, affinity, ring, backend, slots, share]
        };
        (0..count).map(row).collect()
    }

    /// The first prefixes, and how many more there are.
    fn shown_clients(&self, told_apart: bool) -> Vec<String> {
        const MOST: usize = 4;
        let all = if told_apart {
            "all others"
        } else {
            "everybody"
        };
        let shown = |prefix: &Prefix| match prefix.length() {
            0 => all.to_owned(),
            _ => prefix.to_string(),
        };
        let mut texts: Vec<_> = self.clients.iter().take(MOST).map(shown).collect();
        let more = self.clients.len() - texts.len();
        if more > 0 {
            texts.pop();
            texts.push(format!("and {} more", more + 1));
        }
        texts
    }

    fn goes(&self) -> String {
        match (self.outcome, &self.group, self.group_id) {
            (Outcome::Drop, ..) => "drop".to_owned(),
            (Outcome::Pass, ..) => "pass".to_owned(),
            (Outcome::Reject, ..) => "reject".to_owned(),
            (Outcome::NoAnswer, ..) => "no backend: drop".to_owned(),
            (Outcome::Forward, Some(name), _) => name.to_string(),
            (Outcome::Forward, None, Some(id)) => format!("{id:08x}"),
            (Outcome::Forward, None, None) => "unknown".to_owned(),
        }
    }

    fn shown_ring(&self) -> String {
        let broken = || "broken".to_owned();
        let ring = self.ring.as_ref();
        ring.map_or_else(String::new, |it| it.hash.clone().unwrap_or_else(broken))
    }
}

impl Share {
    fn cells(&self, ring: Option<&Ring>) -> [String; 3] {
        let backend = match (&self.backend, self.address, self.answer) {
            (Some(name), ..) => name.to_string(),
            (None, Some(address), _) => address.to_string(),
            (None, None, Some(answer)) => answer.to_owned(),
            (None, None, None) => format!("target {} (free)", self.target),
        };
        let length = ring.map_or(0, |ring| ring.length);
        let slots = format!("{}/{length}", self.slots);
        [backend, slots, percent(self.share)]
    }
}
