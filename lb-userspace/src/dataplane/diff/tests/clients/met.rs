use super::*;

/// What a packet that makes a new flow meets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Met {
    Answer(Answer),
    Nobody,
    Ring(Seen),
}

/// A ring as packets see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Seen {
    pub(super) group: u32,
    pub(super) columns: u32,
    /// Numbers of targets' identities, or answers.
    pub(super) slots: Vec<u64>,
}

/// Does what the packet program does for a new flow.
pub(super) fn packet(tables: &Tables, key: &ServiceKey, client: IpAddr) -> Option<Met> {
    let service = tables.services.get(key)?;
    let place = place(tables, service, client);
    Some(shown(tables, service, tables.rows[place as usize]))
}

/// Does what it does for a packet of an older flow, if that goes by a former ring.
fn older_packet(tables: &Tables, key: &ServiceKey, client: IpAddr) -> Option<Met> {
    let service = tables.services.get(key)?;
    let former = tables.formers.get(&place(tables, service, client))?;
    Some(shown(tables, service, former.ring))
}

fn place(tables: &Tables, service: &Service, client: IpAddr) -> u32 {
    let class = match service.row.classes() {
        1 => 0,
        _ => u32::from(number_of(tables.clients_in_use(), client)),
    };
    assert!(
        class < service.row.classes(),
        "a class that the row has not"
    );
    service.row.first() + class
}

fn shown(tables: &Tables, service: &Service, now: Descriptor) -> Met {
    if let Some(answer) = now.answer() {
        return Met::Answer(answer);
    }
    if now == Descriptor::NO_ANSWER {
        return Met::Nobody;
    }
    let group = tables.group_of(now);
    let slot = |id: u16| match Answer::of_slot(id) {
        Some(answer) => answer.slot().into(),
        None => {
            assert_eq!(
                Some(tables.targets[&id].group),
                group,
                "a ring of two groups"
            );
            tables.targets[&id].identity
        }
    };
    let may = |group: &u32| serves(tables, service, *group);
    assert!(group.as_ref().is_none_or(may), "a group that may not serve");
    Met::Ring(Seen {
        group: group.unwrap_or_default(),
        columns: now.columns(),
        slots: ids_in(tables, now).into_iter().map(slot).collect(),
    })
}

pub(super) fn number_of(table: &ClassTable, client: IpAddr) -> u16 {
    fn at<A: Ord>(runs: &[(A, u16)], address: A) -> u16 {
        runs[runs.partition_point(|(first, _)| *first <= address) - 1].1
    }
    match client {
        IpAddr::V4(v4) => at(table.v4(), v4.to_bits()),
        IpAddr::V6(v6) => at(table.v6(), v6.to_bits()),
    }
}

/// What the image says that a packet should meet.
pub(super) fn intended(image: &Image, key: &ServiceKey, client: IpAddr) -> Option<Met> {
    let class = image.clients.class_of(client);
    Some(match image.answer(key, class)? {
        Served::Answer(answer) => Met::Answer(answer),
        Served::Group(group) => met(group, image.ring(group, class).unwrap()),
    })
}

pub(super) fn met(group: &Name, ring: &Ring) -> Met {
    let slot = |slot: &u16| match ring.targets.get(usize::from(*slot)) {
        Some(target) => target.hash(),
        None => (*slot).into(),
    };
    let alike = ring.slots.iter().all(|it| *it == ring.slots[0]);
    match ring.slots.first().map(|slot| Answer::of_slot(*slot)) {
        None => Met::Nobody,
        Some(Some(answer)) if alike => Met::Answer(answer),
        _ => Met::Ring(Seen {
            group: if ring.targets.is_empty() {
                0
            } else {
                group_id(group)
            },
            columns: ring.columns,
            slots: ring.slots.iter().map(slot).collect(),
        }),
    }
}

/// Whether what a packet meets is one of the new rings of the group whose ring it met before; or of a
/// group that served before and had an empty one, or one of answers.
pub(super) fn follows(
    before: &Option<Met>,
    now: &Option<Met>,
    image: &Image,
    groups: &BTreeSet<u32>,
) -> bool {
    let is_new = |(group, rings): (&Name, &Arc<Vec<Ring>>)| {
        let may_be = match before {
            Some(Met::Ring(seen)) if seen.group > 0 => seen.group == group_id(group),
            _ => groups.contains(&group_id(group)),
        };
        may_be && rings.iter().any(|ring| Some(met(group, ring)) == *now)
    };
    let is_gone = |group: u32| image.rings.keys().all(|it| group_id(it) != group);
    match (before, now) {
        (Some(Met::Ring(seen)), Some(Met::Nobody)) if is_gone(seen.group) => true,
        (None, _) => false,
        _ => image.rings.iter().any(is_new),
    }
}

/// What packets of each service and client meet.
pub(super) type Answers = BTreeMap<(ServiceKey, IpAddr), Option<Met>>;

pub(super) fn answers(tables: &Tables) -> Answers {
    of_all(|key, client| packet(tables, key, client))
}

/// What packets of older flows meet where a former ring counts.
pub(super) fn older_answers(tables: &Tables) -> Answers {
    of_all(|key, client| older_packet(tables, key, client))
}

fn of_all(answer: impl Fn(&ServiceKey, IpAddr) -> Option<Met>) -> Answers {
    let all = keys()
        .into_iter()
        .flat_map(|key| clients().into_iter().map(move |it| (key, it)));
    all.map(|of| (of, answer(&of.0, of.1))).collect()
}

pub(super) fn assert_shows(tables: &Tables, image: &Image) {
    for ((key, client), answer) in answers(tables) {
        assert_eq!(answer, intended(image, &key, client), "{key:?} {client}");
    }
}
