//! Thousands of members (case 63).

use super::*;

/// A group `web` of this many members, with the addresses of all of them.
fn rig(members: u32) -> (Rig, Vec<IpAddr>) {
    let mut text = "[edge]\nname = \"e\"\ninterfaces = [\"eth0\"]\n".to_owned();
    let mut list = Vec::new();
    let mut addresses = Vec::new();
    for n in 0..members {
        let [_, a, b, c] = n.to_be_bytes();
        let address = Ipv4Addr::new(10, a, b, c);
        text += &format!("[[backend]]\nname = \"b{n}\"\naddress = \"{address}\"\n");
        list.push(format!("{{ backend = \"b{n}\" }}"));
        addresses.push(address.into());
    }
    text += &format!(
        "[[group]]\nname = \"web\"\nlatency_window = \"1s\"\nmember = [{}]\n\
         probe = {{ kind = \"http\", port = 80 }}\n\
         [[service]]\nname = \"web\"\naddress = \"203.0.113.10\"\nprotocol = \"tcp\"\nport = 80\n\
         group = \"web\"\n",
        list.join(", ")
    );
    (Rig::start(&text, Saved::default(), &[]), addresses)
}

/// How many effects are of one kind.
fn count(rig: &Rig, is_it: impl Fn(&Effect) -> bool) -> usize {
    rig.effects.iter().filter(|effect| is_it(effect)).count()
}

#[test]
fn news_of_all_members_at_once_are_one_image_and_kept_once() {
    const MEMBERS: u32 = 3_000;
    let (mut rig, addresses) = rig(MEMBERS);
    rig.event(Event::Ways(
        addresses.iter().map(|ip| (direct(*ip), open(7))).collect(),
    ));
    let keys = rig.engine.latencies.keys();
    let good: Vec<(_, Sample)> = keys
        .map(|key| (key.clone(), Ok(Duration::from_millis(5))))
        .collect();
    rig.event(Event::Samples(good.clone()));
    rig.event(Event::Samples(good));
    assert_eq!(count(&rig, |it| matches!(it, Effect::Apply(_))), 1);
    assert_eq!(count(&rig, |it| matches!(it, Effect::Save)), 1);
    let up = |it: &Effect| {
        let health = Health::Up;
        matches!(it, Effect::Tell(Notice::Health { health: now, .. }) if *now == health)
    };
    assert_eq!(count(&rig, up), MEMBERS as usize);
    assert_eq!(rig.image().rings["web"][0].targets.len(), MEMBERS as usize);

    let saved = rig.engine.saved();
    let (again, _) = Engine::start(
        Checked::new(rig.engine.model().clone(), Vec::new()),
        saved,
        BTreeSet::new(),
        Duration::ZERO,
    );
    let view = again.view();
    assert!(
        view.groups[0]
            .members
            .iter()
            .all(|it| it.health == Health::Up)
    );
}
