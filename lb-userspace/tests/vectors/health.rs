//! Probe results and health.

use std::{collections::BTreeSet, num::NonZeroU8, time::Duration};

use lb_userspace::{
    config::{self, Checked},
    engine::{Engine, Event, Saved},
    model::{BurstRule, ConsecutiveRule, Health, HealthRule, LeakyRule, traffic_manager_timeouts},
    probe::{Failure, History, streams},
};

use crate::file::vector;

fn count(number: u8) -> NonZeroU8 {
    NonZeroU8::new(number).expect("a count")
}

/// Traffic Manager's rule, by the failures that it tolerates.
pub(crate) fn tolerating(failures: u8) -> HealthRule {
    HealthRule::Consecutive(ConsecutiveRule {
        fall: count(failures + 1),
        rise: count(1),
    })
}

fn burst(retries: u8, failures: u8, rise: u8) -> HealthRule {
    HealthRule::Burst(BurstRule::new(retries, failures, count(rise)).expect("a rule"))
}

/// The results of a vector: `samples 1 0 1 (1=ok)`.
fn results(obs: &str) -> impl Iterator<Item = bool> {
    let words = obs.split(' ').take_while(|word| !word.starts_with('('));
    words.filter_map(|word| match word {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    })
}

/// Plays the results of a vector into `history`, and compares the letter of the health after each.
#[track_caller]
fn replay_into(mut history: History, id: &str, letter: impl Fn(Health) -> char) {
    let vector = vector(id);
    let letters: String = results(&vector.obs)
        .map(|good| {
            history.record(good);
            letter(history.health())
        })
        .collect();
    assert_eq!(letters, vector.expected, "{id}");
}

#[track_caller]
fn replay(rule: HealthRule, id: &str, letter: impl Fn(Health) -> char) {
    replay_into(History::new(rule), id, letter);
}

/// Front Door's: `H`ealthy, or `U`nhealthy, which a member without a verdict is too.
fn front_door(health: Health) -> char {
    if health == Health::Up { 'H' } else { 'U' }
}

/// Traffic Manager's: `O`nline, `D`egraded, or `C`heckingEndpoint.
fn traffic_manager(health: Health) -> char {
    match health {
        Health::Checking => 'C',
        Health::Down => 'D',
        Health::Up => 'O',
    }
}

/// Whether it is `D`own. The vectors of these begin with a member that is not; so is one without a
/// verdict, and one that had long been up.
#[track_caller]
fn replay_down(rule: HealthRule, id: &str) {
    let down = |health| if health == Health::Down { 'D' } else { 'U' };
    replay(rule, id, down);
    let mut up = History::new(rule);
    (0..20).for_each(|_| up.record(true));
    assert_eq!(up.health(), Health::Up);
    replay_into(up, id, down);
}

fn window(window: i64, required: i64) -> HealthRule {
    HealthRule::window(window, required).expect("a rule")
}

#[test]
fn t160_three_of_the_last_five() {
    replay(window(5, 3), "T160", front_door);
}

#[test]
fn t161_two_of_the_last_four() {
    replay(HealthRule::DEFAULT, "T161", front_door);
}

#[test]
fn t162_three_of_the_last_four() {
    replay(window(4, 3), "T162", front_door);
}

#[test]
fn t163_the_fourth_failure_in_a_row_degrades_and_one_success_restores() {
    let default = HealthRule::Consecutive(ConsecutiveRule::DEFAULT);
    assert_eq!(default, tolerating(3));
    replay(default, "T163", traffic_manager);
}

#[test]
fn t164_without_tolerance_one_failure_degrades() {
    replay(tolerating(0), "T164", traffic_manager);
}

#[test]
fn t165_an_endpoint_is_checking_until_it_is_degraded() {
    replay(tolerating(3), "T165", traffic_manager);
}

#[test]
fn t167_all_of_a_burst_must_fail() {
    let default = HealthRule::Burst(BurstRule::DEFAULT);
    assert_eq!(default, burst(3, 0, 1));
    replay_down(default, "T167");
}

#[test]
fn t169_several_good_probes_in_a_row_bring_it_up() {
    replay_down(burst(3, 0, 3), "T169");
}

#[test]
fn t170_single_failures_add_up_unless_a_run_of_good_probes_clears_them() {
    let [down, ok, up] = [3, 2, 2].map(count);
    let rule = HealthRule::Leaky(LeakyRule { down, ok, up });
    replay_down(rule, "T170");
    let [down, ok, up] = [10, 10, 20].map(count);
    assert_eq!(LeakyRule::DEFAULT, LeakyRule { down, ok, up });
}

