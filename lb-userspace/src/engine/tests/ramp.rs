//! Slow start.

use super::*;

/// [`BASE`] with a slow start of 16 s: a sixteenth each second.
fn slow() -> String {
    BASE.replace("latency_window", "slow_start = \"16s\"\n    latency_window")
}

impl Rig {
    fn at(&mut self, seconds: u64) {
        self.now = Duration::from_secs(seconds);
        self.event(Event::Tick);
    }

    fn b_fails(&mut self) {
        (0..3).for_each(|_| self.bad("b"));
        assert_eq!(self.shares(), "a 1");
    }

    fn b_heals(&mut self) {
        self.good("b", 5);
        self.good("b", 5);
    }

    fn why(&self, member: usize) -> String {
        self.engine.view().groups[0].members[member].why.clone()
    }
}

/// An engine whose group was decided with both members up.
fn decided() -> Rig {
    let mut rig = Rig::start(&slow(), Saved::default(), &[]);
    rig.all_up();
    assert_eq!(
        rig.shares(),
        "a 3/10, b 7/10",
        "none starts slowly at first"
    );
    rig
}

const AT_FIRST: &str = "a 48/55, b 7/55";

#[test]
fn a_member_that_heals_gets_its_share_little_by_little() {
    let mut rig = decided();
    rig.b_fails();
    rig.now = Duration::from_secs(100);
    rig.b_heals();
    assert_eq!(rig.shares(), AT_FIRST, "3 x 16 to 7 x 1");
    assert_eq!(
        rig.why(1),
        "2 of the last 4 probes were good, 2 needed; starts slowly: 1/16 of its weight counts"
    );
    rig.at(108);
    assert_eq!(rig.shares(), "a 6/13, b 7/13", "3 x 16 to 7 x 8");
    rig.at(115);
    assert_eq!(rig.shares(), "a 16/51, b 35/51", "3 x 16 to 7 x 15");
    rig.at(116);
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
    assert!(!rig.why(1).contains("slowly"));
}

#[test]
fn a_ring_changes_at_most_fifteen_times_in_a_slow_start() {
    let mut rig = decided();
    rig.b_fails();
    rig.now = Duration::from_secs(100);
    rig.b_heals();
    let mut changes = 0;
    for tick in 1..=400 {
        rig.now = Duration::from_secs(100) + Duration::from_millis(50) * tick;
        rig.event(Event::Tick);
        let applies = rig.effects.iter();
        changes += applies.filter(|it| matches!(it, Effect::Apply(_))).count();
    }
    assert_eq!((changes, rig.shares().as_str()), (15, "a 3/10, b 7/10"));
}

#[test]
fn one_that_fails_again_begins_again() {
    let mut rig = decided();
    rig.b_fails();
    rig.b_heals();
    rig.at(8);
    rig.b_fails();
    rig.at(20);
    rig.b_heals();
    assert_eq!(rig.shares(), AT_FIRST);
}

#[test]
fn one_that_the_operator_enables_again_starts_slowly() {
    let mut rig = decided();
    rig.admin(Admin::Drain, "b");
    assert_eq!(rig.shares(), "a 1");
    rig.admin(Admin::Enable, "b");
    assert_eq!(rig.shares(), AT_FIRST);
}

#[test]
fn a_new_member_starts_slowly_with_its_first_verdict() {
    let mut rig = decided();
    let more = slow().replace(
        "weight = 7 }",
        "weight = 7 }, { backend = \"c\", weight = 10 }",
    );
    rig.event(Event::Reload(Box::new(parse(&more))));
    rig.at(50);
    rig.good("c", 5);
    rig.good("c", 5);
    assert_eq!(rig.shares(), "a 24/85, b 56/85, c 1/17");
}

#[test]
fn a_reload_neither_begins_nor_ends_a_slow_start() {
    let mut rig = decided();
    rig.b_fails();
    rig.b_heals();
    rig.at(8);
    rig.event(Event::Reload(Box::new(parse(
        &slow().replace("weight = 3", "weight = 7"),
    ))));
    assert_eq!(rig.shares(), "a 2/3, b 1/3");
    let mut rig = fresh();
    rig.all_up();
    rig.event(Event::Reload(Box::new(parse(&slow()))));
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
}

#[test]
fn after_a_restart_those_that_were_up_have_their_whole_share() {
    let mut before = decided();
    before.b_fails();
    before.b_heals();
    let rig = Rig::start(&slow(), before.engine.saved(), &["web"]);
    assert_eq!(rig.shares(), "a 3/10, b 7/10");
    let mut before = decided();
    before.b_fails();
    let mut rig = Rig::start(&slow(), before.engine.saved(), &["web"]);
    assert_eq!(rig.shares(), "a 1");
    rig.b_heals();
    assert_eq!(rig.shares(), AT_FIRST);
}

#[test]
fn a_member_that_is_alone_has_everything_however_slowly_it_starts() {
    let mut rig = decided();
    for backend in ["a", "b"] {
        (0..3).for_each(|_| rig.bad(backend));
    }
    rig.b_heals();
    assert_eq!(rig.shares(), "b 1");
}
