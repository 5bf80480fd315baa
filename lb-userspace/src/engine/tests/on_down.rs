use super::*;
use crate::model::{OnDown, TcpOnDown, UdpOnDown};

const RESET: OnDown = OnDown {
    tcp: TcpOnDown::Reset,
    udp: UdpOnDown::Keep,
};

fn resetting() -> String {
    let set = "on_down = { tcp = \"reset\", udp = \"keep\" }\n    latency_window";
    BASE.replace("latency_window", set)
}

#[test]
fn flows_of_an_unhealthy_backend_fare_as_its_group_says() {
    for (text, expected) in [(BASE.to_owned(), OnDown::DEFAULT), (resetting(), RESET)] {
        let mut rig = Rig::start(&text, Saved::default(), &[]);
        rig.all_up();
        assert_eq!(rig.target(2).dead, None);
        rig.only_a_up();
        rig.bad("b");
        assert_eq!(rig.target(2).dead, Some(expected));
        rig.good("b", 5);
        rig.good("b", 5);
        assert_eq!(rig.target(2).dead, None);
    }
}

#[test]
fn a_disabled_backend_is_no_unhealthy_one() {
    let mut rig = Rig::start(&resetting(), Saved::default(), &[]);
    rig.all_up();
    rig.admin(Admin::Disable, "b");
    assert_eq!(rig.target(2).dead, Some(OnDown::DEFAULT));
    rig.admin(Admin::Enable, "b");
    rig.bad("b");
    rig.bad("b");
    rig.bad("b");
    assert_eq!(rig.target(2).dead, Some(RESET));
    rig.admin(Admin::Disable, "b");
    assert_eq!(
        rig.target(2).dead,
        Some(OnDown::DEFAULT),
        "the order counts"
    );
}

#[test]
fn a_drained_backend_that_is_down_is_down() {
    let mut rig = Rig::start(&resetting(), Saved::default(), &[]);
    rig.all_up();
    rig.admin(Admin::Drain, "b");
    assert_eq!(rig.target(2).dead, None);
    for _ in 0..3 {
        rig.bad("b");
    }
    assert_eq!(rig.target(2).dead, Some(RESET));
}

#[test]
fn under_the_all_down_rule_no_flow_ends() {
    let mut rig = Rig::start(&resetting(), Saved::default(), &[]);
    rig.all_up();
    for _ in 0..3 {
        rig.bad("a");
        rig.bad("b");
    }
    for host in [1, 2] {
        let target = rig.target(host);
        assert!(target.takes_new && target.dead.is_none(), "{target:?}");
    }
}

#[test]
fn a_reload_changes_what_becomes_of_flows_of_backends_that_are_down_already() {
    let mut rig = fresh();
    rig.all_up();
    rig.bad("b");
    rig.bad("b");
    rig.bad("b");
    assert_eq!(rig.target(2).dead, Some(OnDown::DEFAULT));
    rig.event(Event::Reload(Box::new(parse(&resetting()))));
    assert_eq!(rig.target(2).dead, Some(RESET));
}
