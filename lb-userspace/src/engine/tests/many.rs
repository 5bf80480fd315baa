//! Thousands of members (case 63).

use super::*;

/// A group `web` of this many members, with the addresses of all of them.
fn rig(members: u32) -> (Rig, Vec<IpAddr>) {
    let mut text =
        "[edge]\nname = \"e\"\ninterfaces = [\"eth0\"]\nring_slots = 1048576\n".to_owned();
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
        "[[group]]\nname = \"web\"\nlatency_window = \"10s\"\nmember = [{}]\n\
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

fn is_save(effect: &Effect) -> bool {
    matches!(effect, Effect::Save(_))
}

#[test]
fn news_of_all_members_at_once_are_one_image_and_kept_once() {
    const MEMBERS: u32 = 3_000;
    let (mut rig, addresses) = rig(MEMBERS);
    rig.event(Event::Ways(
        addresses.iter().map(|ip| (*ip, open(7))).collect(),
    ));
    let samples = |rig: &Rig, sample: Sample| {
        let keys = rig.engine.latencies.keys();
        keys.map(|key| (key.clone(), sample.clone())).collect()
    };
    let good = samples(&rig, Ok(Duration::from_millis(5)));
    for samples in [&good, &good] {
        rig.event(Event::Samples(Vec::clone(samples)));
    }
    assert_eq!(count(&rig, |it| matches!(it, Effect::Apply(_))), 1);
    assert_eq!(count(&rig, is_save), 1);
    let up = |it: &Effect| {
        matches!(
            it,
            Effect::Tell(Notice::Health {
                health: Health::Up,
                ..
            })
        )
    };
    assert_eq!(count(&rig, up), MEMBERS as usize);
    assert_eq!(
        rig.image().rings.values().next().unwrap().targets.len(),
        MEMBERS as usize
    );
}

#[test]
fn health_that_turns_is_kept_at_once_but_a_storm_of_it_once_a_second() {
    let mut rig = fresh();
    rig.good("a", 5);
    rig.good("a", 5);
    assert_eq!(count(&rig, is_save), 1, "the first");
    rig.now += Duration::from_millis(900);
    rig.bad("b");
    rig.bad("b");
    assert_eq!(count(&rig, is_save), 0, "0.9 s later");
    rig.event(Event::Tick);
    assert_eq!(count(&rig, is_save), 0);
    rig.now += Duration::from_millis(100);
    rig.event(Event::Tick);
    assert_eq!(count(&rig, is_save), 1, "what waited");
    rig.now += Duration::from_secs(60);
    rig.event(Event::Tick);
    assert_eq!(count(&rig, is_save), 0, "nothing has turned");
    rig.admin(Admin::Drain, "a");
    rig.admin(Admin::Enable, "a");
    assert_eq!(
        count(&rig, is_save),
        1,
        "what an operator wants is kept always"
    );
}
