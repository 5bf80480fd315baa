use std::{env, fs, os::unix::process::CommandExt as _, process::Command};

use lb_common::FormerRing;
use lb_userspace::{
    dataplane::{Kernel, Mode, Started, Tables, check_host, detach},
    model::{Edge, XdpMode},
};
use nix::sched::{CloneFlags, unshare};

use crate::host::{
    Host, array, control, image, key, line, link_id, link_pin, map_ids, program_on, refusal, run,
    show, start,
};

/// How the program is attached to each interface.
fn modes(started: &Started) -> Vec<Mode> {
    started.attachments.iter().map(|it| it.mode).collect()
}

#[test]
fn a_new_edge_is_attached_as_asked_with_empty_tables() {
    let host = Host::new();
    let edge = host.edge();
    let started = start(&edge);
    assert_eq!(modes(&started), [Mode::Native]);
    assert!(!started.adopted && started.warnings.is_empty());
    assert!(program_on("edge0").is_some());
    let tables = started.kernel.read_tables().unwrap();
    assert_eq!(tables, Tables::new(started.kernel.capacity()));
    assert_eq!(started.kernel.capacity().ring_slots, 4096);
    let found = control(&edge).load(0);
    assert_eq!(found.abi, lb_common::ABI_VERSION);
    assert_eq!(found.ring_key, key(1));
    assert_ne!(found.flow_keys[0], found.flow_keys[1]);
}

#[test]
fn the_program_outlives_the_daemon_and_is_adopted_without_a_gap() {
    let host = Host::new();
    let edge = host.edge();
    let mut first = start(&edge);
    let mut tables = first.kernel.read_tables().unwrap();
    show(&mut first.kernel, &mut tables, &image(&[1, 2]));
    first.kernel.heartbeat(77);
    let (maps, link, program) = (map_ids(&edge), link_id(&edge), program_on("edge0"));
    drop(first);
    assert_eq!(program_on("edge0"), program);
    let left = Kernel::open(&edge.pin_dir).unwrap();
    assert_eq!(left.last_heartbeat(), 77);

    let secrets = || control(&edge).load(0).flow_keys;
    let secret = secrets();
    let second = Kernel::start(&edge, key(2)).unwrap_or_else(|error| panic!("{error}"));
    assert!(second.adopted);
    assert_eq!(modes(&second), [Mode::Native]);
    assert_eq!((map_ids(&edge), link_id(&edge)), (maps, link));
    assert_ne!(program_on("edge0"), program, "the new program took over");
    assert_eq!(second.kernel.read_tables().unwrap(), tables);
    assert_eq!(secrets(), secret);
    let found = control(&edge).load(0);
    assert_eq!(found.ring_key, key(2));
}

#[test]
fn former_rings_outlive_the_daemon_but_not_the_key_of_their_hash() {
    let host = Host::new();
    let edge = host.edge();
    let mut first = start(&edge);
    let mut tables = first.kernel.read_tables().unwrap();
    show(&mut first.kernel, &mut tables, &image(&[1, 2]));
    show(&mut first.kernel, &mut tables, &image(&[2]));
    drop(first);
    let formers = || {
        let formers = array::<FormerRing>(&edge, "FORMER_RINGS");
        let some = formers.iter().map(Result::unwrap);
        some.filter(|former| *former != FormerRing::NONE).count()
    };
    drop(start(&edge));
    assert_eq!(formers(), 1);
    drop(Kernel::start(&edge, key(2)).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(formers(), 0);
}

#[test]
fn the_packet_log_is_switched_by_a_restart() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    let started = start(&Edge {
        packet_log: true,
        ..edge
    });
    assert!(started.adopted);
    assert!(started.object.map("AYA_LOGS").is_some());
}

#[test]
fn a_link_on_another_interface_is_refused_and_one_whose_interface_is_gone_is_not() {
    let host = Host::new();
    let edge = host.edge();
    let mut started = start(&edge);
    let mut tables = started.kernel.read_tables().unwrap();
    show(&mut started.kernel, &mut tables, &image(&[1]));
    drop(started);
    let moved = Edge {
        interfaces: vec!["peer0".into()],
        ..edge
    };
    let line = refusal(&moved);
    assert!(line.starts_with("error[other-interface]: "), "{line}");
    assert!(line.contains("attached to edge0, not to peer0"), "{line}");
    assert!(program_on("edge0").is_some() && program_on("peer0").is_none());

    run("ip link del edge0");
    run("ip link add edge0 type veth peer name peer0");
    let started = start(&moved);
    assert!(!started.adopted);
    assert!(program_on("peer0").is_some());
    assert_eq!(
        started.kernel.read_tables().unwrap(),
        tables,
        "the tables stay"
    );
}

