use std::{fs, path::Path};

use aya::{
    maps::{Array, HashMap},
    pin::PinError,
    programs::links::PinnedLink,
};
use lb_common::{Control, Descriptor};
use lb_userspace::{
    dataplane::{Detached, Kernel, detach, look},
    model::Edge,
};

use crate::host::{Host, control, line, link_pin, map_ids, program_on, refusal, run, start};

#[test]
fn changed_sizes_are_refused_and_the_program_runs_on() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    let program = program_on("edge0");
    let larger = Edge {
        flow_entries: 2048,
        ..edge.clone()
    };
    let line = refusal(&larger);
    let words = "error[other-size]: map FLOWS of the running program has 128 entries, and 256 are";
    assert!(line.starts_with(words), "{line}");
    assert!(
        line.contains("`edge.flow_entries`") && line.contains("`waggle detach`"),
        "{line}"
    );
    let line = refusal(&Edge {
        ring_slots: 64,
        ..edge.clone()
    });
    assert!(
        line.starts_with("error[other-size]: map SLOTS") && line.contains("`edge.ring_slots`"),
        "{line}"
    );
    assert_eq!(program_on("edge0"), program);

    detach(&edge.pin_dir).unwrap();
    start(&larger);
}

#[test]
fn another_abi_is_refused() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    let control = control(&edge);
    let found = control.load(0);
    control.store(0, &Control { abi: 999, ..found });
    let line = refusal(&edge);
    assert!(line.starts_with("error[other-layout]: "), "{line}");
    assert!(line.contains("ABI version 999 there"), "{line}");
    assert!(program_on("edge0").is_some());
}

#[test]
fn a_map_of_an_earlier_version_is_refused() {
    let host = Host::new();
    let edge = host.edge();
    let maps = edge.pin_dir.join("maps");
    fs::create_dir_all(&maps).unwrap();
    let earlier = Array::<_, u64>::create(1 << 16, 0).unwrap();
    earlier.pin(maps.join("PORTS")).unwrap();
    for line in [refusal(&edge), line(look(&edge.pin_dir))] {
        assert!(
            line.starts_with("error[other-layout]: map PORTS "),
            "{line}"
        );
        assert!(line.contains("it is of an earlier version"), "{line}");
    }
    assert_eq!(program_on("edge0"), None);
    assert_eq!(detach(&edge.pin_dir).unwrap().maps, 1);
    start(&edge);
}

type Pin = fn(&Path) -> Result<(), PinError>;

#[test]
fn pins_of_the_wrong_kind_are_refused() {
    let host = Host::new();
    let edge = host.edge();
    let maps = edge.pin_dir.join("maps");
    let pin_rings = |path: &Path| Array::<_, Descriptor>::create(1024, 0).unwrap().pin(path);
    let pin_services = |path: &Path| Array::<_, u32>::create(1024, 0).unwrap().pin(path);
    let pin_addresses = |path: &Path| HashMap::<_, u32, u32>::create(1024, 0).unwrap().pin(path);
    let cases: [(_, Pin, _); 3] = [
        ("RINGS", pin_rings, "flags 0 there, 1024 wanted"),
        ("SERVICE_IDS", pin_services, "type array there, hash wanted"),
        ("ADDRESSES", pin_addresses, "key size 4 there, 16 wanted"),
    ];
    for (map, make, says) in cases {
        fs::create_dir_all(&maps).unwrap();
        make(&maps.join(map)).unwrap();
        let line = refusal(&edge);
        assert!(line.starts_with("error[other-layout]: "), "{line}");
        assert!(line.contains(map) && line.contains(says), "{line}");
        fs::remove_file(maps.join(map)).unwrap();
    }
    assert_eq!(program_on("edge0"), None);
    drop(start(&edge));
    fs::remove_file(maps.join("TABLES")).unwrap();
    fs::create_dir(maps.join("TABLES")).unwrap();
    let line = refusal(&edge);
    assert!(
        line.starts_with("error[unusable-map]: map TABLES can not be used: "),
        "{line}"
    );
    fs::remove_dir(maps.join("TABLES")).unwrap();
    fs::rename(edge.pin_dir.join("program"), maps.join("TABLES")).unwrap();
    let line = refusal(&edge);
    assert!(
        line.contains("map TABLES") && line.contains("array wanted"),
        "{line}"
    );
    assert!(program_on("edge0").is_some());
}

