//! What becomes of the running flows of backends that are down.

use toml::Value;

use super::{leaf, raw::Table, report::Wrong};
use crate::{
    model::{OnDown, TcpOnDown, UdpOnDown},
    refusal,
};

/// Reads `on_down`, if it is there.
pub(super) fn read(group: &mut Table<'_>) -> OnDown {
    let tcp = [
        ("keep", TcpOnDown::Keep),
        ("reselect", TcpOnDown::Reselect),
        ("reset", TcpOnDown::Reset),
    ];
    let on_down = group.table("on_down", |table| {
        Some(OnDown {
            tcp: table.or("tcp", OnDown::DEFAULT.tcp, leaf::one_of(&tcp)),
            udp: table.or("udp", OnDown::DEFAULT.udp, udp),
        })
    });
    on_down.unwrap_or(OnDown::DEFAULT)
}

fn udp(value: &Value) -> Result<UdpOnDown, Wrong> {
    if value.as_str() == Some("reset") {
        return Err(refusal::group::no_udp_reset());
    }
    leaf::one_of(&[("keep", UdpOnDown::Keep), ("reselect", UdpOnDown::Reselect)])(value)
}

#[cfg(test)]
mod tests {
    use crate::{
        config::{
            parse,
            tests::{expect, with},
        },
        model::{OnDown, TcpOnDown, UdpOnDown},
    };

    const GROUP: &str = "name = \"g\"";

    fn read(line: &str) -> OnDown {
        let text = with(GROUP, &format!("{GROUP}\n{line}"));
        parse(&text).unwrap().model.groups["g"].on_down
    }

    #[test]
    fn what_is_not_set_is_as_ever() {
        assert_eq!(read(""), OnDown::DEFAULT);
        let reset = read("on_down = { tcp = \"reset\" }");
        let udp = UdpOnDown::Reselect;
        let tcp = TcpOnDown::Reset;
        assert_eq!(reset, OnDown { tcp, udp });
        let kept = read("on_down = { udp = \"keep\" }");
        let (tcp, udp) = (TcpOnDown::Keep, UdpOnDown::Keep);
        assert_eq!(kept, OnDown { tcp, udp });
    }

    #[test]
    fn bad_words() {
        expect(
            GROUP,
            &[
                (
                    "name = \"g\"\non_down = { tcp = \"drop\", udp = \"reset\" }",
                    &[
                        "group[0].on_down.tcp: \"drop\" is unknown; use \"keep\" or \"reselect\" or \"reset\"",
                        "group[0].on_down.udp: UDP has no reset; use \"keep\" or \"reselect\"",
                    ],
                ),
                (
                    "name = \"g\"\non_down = \"reset\"",
                    &["group[0].on_down: \"reset\" is a string; use a table: `on_down = { .. }`"],
                ),
            ],
        );
    }
}