/// What a list of cases in a vector says: `accept / reject`.
fn verdicts(accepted: impl IntoIterator<Item = bool>) -> String {
    let words = accepted.into_iter();
    let words = words.map(|it| if it { "accept" } else { "reject" });
    words.collect::<Vec<_>>().join(" / ")
}

#[test]
fn t207_intervals_of_traffic_manager() {
    let allowed = [10, 20, 30]
        .map(Duration::from_secs)
        .map(traffic_manager_timeouts);
    let expected = vector("T207").expected;
    assert_eq!(verdicts(allowed.map(|it| it.is_some())), expected);
}

/// Whether Traffic Manager allows each of the timeouts with this interval.
fn timeouts<const N: usize>(interval: u64, timeouts: [u64; N]) -> String {
    let allowed = traffic_manager_timeouts(Duration::from_secs(interval));
    let allowed = allowed.expect("an interval of its");
    verdicts(timeouts.map(|seconds| allowed.contains(&Duration::from_secs(seconds))))
}

#[test]
fn t208_timeouts_of_traffic_manager_with_the_normal_interval() {
    assert_eq!(timeouts(30, [4, 5, 10, 11]), vector("T208").expected);
}

#[test]
fn t209_timeouts_of_traffic_manager_with_the_fast_interval() {
    assert_eq!(timeouts(10, [9, 10]), vector("T209").expected);
}

/// A configuration with two groups of one backend.
fn two_groups(first: &str, second: &str) -> String {
    format!(
        "[edge]\nname = \"e\"\ninterfaces = [\"eth0\"]\n\
         [[backend]]\nname = \"a\"\naddress = \"198.51.100.1\"\n\
         [[group]]\nname = \"g1\"\nmember = [{{ backend = \"a\" }}]\nprobe = {{ {first} }}\n\
         [[group]]\nname = \"g2\"\nmember = [{{ backend = \"a\" }}]\nprobe = {{ {second} }}\n"
    )
}

fn checked(text: &str) -> Checked {
    config::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn t213_a_tcp_probe_has_no_path() {
    let accepted = ["", ", path = \"/\""].map(|path| {
        let probe = format!("kind = \"tcp\", port = 80{path}");
        config::parse(&two_groups(&probe, "kind = \"none\"")).is_ok()
    });
    let expected = vector("T213").expected;
    assert_eq!(verdicts(accepted), format!("accept / {expected}"));
}

#[test]
fn t214_front_door_probes_wherever_there_is_a_choice() {
    let accepted = [true, false].map(|second| {
        let text = format!(
            "[edge]\nname = \"e\"\ninterfaces = [\"eth0\"]\n\
             [[backend]]\nname = \"a\"\naddress = \"198.51.100.1\"\n\
             [[backend]]\nname = \"b\"\naddress = \"198.51.100.2\"\n\
             [[group]]\nname = \"g\"\nprobe = {{ kind = \"none\" }}\n\
             member = [{{ backend = \"a\" }}, {{ backend = \"b\", enabled = {second} }}]\n"
        );
        config::parse(&text).is_ok()
    });
    assert_eq!(verdicts(accepted), vector("T214").expected);
}

#[test]
fn t181_one_endpoint_in_two_groups_is_probed_once_and_judged_in_each() {
    let checked = checked(&two_groups(
        "kind = \"http\", port = 80, interval = \"30s\", health = { window = 5, required = 3 }",
        "kind = \"http\", port = 80, interval = \"10s\", health = { window = 4, required = 2 }",
    ));
    let streams = streams(&checked.model, |_, _| true);
    let intervals = streams.values().map(|it| it.interval.as_secs().to_string());
    assert_eq!(intervals.collect::<Vec<_>>(), [vector("T181").expected]);
    let key = streams.into_keys().next().expect("one stream");
    let (mut engine, _) = Engine::start(checked, Saved::default(), BTreeSet::new(), Duration::ZERO);
    let mut healths = |good| {
        let sample = if good {
            Ok(Duration::ZERO)
        } else {
            Err(Failure::Refused)
        };
        let samples = Event::Samples(vec![(key.clone(), sample)]);
        engine.handle(samples, Duration::ZERO).expect("no command");
        let groups = engine.view().groups.into_iter();
        groups
            .map(|group| group.members[0].health)
            .collect::<Vec<_>>()
    };
    assert_eq!(healths(true), [Health::Checking; 2]);
    assert_eq!(healths(true), [Health::Checking, Health::Up]);
    assert_eq!(healths(true), [Health::Up; 2]);
    assert_eq!(healths(false), [Health::Up; 2]);
    assert_eq!(healths(false), [Health::Up; 2], "3 of 5, 2 of 4");
    assert_eq!(healths(false), [Health::Down; 2], "2 of 5, 1 of 4");
}
