use std::collections::BTreeSet;

use super::*;
use crate::refusal::CONTROL;

#[test]
fn a_drain_takes_new_flows_only_and_outlives_the_daemon() {
    let mut rig = fresh();
    rig.all_up();
    rig.admin(Admin::Drain, "b");
    assert_eq!(rig.shares(), "a 1");
    assert!(rig.target(2).dead.is_none() && !rig.target(2).takes_new);
    assert!(rig.saves());
    let mut next = Rig::start(BASE, rig.engine.saved(), &["web"]);
    assert_eq!(next.shares(), "a 1");
    next.admin(Admin::Enable, "b");
    assert_eq!(next.shares(), "a 3/10, b 7/10");
    assert!(!next.engine.view().groups[0].members[1].overridden);
}

#[test]
fn a_disabled_backend_is_dead_and_no_longer_probed() {
    let mut rig = fresh();
    rig.all_up();
    let key = rig.key("b");
    rig.admin(Admin::Disable, "b");
    assert!(rig.target(2).dead.is_some());
    let streams = rig.effects.iter().find_map(|effect| match effect {
        Effect::Probe(streams) => Some(streams),
        _ => None,
    });
    assert!(!streams.unwrap().contains_key(&key));
}

#[test]
fn the_stricter_of_a_backends_and_a_members_override_holds() {
    let mut rig = fresh();
    rig.all_up();
    rig.admin(Admin::Drain, "b");
    let (group, backend) = ("web".parse().unwrap(), "b".parse().unwrap());
    let subject = Subject::Member { group, backend };
    rig.event(Event::Admin(AdminChange {
        subject,
        change: Override::Admin(Admin::Enable),
    }));
    assert_eq!(rig.shares(), "a 1");
}

#[test]
fn a_backend_that_was_disabled_is_probed_anew_before_it_gets_traffic() {
    let mut rig = fresh();
    rig.all_up();
    rig.admin(Admin::Disable, "b");
    rig.admin(Admin::Enable, "b");
    assert_eq!(rig.shares(), "a 1", "what was known of b is old");
    rig.good("b", 5);
    rig.good("b", 5);
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
}

#[test]
fn a_reset_goes_back_to_the_file() {
    let off = BASE.replace("weight = 7", "weight = 7, enabled = false");
    let mut rig = Rig::start(&off, Saved::default(), &[]);
    rig.all_up();
    rig.admin(Admin::Enable, "b");
    assert_eq!(rig.engine.view().groups[0].members[1].admin, Admin::Enable);
    let subject = Subject::Backend("b".parse().unwrap());
    let change = Override::Reset;
    rig.event(Event::Admin(AdminChange { subject, change }));
    let member = &rig.engine.view().groups[0].members[1];
    assert!(member.admin == Admin::Disable && !member.overridden);
}

#[test]
fn an_operator_enables_what_the_file_disables() {
    let off = BASE.replace("weight = 7", "weight = 7, enabled = false");
    let mut rig = Rig::start(&off, Saved::default(), &[]);
    rig.all_up();
    assert_eq!(rig.shares(), "a 1");
    rig.admin(Admin::Enable, "b");
    rig.all_up();
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
    assert!(rig.engine.view().groups[0].members[1].overridden);
}

#[test]
fn what_does_not_exist_can_not_be_drained() {
    let mut rig = fresh();
    let name = |text: &str| text.parse::<Name>().unwrap();
    for subject in [
        Subject::Backend(name("x")),
        Subject::Member {
            group: name("x"),
            backend: name("a"),
        },
        Subject::Member {
            group: name("web"),
            backend: name("c"),
        },
    ] {
        let change = AdminChange {
            subject,
            change: Override::Admin(Admin::Drain),
        };
        rig.engine
            .handle(Event::Admin(change), rig.now)
            .unwrap_err();
    }
    assert_eq!(rig.engine.saved().admin, AdminState::default());
}

/// The catalogue's entries for commands, each provoked.
#[test]
fn a_command_that_can_not_be_obeyed_is_refused_and_changes_nothing() {
    let mut rig = fresh();
    let backend = |name: &str| Subject::Backend(name.parse().unwrap());
    let member = |group: &str, backend: &str| Subject::Member {
        group: group.parse().unwrap(),
        backend: backend.parse().unwrap(),
    };
    let drain = Override::Admin(Admin::Drain);
    let before = rig.engine.saved();
    let mut codes = BTreeSet::new();
    for (subject, change, expected) in [
        (
            backend("z"),
            drain,
            "there is no backend `z`; `waggle status backend` lists them",
        ),
        (
            member("z", "a"),
            drain,
            "there is no group `z`; `waggle status group` lists them",
        ),
        (
            member("web", "z"),
            drain,
            "group `web` has no member `z`; its members are a, b",
        ),
        (
            member("web", "a"),
            Override::Weight(1001),
            "weight 1001 is out of range; use 1 to 1000, or `drain` to give it no new flows",
        ),
        (
            member("web", "a"),
            Override::Weight(0),
            "weight 0 is out of range; use 1 to 1000, or `drain` to give it no new flows",
        ),
        (
            backend("a"),
            Override::Weight(1),
            "a weight is set for one member of one group; use `waggle member GROUP/NAME weight N`",
        ),
    ] {
        let event = Event::Admin(AdminChange { subject, change });
        let refusal = rig.engine.handle(event, Duration::ZERO).unwrap_err();
        assert_eq!(refusal.to_string(), expected);
        codes.insert(refusal.code);
    }
    assert_eq!(rig.engine.saved(), before);
    let unknown = rig.engine.explain("z", ip(9)).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no service `z`; there is web");
    codes.insert(unknown.code);
    let other = "2001:db8::7".parse().unwrap();
    let other = rig.engine.explain("web", other).unwrap_err();
    assert_eq!(
        other.to_string(),
        "2001:db8::7 is an IPv6 address, and service `web` has the IPv4 address 203.0.113.10; name \
         an IPv4 client"
    );
    codes.insert(other.code);
    let entries = CONTROL.iter().flat_map(|area| area.entries);
    assert_eq!(codes, entries.map(|entry| entry.code.into()).collect());
}