#[test]
fn the_program_is_put_on_all_interfaces_or_on_none() {
    let host = Host::new();
    let on = |interfaces: &[&str]| Edge {
        interfaces: interfaces.iter().map(|&name| name.into()).collect(),
        ..host.edge()
    };
    let line = refusal(&on(&["edge0", "lo"]));
    assert!(line.starts_with("error[no-native-xdp]: lo takes"), "{line}");
    assert_eq!(program_on("edge0"), None);
    assert!(!host.edge().pin_dir.exists(), "nothing is left behind");

    let started = start(&on(&["edge0", "peer0"]));
    assert_eq!(modes(&started), [Mode::Native; 2]);
    let program = program_on("edge0");
    assert!(program.is_some() && program_on("peer0") == program);
    drop(started);

    let line = refusal(&on(&["edge0"]));
    assert!(line.starts_with("error[other-interface]: "), "{line}");
    let line = refusal(&on(&["edge0", "peer0", "lo"]));
    assert!(line.starts_with("error[no-native-xdp]: lo takes"), "{line}");
    assert_eq!(program_on("edge0"), program, "the program that ran goes on");
    let detached = detach(&host.edge().pin_dir).unwrap();
    assert_eq!(detached.interfaces.len(), 2, "{detached}");
    assert!(program_on("edge0").is_none() && program_on("peer0").is_none());
}

#[test]
fn an_interface_can_be_added_to_a_running_edge_and_each_has_the_mode_that_it_takes() {
    let host = Host::new();
    let mut edge = host.edge();
    drop(start(&edge));
    edge.xdp_mode = XdpMode::Auto;
    edge.interfaces.push("lo".into());
    let started = start(&edge);
    assert!(started.adopted);
    assert_eq!(modes(&started), [Mode::Native, Mode::Generic]);
    assert_eq!(started.warnings.len(), 1);
    let program = program_on("edge0");
    assert!(program.is_some() && program_on("lo") == program);
    detach(&edge.pin_dir).unwrap();
    assert_eq!(program_on("lo"), None);
}

#[test]
fn case_68_an_mtu_beyond_a_page_is_named_with_the_mend_and_auto_falls_back() {
    let host = Host::new();
    run("ip link set edge0 mtu 9000");
    run("ip link set peer0 mtu 9000");
    let mut edge = host.edge();
    let line = refusal(&edge);
    assert!(line.starts_with("error[no-native-xdp]: edge0 "), "{line}");
    assert!(line.contains("its MTU is 9000 "), "{line}");
    assert!(line.contains("`ip link set dev edge0 mtu 3498`"), "{line}");
    edge.xdp_mode = XdpMode::Auto;
    assert_eq!(modes(&start(&edge)), [Mode::Generic]);
}

#[test]
fn where_native_xdp_is_missing_the_mend_is_named_and_auto_falls_back() {
    let host = Host::new();
    let mut edge = Edge {
        interfaces: vec!["lo".into()],
        ..host.edge()
    };
    let line = refusal(&edge);
    assert!(line.starts_with("error[no-native-xdp]: lo takes"), "{line}");
    assert!(line.contains("`edge.xdp_mode = \"generic\"`"), "{line}");
    assert!(!edge.pin_dir.exists(), "nothing is left behind");

    edge.xdp_mode = XdpMode::Auto;
    let started = start(&edge);
    assert_eq!(modes(&started), [Mode::Generic]);
    let [warning] = &started.warnings[..] else {
        panic!("one warning");
    };
    assert_eq!(warning.code, "no-native-xdp");
    let words = "attached in generic mode, which is slow: lo takes no native";
    assert!(warning.message.starts_with(words), "{warning}");

    edge.xdp_mode = XdpMode::Native;
    let line = refusal(&edge);
    assert!(line.starts_with("error[other-mode]: "), "{line}");
    assert!(line.contains("attached to lo in generic mode"), "{line}");
    edge.xdp_mode = XdpMode::Auto;
    let again = start(&edge);
    assert_eq!((again.adopted, modes(&again)), (true, vec![Mode::Generic]));
    assert_eq!(again.warnings[0].code, "slow-mode");

    edge.xdp_mode = XdpMode::Generic;
    assert_eq!(start(&edge).warnings, [], "as asked");
}