#[test]
fn detach_removes_everything_even_under_a_running_daemon() {
    let host = Host::new();
    let edge = host.edge();
    let started = start(&edge);
    let maps = map_ids(&edge).len();
    let expected = Detached {
        interfaces: vec!["edge0".into()],
        program: true,
        maps,
    };
    assert_eq!(detach(&edge.pin_dir).unwrap(), expected);
    assert_eq!(program_on("edge0"), None);
    assert!(!edge.pin_dir.exists());
    let nothing = detach(&edge.pin_dir).unwrap();
    assert_eq!(nothing.to_string(), "nothing is attached or pinned");
    drop(started);
    assert!(!start(&edge).adopted);
}

#[test]
fn detach_removes_only_what_waggle_has_made() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    let theirs = edge.pin_dir.join("maps/theirs");
    let map = Array::<_, u32>::create(1, 0).unwrap();
    map.pin(&theirs).unwrap();
    let line = line(detach(&edge.pin_dir));
    assert!(
        line.starts_with("error[foreign-pins]: ") && line.contains(": theirs;"),
        "{line}"
    );
    assert_eq!(program_on("edge0"), None);
    assert_eq!(map_ids(&edge).into_keys().collect::<Vec<_>>(), ["theirs"]);

    fs::remove_file(theirs).unwrap();
    assert_eq!(detach(&edge.pin_dir).unwrap(), Detached::default());
    assert!(!edge.pin_dir.exists());
}

#[test]
fn a_pin_that_can_not_be_removed_is_named() {
    let host = Host::new();
    let edge = host.edge();
    let in_the_way = edge.pin_dir.join("maps/TABLES");
    fs::create_dir_all(&in_the_way).unwrap();
    let line = line(detach(&edge.pin_dir));
    assert!(
        line.starts_with(&format!("error[kept-pin]: {} ", in_the_way.display())),
        "{line}"
    );
}

#[test]
fn detach_keeps_its_hands_off_other_file_systems() {
    let host = Host::new();
    let dir = host.dir.path().join("precious");
    fs::create_dir_all(dir.join("maps")).unwrap();
    fs::write(dir.join("maps/data"), "kept").unwrap();
    let line = line(detach(&dir));
    assert!(line.starts_with("error[no-bpf-file-system]: "), "{line}");
    assert!(dir.join("maps/data").exists());
}

#[test]
fn a_map_that_can_not_be_mapped_is_an_error_and_no_fault() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    let rings = edge.pin_dir.join("maps/RINGS");
    fs::remove_file(&rings).unwrap();
    let map = Array::<_, Descriptor>::create(1024, 0).unwrap();
    map.pin(&rings).unwrap();
    let line = line(Kernel::open(&edge.pin_dir));
    let wanted =
        "error[unusable-map]: map RINGS can not be used: no mmapable array of 8-byte elements";
    assert!(line.starts_with(wanted), "{line}");
}

#[test]
fn a_program_whose_link_someone_holds_is_told_to_be_still_there() {
    let host = Host::new();
    let edge = host.edge();
    drop(start(&edge));
    let held = PinnedLink::from_pin(link_pin(&edge)).unwrap();
    let line = line(detach(&edge.pin_dir));
    assert!(line.starts_with("error[still-attached]: "), "{line}");
    assert!(!edge.pin_dir.exists() && program_on("edge0").is_some());
    drop(held);
}

#[test]
fn pins_that_can_not_be_written_are_told_whatever_is_missing() {
    let host = Host::new();
    let edge = host.edge();
    let read_only = |yes: bool| {
        let how = if yes { "ro" } else { "rw" };
        run(&format!("mount -o remount,{how} {}", host.bpf().display()));
    };
    read_only(true);
    let refused = refusal(&edge);
    assert!(refused.starts_with("error[unusable-pins]: "), "{refused}");
    read_only(false);
    fs::create_dir_all(edge.pin_dir.join("maps")).unwrap();
    read_only(true);
    let refused = refusal(&edge);
    assert!(refused.starts_with("error[no-tables]: "), "{refused}");
    assert!(refused.contains("Read-only file system"), "{refused}");
    assert_eq!(program_on("edge0"), None);
    read_only(false);
    drop(start(&edge));
}
