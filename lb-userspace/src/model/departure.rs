use std::fmt;

use lb_common::{Exit, ForwardMode, Target};

/// Where frames to a backend go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Departure {
    /// Up to this host, which is the backend itself.
    Host,
    /// Out.
    Out(Exit),
}

impl Departure {
    /// Out by the interface that the packet came by, without tags.
    pub const AS_IT_CAME: Self = Self::Out(Exit::SAME);

    /// Where a target in the kernel's tables leads.
    pub fn to(target: &Target) -> Self {
        match target.forward.mode() {
            ForwardMode::HOST => Self::Host,
            _ => Self::Out(target.exit),
        }
    }

    /// How the packet program forwards packets of a mode that go there, and the exit.
    pub fn by(self, mode: ForwardMode) -> (ForwardMode, Exit) {
        match self {
            Self::Host => (ForwardMode::HOST.elsewhere(), Exit::SAME),
            Self::AS_IT_CAME => (mode, Exit::SAME),
            Self::Out(exit) => (mode.elsewhere(), exit),
        }
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Out(exit) = self else {
            return f.write_str(" on this host");
        };
        for (i, vlan) in exit.tags.vlans().enumerate() {
            let before = if i == 0 { " in VLAN " } else { "." };
            write!(f, "{before}{vlan}")?;
        }
        match exit.interface {
            0 => Ok(()),
            index => write!(f, " out of interface {index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use lb_common::Tags;

    use super::*;

    #[test]
    fn only_what_leaves_otherwise_than_it_came_is_marked() {
        let mode = ForwardMode::IPIP;
        let tagged = Exit {
            tags: Tags::single(Tags::CUSTOMER, 100),
            ..Exit::SAME
        };
        let by_another = Exit {
            interface: 3,
            ..Exit::SAME
        };
        for (departure, forward, exit) in [
            (Departure::AS_IT_CAME, mode, Exit::SAME),
            (Departure::Out(tagged), mode.elsewhere(), tagged),
            (Departure::Out(by_another), mode.elsewhere(), by_another),
            (Departure::Host, ForwardMode::HOST.elsewhere(), Exit::SAME),
        ] {
            assert_eq!(departure.by(mode), (forward, exit));
            assert_eq!(
                forward.leaves_as_it_came(),
                departure == Departure::AS_IT_CAME
            );
        }
    }

    #[test]
    fn vlans_are_told_from_the_outside_in() {
        let inner = Tags::single(Tags::CUSTOMER, 200);
        let both = inner.within(Tags::single(Tags::PROVIDER, 100)).unwrap();
        for (tags, expected) in [
            (Tags::NONE, ""),
            (inner, " in VLAN 200"),
            (both, " in VLAN 100.200"),
        ] {
            let exit = Exit { tags, ..Exit::SAME };
            assert_eq!(Departure::Out(exit).to_string(), expected);
            let exit = Exit { tags, interface: 3 };
            let expected = format!("{expected} out of interface 3");
            assert_eq!(Departure::Out(exit).to_string(), expected);
        }
    }
}
