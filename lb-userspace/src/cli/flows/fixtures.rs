//! Targets that stand for those of real tables.

use super::Target;

/// Two with names, and one that nobody names.
pub(super) fn targets() -> Vec<Target> {
    let target = |id: u16, group: Option<&str>, backend: Option<&str>| {
        let name = |name: Option<&str>| name.map(|name| name.parse().expect("a name"));
        Target {
            id,
            group: name(group),
            group_id: 0xbeef,
            backend: name(backend),
            address: [10, 0, 0, id as u8].into(),
        }
    };
    vec![
        target(1, Some("web"), Some("b")),
        target(2, Some("web"), Some("a")),
        target(3, None, None),
    ]
}