#[test]
fn an_mtu_that_native_xdp_does_not_take_is_refused_with_the_kernels_reason() {
    let host = Host::new();
    let mut edge = host.edge();
    run("ip link set peer0 mtu 9000");
    let line = refusal(&edge);
    assert!(
        line.starts_with("error[no-native-xdp]: edge0 takes"),
        "{line}"
    );
    assert!(line.contains("MTU"), "{line}");
    edge.xdp_mode = XdpMode::Auto;
    assert_eq!(modes(&start(&edge)), [Mode::Generic]);
}

#[test]
fn a_foreign_program_is_not_replaced() {
    let host = Host::new();
    let first = start(&host.edge());
    let program = program_on("edge0").unwrap();
    let mut other = Edge {
        name: "fra-2".parse().unwrap(),
        pin_dir: host.bpf().join("waggle/fra-2"),
        ..host.edge()
    };
    for mode in [XdpMode::Native, XdpMode::Generic, XdpMode::Auto] {
        other.xdp_mode = mode;
        let line = refusal(&other);
        assert!(
            line.starts_with(&format!(
                "error[other-program]: another XDP program (id {program})"
            )),
            "{line}"
        );
        assert!(line.contains("ip link set dev edge0 xdp off"), "{line}");
    }
    assert_eq!(program_on("edge0"), Some(program));
    assert!(!other.pin_dir.exists() && first.kernel.read_tables().is_ok());
}

#[test]
fn a_take_over_that_fails_changes_nothing() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    let program = program_on("edge0");
    let before = control(&edge).load(0);
    let in_the_way = edge.pin_dir.join("program_next");
    fs::create_dir(&in_the_way).unwrap();
    let line = line(Kernel::start(&edge, key(2)));
    let words = format!("error[unusable-pins]: {} ", in_the_way.display());
    assert!(line.starts_with(&words), "{line}");
    assert_eq!(program_on("edge0"), program);
    let after = control(&edge).load(0);
    assert_eq!(after, before);

    fs::remove_dir(in_the_way).unwrap();
    assert!(Kernel::start(&edge, key(2)).is_ok());
    assert_ne!(program_on("edge0"), program);
}

#[test]
fn a_link_that_can_not_be_judged_is_kept() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    // Only this thread sees no open descriptors.
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    run("mount --make-rprivate /");
    let fdinfo = format!("/proc/{}/fdinfo", std::process::id());
    run(&format!("mount -t tmpfs none {fdinfo}"));
    let line = refusal(&edge);
    let link = link_pin(&edge);
    assert!(line.starts_with("error[unknown-link]: "), "{line}");
    assert!(line.contains(&link.display().to_string()), "{line}");
    assert!(line.contains("`waggle detach`"), "{line}");
    assert!(link.exists() && program_on("edge0").is_some());
    run(&format!("umount {fdinfo}"));
    assert!(start(&edge).adopted);
}

#[test]
fn the_environment_is_checked_in_plain_words() {
    let host = Host::new();
    let edge = host.edge();
    let line = refusal(&Edge {
        interfaces: vec!["eth77".into()],
        ..edge.clone()
    });
    let words = "error[no-interface]: there is no interface `eth77`; ";
    assert!(line.starts_with(words) && line.contains("edge0"), "{line}");
    let line = refusal(&Edge {
        pin_dir: host.dir.path().join("plain"),
        ..edge.clone()
    });
    assert!(line.contains("`mount -t bpf bpf /sys/fs/bpf`"), "{line}");
    let line = refusal(&Edge {
        pin_dir: host.bpf().join("fra.1"),
        ..edge
    });
    assert!(line.contains("no dots"), "{line}");
}

#[test]
fn without_privileges_the_capabilities_are_named() {
    const CHILD: &str = "WAGGLE_TEST_UNPRIVILEGED";
    if env::var_os(CHILD).is_some() {
        println!("{}", line(check_host()));
        return;
    }
    // The directory of the test binary may be closed to others.
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("test");
    let binary = env::current_exe().unwrap();
    run(&format!("cp {} {}", binary.display(), copy.display()));
    run(&format!("chmod 755 {}", dir.path().display()));
    let mut command = Command::new(copy);
    command.args([
        "--exact",
        "--nocapture",
        "start::without_privileges_the_capabilities_are_named",
    ]);
    assert!(check_host().is_ok());
    let output = command.env(CHILD, "1").uid(65534).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("error[missing-capabilities]: ")
            && text.contains("CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON"),
        "{text}"
    );
}
